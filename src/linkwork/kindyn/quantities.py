"""Quantities that can be computed of a robot, and how a method declares one.

    @quantity(crba.mass_matrix, ("nv", "nv"), f"rows and columns as in nu {INERTIA}")
    def mass_matrix(self, q: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        '''(..., nv, nv) mass matrix M: the kinetic energy is `nu @ M @ nu / 2`.'''
        ...

Frames, inputs, options and the type of the result are read from the signature. Names of inputs are
keys of `INPUTS`. A quantity that depends on properties of the robot takes the option `parameters`.

To add a quantity: a function in `algorithms`, and such a declaration. The function takes the
`skeleton` or, as an argument of that name, the `problem`; the entries of each input; the index of
each frame; and, by name, fields of `Context`: the option `representation` of `KinDyn` is `velocity`
there. It returns nested lists of scalars with the declared shape, for () one scalar, for a named
tuple one such list for each field. Scalars are floats, expressions or columns of a batch, also a
mass if it is a parameter; so it computes with the value types of `spatial.blocks` and does not
branch on values.

A class owns the table of the quantities that it and its bases declare, `KinDyn.quantities`. A
quantity without frames becomes an attribute that holds the kernel itself once it was used, so that
a call passes no Python code. A quantity of frames becomes a method that looks up the kernel of its
frames. A fused function computes several quantities from shared work.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial, update_wrapper
from typing import Any, Literal, NoReturn, TypeAlias, TypeVar, cast

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, SingularJointError
from linkwork.kindyn.inputs import INPUTS, PARAMETERS, Input
from linkwork.kindyn.options import full_signature
from linkwork.mechanics.base import Representation
from linkwork.mechanics.joint_dynamics import DynamicsByIndex
from linkwork.mechanics.problem import Problem
from linkwork.spatial.blocks import Scalar, Vec

Numbers: TypeAlias = Sequence[Scalar]
Dimension: TypeAlias = int | str | Callable[[Any], int]
Shape: TypeAlias = tuple[Dimension, ...]
"""Shape of one row: numbers, "nq", "nv", "frames", "wrenches", or functions of `Problem`."""

FORCES = ("gravity", "wrenches")  # options that replace what the robot has

# Order and units of the entries of outputs.
POSE = "rotation matrix, position [m] in the last column"
VELOCITY = "linear [m/s], angular [rad/s]"
ACCELERATION = "linear [m/s^2], angular [rad/s^2]"
GENERALIZED_FORCES = "wrench on a floating base, joint torques and forces [N, N m]"
JACOBIAN = "linear, then angular rows; columns as in nu"
INERTIA = "[kg, kg m, kg m^2]"
MOMENTUM = "linear [kg m/s], angular [kg m^2/s]"


@dataclass(frozen=True)
class Context:
    """The robot and the settings that a quantity is computed for."""

    problem: Problem
    velocity: Representation  # in which velocities, Jacobians and wrenches are written
    gravity: Vec
    base_link: str
    joint_dynamics: DynamicsByIndex  # of the joints, if they enter the dynamics
    wrenches: Mapping[int, Numbers]  # by the index of the frame they act on


SingularityCheck: TypeAlias = Callable[[Context, Array], SingularJointError | None]
"""Finds the cause of an infinite result at a configuration, if that is singular."""


@dataclass(frozen=True, eq=False)
class Quantity:
    """Something that can be computed of a robot."""

    name: str
    inputs: tuple[Input, ...]
    shapes: tuple[Shape, ...]  # of its array; of each field of `result`, if there is one
    compute: Callable[..., Any]  # (context, entries of each input, index of each frame)
    entries: tuple[str, ...] = ()  # order and units of the entries of each output; empty if obvious
    frames: tuple[str, ...] = ()  # names of the arguments that are frames
    of_many: bool = False  # whether it takes any number of frames, and has a row for each
    forces: tuple[str, ...] = ()  # which of gravity and wrenches are options
    # Operations, or results to store, for each pair of a body and a coordinate that moves it.
    ops_per_pair: int = 0
    of_links: bool = False  # whether each link counts as a body, even if fixed to another
    result: type[tuple[Any, ...]] | None = None  # the named tuple of several outputs
    of_coordinates: bool = False  # whether it does not depend on model parameters
    # The quantity with the derivatives, whose fields have the names of inputs.
    derivatives: str | None = None
    singular: SingularityCheck | None = (
        None  # of a quantity that is not defined at every configuration
    )
    solves_constraints: bool = False  # whether its value depends on which constraints are redundant
    hint_with_loops: str = ""  # what to use if closed loops make it ambiguous; empty if they do not
    # The setting of `Problem` that must be known.
    needs: Literal["actuated", "independent"] | None = None
    method: Callable[..., Any] | None = None  # the declaration

    def __post_init__(self) -> None:
        assert len(self.shapes) == (1 if self.result is None else len(self.fields))
        assert len(self.entries) in (0, len(self.shapes)), self.name

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of several outputs; none if there is one array."""
        return getattr(self.result, "_fields", ())

    def output_shapes(
        self, problem: Problem, n_frames: int = 0, n_wrenches: int = 0
    ) -> list[tuple[int, ...]]:
        """The shape of one row of each output."""
        nq, nv = problem.layout.nq, problem.layout.nv
        sizes = {"nq": nq, "nv": nv, "frames": n_frames, "wrenches": n_wrenches}

        def size(dimension: Dimension) -> int:
            if isinstance(dimension, int):
                return dimension
            return sizes[dimension] if isinstance(dimension, str) else dimension(problem)

        return [tuple(map(size, shape)) for shape in self.shapes]


def declared_quantities(cls: type[Any]) -> dict[str, Quantity]:
    """Collect the quantities that a class and its bases declare, by name."""
    members = [member for part in cls.__mro__ for member in vars(part).values()]
    declared = [member.quantity for member in members if hasattr(member, "quantity")]
    table: dict[str, Quantity] = {}
    for one in (*declared, *cls._FURTHER_QUANTITIES):
        table.setdefault(one.name, one)
    return table


def with_context(function: Callable[..., Any], forces: Sequence[str] = ()) -> Callable[..., Any]:
    """Return `Quantity.compute` of an algorithm.

    Args:
        function: takes `skeleton` or `problem`, the entries of each input, the index of each frame
            and, by name, what it needs of the other fields of `Context`.
        forces: which of gravity and wrenches it takes.
    """
    left_out = set(FORCES) - set(forces)
    names = list(inspect.signature(function).parameters)
    takes_problem, accepted = names[0] == "problem", set(names[1:]) - left_out
    needed = [field.name for field in fields(Context) if field.name in accepted]

    def compute(context: Context, *arguments: Any) -> Any:
        named = {name: getattr(context, name) for name in needed}
        problem = context.problem
        return function(problem if takes_problem else problem.skeleton, *arguments, **named)

    compute.__module__ = function.__module__  # which shows whether code of the user is computed
    return compute


Method = TypeVar("Method", bound=Callable[..., Any])


def quantity(
    function: Callable[..., Any],
    shape: Shape | list[Any],
    entries: str | tuple[str, ...] = (),
    *,
    inputs: tuple[Input, ...] | None = None,
    of_many: bool = False,
    has_body: bool = False,
    **properties: Any,
) -> Callable[[Method], Method]:
    """Declare a quantity, and make its declaration a method that computes it.

    Args:
        function: the algorithm, as `with_context` takes it.
        shape: of one row; a list of one for each field if the method returns a named tuple.
        entries: order and units of the entries; one text for each field of a named tuple. Fields of
            derivatives need none.
        inputs: replaces the entries of `INPUTS` with the names of the arguments.
        of_many: whether it takes any number of frames, `frames`, and has a row for each.
        has_body: whether the method is written out, so that it stays as it is.
        properties: further fields of `Quantity`.
    """

    def declare(method: Method) -> Method:
        name, signature = method.__name__, full_signature(method)
        arguments = list(signature.parameters.values())[1:]
        by_position = [one for one in arguments if one.kind is one.POSITIONAL_OR_KEYWORD]
        frames = [one.name for one in by_position if one.annotation in ("str", str)]
        names = [one.name for one in by_position[len(frames) :]]
        unknown = [one for one in names if one not in INPUTS and inputs is None]
        assert not unknown, f"{name}: {unknown} are neither frames (of type str) nor inputs"
        forces = tuple(one for one in FORCES if one in signature.parameters)
        row = Quantity(
            name,
            inputs or tuple(INPUTS[one] for one in names),
            tuple(shape) if isinstance(shape, list) else (shape,),
            with_context(function, forces),
            (entries,) if isinstance(entries, str) else entries,
            frames=("frames",) if of_many else tuple(frames),
            of_many=of_many,
            forces=forces,
            result=_named_tuple(signature.return_annotation, method),
            of_coordinates=PARAMETERS not in signature.parameters,
            method=method,
            **properties,
        )
        declaration: Any = method
        declaration.quantity, declaration.__signature__ = row, signature
        if has_body:
            return method
        return cast("Method", update_wrapper(_METHOD_OF_FRAMES[tuple(frames)](name), method))

    return declare


def _named_tuple(annotation: Any, method: Any) -> type[tuple[Any, ...]] | None:
    """Return the type that a method returns, if it is a named tuple."""
    resolved = method.__globals__.get(annotation) if isinstance(annotation, str) else annotation
    return resolved if isinstance(resolved, type) and issubclass(resolved, tuple) else None


class _KernelAttribute:
    """A quantity without frames: an attribute of a robot that is its kernel."""

    __signature__: inspect.Signature

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, robot: Any, owner: type[Any]) -> Any:
        if robot is None:
            return self
        try:
            kernel = robot.function(self._name)
        except ArgumentError as error:  # for the caller: attributes can be read, as `inspect` does
            return partial(_reject_call, str(error))
        parameters = list(self.__signature__.parameters.values())[1:]
        kernel.__signature__ = self.__signature__.replace(parameters=parameters)
        kernel.__doc__, kernel.__name__ = self.__doc__, self._name
        if inspect.getattr_static(owner, self._name) is self:  # else another method calls this one
            robot.__dict__[self._name] = kernel
        return kernel

    def __call__(self, robot: Any, *args: Any, **named: Any) -> Any:
        """Call as an unbound method: `KinDyn.mass_matrix(kd, q)`."""
        return self.__get__(robot, type(robot))(*args, **named)


def _reject_call(message: str, *_: Any, **__: Any) -> NoReturn:
    raise ArgumentError(message)


def _of_frame(name: str) -> Callable[..., Any]:
    """Return a method that looks up the kernel of its frame and calls it.

    A call without frame is reported as one with a wrong frame, by the class of the robot.
    """

    def method(self: Any, frame: Any = None, *inputs: Any, **named: Any) -> Any:
        try:
            kernel = self._kernels[name][frame]
        except (KeyError, TypeError):  # not compiled yet, or not a name, which `function` reports
            kernel = self.function((name, frame))
        return kernel(*inputs, **named)

    return method


def _of_pair(name: str) -> Callable[..., Any]:
    """Return a method that looks up the kernel of two frames and calls it."""

    def method(
        self: Any, reference: Any = None, frame: Any = None, *inputs: Any, **named: Any
    ) -> Any:
        try:
            kernel = self._kernels[name][reference, frame]
        except (KeyError, TypeError):
            kernel = self.function((name, reference, frame))
        return kernel(*inputs, **named)

    return method


_METHOD_OF_FRAMES: dict[tuple[str, ...], Callable[[str], Any]] = {
    (): _KernelAttribute,
    ("frame",): _of_frame,
    ("reference", "frame"): _of_pair,
}
