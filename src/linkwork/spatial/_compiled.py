"""The public functions of `linkwork.spatial`: NumPy code that is compiled when it is used often.

Source    a function of `linkwork.spatial.source` runs on NumPy arrays as it is written. The first
          calls do so, and a short script never waits for a compiler
Compiled  after `CALLS` calls, a kernel is traced from the same source and compiled in the
          background, or loaded from the disk cache; calls with float64 arrays then go to it
Types     traced values, float16 and longdouble always use the source; float32 is computed in
          float64 and rounded
Bridges   arrays of PyTorch, JAX and CasADi go to the same kernel, by `wrap` of their bridge
linkwork  itself imports the sources, so that loading a robot needs no compiler

Both give the same result up to rounding, and neither warns about numbers that are not finite.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
import threading
from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.engine.symbolic.arrays import Array, as_array, batch_of
from linkwork.engine.symbolic.traced import foreign_package

if TYPE_CHECKING:
    from linkwork.spatial._kernels import SpatialKernel

CALLS = 16  # a function is compiled after this many calls
ROWS = 64  # a batch counts as one more call for every this many rows
SHAPES: dict[str, tuple[int, ...]] = {  # by name of an argument, the same in all functions
    **dict.fromkeys(("angle", "mass"), ()),
    **dict.fromkeys(("phi", "rpy", "xyz", "axis", "position", "b_point", "vector", "com"), (3,)),
    **dict.fromkeys(("linear", "angular"), (3,)),
    **dict.fromkeys(("wxyz", "a_wxyz", "b_wxyz"), (4,)),
    **dict.fromkeys(("xi", "v", "m", "f", "a_v", "b_v", "a_f", "b_f"), (6,)),
    "params": (10,),
    **dict.fromkeys(("rotation", "skew", "tensor", "tensor_at_com", "moments"), (3, 3)),
    **dict.fromkeys(("a_H_b", "matrix"), (4, 4)),
    "inertia": (6, 6),
}
BRIDGES = ("torch", "jax", "casadi")  # packages whose arrays the functions take, too
_FLOAT64 = np.dtype(np.float64)
_functions: dict[Callable[..., Any], _Compiled] = {}


def compile_in(module: str, but: Sequence[str] = ()) -> None:
    """Replace the functions that a module imports from its source by ones that are compiled.

    Args:
        module: name of the module.
        but: functions to leave as they are: they return views, or call LAPACK.
    """
    names = vars(sys.modules[module])
    for name, value in list(names.items()):
        is_source = isinstance(value, FunctionType) and ".source." in value.__module__
        if is_source and name not in but:
            names[name] = _public(value, module)


def warmup(*functions: Callable[..., Any]) -> None:
    """Compile functions of `linkwork.spatial` now, so that every call takes the same short time.

    Args:
        functions: such as `se3.log`; all if none is given, which takes seconds. Those that cannot
            be compiled, such as `so3.project`, are left as they are.
    """
    for function in functions or tuple(_functions):
        if function in _functions:
            _functions[function].warmup()


def _public(source: Callable[..., Any], module: str) -> Callable[..., Any]:
    compiled = _Compiled(source, f"{module}.{source.__name__}")
    count = len(compiled.names)
    array_type = np.ndarray

    @wraps(source)
    def function(*args: Any, **named: Any) -> Any:
        kernel = compiled.kernel
        if kernel is not None and len(args) == count and not named:
            for array in args:
                if type(array) is not array_type or array.dtype is not _FLOAT64:
                    break
            else:
                return kernel(*args)
        return compiled.call(*args, **named)

    function.__module__ = module
    _functions[function] = compiled
    return function


class _Compiled:
    """A source function, and the kernel that replaces it after some calls."""

    __slots__ = ("_bridges", "_calls", "_maker", "kernel", "name", "names", "source", "tails")

    def __init__(self, source: Callable[..., Any], name: str) -> None:
        self.source = source
        self.name = name
        self.names = tuple(inspect.signature(source).parameters)
        self.tails = tuple(SHAPES[name] for name in self.names)
        self.kernel: Callable[..., Any] | None = None
        self._bridges: dict[str, Callable[..., Any]] = {}  # by package, of other arrays
        self._calls = 0
        self._maker = 0  # id of the process in which a thread makes the kernel

    def call(self, *args: Any, **named: Any) -> Any:
        """Any call: by name, with lists, with other number types, or before it is compiled."""
        if named:
            args += tuple(named.pop(name) for name in self.names[len(args) :] if name in named)
        if named or len(args) != len(self.names):
            inspect.signature(self.source).bind(*args, **named)  # raises Python's TypeError
        for value in args:
            package = foreign_package(value)
            if package in BRIDGES:
                return self._bridge(package)(*args)
        arrays = [*map(as_array, args, self.names, self.tails)]
        dtype, *others = {array.dtype for array in arrays}
        kernel = self.kernel
        if kernel is not None and dtype is _FLOAT64 and not others:
            return kernel(*arrays)
        dtype = np.result_type(*arrays)
        if kernel is None or dtype.type not in (np.float64, np.float32):
            return self._from_source(arrays, dtype)
        result = kernel(*(array.astype(_FLOAT64, copy=False) for array in arrays))
        with np.errstate(over="ignore"):  # too large for the type is infinite
            return result.astype(dtype, copy=False)

    def _bridge(self, package: str) -> Callable[..., Any]:
        """The function for arrays of another package, made once."""
        known = self._bridges.get(package)
        if known is None:
            from linkwork.spatial._kernels import SpatialKernel

            kernel = SpatialKernel(self.name, self.source, self.names, self.tails)
            wrapped = import_module(f"linkwork.{package}").wrap(kernel)
            known = self._bridges.setdefault(package, wrapped)
        return known

    def warmup(self) -> None:
        """Have compiled code in use."""
        if self.kernel is None:
            from linkwork.spatial._kernels import SpatialKernel

            kernel = SpatialKernel(self.name, self.source, self.names, self.tails)
            kernel.warmup()
            self._take(kernel)

    def _from_source(self, arrays: Sequence[Array], dtype: np.dtype[Any]) -> Any:
        if dtype.kind == "O":
            return self.source(*arrays)
        batch = batch_of(self.names, self.tails, arrays)
        if dtype == np.float64:
            self._calls += 1 + int(np.prod(batch)) // ROWS
            if self._calls > CALLS and self._maker != os.getpid():
                self._maker = os.getpid()
                thread = threading.Thread(target=self._make, name="linkwork spatial", daemon=True)
                with contextlib.suppress(RuntimeError):  # no more threads: no compiled code
                    thread.start()
        with np.errstate(all="ignore"):  # compiled code gives no warnings either
            return self.source(*arrays)

    def _make(self) -> None:
        """In a thread, for the imports take time, too: make the kernel."""
        try:
            from linkwork.spatial._kernels import SpatialKernel

            SpatialKernel(self.name, self.source, self.names, self.tails).make_ready(self._take)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
            from linkwork.engine.runtime.notices import report_failure

            report_failure(f"{self.name} could not be compiled; NumPy computes, slower", error)

    def _take(self, kernel: SpatialKernel) -> None:
        """Use a kernel from now on; like NumPy, it returns a single number as a scalar."""
        is_number = kernel.signature.outputs[0].shape == ()
        self.kernel = (lambda *rows: kernel(*rows)[()]) if is_number else kernel
