"""`linkwork.rollout`: many steps of a compiled function without returning to Python.

    @linkwork.compile(x=2, u=1)
    def step(x, u):
        angle, rate = x
        rate = rate + 0.01 * (u[0] - 9.81 * np.sin(angle))
        return np.stack([angle + 0.01 * rate, rate])

    states = linkwork.rollout(step, x0, controls)   # (..., N + 1, 2) from (..., 2) and (..., N, 1)
    sim = linkwork.Rollout(step)
    dx0, dcontrols, _ = sim.vjp(x0, controls, cotangents)   # backwards through time

The outputs of a step are the next values of its first inputs. A batch is computed in tiles of rows,
all steps of a tile while it is in the cache, on several threads without the GIL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from linkwork.engine.kernel import rollout_numpy
from linkwork.engine.kernel.arguments import Signature, outputs_for, thread_number
from linkwork.engine.kernel.extension import usual_mode
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.kernel.rollout_inputs import (
    Inputs,
    Part,
    as_packed,
    check_step,
    read_inputs,
    split,
)
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Port
from linkwork.errors import ArgumentError, ValueRangeError

# Backwards, a thread of the C extension stores about this many bytes of states. For longer rollouts
# it stores checkpoints, and computes the states between them a second time.
STORED_BYTES = 16 << 20


class Gradients(NamedTuple):
    """The result of `Rollout.vjp`: products with respect to each argument of a rollout."""

    x0: Any
    """(..., *state.shape); a tuple if there are several states."""
    controls: Any
    """(..., N, *control.shape); a tuple if there are several controls, None without controls."""
    params: dict[str, Array]
    """(..., *param.shape) by name: the sum over all steps."""


class Rollout:
    """Many steps of a compiled function, from one initial state or a batch of them.

    The outputs of the step are the next values of its first inputs, the states, in the same order.
    The other inputs are controls, with a value for each step, or parameters, which are constant.
    """

    def __init__(self, step: Kernel) -> None:
        """Prepare rollouts of a step.

        Args:
            step: a function of `linkwork.compile`, or any other `Kernel`, from states, controls and
                parameters to the next states.
        """
        self.step = check_step(step)
        self._states = step.signature.inputs[: len(step.signature.outputs)]

    def __repr__(self) -> str:
        return f"<Rollout of {self.step!r}>"

    @usual_mode
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
        """Compute the states at the start and after each of N steps.

        Args:
            x0: (..., *state.shape) the initial state; a tuple if there are several states. Batch
                axes of all arguments are broadcast against each other.
            controls: (..., N, *control.shape) the values for each step; a tuple if the step has
                several controls.
            params: (..., *param.shape) by name: inputs that are constant.
            steps: N, if there are no controls.
            final: whether to return only the final states.
            check: whether to raise an error if a state is not finite, with the first such step.
            out: an array to write to, or a tuple of them.
            threads: maximum number of threads; by default one per core.

        Returns:
            (..., N + 1, *state.shape), starting with x0; (..., *state.shape) if `final`. A tuple if
            there are several states. Unit norms (quaternions) are restored before each step; the
            returned states are the outputs of the step, before that. If a row is not finite, other
            rows are not affected.

        Raises:
            ValueRangeError: with `check`, if a state is not finite; its `mask` (rows,) marks these
                rows of the batch.
        """
        workers = thread_number(threads)
        inputs, _ = read_inputs(self.step, x0, controls, params, steps)
        time_axis = () if final else (inputs.steps + 1,)
        ports = tuple(Port(port.name, (*time_axis, *port.shape)) for port in self._states)
        results, targets = outputs_for(
            Signature(self.step.signature.name, (), ports),
            inputs.batch,
            out,
            (*inputs.starts, *inputs.others),
            self.step.dtype,
        )
        shape = inputs.rows, 1 if final else inputs.steps + 1
        flat = tuple(
            array.reshape(*shape, port.size)
            for array, port in zip(results, self._states, strict=True)
        )
        self.run(inputs, flat, workers)
        if check:
            self._check_states(inputs, flat)
        for target, array in zip(targets, results, strict=True):
            if target is not array:
                target[...] = array
        return tuple(targets) if len(targets) > 1 else targets[0]

    @usual_mode
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
        """Propagate cotangents of the states backwards through time to all arguments.

        With the cotangents d c / d states, the result is the gradient of c. Other arguments are as
        in a call.

        Args:
            cotangents: (..., N + 1, *state.shape) of the states that a call returns; a tuple if
                there are several states.
            final: (..., *state.shape) of the final states, added to `cotangents`.
            states: (..., N + 1, *state.shape) the result of a call with the same arguments. Without
                it the states are computed again, in memory that does not grow with N times the
                batch.

        Returns:
            The products with respect to x0, controls and params. Each has all batch axes, even if
            an argument was broadcast.
        """
        workers = thread_number(threads)
        if cotangents is None and final is None:
            raise ArgumentError("vjp: expected cotangents= of all states, or final= of the last")
        state_arrays = {"states": states, "cotangents": cotangents, "final": final}
        more = partial(self._parts, state_arrays)
        inputs, arrays = read_inputs(self.step, x0, controls, params, steps, more)
        groups: list[tuple[Array, ...]] = []
        for value in state_arrays.values():
            count = 0 if value is None else len(self._states)
            groups.append(arrays[:count])
            arrays = arrays[count:]
        gradients = self._gradients(inputs)
        self._run_back(inputs, groups, gradients, workers)
        return self._named(inputs, gradients)

    def _parts(self, state_arrays: Mapping[str, Any], steps: int) -> Sequence[Part]:
        """Convert arrays with the shape of the states, at all times or at the end."""
        parts: list[Part] = []
        for name, value in state_arrays.items():
            if value is None:
                continue
            time_axis = () if name == "final" else (steps + 1,)
            for port, array in zip(self._states, split(name, self._states, value), strict=True):
                full = Port(f"{name} of {port.name}", (*time_axis, *port.shape))
                is_zero = array is None and name != "states"
                filled = np.zeros(full.shape, self.step.dtype) if is_zero else array
                converted = as_packed(filled, full, self.step.dtype, len(port.shape))
                parts.append(Part(full, converted, *time_axis))
        return parts

    def _gradients(self, inputs: Inputs) -> tuple[Array, ...]:
        """Allocate arrays for the products: (rows, N or 1, size), in the order of the inputs."""
        n, gradients = len(self._states), list[Array]()
        for index, port in enumerate(self.step.signature.inputs):
            length = inputs.steps if index >= n and port.name in inputs.controls else 1
            gradients.append(np.zeros((inputs.rows, length, port.size), self.step.dtype))
        return tuple(gradients)

    def _named(self, inputs: Inputs, gradients: Sequence[Array]) -> Gradients:
        states, controls, params = list[Array](), list[Array](), dict[str, Array]()
        for index, (port, array) in enumerate(
            zip(self.step.signature.inputs, gradients, strict=True)
        ):
            if index < len(self._states):
                states.append(array.reshape((*inputs.batch, *port.shape)))
            elif port.name in inputs.controls:
                controls.append(array.reshape((*inputs.batch, inputs.steps, *port.shape)))
            else:
                params[port.name] = array.reshape((*inputs.batch, *port.shape))
        controls_gradient = tuple(controls) if len(controls) != 1 else controls[0]
        x0_gradient = tuple(states) if len(states) > 1 else states[0]
        return Gradients(x0_gradient, controls_gradient if controls else None, params)

    def run(self, inputs: Inputs, results: tuple[Array, ...], threads: int | None) -> None:
        """Compute a rollout of converted inputs: results (rows, N + 1 or 1, size) of each state."""
        step, rows, steps = self.step, inputs.rows, inputs.steps
        if step.prepare(rows, steps, threads):
            step._roll(inputs.starts, inputs.others, results, rows, steps, threads)  # pyright: ignore[reportPrivateUsage]
        else:
            tracks = rollout_numpy.Tracks(inputs.starts, inputs.others, results=results)
            rollout_numpy.roll(self._numpy_step(), tracks, steps)

    def _check_states(self, inputs: Inputs, results: Sequence[Array]) -> None:
        """Raise if a state is not finite, with the first such step, the row and the state."""
        bad = ~np.all([np.isfinite(array).all(axis=(1, 2)) for array in results], axis=0)
        if not bad.any():
            return
        row = int(np.flatnonzero(bad)[0])
        row_inputs = replace(
            inputs,
            batch=(1,),
            starts=tuple(array[row : row + 1] for array in inputs.starts),
            others=tuple(array[row : row + 1] for array in inputs.others),
        )
        states = [
            np.empty((1, inputs.steps + 1, port.size), self.step.dtype) for port in self._states
        ]
        self.run(row_inputs, tuple(states), 1)
        finite = np.array([np.isfinite(array[0]).all(axis=1) for array in states])
        first = int(np.argmin(finite.all(axis=0)))
        names = [
            port.name
            for port, is_finite in zip(self._states, finite[:, first], strict=True)
            if not is_finite
        ]
        when = f"after step {first} of {inputs.steps}" if first else "at the start"
        where = f" (in row {row} of {len(bad)})" if len(bad) > 1 else ""
        text = f"{self.step.signature.name}: {', '.join(names)} is not finite {when}{where}"
        hint = "; a smaller time step may be stable" if first else ""
        error = ValueRangeError(f"{text}{hint}")
        error.mask = bad if len(bad) > 1 else None
        raise error

    def _run_back(
        self,
        inputs: Inputs,
        groups: Sequence[tuple[Array, ...]],
        gradients: tuple[Array, ...],
        threads: int | None,
    ) -> None:
        step, rows, steps = self.step, inputs.rows, inputs.steps
        vjp = step.vjp(*(port.name for port in step.signature.inputs))
        states, cotangents, finals = groups
        arrays = inputs.starts, inputs.others, states, cotangents, finals, gradients
        are_compiled = [kernel.prepare(rows, steps, threads) for kernel in (step, vjp)]
        if all(are_compiled):
            step._roll_back(vjp, *arrays, rows, steps, threads, STORED_BYTES)  # pyright: ignore[reportPrivateUsage]
        else:
            tracks = rollout_numpy.Tracks(*arrays)
            rollout_numpy.roll_back(self._numpy_step(), _run_of(vjp), tracks, steps)

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
    """Compute the states at the start and after each of N steps of a compiled function.

    Args:
        step: a function of `linkwork.compile`, or any other `Kernel`. Its outputs are the next
            values of its first inputs, the states.
        x0: (..., *state.shape) the initial state; a tuple if there are several states.
        controls: (..., N, *control.shape) the values for each step of the inputs after the states;
            a tuple if there are several such inputs.
        params: (..., *param.shape) by name: inputs that are constant.
        steps: N, if there are no controls.
        final: whether to return only the final states.
        check: whether to raise a `ValueRangeError` if a state is not finite, with the first such
            step.
        out: an array to write to, or a tuple of them.
        threads: maximum number of threads; by default one per core.

    Returns:
        (..., N + 1, *state.shape), starting with x0; (..., *state.shape) if `final`. A tuple if
        there are several states. Batch axes are broadcast as in NumPy.
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
