"""The parameter vector of a robot: all of its parameters, and the slice of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array, batch_of
from linkwork.errors import ArgumentError, FrozenError, ShapeError, name_not_found, shown
from linkwork.model.model import Model
from linkwork.model.numbers import as_floats, instance
from linkwork.parameters.descriptions import Entry, JointDynamicsParameter, Parameter
from linkwork.parameters.scenes import SceneParameter
from linkwork.parameters.variation import Variation
from linkwork.spatial.blocks import Scalar

NOTHING_ELSE: Mapping[str, tuple[float, ...]] = {}


class ParameterTable(Mapping[str, slice]):
    """The slice of each parameter in the vector `parameters`, by name.

    It prints as a table. Two tables are equal if their descriptions are. `KinDyn(model,
    parameters=table)` accepts it in place of the list of its descriptions.
    """

    __slots__ = ("_groups", "_model", "_slices", "descriptions", "size")

    descriptions: tuple[Parameter, ...]
    size: int  # length of the vector
    _groups: tuple[tuple[Entry, ...], ...]  # of each description
    _model: Model
    _slices: dict[str, slice]

    def __init__(
        self,
        model: Model,
        parameters: Iterable[Parameter],
        nominal: Mapping[str, tuple[float, ...]] = NOTHING_ELSE,
    ) -> None:
        """Assign a slice of the vector to each parameter.

        Args:
            model: the robot.
            parameters: descriptions, in the order of the vector.
            nominal: values by the names of parameters, in place of those of the model.
        """
        descriptions = tuple(described(parameters))
        groups = tuple(
            tuple(replace(one, values=nominal.get(one.name, one.values)) for one in entries)
            for entries in (description.entries(model) for description in descriptions)
        )
        entries = [entry for group in groups for entry in group]
        slices: dict[str, slice] = {}
        size = 0
        for entry in entries:
            if entry.name in slices:
                hint = "; give one of them a name" if entry.name.startswith("payload.") else ""
                raise ArgumentError(f"parameters: {entry.name!r} appears twice{hint}")
            slices[entry.name] = slice(size, size + entry.size)
            size += entry.size
        _reject_conflicts(model, descriptions)
        values = groups, descriptions, model, slices, size
        for name, value in zip(
            ("_groups", "descriptions", "_model", "_slices", "size"), values, strict=True
        ):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenError(f"{name}: the parameters of a KinDyn do not change")

    def __reduce__(self) -> Any:
        nominal = {entry.name: entry.values for entry in self.entries}
        return type(self), (self._model, self.descriptions, nominal)

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
        if not self._groups:
            return "no parameters"
        rows = [
            (entry.name, f"{span.start}:{span.stop}", entry.meaning)
            for entry, span in zip(self.entries, self._slices.values(), strict=True)
        ]
        widths = [max(len(row[k]) for row in rows) for k in range(2)]
        return "\n".join(
            f"{name:<{widths[0]}}  {span:>{widths[1]}}  {meaning}" for name, span, meaning in rows
        )

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The parameters in the order of the vector, with their values in the model."""
        return tuple(entry for group in self._groups for entry in group)

    def owner(self, index: int) -> str:
        """Return the name of the parameter that contains an index of the vector."""
        return next(name for name, span in self._slices.items() if span.start <= index < span.stop)

    def vector(self, values: Mapping[str, ArrayLike] | None = None) -> Array:
        """Return the values (..., size) of the model, except for those given by name."""
        nominal = np.array([x for entry in self.entries for x in entry.values], dtype=np.float64)
        replacements: dict[str, Array] = {}
        given = {} if values is None else instance(values, Mapping, "values")  # pyright: ignore
        for name, value in given.items():
            span, array = self[name], as_floats(value, name)
            size = span.stop - span.start
            if size == 1 and array.shape[-1:] != (1,):
                array = array[..., None]
            if array.shape[-1:] != (size,):
                raise ShapeError(f"{name}: expected (..., {size}), got {np.shape(value)}")
            replacements[name] = array
        arrays = list(replacements.values())
        batch = batch_of(list(replacements), [array.shape[-1:] for array in arrays], arrays)
        vector = np.broadcast_to(nominal, (*batch, self.size)).copy()
        for name, array in replacements.items():
            vector[..., self[name]] = array
        return vector

    def reject_without_effect(self, *, joint_dynamics: bool) -> None:
        """Reject parameters of simulations, and of joint dynamics without `joint_dynamics`."""
        for description in self.descriptions:
            if isinstance(description, SceneParameter):
                name = type(description).__name__
                raise ArgumentError(f"parameters: {name} is a parameter of lw.Simulation")
            if isinstance(description, JointDynamicsParameter) and not joint_dynamics:
                name = f"the {description.attribute} of joint {description.joint!r}"
                raise ArgumentError(f"parameters: {name} has no effect without joint_dynamics=True")

    def variation(self, vector: Any) -> Variation:
        """Return the changes to the robot for a parameter vector."""
        into = Variation()
        remaining: list[Scalar] = list(vector)
        for description, entries in zip(self.descriptions, self._groups, strict=True):
            values: list[list[Scalar]] = []
            for entry in entries:
                values.append(remaining[: entry.size])
                remaining = remaining[entry.size :]
            description.vary(self._model, values, into)
        return into


def described(parameters: Any) -> Iterable[Parameter]:
    """Return the argument `parameters` of a `KinDyn` as a list of descriptions."""
    if isinstance(parameters, ParameterTable):
        return parameters.descriptions
    if isinstance(parameters, Parameter):
        message = f"parameters: expected a list, got a single {shown(parameters)}"
        raise ArgumentError(f"{message}; write [{type(parameters).__name__}(...)]")
    try:
        descriptions: list[Any] = list(parameters)
    except TypeError:
        message = f"parameters: expected a list of descriptions, got {shown(parameters)}"
        raise ArgumentError(message) from None
    for description in descriptions:
        if not isinstance(description, Parameter):
            message = "parameters: expected descriptions such as lw.parameters.Payload('tool0')"
            raise ArgumentError(f"{message}, got {shown(description)}")
    return descriptions


def _reject_conflicts(model: Model, descriptions: Iterable[Parameter]) -> None:
    """Reject two descriptions that would change the same property of the robot."""
    claimed: dict[tuple[str, str], tuple[str, Parameter]] = {}
    for description in descriptions:
        for claim, group in description.claims(model).items():
            other_group, other = claimed.setdefault(claim, (group, description))
            if other_group != group:
                names = f"{type(other).__name__} and {type(description).__name__}"
                raise ArgumentError(f"parameters: {names} both change the {claim[0]} {claim[1]!r}")
