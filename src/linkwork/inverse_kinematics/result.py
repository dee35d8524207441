"""What inverse kinematics gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.inverse_kinematics.bounds import Bounds


@dataclass(frozen=True)
class IkResult:
    """A configuration for each target of a batch, and how good it is.

    Attributes:
        q: (..., nq) the configuration; the best that was found, if none reaches the target.
        converged: (...,) whether every target is reached within the tolerances.
        position_errors: by frame, or "com": (...,) distance to the target [m].
        rotation_errors: by frame with a pose as target: (...,) angle to the target [rad].
        limits: by joint with limits: (...,) -1 at its lower limit, 1 at its upper one, else 0; -1
            where both are the same.
        iterations: (...,) steps that were made, in all starts together.
        bounds: the limits that were kept.
    """

    q: Array
    converged: Array
    position_errors: Mapping[str, Array]
    rotation_errors: Mapping[str, Array]
    iterations: Array
    bounds: Bounds = field(repr=False)

    @cached_property
    def limits(self) -> Mapping[str, Array]:
        """By joint with limits, at which of them it stands."""
        return self.bounds.sides(self.q)

    @property
    def active_limits(self) -> tuple[str, ...]:
        """Joints that stand at a limit, in any row."""
        return tuple(name for name, sides in self.limits.items() if np.any(sides))

    def __repr__(self) -> str:
        n, good = self.converged.size, int(np.count_nonzero(self.converged))
        worst = max(
            (float(np.max(e, initial=0.0)) for e in self.position_errors.values()), default=0.0
        )
        told = f"{good} of {n} converged" if n != 1 else f"converged={bool(good)}"
        return f"<IkResult: {told}, largest distance {worst:.2g} m>"
