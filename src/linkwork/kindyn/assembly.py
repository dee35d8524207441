"""Assembly: configurations in which closed loops are closed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array, as_array
from linkwork.errors import ArgumentError, ShapeError, ValueRangeError, shown
from linkwork.kindyn.configurations import random_configurations
from linkwork.kindyn.core import KinDynCore, joint_names
from linkwork.mechanics.constraints import ConstrainedLayout

if TYPE_CHECKING:
    from linkwork.kindyn.constrained import ConstrainedKinDyn

TOLERANCE = 1e-10  # largest entry of the error of a closed configuration [m] or [rad]
MOST_STEPS = 100
FIRST_DAMPING = 1e-3  # after a step that did not reduce the error
RELEASE_AFTER = 8  # steps, joints that stopped at a limit may move again
MOST_TRIES = 20  # of drawing a random configuration that can be closed
LARGEST_STEP = 0.5  # of an angle or a position in one step [rad] or [m]


@dataclass(frozen=True, eq=False)
class AssemblyResult:
    """Configurations after `assemble`."""

    q: Array  # (..., nq)
    converged: Array  # (...) whether all loops are closed
    errors: Array  # (..., m) error of each constraint equation
    failed: tuple[str, ...]  # names of the loops that are open in some row


def assemble(
    kd: KinDynCore,
    q: ArrayLike,
    *,
    fixed: Iterable[str] = (),
    tolerance: float = TOLERANCE,
) -> AssemblyResult:
    """Compute configurations that satisfy the loop constraints, near the given ones.

    The method is Levenberg-Marquardt on the configuration manifold, within the joint limits. All
    joints except the fixed ones can move. A floating base does not move unless a constraint
    attaches the robot to the world.

    Args:
        kd: a `KinDyn` of a model with loops, or a `ConstrainedKinDyn`.
        q: (..., nq) configurations to start from.
        fixed: names of joints that keep their positions.
        tolerance: largest error of a constraint equation at which it counts as satisfied [m] or
            [rad].

    Returns:
        `q` (..., nq); `converged` (...), whether all loops of a row are closed; `errors` (..., m)
        of the constraint equations; and `failed`, the names of the loops that are open in any row.
        Rows do not affect each other.
    """
    constrained = _constrained(kd)
    layout = constrained.layout
    start = np.asarray(as_array(q, "q"), dtype=np.float64)
    if start.ndim == 0 or start.shape[-1] != layout.nq:
        raise ShapeError(f"q: expected shape (..., {layout.nq}), got {start.shape}")
    batch = start.shape[:-1]
    search = _Search(constrained, start.reshape(-1, layout.nq), _free(constrained, fixed))
    search.run(tolerance)
    largest = np.abs(search.errors).max(axis=-1, initial=0.0)
    converged = largest <= tolerance
    failed = tuple(
        name
        for name, span in layout.rows.items()
        if not (np.abs(search.errors[:, span]) <= tolerance).all()
    )
    return AssemblyResult(
        search.q.reshape(start.shape).astype(constrained.dtype),
        converged.reshape(batch),
        search.errors.reshape(*batch, layout.n_equations),
        failed,
    )


class _Search:
    """Levenberg-Marquardt steps on all rows at once, each with a damping of its own."""

    def __init__(self, constrained: ConstrainedKinDyn, q: Array, free: Array) -> None:
        self._step: Any = constrained.closing_step
        self._free = free
        self.q = q.copy()  # the best of each row, with its error
        self.errors = np.full((len(q), constrained.m), np.inf)
        layout = constrained.layout
        bounded = [
            joint
            for joint in map(layout.model.joint, layout.joint_names)
            if joint.nq == joint.nv == 1
        ]
        self._columns = [layout.q[joint.name].start for joint in bounded]
        self._coordinates = [layout.nu[joint.name].start for joint in bounded]
        self._lower = np.array([joint.limits.lower for joint in bounded])
        self._upper = np.array([joint.limits.upper for joint in bounded])

    def run(self, tolerance: float) -> None:
        """Move until every row is closed, or no longer improves."""
        n = len(self.q)
        trial, damping = self.q.copy(), np.zeros(n)
        best, is_retry = np.full(n, np.inf), np.zeros(n, dtype=bool)
        active = np.arange(n)
        free = np.tile(self._free, (n, 1))
        for step in range(MOST_STEPS):
            if step % RELEASE_AFTER == 0:
                free[:] = self._free
            following, errors = self._step(trial[active], free[active], damping[active])
            size = np.abs(errors).max(axis=-1, initial=0.0)
            improved = size < best[active]
            kept, missed = active[improved], active[~improved & ~is_retry[active]]
            self.q[kept], self.errors[kept], best[kept] = (
                trial[kept],
                errors[improved],
                size[improved],
            )
            damping[kept] = np.where(is_retry[kept], damping[kept], damping[kept] / 10.0)
            damping[kept] = np.where(damping[kept] < FIRST_DAMPING, 0.0, damping[kept])
            moving = improved | is_retry[active]
            moved = active[moving]
            trial[moved], is_bound = self._within_limits(following[moving], trial[moved])
            free[np.ix_(moved, self._coordinates)] *= ~is_bound
            is_retry[active] = False
            trial[missed] = self.q[missed]  # step again from the best, with more damping
            damping[missed] = np.maximum(10.0 * damping[missed], FIRST_DAMPING)
            is_retry[missed] = True
            active = active[(best[active] > tolerance) & (damping[active] < 1e8)]
            if not active.size:
                return

    def _within_limits(self, q: Array, before: Array) -> tuple[Array, Array]:
        """Configurations with bounded steps within the limits, and which joints reached one."""
        step = q[:, self._columns] - before[:, self._columns]
        near = before[:, self._columns] + np.clip(step, -LARGEST_STEP, LARGEST_STEP)
        q[:, self._columns] = np.clip(near, self._lower, self._upper)
        return q, (near <= self._lower) | (near >= self._upper)


def closed_sample(constrained: ConstrainedKinDyn) -> Array:
    """(nq,) a configuration that satisfies the constraints, away from symmetric ones."""
    rng = np.random.default_rng(0)
    return close_random(constrained, random_configurations(constrained.layout, (1,), rng), rng)[0]


def close_random(kd: KinDynCore, q: Array, rng: np.random.Generator) -> Array:
    """(n, nq) closed configurations from random ones; those that cannot be closed are drawn again.

    Raises:
        ValueRangeError: some could not be closed in several tries.
    """
    result = assemble(kd, q)
    closed, is_closed = result.q.copy(), result.converged.copy()
    for _ in range(1, MOST_TRIES):
        if is_closed.all():
            return closed
        missing = np.flatnonzero(~is_closed)
        result = assemble(kd, random_configurations(kd.layout, (len(missing),), rng))
        closed[missing], is_closed[missing] = result.q, result.converged
    if is_closed.all():
        return closed
    names = ", ".join(map(repr, result.failed))
    raise ValueRangeError(f"{kd.model.name}: no configuration was found that closes {names}")


def _constrained(kd: Any) -> ConstrainedKinDyn:
    from linkwork.kindyn.constrained import ConstrainedKinDyn

    if isinstance(kd, ConstrainedKinDyn):
        return kd
    if not isinstance(kd, KinDynCore):
        raise ArgumentError(f"kd: expected a KinDyn, got {shown(kd)}")
    if not isinstance(kd.layout, ConstrainedLayout):
        raise ArgumentError(f"{kd.model.name}: the model has no closed loops and no constraints")
    robot: Any = kd
    return robot.constrained()


def _free(constrained: ConstrainedKinDyn, fixed: Iterable[str]) -> Array:
    """(nv,) 1 for coordinates that may move, 0 for those of fixed joints."""
    layout = constrained.layout
    free = np.ones(layout.nv)
    for name in joint_names(fixed, "fixed"):
        free[layout.nu[name]] = 0.0
    return free
