"""The public functions of `linkwork.spatial`: kernels of the functions in `source`.

Kernel    computes arrays of float64; it is compiled or loaded from the disk cache at the first
          call. float32 is computed in float64 and rounded
Source    computes traced values, float16 and longdouble
Bridges   pass arrays of PyTorch, JAX and CasADi to the same kernel

Other modules of linkwork use the sources, so that loading a robot needs no compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from linkwork.engine import BRIDGES
from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import as_array, batch_of
from linkwork.engine.symbolic.traced import foreign_package

if TYPE_CHECKING:
    from linkwork.engine.kernel.kernel import Kernel

P = ParamSpec("P")
T = TypeVar("T")

SHAPES: dict[str, tuple[int, ...]] = {  # by name of the argument, the same in all functions
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
_FLOAT64 = np.dtype(np.float64)
FUNCTIONS: dict[Callable[..., Any], _Compiled] = {}


def warmup(*functions: Callable[..., Any]) -> None:
    """Wait until the optimized code of functions of `linkwork.spatial` is in use.

    Args:
        functions: such as `se3.log`; by default all, which takes seconds. Functions that are not
            compiled, such as `so3.project`, are ignored.
    """
    for function in functions or tuple(FUNCTIONS):
        if function in FUNCTIONS:
            FUNCTIONS[function].kernel.warmup()


def compiled(source: Callable[P, T]) -> Callable[P, T]:
    """Return the public function of a source, which is compiled at its first call."""
    module = source.__module__.replace(".source.", ".")
    computed = _Compiled(source, f"{module}.{source.__name__}")
    count = len(computed.names)
    array_type = np.ndarray

    @wraps(source)
    def function(*args: Any, **named: Any) -> Any:
        if len(args) == count and not named:
            for array in args:
                if type(array) is not array_type or array.dtype is not _FLOAT64:
                    break
            else:
                return computed.compute(*args)
        return computed.convert_and_compute(*args, **named)

    function.__module__ = module
    FUNCTIONS[function] = computed
    return function


class _Compiled:
    """A source function and its kernel."""

    def __init__(self, source: Callable[..., Any], name: str) -> None:
        self.source = source
        self.name = name
        self.names = tuple(signature(source).parameters)
        self.shapes = tuple(SHAPES[name] for name in self.names)
        self._bridges: dict[str, Callable[..., Any]] = {}  # functions of other arrays, by package

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel, which is compiled at its first call."""
        from linkwork.engine.kernel.arguments import Signature
        from linkwork.engine.kernel.kernel import Kernel
        from linkwork.engine.runtime.sources import source_digest
        from linkwork.engine.symbolic.program import Port
        from linkwork.engine.symbolic.tracing import trace

        source, inputs = self.source, tuple(map(Port, self.names, self.shapes))
        with np.errstate(all="ignore"):
            result = source(*(np.zeros(shape) for shape in self.shapes))
        return Kernel(
            Signature(self.name, inputs, (Port(source.__name__, np.shape(result)),)),
            lambda: trace(source, inputs, source.__name__),
            key=f"{self.name}|{source_digest()}|{np.__version__}",
        )

    @cached_property
    def compute(self) -> Callable[..., Any]:
        """The kernel, wrapped to return scalars in place of 0-d arrays, as NumPy does."""
        kernel = self.kernel
        is_scalar = kernel.signature.outputs[0].shape == ()
        return (lambda *arrays: kernel(*arrays)[()]) if is_scalar else kernel

    def convert_and_compute(self, *args: Any, **named: Any) -> Any:
        """Handle any call: with named arguments, lists, other numeric types or traced values."""
        if named:
            args += tuple(named.pop(name) for name in self.names[len(args) :] if name in named)
        if named or len(args) != len(self.names):
            signature(self.source).bind(*args, **named)  # raises Python's TypeError
        for value in args:
            package = foreign_package(value)
            if package in BRIDGES:
                return self._bridge(package)(*args)
        arrays = [*map(as_array, args, self.names, self.shapes)]
        dtype = np.result_type(*arrays)
        if dtype.kind == "O":
            return self.source(*arrays)
        if dtype.type not in (np.float64, np.float32):
            batch_of(self.names, self.shapes, arrays)  # raises an error with the argument names
            with np.errstate(all="ignore"):  # compiled code issues no warnings either
                return self.source(*arrays)
        result = self.compute(*(array.astype(_FLOAT64, copy=False) for array in arrays))
        if dtype is _FLOAT64:
            return result
        with np.errstate(over="ignore"):  # a value too large for the type becomes infinite
            return result.astype(dtype)

    def _bridge(self, package: str) -> Callable[..., Any]:
        """Return the function for arrays of another package, created on first use."""
        function = self._bridges.get(package)
        if function is None:
            wrapped = import_module(BRIDGES[package]).wrap(self.kernel)
            function = self._bridges.setdefault(package, wrapped)
        return function
