"""What the functions of a robot are computed for: its tree, its constraints, and settings.

Algorithms for trees take a `Skeleton`. Algorithms that also need the constraint equations, the
actuators or the precision take a `Problem`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from linkwork.engine.cached_property import cached_property
from linkwork.mechanics.constraints import Equations, FrameEquations
from linkwork.mechanics.skeleton import Skeleton, skeleton_of
from linkwork.model.layout import Layout
from linkwork.model.tree import Tree


@dataclass(frozen=True, eq=False)
class Problem:
    """A robot seen from its base, the equations that constrain it, and what drives it."""

    tree: Tree
    layout: Layout
    equations: tuple[Equations, ...] = ()
    actuated: tuple[int, ...] | None = None  # indices in nu that have an actuator; None: unknown
    independent: tuple[int, ...] | None = None  # indices in nu that determine the others
    gains: tuple[float, float] = (0.0, 0.0)  # of the stabilization: error [1/s^2], its rate [1/s]
    single: bool = False  # whether programs run in single precision
    varied: Skeleton | None = None  # replaces the skeleton of the tree if constants are inputs

    @cached_property
    def skeleton(self) -> Skeleton:
        """The tree as algorithms see it."""
        return skeleton_of(self.tree, self.layout) if self.varied is None else self.varied

    def with_skeleton(self, skeleton: Skeleton) -> Problem:
        """Return the problem of the same robot with other constants."""
        return replace(self, varied=skeleton)

    @cached_property
    def rows(self) -> dict[str, slice]:
        """The rows of each group of equations, by its name."""
        spans: dict[str, slice] = {}
        start = 0
        for group in self.equations:
            spans[group.name] = slice(start, start + group.size)
            start += group.size
        return spans

    @cached_property
    def frame_equations(self) -> tuple[FrameEquations, ...]:
        """The groups of equations between frames, without couplings of joints."""
        return tuple(group for group in self.equations if isinstance(group, FrameEquations))

    @cached_property
    def n_equations(self) -> int:
        """The number of equations."""
        return sum(group.size for group in self.equations)

    @property
    def actuated_indices(self) -> tuple[int, ...]:
        """Indices in nu of the coordinates that have an actuator, which must be known."""
        assert self.actuated is not None
        return self.actuated

    @property
    def unactuated_indices(self) -> list[int]:
        """Indices in nu of the coordinates that have no actuator."""
        return [k for k in range(self.layout.nv) if k not in self.actuated_indices]

    @property
    def independent_indices(self) -> tuple[int, ...]:
        """Indices in nu of the coordinates that determine the others, which must be chosen."""
        assert self.independent is not None
        return self.independent
