"""What can be computed of a robot, by name: inputs, shape, and the function that computes it.

A quantity may need frames; a fused function computes several quantities from shared work. The table
is filled by the declarations of methods, see `linkwork.kindyn.methods`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import SingularJointError
from linkwork.kindyn.inputs import Input
from linkwork.mechanics.base import Representation
from linkwork.mechanics.joint_dynamics import DynamicsByIndex
from linkwork.mechanics.skeleton import Skeleton
from linkwork.model.layout import Layout
from linkwork.spatial.blocks import Scalar, Vec

Numbers: TypeAlias = Sequence[Scalar]
Dimension: TypeAlias = int | str | Callable[[Layout], int]
Shape: TypeAlias = tuple[Dimension, ...]
"""Of one row: numbers, "nq", "nv", "frames" or "wrenches" (how many are given), or functions."""

FORCES = ("gravity", "wrenches")  # what a call may give in place of what the `KinDyn` has


@dataclass(frozen=True)
class Context:
    """What a quantity is computed for, besides its inputs."""

    skeleton: Skeleton
    velocity: Representation  # in which velocities, Jacobians and wrenches are written
    gravity: Vec
    base_link: str
    joint_dynamics: DynamicsByIndex  # of the joints, if they enter the dynamics
    wrenches: Mapping[int, Numbers]  # by the index of the frame they act on


Blame: TypeAlias = Callable[[Context, Layout, Array], SingularJointError | None]
"""Says what is to blame for an infinite result at a configuration, if that is singular."""


@dataclass(frozen=True)
class Quantity:
    """Something that can be computed of a robot."""

    inputs: tuple[Input, ...]
    shapes: tuple[Shape, ...]  # of its array; of each field of `result`, if that is given
    compute: Callable[..., Any]  # (context, numbers of each input, index of each frame)
    frames: tuple[str, ...] = ()  # what the frames are that it needs
    of_many: bool = False  # whether it takes any number of frames, and gives a row for each
    forces: tuple[str, ...] = ()  # which of gravity and wrenches a call may give
    # Operations, or results to store, for each pair of a body and a coordinate that moves it.
    per_pair: int = 0
    of_links: bool = False  # whether each link counts as a body, even if fixed to another
    result: type[tuple[Any, ...]] | None = None  # the named tuple of one with several outputs
    # whether no number of the robot enters, so that it takes no parameters
    of_coordinates: bool = False
    # The quantity that gives its derivatives, by the inputs that the fields there are named after.
    derivatives: str | None = None
    singular: Blame | None = None  # of a quantity that is not defined at every configuration
    method: Callable[..., Any] | None = None  # the declaration of the method of `KinDyn`

    def __post_init__(self) -> None:
        assert len(self.shapes) == (1 if self.result is None else len(self.fields))

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of several outputs; none if there is one array."""
        return getattr(self.result, "_fields", ())

    def output_shapes(
        self, layout: Layout, n_frames: int = 0, n_wrenches: int = 0
    ) -> list[tuple[int, ...]]:
        """The shape of one row of each output."""
        known = {"nq": layout.nq, "nv": layout.nv, "frames": n_frames, "wrenches": n_wrenches}

        def size(dimension: Dimension) -> int:
            if isinstance(dimension, int):
                return dimension
            return known[dimension] if isinstance(dimension, str) else dimension(layout)

        return [tuple(map(size, shape)) for shape in self.shapes]


QUANTITIES: dict[str, Quantity] = {}


def with_context(function: Callable[..., Any], forces: Sequence[str] = ()) -> Callable[..., Any]:
    """What `Quantity.compute` is, of an algorithm.

    Args:
        function: takes the skeleton, the numbers of each input, the index of each frame and, by
            name, what it needs of the other fields of `Context`.
        forces: which of gravity and wrenches it is given.
    """
    left_out = set(FORCES) - set(forces)
    taken = inspect.signature(function).parameters.keys() - {"skeleton", *left_out}
    needed = [field.name for field in fields(Context) if field.name in taken]

    def compute(context: Context, *given: Any) -> Any:
        named = {name: getattr(context, name) for name in needed}
        return function(context.skeleton, *given, **named)

    compute.__module__ = function.__module__  # which tells whether users' code is computed
    return compute
