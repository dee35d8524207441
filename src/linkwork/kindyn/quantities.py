"""Quantities that can be computed of a robot, and how a method of `KinDyn` declares one.

    @quantity(dynamics.mass_matrix, shape=("nv", "nv"))
    def mass_matrix(self, q: ArrayLike, *, parameters: ..., out: ..., threads: ...) -> Array:
        '''Mass matrix M: the kinetic energy is `nu @ M @ nu / 2`.'''
        ...

Frames, inputs, forces and the type of the result are read from the signature. Names of inputs are
those of `INPUTS`; a quantity that depends on properties of the robot takes `parameters`.

To add a quantity: a function in `algorithms`, and such a declaration. The function takes the
skeleton, the entries of each input, the index of each frame and, by name, fields of `Context`: the
option `representation` of `KinDyn` is `velocity` there. It returns nested lists of scalars with the
declared shape, for () one scalar, for a named tuple one such list for each field. Scalars are
floats, expressions or columns of a batch, also a mass if it is a parameter; so it computes with the
functions of `spatial.blocks` and does not branch on values. CONTRIBUTING.md lists the other files.

A quantity of the robot becomes an attribute that holds the kernel itself once it was used, so that
a call passes no Python code. A quantity of frames becomes a method that looks up the kernel of its
frames. A fused function computes several quantities from shared work.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial, update_wrapper
from typing import Any, NoReturn, TypeAlias, TypeVar, cast

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, SingularJointError
from linkwork.kindyn.inputs import INPUTS, PARAMETERS, Input
from linkwork.mechanics.base import Representation
from linkwork.mechanics.joint_dynamics import DynamicsByIndex
from linkwork.mechanics.problem import Problem
from linkwork.spatial.blocks import Scalar, Vec

Numbers: TypeAlias = Sequence[Scalar]
Dimension: TypeAlias = int | str | Callable[[Any], int]
Shape: TypeAlias = tuple[Dimension, ...]
"""Of one row: numbers, "nq", "nv", "frames", "wrenches" (how many), or functions of `Problem`."""

FORCES = ("gravity", "wrenches")  # what a call may give in place of what the `KinDyn` has


@dataclass(frozen=True)
class Context:
    """What a quantity is computed for, besides its inputs."""

    problem: Problem
    velocity: Representation  # in which velocities, Jacobians and wrenches are written
    gravity: Vec
    base_link: str
    joint_dynamics: DynamicsByIndex  # of the joints, if they enter the dynamics
    wrenches: Mapping[int, Numbers]  # by the index of the frame they act on


Blame: TypeAlias = Callable[[Context, Array], SingularJointError | None]
"""Finds the cause of an infinite result at a configuration, if that is singular."""


@dataclass(frozen=True)
class Quantity:
    """Something that can be computed of a robot."""

    inputs: tuple[Input, ...]
    shapes: tuple[Shape, ...]  # of its array; of each field of `result`, if that is given
    compute: Callable[..., Any]  # (context, entries of each input, index of each frame)
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


QUANTITIES: dict[str, Quantity] = {}
"""The quantities of `KinDyn`, by name."""

CONSTRAINED = "constrained."
COLLISION = "collision."

TABLES: dict[str, dict[str, Quantity]] = {"": QUANTITIES, CONSTRAINED: {}, COLLISION: {}}
"""The quantities of all classes by full name: of `KinDyn`, of others with a prefix."""


def quantity_named(name: str) -> Quantity:
    """The quantity of a full name."""
    return TABLES[name[: len(name) - len(short_name(name))]][name]


def short_name(name: str) -> str:
    """A full name without its prefix."""
    return name.rpartition(".")[2]


def with_context(function: Callable[..., Any], forces: Sequence[str] = ()) -> Callable[..., Any]:
    """What `Quantity.compute` is, of an algorithm.

    Args:
        function: takes `skeleton` or `problem`, the entries of each input, the index of each frame
            and, by name, what it needs of the other fields of `Context`.
        forces: which of gravity and wrenches it is given.
    """
    left_out = set(FORCES) - set(forces)
    names = list(inspect.signature(function).parameters)
    takes_problem, accepted = names[0] == "problem", set(names[1:]) - left_out
    needed = [field.name for field in fields(Context) if field.name in accepted]

    def compute(context: Context, *given: Any) -> Any:
        named = {name: getattr(context, name) for name in needed}
        problem = context.problem
        return function(problem if takes_problem else problem.skeleton, *given, **named)

    compute.__module__ = function.__module__  # which shows whether code of the user is computed
    return compute


Method = TypeVar("Method", bound=Callable[..., Any])


def quantity(
    function: Callable[..., Any],
    *,
    shape: Shape | list[Any],
    inputs: tuple[Input, ...] | None = None,
    of_many: bool = False,
    has_body: bool = False,
    prefix: str = "",
    per_pair: int = 0,
    of_links: bool = False,
    derivatives: str | None = None,
    singular: Blame | None = None,
) -> Callable[[Method], Method]:
    """Declare a quantity, and make its declaration a method that computes it.

    Args:
        function: the algorithm, as `with_context` takes it.
        shape: of one row; a list of one for each field if the method returns a named tuple.
        inputs: what the arguments are; those of `INPUTS` with their names if not given.
        of_many: whether it takes any number of frames, `frames`, and gives a row for each.
        has_body: whether the method is written out, so that it stays as it is.
        prefix: of the names of the quantities of a class, a key of `TABLES`.
        per_pair, of_links, derivatives, singular: as of `Quantity`.
    """

    def declare(method: Method) -> Method:
        name, signature = method.__name__, inspect.signature(method)
        arguments = list(signature.parameters.values())[1:]
        by_position = [one for one in arguments if one.kind is one.POSITIONAL_OR_KEYWORD]
        frames = [one.name for one in by_position if one.annotation in ("str", str)]
        names = [one.name for one in by_position[len(frames) :]]
        unknown = [one for one in names if one not in INPUTS]
        assert not unknown, f"{name}: {unknown} are neither frames (of type str) nor inputs"
        forces = tuple(one for one in FORCES if one in signature.parameters)
        owner = method.__qualname__.partition(".")[0] if prefix else "KinDyn"
        TABLES[prefix][prefix + name] = Quantity(
            inputs or tuple(INPUTS[one] for one in names),
            tuple(shape) if isinstance(shape, list) else (shape,),
            with_context(function, forces),
            frames=("frames",) if of_many else tuple(frames),
            of_many=of_many,
            forces=forces,
            result=_named_tuple(signature.return_annotation, method),
            of_coordinates=PARAMETERS not in signature.parameters,
            per_pair=per_pair,
            of_links=of_links,
            derivatives=derivatives and prefix + derivatives,
            singular=singular,
            method=method,
        )
        if has_body:
            return method
        method.__qualname__ = f"{owner}.{name}"  # what messages and help call it
        attribute: Any = _MAKERS[tuple(frames)](name)
        return cast("Method", update_wrapper(attribute, method))

    return declare


def _named_tuple(annotation: Any, method: Any) -> type[tuple[Any, ...]] | None:
    """The type that a method returns, if it is a named tuple."""
    resolved = method.__globals__.get(annotation) if isinstance(annotation, str) else annotation
    return resolved if isinstance(resolved, type) and issubclass(resolved, tuple) else None


Class = TypeVar("Class", bound=type[Any])


def owned(cls: Class) -> Class:
    """Have the methods of a class that is cut into several called its own in messages."""
    for part in cls.__mro__:
        for name, value in vars(part).items():
            if inspect.isfunction(value):
                value.__qualname__ = f"{cls.__name__}.{name}"
    return cls


class _OfRobot:
    """A quantity of the robot: an attribute of a `KinDyn`, its kernel."""

    __wrapped__: Callable[..., Any]

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, kindyn: Any, owner: type[Any]) -> Any:
        if kindyn is None:
            return self
        try:
            kernel = kindyn.function(self._name)
        except ArgumentError as error:  # for the caller: attributes can be read, as `inspect` does
            return partial(_raise, str(error))
        signature = inspect.signature(self.__wrapped__)
        kernel.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])
        kernel.__doc__, kernel.__name__ = self.__doc__, self._name
        if inspect.getattr_static(owner, self._name) is self:  # else another method calls this one
            kindyn.__dict__[self._name] = kernel
        return kernel

    def __call__(self, kindyn: Any, *args: Any, **named: Any) -> Any:
        """`KinDyn.mass_matrix(kd, q)`, as for any method."""
        return self.__get__(kindyn, type(kindyn))(*args, **named)


def _raise(message: str, *_: Any, **__: Any) -> NoReturn:
    raise ArgumentError(message)


def _of_frame(name: str) -> Callable[..., Any]:
    """A method that looks up the kernel of its frame and calls it."""

    def method(self: Any, frame: str, *inputs: Any, **named: Any) -> Any:
        try:
            kernel = self._kernels[name][frame]
        except (KeyError, TypeError):  # not compiled yet, or not a name, which `function` reports
            kernel = self.function((name, frame))
        return kernel(*inputs, **named)

    return method


def _of_pair(name: str) -> Callable[..., Any]:
    """The same for two frames."""

    def method(self: Any, reference: str, frame: str, *inputs: Any, **named: Any) -> Any:
        try:
            kernel = self._kernels[name][reference, frame]
        except (KeyError, TypeError):
            kernel = self.function((name, reference, frame))
        return kernel(*inputs, **named)

    return method


_MAKERS: dict[tuple[str, ...], Callable[[str], Any]] = {
    (): _OfRobot,
    ("frame",): _of_frame,
    ("reference", "frame"): _of_pair,
}
