"""`linkwork.jax`: the functions of a robot, and any other kernel, for arrays of JAX.

    kd = linkwork.jax.KinDyn(linkwork.load("robot.urdf"))
    M = kd.mass_matrix(q)                                   # (..., nv, nv)
    jax.grad(lambda q: kd.potential_energy(q))(q)           # (nq,)

They work under `jit`, `vmap`, `grad`, `jvp`, `jacfwd`, `jacrev`, `hessian`, `scan`, `export`. On
the CPU the compiled kernels are called; those of derivatives for derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from linkwork.bridges.jax import lowering
from linkwork.bridges.jax.arguments import array_of, laid_out, precision
from linkwork.bridges.jax.primitive import call_kernel
from linkwork.bridges.jax.rollout import RolloutFunction
from linkwork.bridges.methods import Bridged, call
from linkwork.bridges.precision import in_precision
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.kernel.rollout import Rollout
from linkwork.errors import ArgumentError, nearest, shown

TARGET = lowering.TARGET
BACKENDS = ("cpu", "xla")


class Function:
    """A kernel as a function of JAX arrays, pure and differentiable to any order.

    Call it with one array for each input, by position or by name, each with any leading batch axes.
    It computes with float32 if no argument has more, or if its kernel does; else with float64.
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
        """Call the kernel; `gravity` and `wrenches` by frame may be given where they enter."""
        try:
            return self._jitted(*args, **named)
        except TypeError:
            _refuse_others(self.kernel, args, named)
            raise

    def __reduce__(self) -> Any:
        return wrap, (self.kernel, self.backend)

    def warmup(self) -> None:
        """Wait until the fast code of the function is in use, and of derivatives used so far."""
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
        """The kernel in another precision, made once."""
        key = id(kernel), dtype
        if key not in self._kernels:
            self._kernels[key] = kernel, in_precision(kernel, dtype)
        return self._kernels[key][1]


class KinDyn(Bridged):
    """Every quantity of one robot, as functions of JAX arrays.

    The methods, their arguments, shapes and conventions are those of `linkwork.KinDyn`, without
    `out` and `threads`.

    Args:
        model: the robot.
        base: the link or frame whose pose and velocity are those of the base; the model's default
            if not given.
        backend: "cpu" calls compiled kernels where the arrays are on the CPU; "xla" makes the
            operations part of XLA's program, which takes long to compile. Other devices always do.
        options: those of `linkwork.KinDyn`.
    """

    def __init__(
        self, model: Any, base: str | None = None, *, backend: str = "cpu", **options: Any
    ) -> None:
        super().__init__(model, base, **options)
        self.__dict__["backend"] = _checked_backend(backend)

    _OWN_OPTIONS = ("backend",)
    backend: str

    def warmup(self, *requests: Any) -> None:
        """Wait for the fast code of functions, and of derivatives that were used so far.

        Args:
            requests: what to compile, as `linkwork.KinDyn.warmup` takes it.
        """
        self.numpy.warmup(*requests)
        for _, function in list(self._functions.values()):
            function.warmup()

    def _wrapped(self, kernel: Kernel) -> Function:
        return Function(kernel, self.backend)

    def _constant(self, array: Any) -> Any:
        return jnp.asarray(array)


def wrap(kernel: Any, backend: str = "cpu") -> Any:
    """A kernel as a function of JAX arrays.

    Args:
        kernel: any `linkwork.Kernel`: of `KinDyn.function`, of `linkwork.compile`, or a derivative;
            or a `linkwork.Rollout`.
        backend: "cpu" calls the compiled kernel where the arrays are on the CPU; "xla" makes its
            operations part of XLA's program.
    """
    chosen = _checked_backend(backend)
    if isinstance(kernel, Rollout):
        step = Function(kernel.step, chosen)
        return RolloutFunction(kernel, step, (_wrapped_rollout, (kernel.step, chosen)))
    if not isinstance(kernel, Kernel):
        text = f"wrap: expected a kernel of linkwork, or a linkwork.Rollout, got {shown(kernel)}"
        raise ArgumentError(f"{text}; @linkwork.compile makes a kernel of a function")
    return Function(kernel, chosen)


for _public in (KinDyn, wrap):
    _public.__module__ = "linkwork.jax"  # what messages and pickles call it


def _wrapped_rollout(step: Kernel, backend: str) -> Any:
    return wrap(Rollout(step), backend)


def _checked_backend(backend: Any) -> str:
    if backend not in BACKENDS:
        raise ArgumentError(f"unknown backend {shown(backend)}; {nearest(backend, BACKENDS)}")
    return backend


def _warmup(kernel: Kernel) -> None:
    """Wait for the fast code of a kernel and of its derivatives that are in use."""
    if kernel.status != "none":
        kernel.warmup()
    for derivative in list(kernel._derivatives.values()):  # pyright: ignore[reportPrivateUsage]
        _warmup(derivative)


def _refuse_others(kernel: Kernel, args: Sequence[Any], named: Any) -> None:
    """Raise if an argument is no array that JAX knows."""
    names = [port.name for port in kernel.signature.inputs]
    given = [*zip(names, args, strict=False), *named.items()]
    for name, value in given:
        for leaf in jax.tree.leaves(value):
            if not isinstance(leaf, (jax.Array, np.ndarray, np.generic, int, float, complex)):
                raise ArgumentError(
                    f"{name}: expected an array of JAX, got {shown(leaf)}"
                ) from None
