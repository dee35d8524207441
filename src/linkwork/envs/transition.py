"""The compiled functions of an environment: its start and its step, of one row.

A step applies the action for some steps of the simulation, and evaluates the functions of the user
after them. Where an episode ends, the row starts again: a branch that is skipped while no row of a
vector takes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from linkwork.engine.kernel.compile import CompiledFunction, compile_function
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.repeat import repeat
from linkwork.envs.random import RandomNumbers
from linkwork.envs.row import Row
from linkwork.errors import ArgumentError, ShapeError, listed, name_not_found, shown
from linkwork.simulation.core import STATE, SimulationState
from linkwork.simulation.simulation import Simulation

Function = Callable[[Row], Any]

MOST_NUMBERS = 4096  # random numbers of a step or of a start
LARGEST = 1e30  # magnitude of a sum of states, observations and rewards; beyond, a row has diverged
TERMINATED, TRUNCATED, DIVERGED = range(3)  # flags of a step
REWARD, TERMS, FLAGS, OBSERVATIONS = range(4)  # outputs of a step after the state
STATE_NAMES = tuple(port.name for port in STATE)


class Carry(NamedTuple):
    """What a row carries from step to step."""

    q: Any
    nu: Any
    activation: Any
    acceleration: Any
    memory: Any  # all entries, flattened
    parameters: Any  # of the simulation
    action: Any
    steps: Any


@dataclass(frozen=True, kw_only=True)
class Functions:
    """What the user defines."""

    observe: Function
    reward: Function
    terminate: Function | None
    reset: Function | None
    control: Function | None
    memory: Function | None

    def __post_init__(self) -> None:
        for one in fields(self):
            function = getattr(self, one.name)
            is_left_out = function is None and one.name not in ("observe", "reward")
            if not (callable(function) or is_left_out):
                raise ArgumentError(f"{one.name}: expected a function, got {shown(function)}")


class Transition:
    """The start and the step of an environment.

    Attributes:
        memory: the shape of each entry of the memory.
        parameters: the shape of each parameter of the simulation.
        observations: the shape of each group of observations.
        terms: the names of the terms of the reward.
        autoreset: "same_step", "next_step" or "disabled".
        n_random, n_start: how many random numbers a step and a start use.
        start: the kernel (numbers) -> (*Carry, *observations).
        step: the kernel of a step; see `_step`.
    """

    def __init__(
        self,
        sim: Simulation,
        functions: Functions,
        *,
        bounds: tuple[Array, Array],
        substeps: int,
        max_steps: float,
        autoreset: str,
        repairs: bool,
    ) -> None:
        self.sim, self.functions, self.bounds = sim, functions, bounds
        self.substeps, self.max_steps = substeps, max_steps
        self.autoreset = autoreset
        self.repairs = repairs
        self.memory: dict[str, tuple[int, ...]] = {}
        spans = sim.parameters.items() if sim.parameters else ()
        self.parameters = {name: (span.stop - span.start,) for name, span in spans}
        self.observations: dict[str, tuple[int, ...]] = {}
        self.terms: tuple[str, ...] = ()
        self.n_random = self.n_start = 0
        n = len(bounds[0])
        compile_function(numbers=MOST_NUMBERS, action=n, dtype=sim.dtype)(self._probe)
        self.start = self._compiled(self._start, numbers=self.n_start)
        self.step: CompiledFunction = self._compiled(
            self._step,
            **{name: np.shape(value) for name, value in zip(STATE_NAMES, sim.state(), strict=True)},
            memory=_size(self.memory),
            parameters=_size(self.parameters),
            last_action=n,
            steps=(),
            sums=len(self.terms),
            done=(),
            random=self.n_random,
            start_random=self.n_start,
            action=n,
        )

    def _compiled(self, function: Callable[..., Any], **shapes: Any) -> CompiledFunction:
        return compile_function(dtype=self.sim.dtype, **shapes)(function)

    def _probe(self, numbers: Any, action: Any) -> Any:
        """Call all functions once, to know the shapes of what they return."""
        random = RandomNumbers(numbers)
        row = self._started(random)
        self.memory = {name: np.shape(value) for name, value in row.memory.items()}
        reserved = [name for name in self.memory if hasattr(Row, name) or name in ROW_FIELDS]
        if reserved:
            raise ArgumentError(f"reset: these names are taken: {listed(reserved)}")
        self.observations = {k: np.shape(part) for k, part in self._observed(row).items()}
        self.n_start = random.used
        random = RandomNumbers(numbers)
        row = replace(row, random=random)
        controls = np.shape(self._controls(row))
        if controls != (self.sim.n_controls,):
            text = f"control: expected shape ({self.sim.n_controls},), got {controls}"
            raise ShapeError(f"{text}; one for each actuator of the simulation")
        row = self._remembered(row)
        terms = self._rewards(row)
        self.terms = tuple(terms)
        self._terminated(row)
        self._observed(row)
        self.n_random = random.used
        return np.stack([*terms.values(), action[0] if len(action) else np.zeros(())])

    def _start(self, numbers: Any) -> tuple[Any, ...]:
        row = self._started(RandomNumbers(numbers))
        return (*self._carry(row), *self._observed(row).values())

    def _step(  # noqa: PLR0917 - inputs of a kernel
        self,
        q: Any,
        nu: Any,
        activation: Any,
        acceleration: Any,
        memory: Any,
        parameters: Any,
        last_action: Any,
        steps: Any,
        sums: Any,
        done: Any,
        random: Any,
        start_random: Any,
        action: Any,
    ) -> tuple[Any, ...]:
        """Return (*Carry, sums, done, reward, terms, flags, *observations, *final observations).

        The flags are: terminated, truncated, diverged. Final observations are those before a row
        started again, for the autoreset `same_step` only.
        """
        row = Row(
            SimulationState(q, nu, activation, acceleration),
            action=np.clip(action, *self.bounds),
            last_action=last_action,
            steps=steps,
            random=RandomNumbers(random),
            memory=unpacked(memory, self.memory),
            parameters=unpacked(parameters, self.parameters),
            make_forward=self._forward,
        )
        row = self._simulated(row)
        row = self._remembered(replace(row, steps=steps + 1.0))
        terms = np.stack(list(self._rewards(row).values()))
        terminated = self._terminated(row)
        observed = tuple(self._observed(row).values())
        carry = self._carry(row)
        size: Any = sum(np.sum(np.abs(part)) for part in (*carry, terms, *observed))
        diverged: Any = ~(size < LARGEST)
        if self.repairs:
            terms = np.where(diverged, 0.0, terms)
            observed = tuple(np.where(diverged, 0.0, part) for part in observed)
            terminated = terminated | diverged
        truncated = (row.steps >= self.max_steps) & ~terminated
        ended = terminated | truncated
        starts = ended
        if self.autoreset == "next_step":
            starts = done > 0.5
            terms = np.where(starts, 0.0, terms)
            terminated, truncated = terminated & ~starts, truncated & ~starts
            diverged, ended = diverged & ~starts, ended & ~starts
        total = np.where(steps > 0.5, sums, 0.0) + terms
        after: Any = (tuple(carry), observed)
        if self.autoreset != "disabled":
            after = repeat(
                1,
                lambda _: self._split(self._start(start_random)),
                after,
                condition=lambda _: starts,
            )
        final = observed if self.autoreset == "same_step" else ()
        flags = np.where(np.stack([terminated, truncated, diverged]), 1.0, 0.0)
        is_done = np.where(ended, 1.0, 0.0)
        return *after[0], total, is_done, np.sum(terms), terms, flags, *after[1], *final

    def _started(self, random: RandomNumbers) -> Row:
        """Return a row at the start of an episode."""
        zero = np.zeros(len(self.bounds[0]))
        row = Row(self.sim.state(), zero, zero, np.zeros(()), random)
        changes = {} if self.functions.reset is None else self.functions.reset(row)
        parameters = unpacked(self._nominal, self.parameters)
        if isinstance(changes, Mapping) and "parameters" in changes:
            changes = dict(changes)
            for name, value in changes.pop("parameters").items():
                if name not in parameters:
                    raise ArgumentError(f"reset: {name_not_found('parameter', name, parameters)}")
                parameters[name] = np.broadcast_to(value, self.parameters[name])
        row = _changed(row, "reset", changes, None)
        return replace(row, parameters=parameters, make_forward=self._forward)

    @property
    def _nominal(self) -> Array:
        """The parameters of the model."""
        return self.sim.parameter_values() if self.parameters else np.zeros(0)

    def _simulated(self, row: Row) -> Row:
        def step(x: SimulationState) -> SimulationState:
            return self.sim.step(*self._inputs(replace(row, x=x)))

        return replace(row, x=repeat(self.substeps, step, row.x))

    def _controls(self, row: Row) -> Any:
        return row.action if self.functions.control is None else self.functions.control(row)

    def _forward(self, row: Row) -> Any:
        return self.sim.forward(*self._inputs(row))

    def _inputs(self, row: Row) -> tuple[Any, ...]:
        """Return the inputs of a step of the simulation."""
        parameters = (_packed(row.parameters),) if self.parameters else ()
        return *row.x, self._controls(row), *parameters

    def _remembered(self, row: Row) -> Row:
        if self.functions.memory is None:
            return row
        return _changed(row, "memory", self.functions.memory(row), self.memory)

    def _rewards(self, row: Row) -> dict[str, Any]:
        return _named("reward", self.functions.reward(row), scalars=True)

    def _terminated(self, row: Row) -> Any:
        if self.functions.terminate is None:
            return np.zeros(()) > 0.5
        ends = np.asarray(self.functions.terminate(row))
        if ends.shape != ():
            text = f"terminate: expected one condition, got shape {ends.shape}"
            raise ShapeError(f"{text}; use | or np.any")
        return self.functions.terminate(row)

    def _observed(self, row: Row) -> dict[str, Any]:
        return _named("observe", self.functions.observe(row))

    def _carry(self, row: Row) -> Carry:
        memory, parameters = _packed(row.memory), _packed(row.parameters)
        return Carry(*row.x, memory, parameters, row.action, row.steps)

    def _split(self, results: tuple[Any, ...]) -> Any:
        n = len(Carry._fields)
        return tuple(results[:n]), tuple(results[n:])


ROW_FIELDS = tuple(Row.__dataclass_fields__)


def _size(shapes: Mapping[str, tuple[int, ...]]) -> int:
    return sum(int(np.prod(shape)) for shape in shapes.values())


def _packed(entries: Mapping[str, Any]) -> Any:
    """Return all entries in one vector."""
    flat = [np.reshape(value, -1) for value in entries.values()]
    return np.concatenate(flat) if flat else np.zeros(0)


def unpacked(vector: Any, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Any]:
    """Return the entries of a vector (..., n) by name, as views."""
    entries: dict[str, Any] = {}
    start = 0
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        entries[name] = vector[..., start : start + size].reshape((*vector.shape[:-1], *shape))
        start += size
    return entries


def _named(what: str, value: Any, *, scalars: bool = False) -> dict[str, Any]:
    """Return what a function returned by name; one array has the name of the function."""
    named = dict(value) if isinstance(value, Mapping) else {what: value}
    if not named:
        raise ArgumentError(f"{what}: it returns nothing")
    for name, part in named.items():
        if scalars and np.shape(part) != ():
            text = f"{what}: expected a number for {name!r}, got shape {np.shape(part)}"
            raise ShapeError(text)
    return named


def _changed(
    row: Row, what: str, changes: Any, memory: Mapping[str, tuple[int, ...]] | None
) -> Row:
    """Return a row after changes by name, of its state or its memory.

    Args:
        row: the row.
        what: the function that returned the changes.
        changes: by name.
        memory: the shape of each entry; None if new entries may be added.
    """
    if not isinstance(changes, Mapping):
        text = f"{what}: expected a dictionary, such as {{'nu': ...}}"
        raise ArgumentError(f"{text}, got {shown(changes)}")
    states = {name: value for name, value in changes.items() if name in STATE_NAMES}
    for name, value in states.items():
        expected = np.shape(getattr(row.x, name))
        if np.shape(value) != expected:
            raise ShapeError(f"{what}: {name}: expected shape {expected}, got {np.shape(value)}")
    entries = {name: value for name, value in changes.items() if name not in STATE_NAMES}
    for name, value in entries.items():
        shape = np.shape(value) if memory is None else memory.get(name)
        if shape is None:
            known = [*STATE_NAMES, *(memory or ())]
            raise ArgumentError(str(name_not_found("entry that reset returns", name, known)))
        if np.shape(value) != shape:
            text = f"{what}: {name}: expected shape {shape}, as reset returns it"
            raise ShapeError(f"{text}, got {np.shape(value)}")
    return replace(row, x=row.x._replace(**states), memory={**row.memory, **entries})
