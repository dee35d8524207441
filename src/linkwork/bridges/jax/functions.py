"""`linkwork.jax`: functions of a robot, and any other kernel, for JAX arrays.

    kd = linkwork.jax.KinDyn(linkwork.load("robot.urdf"))
    M = kd.mass_matrix(q)                                   # (..., nv, nv)
    jax.grad(lambda q: kd.potential_energy(q))(q)           # (nq,)

They work under `jit`, `vmap`, `grad`, `jvp`, `jacfwd`, `jacrev`, `hessian`, `scan`, `export`. On
the CPU they call compiled kernels, also for derivatives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from linkwork.bridges.derived_kernels import in_precision
from linkwork.bridges.jax import lowering
from linkwork.bridges.jax.primitive import (
    Value,
    array_of,
    broadcast,
    call_kernel,
    laid_out,
    precision,
)
from linkwork.bridges.methods import (
    Bridged,
    BridgedConstrainedKinDyn,
    BridgedKinDyn,
    BridgedRollout,
    call,
)
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.kernel.rollout import Rollout
from linkwork.engine.kernel.rollout_inputs import assign
from linkwork.engine.symbolic.program import Port
from linkwork.errors import ArgumentError, nearest, shown

TARGET = lowering.TARGET
BACKENDS = ("cpu", "xla")


class Function:
    """A kernel as a function of JAX arrays, pure and differentiable to any order.

    Call it with one array for each input, by position or by name, each with any leading batch axes.
    It computes in float64 if both the kernel and an argument are in float64, else in float32.
    """

    def __init__(self, kernel: Kernel, backend: str) -> None:
        self.kernel = kernel
        self.backend = backend
        self.__name__ = kernel.signature.name
        self._kernels: dict[tuple[int, np.dtype[Any]], tuple[Kernel, Kernel]] = {}
        self._jitted = jax.jit(self._traced, inline=True)

    def __repr__(self) -> str:
        return f"<linkwork.jax {self.kernel!r}>"

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the kernel; `gravity` and `wrenches` (by frame) may be passed where they apply."""
        try:
            return self._jitted(*args, **named)
        except TypeError:
            _reject_other_types(self.kernel, args, named)
            raise

    def __reduce__(self) -> Any:
        return wrap, (self.kernel, self.backend)

    def warmup(self) -> None:
        """Wait until optimized code is in use, also for derivatives used so far."""
        kernels = [self.kernel, *(kernel for _, kernel in self._kernels.values())]
        for kernel in kernels:
            _warmup(kernel)

    def _traced(self, *args: Any, **named: Any) -> Any:
        kernel, values = call(self.kernel, args, named)
        ports, meanings = kernel.signature.inputs, kernel.signature.meanings
        arrays = [
            array_of(value, port, meanings.get(port.name, ""))
            for value, port in zip(values, ports, strict=True)
        ]
        kernel = self._in_precision(kernel, precision(kernel, arrays))
        rows = laid_out(arrays, ports, kernel.dtype)
        results = call_kernel(kernel, rows, self.backend)
        return kernel._returned(results)  # pyright: ignore[reportPrivateUsage]

    def _in_precision(self, kernel: Kernel, dtype: np.dtype[Any]) -> Kernel:
        """Return the kernel in another precision, created once."""
        key = id(kernel), dtype
        if key not in self._kernels:
            self._kernels[key] = kernel, in_precision(kernel, dtype)
        return self._kernels[key][1]


class RolloutFunction(BridgedRollout):
    """Many steps of a compiled function, as a function of JAX arrays.

    It is a `scan` over the step, with the arguments and results of `linkwork.Rollout`, except for
    `out` and `threads`.
    """

    def __init__(self, rollout: Rollout, backend: str) -> None:
        self.rollout = rollout
        self._step = Function(rollout.step, backend)
        self._jitted = jax.jit(self._traced, static_argnames=("steps", "final"), inline=True)

    def __repr__(self) -> str:
        return f"<linkwork.jax {self.rollout!r}>"

    def __reduce__(self) -> Any:
        return wrap, (self.rollout, self._step.backend)

    def _states(self, x0: Any, controls: Any, params: Any, steps: Any, final: bool) -> Any:
        return self._jitted(x0, controls, params=params, steps=steps, final=final)

    def _traced(self, x0: Any, controls: Any, *, params: Any, steps: Any, final: bool) -> Any:
        kernel = self.rollout.step
        signature = kernel.signature
        inputs = assign(signature, x0, controls, params, steps)
        n, controls_by_name = len(signature.outputs), inputs.controls
        ports = [
            Port(port.name, (inputs.steps, *port.shape)) if port.name in controls_by_name else port
            for port in signature.inputs
        ]
        values = [
            *inputs.starts,
            *({**inputs.params, **controls_by_name}[p.name] for p in ports[n:]),
        ]
        arrays = [array_of(value, port) for value, port in zip(values, ports, strict=True)]
        dtype = precision(kernel, arrays)
        batch = broadcast(arrays, ports)
        full = [
            jnp.broadcast_to(jnp.asarray(array, dtype), (*batch, *port.shape))
            for array, port in zip(arrays, ports, strict=True)
        ]
        by_name = {port.name: array for port, array in zip(ports[n:], full[n:], strict=True)}
        per_step = {name: jnp.moveaxis(by_name[name], len(batch), 0) for name in controls_by_name}
        constant = {name: by_name[name] for name in inputs.params}
        states = self._scanned(full[:n], per_step, constant, inputs.steps, final)
        if not final:
            states = [jnp.moveaxis(array, 0, len(batch)) for array in states]
        return tuple(states) if n > 1 else states[0]

    def _scanned(
        self,
        starts: Sequence[Value],
        controls: Mapping[str, Value],
        params: Mapping[str, Value],
        steps: int,
        final: bool,
    ) -> list[Value]:
        """Compute the states, with the axis of steps in front unless `final`."""
        signature = self.rollout.step.signature
        names = [port.name for port in signature.inputs[: len(signature.outputs)]]

        def step(states: Any, step_controls: Any) -> Any:
            named = dict(zip(names, states, strict=True))
            results = self._step(**named, **step_controls, **params)
            next_states = tuple(results) if len(states) > 1 else (results,)
            return next_states, None if final else next_states

        last, all_states = lax.scan(step, tuple(starts), dict(controls), length=steps)
        if final:
            return list(last)
        pairs = zip(starts, all_states, strict=True)
        return [jnp.concatenate([first[None], later]) for first, later in pairs]


class Functions(Bridged):
    """A robot whose functions take and return JAX arrays."""

    def __init__(
        self, model: Any, base: str | None = None, *, backend: str = "cpu", **options: Any
    ) -> None:
        super().__init__(model, base, **options)
        self.__dict__["backend"] = _checked_backend(backend)

    _OWN_OPTIONS = ("backend",)
    backend: str

    def warmup(self, *requests: Any) -> None:
        """Wait for the optimized code of functions, and of derivatives that were used so far.

        Args:
            requests: what to compile; see `linkwork.KinDyn.warmup`.
        """
        self.numpy.warmup(*requests)
        for _, function in list(self._functions.values()):
            function.warmup()

    def _wrapped(self, kernel: Kernel) -> Function:
        return Function(kernel, self.backend)

    def _constant(self, array: Any) -> Any:
        return jnp.asarray(array)


class KinDyn(Functions, BridgedKinDyn):
    """Every quantity of one robot, as functions of JAX arrays.

    The methods, their arguments, shapes and conventions are those of `linkwork.KinDyn`, without
    `out` and `threads`.

    Args:
        model: the robot.
        base: the link or frame whose pose and velocity are those of the base; the model's default
            if not given.
        backend: "cpu" calls compiled kernels where the arrays are on the CPU; "xla" inlines the
            operations into the XLA program, which takes long to compile. On other devices they are
            always inlined.
        options: those of `linkwork.KinDyn`.
    """


class ConstrainedKinDyn(Functions, BridgedConstrainedKinDyn):
    """A robot with closed loops and contacts, as functions of JAX arrays.

    The methods, their arguments, shapes and conventions are those of `linkwork.ConstrainedKinDyn`,
    without `out` and `threads`. `KinDyn.constrained` creates it.
    """


Functions._CLASSES = KinDyn, ConstrainedKinDyn  # pyright: ignore[reportPrivateUsage]


def wrap(kernel: Any, backend: str = "cpu") -> Any:
    """Convert a kernel to a function of JAX arrays.

    Args:
        kernel: a `linkwork.Kernel` from `KinDyn.function` or `linkwork.compile`, a derivative of
            one, or a `linkwork.Rollout`.
        backend: "cpu" calls the compiled kernel where the arrays are on the CPU; "xla" inlines its
            operations into the XLA program.
    """
    chosen = _checked_backend(backend)
    if isinstance(kernel, Rollout):
        return RolloutFunction(kernel, chosen)
    if not isinstance(kernel, Kernel):
        message = f"wrap: expected a linkwork kernel or a linkwork.Rollout, got {shown(kernel)}"
        raise ArgumentError(f"{message}; @linkwork.compile compiles a function to a kernel")
    return Function(kernel, chosen)


for _public in (KinDyn, ConstrainedKinDyn, wrap):
    _public.__module__ = "linkwork.jax"  # the name in messages and pickles


def _checked_backend(backend: Any) -> str:
    if backend not in BACKENDS:
        raise ArgumentError(f"unknown backend {shown(backend)}; {nearest(backend, BACKENDS)}")
    return backend


def _warmup(kernel: Kernel) -> None:
    """Wait for the optimized code of a kernel and of its derivatives that are in use."""
    if kernel.status != "none":
        kernel.warmup()
    for derivative in list(kernel._derivatives.values()):  # pyright: ignore[reportPrivateUsage]
        _warmup(derivative)


def _reject_other_types(kernel: Kernel, args: Sequence[Any], named: Any) -> None:
    """Raise if an argument is not an array type that JAX accepts."""
    names = [port.name for port in kernel.signature.inputs]
    for name, value in [*zip(names, args, strict=False), *named.items()]:
        for leaf in jax.tree.leaves(value):
            if not isinstance(leaf, (jax.Array, np.ndarray, np.generic, int, float, complex)):
                raise ArgumentError(f"{name}: expected a JAX array, got {shown(leaf)}") from None
