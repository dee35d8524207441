"""Requests of quantities: a name, or a name and frames; and several of them as one function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.program import Port
from linkwork.errors import ArgumentError, name_not_found, shown
from linkwork.kindyn.inputs import GRAVITY, Input, merged, parameters_of, wrench_on
from linkwork.kindyn.quantities import Quantity
from linkwork.mechanics.problem import Problem
from linkwork.model.model import Model

if TYPE_CHECKING:
    from linkwork.parameters.table import ParameterTable

Request: TypeAlias = str | tuple[Any, ...]
"""A quantity as `KinDyn.function` takes it: "mass_matrix", or ("jacobian", frame)."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A quantity, and the frames it is of."""

    quantity: Quantity
    frames: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the quantity."""
        return self.quantity.name

    def outputs(self, problem: Problem, n_wrenches: int = 0) -> tuple[Port, ...]:
        """Name and shape of one row of each array that it gives."""
        shapes = self.quantity.output_shapes(problem, len(self.frames), n_wrenches)
        labels = [f"{self.label}_{field}" for field in self.quantity.fields] or [self.label]
        return tuple(map(Port, labels, shapes))

    @property
    def request(self) -> tuple[Any, ...]:
        """The arguments of `KinDyn.function` for it."""
        return (self.name, self.frames) if self.quantity.of_many else (self.name, *self.frames)

    @property
    def label(self) -> str:
        """The name of its result: an identifier if all frame names are identifiers."""
        return self.name if self.quantity.of_many else "_".join((self.name, *self.frames))

    def __str__(self) -> str:
        """Return a text such as `jacobian(l_sole)`."""
        listed, name = ", ".join(self.frames), self.name
        if self.quantity.of_many and len(self.frames) > 3:
            listed = f"{len(self.frames)} frames"
        return f"{name}({listed})" if self.frames else name


@dataclass(frozen=True)
class KernelRequest:
    """The quantities that a kernel computes, and its inputs."""

    specs: tuple[Spec, ...]
    wrenches: tuple[str, ...] = ()  # frames on which a wrench is given, each an input of its own
    gravity: bool = False  # whether gravity is an input
    # of the model parameters that are inputs, if there are any
    table: ParameterTable | None = field(default=None, repr=False)

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """One flat tuple: quantities with their frames; then wrenches and gravity if given."""
        names = tuple(part for spec in self.specs for part in spec.request)
        return (*names, self.wrenches, self.gravity) if self.wrenches or self.gravity else names

    @cached_property
    def detail(self) -> Any:
        """The key without its first name: its second entry if there are two, else a tuple."""
        _, *others = self.key
        return others[0] if len(others) == 1 else tuple(others)

    @property
    def inputs(self) -> list[Input]:
        """The inputs of a quantity, or the union for several; then gravity and the wrenches."""
        needed = [one for spec in self.specs for one in spec.quantity.inputs]
        inputs = needed if len(self.specs) == 1 else merged(needed)
        inputs = [*inputs, *[GRAVITY] * self.gravity, *map(wrench_on, self.wrenches)]
        if self.table is None or not self.takes_parameters:
            return inputs
        return [*inputs, parameters_of(self.table)]

    @property
    def takes_parameters(self) -> bool:
        """Whether model parameters are inputs."""
        of_robot = not all(spec.quantity.of_coordinates for spec in self.specs)
        return self.table is not None and of_robot


def spec_of(request: object, model: Model, quantities: Mapping[str, Quantity]) -> Spec:
    """Convert `"mass_matrix"` or `("jacobian", "l_sole")` to a spec, or raise.

    Args:
        request: as `KinDyn.function` takes it.
        model: the robot, for the names of its frames.
        quantities: the table of the class.
    """
    parts: list[Any] = list(request) if isinstance(request, (tuple, list)) else [request]
    name = parts[0] if parts else None
    if not isinstance(name, str) or name not in quantities:
        raise name_not_found("quantity", name, quantities)
    quantity = quantities[name]
    if len(parts) != 1 + len(quantity.frames):
        expected = (
            f"({', '.join([repr(name), *quantity.frames])})" if quantity.frames else repr(name)
        )
        raise ArgumentError(f"expected {expected}, got {request!r}")
    if quantity.of_many and not isinstance(parts[1], (list, tuple)):
        raise ArgumentError(f"frames: expected a list of names, got {parts[1]!r}")
    frames: list[Any] = list(parts[1]) if quantity.of_many else parts[1:]
    for frame in frames:
        if not isinstance(frame, str):
            shape = getattr(frame, "shape", None)
            actual = shown(frame) if shape is None else f"an array of shape {tuple(shape)}"
            raise ArgumentError(f"{usage(quantity)}: expected the name of a frame, got {actual}")
        model.frame_index(frame)
    return Spec(quantity, tuple(frames))


def usage(quantity: Quantity) -> str:
    """Show how a method is called, such as `jacobian(frame, q)`."""
    arguments = [*quantity.frames, *(one.name for one in quantity.inputs)]
    return f"{quantity.name}({', '.join(arguments)})"


def request_of_text(text: str, quantities: Mapping[str, Quantity]) -> tuple[Any, ...]:
    """Convert a text such as "jacobian:l_sole" to a request.

    A name of a frame may hold colons if it is the only one.

    Args:
        text: name of the quantity, and of its frames.
        quantities: the table of the class.

    Raises:
        ArgumentError: the quantity takes another number of frames.
    """
    name, *frames = text.split(":")
    quantity = quantities.get(name)
    if quantity is None:  # `spec_of` names the nearest quantities
        return (name, *frames)
    if quantity.of_many and frames:
        return name, tuple(frames)
    if len(quantity.frames) == 1 and frames:
        frames = [":".join(frames)]
    if len(frames) != len(quantity.frames):
        expected = ":".join([name, *map(str.upper, quantity.frames)])
        raise ArgumentError(f"expected {expected}, got {text!r}")
    return (name, *frames)


def wrench_frames(given: object, model: Model) -> tuple[str, ...]:
    """Check the frames on which wrenches act, and return them as a tuple."""
    if not isinstance(given, (tuple, list)):  # a set has no order, a text is a list of letters
        raise ArgumentError(f"wrenches: expected a list of frames, got {given!r}")
    names: list[Any] = list(given)  # pyright: ignore[reportUnknownArgumentType]
    for position, name in enumerate(names):
        model.frame_index(name)
        if name in names[:position]:
            raise ArgumentError(f"wrenches: frame {name!r} is named twice")
    return tuple(names)
