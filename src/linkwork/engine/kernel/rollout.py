"""`linkwork.rollout`: many steps of a compiled function without a return to Python.

    @linkwork.compile(x=2, u=1)
    def step(x, u):
        angle, rate = x
        rate = rate + 0.01 * (u[0] - 9.81 * np.sin(angle))
        return np.stack([angle + 0.01 * rate, rate])

    states = linkwork.rollout(step, x0, controls)   # (..., N + 1, 2) from (..., 2) and (..., N, 1)
    sim = linkwork.Rollout(step)
    by_x0, by_controls, _ = sim.vjp(x0, controls, cotangents)   # backwards through time

The outputs of a step are the next values of its first inputs. A batch is computed tile by tile, all
steps of a tile of rows while it is in the cache, on several threads without the GIL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from linkwork.engine.kernel import rollout_numpy
from linkwork.engine.kernel.arguments import Signature, outputs_for, thread_number
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.kernel.rollout_inputs import (
    Inputs,
    Part,
    check_step,
    numbers,
    read_inputs,
    split,
)
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Port
from linkwork.errors import ArgumentError, ValueRangeError

# Backwards, a thread keeps at most about so many bytes of states. For longer rollouts it keeps
# some, and computes those between them a second time.
STORED_BYTES = 16 << 20


class Gradients(NamedTuple):
    """What `Rollout.vjp` gives: the products by each thing that a rollout takes."""

    x0: Any
    """(..., *state.shape); a tuple if there are several states."""
    controls: Any
    """(..., N, *control.shape); a tuple if there are several, None without controls."""
    params: dict[str, Array]
    """By name: (..., *param.shape), the sum over all steps."""


class Rollout:
    """Many steps of a compiled function, for one start or for a batch of them.

    The outputs of the step are the next values of its first inputs, the states, matched in order.
    Inputs after them are controls, with a value for each step, or parameters, which keep theirs.
    """

    def __init__(self, step: Kernel) -> None:
        """Prepare rollouts of a step.

        Args:
            step: a function of `linkwork.compile`, or any other `Kernel`, from (states, controls
                and parameters) to the next states.
        """
        self.step = check_step(step)
        self._states = step.signature.inputs[: len(step.signature.outputs)]

    def __repr__(self) -> str:
        return f"<Rollout of {self.step!r}>"

    def __call__(
        self,
        x0: Any,
        controls: Any = None,
        *,
        params: Mapping[str, Any] | None = None,
        steps: int | None = None,
        final: bool = False,
        check: bool = False,
        out: Any = None,
        threads: int | None = None,
    ) -> Any:
        """The states at the start and after each of N steps.

        Args:
            x0: (..., *state.shape) the first state; a tuple if there are several. Batch axes of all
                arguments are broadcast against each other.
            controls: (..., N, *control.shape) the values for each step; a tuple if the step has
                several such inputs.
            params: by name, (..., *param.shape): inputs that keep their value.
            steps: N, if there are no controls.
            final: give the last states alone.
            check: raise if a state is not finite, and name the first step after which it is not.
            out: an array to write to, or a tuple of them.
            threads: the most threads to use; by default one per core.

        Returns:
            (..., N + 1, *state.shape), x0 first; (..., *state.shape) if `final`. A tuple if there
            are several states. Unit norms (quaternions) are restored before each step, and what is
            returned is what the step gave. A row that is not finite stays so, alone.

        Raises:
            ValueRangeError: with `check`, if a state is not finite; its `mask` (rows,) tells which
                rows of the batch these are.
        """
        workers = thread_number(threads)
        given, _ = read_inputs(self.step, x0, controls, params, steps)
        kept = () if final else (given.steps + 1,)
        ports = tuple(Port(port.name, (*kept, *port.shape)) for port in self._states)
        results, targets = outputs_for(
            Signature(self.step.signature.name, (), ports),
            given.batch,
            out,
            (*given.starts, *given.others),
            self.step.dtype,
        )
        shape = given.rows, 1 if final else given.steps + 1
        flat = tuple(
            array.reshape(*shape, port.size)
            for array, port in zip(results, self._states, strict=True)
        )
        self.run(given, flat, workers)
        if check:
            self._check_states(given, flat)
        for target, array in zip(targets, results, strict=True):
            if target is not array:
                target[...] = array
        return tuple(targets) if len(targets) > 1 else targets[0]

    def vjp(
        self,
        x0: Any,
        controls: Any = None,
        cotangents: Any = None,
        *,
        final: Any = None,
        params: Mapping[str, Any] | None = None,
        steps: int | None = None,
        states: Any = None,
        threads: int | None = None,
    ) -> Gradients:
        """Cotangents of the states carried backwards through time, to all that a rollout takes.

        With cotangents d c / d states this gives the gradient of c. Other arguments are as in a
        call.

        Args:
            cotangents: (..., N + 1, *state.shape) of the states that a call gives; a tuple if there
                are several states.
            final: (..., *state.shape) of the last states, added to those.
            states: (..., N + 1, *state.shape) what a call with the same arguments gave. Without it
                the states are computed again; then memory does not grow with N times the batch.

        Returns:
            The products by x0, controls and params. Each has all batch axes, also where an argument
            was broadcast.
        """
        workers = thread_number(threads)
        if cotangents is None and final is None:
            raise ArgumentError("vjp: expected cotangents of all states, or final= of the last")
        asked = {"states": states, "cotangents": cotangents, "final": final}
        more = partial(self._parts, asked)
        given, arrays = read_inputs(self.step, x0, controls, params, steps, more)
        groups: list[tuple[Array, ...]] = []
        for value in asked.values():
            count = 0 if value is None else len(self._states)
            groups.append(arrays[:count])
            arrays = arrays[count:]
        gradients = self._gradients(given)
        self._run_back(given, groups, gradients, workers)
        return self._named(given, gradients)

    def _parts(self, asked: Mapping[str, Any], steps: int) -> Sequence[Part]:
        """Arrays with numbers for each state, at all times or at the last."""
        parts: list[Part] = []
        for name, value in asked.items():
            if value is None:
                continue
            kept = () if name == "final" else (steps + 1,)
            for port, array in zip(self._states, split(name, self._states, value), strict=True):
                full = Port(f"{name} of {port.name}", (*kept, *port.shape))
                is_zero = array is None and name != "states"
                own = np.zeros(full.shape, self.step.dtype) if is_zero else array
                found = numbers(own, full, self.step.dtype, len(port.shape))
                parts.append(Part(full, found, *kept))
        return parts

    def _gradients(self, given: Inputs) -> tuple[Array, ...]:
        """Arrays for the products: (rows, N or 1, size), in the order of the inputs."""
        n, found = len(self._states), list[Array]()
        for index, port in enumerate(self.step.signature.inputs):
            kept = given.steps if index >= n and port.name in given.controls else 1
            found.append(np.zeros((given.rows, kept, port.size), self.step.dtype))
        return tuple(found)

    def _named(self, given: Inputs, gradients: Sequence[Array]) -> Gradients:
        states, controls, params = list[Array](), list[Array](), dict[str, Array]()
        for index, (port, array) in enumerate(
            zip(self.step.signature.inputs, gradients, strict=True)
        ):
            if index < len(self._states):
                states.append(array.reshape((*given.batch, *port.shape)))
            elif port.name in given.controls:
                controls.append(array.reshape((*given.batch, given.steps, *port.shape)))
            else:
                params[port.name] = array.reshape((*given.batch, *port.shape))
        by_controls = tuple(controls) if len(controls) != 1 else controls[0]
        by_x0 = tuple(states) if len(states) > 1 else states[0]
        return Gradients(by_x0, by_controls if controls else None, params)

    def run(self, given: Inputs, results: tuple[Array, ...], threads: int | None) -> None:
        """A call whose inputs are ready: results (rows, N + 1 or 1, size) of each state."""
        step, rows, steps = self.step, given.rows, given.steps
        if step.prepare(rows * steps):
            step._roll(given.starts, given.others, results, rows, steps, threads)  # pyright: ignore[reportPrivateUsage]
        else:
            tracks = rollout_numpy.Tracks(given.starts, given.others, results=results)
            rollout_numpy.roll(self._numpy_step(), tracks, steps)

    def _check_states(self, given: Inputs, results: Sequence[Array]) -> None:
        """Raise if a state is not finite: after which step, in which row, of which input."""
        bad = ~np.all([np.isfinite(array).all(axis=(1, 2)) for array in results], axis=0)
        if not bad.any():
            return
        row = int(np.flatnonzero(bad)[0])
        one = replace(
            given,
            batch=(1,),
            starts=tuple(array[row : row + 1] for array in given.starts),
            others=tuple(array[row : row + 1] for array in given.others),
        )
        states = [
            np.empty((1, given.steps + 1, port.size), self.step.dtype) for port in self._states
        ]
        self.run(one, tuple(states), 1)
        finite = np.array([np.isfinite(array[0]).all(axis=1) for array in states])
        first = int(np.argmin(finite.all(axis=0)))
        names = [
            port.name
            for port, is_finite in zip(self._states, finite[:, first], strict=True)
            if not is_finite
        ]
        when = f"after step {first} of {given.steps}" if first else "at the start"
        where = f" (in row {row} of {len(bad)})" if len(bad) > 1 else ""
        text = f"{self.step.signature.name}: {', '.join(names)} is not finite {when}{where}"
        hint = "; a smaller time step may be stable" if first else ""
        error = ValueRangeError(f"{text}{hint}")
        error.mask = bad if len(bad) > 1 else None
        raise error

    def _run_back(
        self,
        given: Inputs,
        groups: Sequence[tuple[Array, ...]],
        gradients: tuple[Array, ...],
        threads: int | None,
    ) -> None:
        step, rows, steps = self.step, given.rows, given.steps
        vjp = step.vjp(*(port.name for port in step.signature.inputs))
        states, cotangents, finals = groups
        given_arrays = given.starts, given.others, states, cotangents, finals, gradients
        are_compiled = [kernel.prepare(rows * steps) for kernel in (step, vjp)]
        if all(are_compiled):
            step._roll_back(vjp, *given_arrays, rows, steps, threads, STORED_BYTES)  # pyright: ignore[reportPrivateUsage]
        else:
            tracks = rollout_numpy.Tracks(*given_arrays)
            rollout_numpy.roll_back(self._numpy_step(), _run_of(vjp), tracks, steps, STORED_BYTES)

    def _numpy_step(self) -> rollout_numpy.Step:
        spans = [unit.span for unit in self.step.signature.unit_norms]
        return rollout_numpy.Step(_run_of(self.step), spans, len(self._states), self.step.dtype)


def _run_of(kernel: Kernel) -> rollout_numpy.Run:
    return partial(kernel.run_rows, threads=1)


def rollout(
    step: Kernel,
    x0: Any,
    controls: Any = None,
    *,
    params: Mapping[str, Any] | None = None,
    steps: int | None = None,
    final: bool = False,
    check: bool = False,
    out: Any = None,
    threads: int | None = None,
) -> Any:
    """The states at the start and after each of N steps of a compiled function.

    Args:
        step: a function of `linkwork.compile`, or any other `Kernel`. Its outputs are the next
            values of its first inputs, the states.
        x0: (..., *state.shape) the first state; a tuple if there are several.
        controls: (..., N, *control.shape) a value for each step of the inputs after the states; a
            tuple if there are several such inputs.
        params: by name, (..., *param.shape): inputs that keep their value.
        steps: N, if there are no controls.
        final: give the last states alone.
        check: raise a `ValueRangeError` if a state is not finite, which names the first step after
            which it is not.
        out: an array to write to, or a tuple of them.
        threads: the most threads to use; by default one per core.

    Returns:
        (..., N + 1, *state.shape), x0 first; (..., *state.shape) if `final`. A tuple if there are
        several states. Batch axes are broadcast as NumPy does.
    """
    return Rollout(step)(
        x0,
        controls,
        params=params,
        steps=steps,
        final=final,
        check=check,
        out=out,
        threads=threads,
    )
