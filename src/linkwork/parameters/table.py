"""All numbers of a robot that are inputs: one vector, and where each of them stands in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array, as_array
from linkwork.errors import ArgumentError, FrozenError, ShapeError, name_not_found, shown
from linkwork.model.model import Model
from linkwork.parameters.descriptions import Entry, Gravity, JointNumber, Parameter
from linkwork.parameters.variation import Variation
from linkwork.spatial.blocks import Scalar


class ParameterTable(Mapping[str, slice]):
    """Where each parameter stands in the vector `parameters`, by name.

    It prints as a table. Two are equal if their descriptions are. `KinDyn(model, parameters=table)`
    takes it as the list of its descriptions.
    """

    __slots__ = ("_entries", "_model", "_slices", "descriptions", "size")

    descriptions: tuple[Parameter, ...]
    size: int  # length of the vector
    _entries: tuple[Entry, ...]
    _model: Model
    _slices: dict[str, slice]

    def __init__(
        self,
        model: Model,
        parameters: Iterable[Parameter],
        gravity: tuple[float, float, float] = (0.0, 0.0, 0.0),
    ) -> None:
        """See which numbers of a model are parameters.

        Args:
            model: the robot.
            parameters: descriptions, in the order their numbers shall have.
            gravity: value of the parameter `Gravity` if it is not given.
        """
        found = tuple(_descriptions(parameters))
        entries: list[Entry] = []
        for one in found:
            own = one.entries(model)
            entries += (
                [replace(e, values=gravity) for e in own] if isinstance(one, Gravity) else own
            )
        slices: dict[str, slice] = {}
        size = 0
        for entry in entries:
            if entry.name in slices:
                hint = "; give one of them a name" if entry.name.startswith("payload.") else ""
                raise ArgumentError(f"parameters: {entry.name!r} is there twice{hint}")
            slices[entry.name] = slice(size, size + entry.size)
            size += entry.size
        _refuse_shared(model, found)
        values = tuple(entries), found, model, slices, size
        for name, value in zip(
            ("_entries", "descriptions", "_model", "_slices", "size"), values, strict=True
        ):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenError(f"{name}: the parameters of a KinDyn do not change")

    def __reduce__(self) -> Any:
        gravity = next((e.values for e in self._entries if e.name == "gravity"), (0.0, 0.0, 0.0))
        return type(self), (self._model, self.descriptions, gravity)

    def __getitem__(self, name: str) -> slice:
        try:
            return self._slices[name]
        except (KeyError, TypeError):
            raise name_not_found("parameter", name, self._slices) from None

    def __contains__(self, name: object) -> bool:
        return name in self._slices

    def __iter__(self) -> Iterator[str]:
        return iter(self._slices)

    def __len__(self) -> int:
        return len(self._slices)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ParameterTable):
            return NotImplemented
        return self.descriptions == other.descriptions

    def __hash__(self) -> int:
        return hash(self.descriptions)

    def __repr__(self) -> str:
        if not self._entries:
            return "no parameters"
        rows = [
            (entry.name, f"{at.start}:{at.stop}", entry.meaning)
            for entry, at in zip(self._entries, self._slices.values(), strict=True)
        ]
        widths = [max(len(row[k]) for row in rows) for k in range(2)]
        return "\n".join(
            f"{name:<{widths[0]}}  {at:>{widths[1]}}  {meaning}" for name, at, meaning in rows
        )

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The parameters in order, with their numbers in the model."""
        return self._entries

    def owner(self, index: int) -> str:
        """The name of the parameter that an index in the vector belongs to."""
        return next(name for name, at in self._slices.items() if at.start <= index < at.stop)

    def vector(self, values: Mapping[str, ArrayLike] | None = None) -> Array:
        """(..., size) the numbers of the model, with some of them given by name."""
        own = np.array([x for entry in self._entries for x in entry.values], dtype=np.float64)
        given: dict[str, Array] = {}
        for name, value in (values or {}).items():
            at, array = self[name], as_array(value, name)
            size = at.stop - at.start
            if size == 1 and array.shape[-1:] != (1,):
                array = array[..., None]
            if array.shape[-1:] != (size,):
                raise ShapeError(f"{name}: expected (..., {size}), got {np.shape(value)}")
            given[name] = array
        batch = np.broadcast_shapes(*(array.shape[:-1] for array in given.values()))
        vector = np.broadcast_to(own, (*batch, self.size)).copy()
        for name, array in given.items():
            vector[..., self[name]] = array
        return vector

    def refuse_joint_numbers(self) -> None:
        """Refuse parameters that do nothing where joints themselves add nothing to the dynamics."""
        for one in self.descriptions:
            if isinstance(one, JointNumber):
                text = f"parameters: the {one.of} of joint {one.joint!r} enters with"
                raise ArgumentError(f"{text} joint_dynamics=True only")

    def variation(self, numbers: Any) -> Variation:
        """What becomes of the robot with these numbers."""
        into = Variation()
        rest: list[Scalar] = list(numbers)
        for one in self.descriptions:
            own: list[list[Scalar]] = []
            for entry in one.entries(self._model):
                own.append(rest[: entry.size])
                rest = rest[entry.size :]
            one.vary(self._model, own, into)
        return into


def _descriptions(given: Any) -> Iterable[Parameter]:
    if isinstance(given, ParameterTable):
        return given.descriptions
    if isinstance(given, Parameter):
        text = f"parameters: expected a list of them, got {shown(given)} alone"
        raise ArgumentError(f"{text}; write [{type(given).__name__}(...)]")
    try:
        found: list[Any] = list(given)
    except TypeError:
        text = f"parameters: expected a list of descriptions, got {shown(given)}"
        raise ArgumentError(text) from None
    for one in found:
        if not isinstance(one, Parameter):
            text = "parameters: expected descriptions such as lw.parameters.Payload('tool0')"
            raise ArgumentError(f"{text}, got {shown(one)}")
    return found


def _refuse_shared(model: Model, descriptions: Iterable[Parameter]) -> None:
    """Refuse two descriptions that would change the same numbers of the robot."""
    known: dict[tuple[str, str], tuple[str, Parameter]] = {}
    for one in descriptions:
        for what, group in one.claims(model).items():
            other = known.setdefault(what, (group, one))
            if other[0] != group:
                text = f"{type(other[1]).__name__} and {type(one).__name__} both change"
                raise ArgumentError(f"parameters: {text} the {what[0]} {what[1]!r}")
