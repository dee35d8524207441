"""`linkwork.torch`: kernels and `KinDyn` for PyTorch tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import torch
from torch import Tensor

from linkwork.bridges.derived_kernels import in_precision
from linkwork.bridges.methods import (
    Bridged,
    BridgedConstrainedKinDyn,
    BridgedKinDyn,
    call,
    documented,
    is_attribute,
)
from linkwork.bridges.torch.autograd import result_in_graph, result_of, token_of
from linkwork.bridges.torch.operators import KernelOperator, Operator
from linkwork.bridges.torch.rollout import TorchRollout
from linkwork.bridges.torch.tensors import NUMPY_TYPES, TORCH_TYPES, as_tensors, first_dtype
from linkwork.engine.cached_property import cached_property
from linkwork.engine.kernel.arguments import Signature
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.kernel.rollout import Rollout
from linkwork.errors import ArgumentError, shown
from linkwork.kindyn import results

_is_compiling = torch.compiler.is_compiling
Names: TypeAlias = tuple[str, ...]


class TorchKernel:
    """A kernel as a function of tensors, with derivatives of all orders.

    Call it like the kernel, with tensors by position or by name; floats, lists and NumPy arrays are
    constants. The tensors are all float64 or all float32, and so are the results.
    """

    def __init__(self, create: Callable[[], Kernel], *, replay: bool = False) -> None:
        """Prepare a function; nothing is created or compiled before it is needed.

        Args:
            create: returns the kernel.
            replay: whether to replay the program as tensor operations, on the CPU too.
        """
        self._create = create
        self.replay = replay
        self._n_inputs = -1  # known once there is an operator
        self._operators: dict[Any, Operator] = {}  # by the type of the tensors
        self._variants: dict[int, TorchKernel] = {}  # with gravity or wrenches, by id of the kernel

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel, a function of NumPy arrays."""
        return self._create()

    @property
    def signature(self) -> Signature:
        """The inputs and outputs of one row."""
        return self.kernel.signature

    def __repr__(self) -> str:
        return repr(self.kernel).replace("<Kernel", "<TorchKernel", 1)

    def __reduce__(self) -> Any:
        return wrap, (self.kernel, self.replay)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Compute the outputs as tensors."""
        if _is_compiling():
            return call_in_graph(self._plan, args, named)
        if not named and len(args) == self._n_inputs:
            dtype = getattr(args[0], "dtype", None) if args else None
            operator = self._operators.get(dtype)
            if operator is not None:
                for tensor in args:
                    if not isinstance(tensor, Tensor) or tensor.dtype is not dtype:
                        break
                else:
                    return operator.returned(result_of(operator, args))
        return self._call_slowly(args, named)

    def named(self, *args: Any, **named: Any) -> dict[str, Tensor]:
        """Return the results by name, such as "mass_matrix" and "jacobian_l_sole"."""
        outputs = self(*args, **named)
        names = [port.name for port in self.signature.outputs]
        return dict(zip(names, outputs if len(names) > 1 else [outputs], strict=True))

    def warmup(self) -> None:
        """Wait until the optimized code is in use."""
        self.kernel.warmup()

    def jacobian(self, *wrt: str) -> TorchKernel:
        """Return the function of the derivatives of each output with respect to each input."""
        return wrap(self.kernel.jacobian(*wrt), self.replay)

    def gradient(self, *wrt: str) -> TorchKernel:
        """Return the function of the gradient of a scalar output with respect to each input."""
        return wrap(self.kernel.gradient(*wrt), self.replay)

    def hessian(self, *wrt: str) -> TorchKernel:
        """Return the function of the second derivatives of a scalar output."""
        return wrap(self.kernel.hessian(*wrt), self.replay)

    def jvp(self, *wrt: str) -> TorchKernel:
        """Return the function that computes the Jacobian times a tangent."""
        return wrap(self.kernel.jvp(*wrt), self.replay)

    def vjp(self, *wrt: str) -> TorchKernel:
        """Return the function that computes a cotangent times the Jacobian."""
        return wrap(self.kernel.vjp(*wrt), self.replay)

    def operator(self, dtype: torch.dtype) -> Operator:
        """Return the operator that PyTorch runs for tensors of a type."""
        operator = self._operators.get(dtype)
        if operator is None:
            kernel = in_precision(self.kernel, NUMPY_TYPES[dtype])
            operator = KernelOperator(kernel, replay=self.replay)
            operator = self._operators.setdefault(dtype, operator)
            self._n_inputs = len(kernel.signature.inputs)
        return operator

    def _call_slowly(self, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Handle keyword arguments, constants, other types, gravity and wrenches."""
        kernel, values = call(self.kernel, args, named)
        names = [port.name for port in kernel.signature.inputs]
        tensors = as_tensors(names, values, kernel.dtype)
        dtype = tensors[0].dtype if tensors else TORCH_TYPES[kernel.dtype]
        operator = self._variant(kernel).operator(dtype)
        return operator.returned(result_of(operator, tensors))

    def _variant(self, kernel: Kernel) -> TorchKernel:
        """Return the function of a kernel that also takes gravity or wrenches."""
        if kernel is self.kernel:
            return self
        variant = self._variants.get(id(kernel))
        if variant is None:
            variant = TorchKernel(lambda: kernel, replay=self.replay)
            variant = self._variants.setdefault(id(kernel), variant)
        return variant

    def _plan(self, dtype: str, count: int, names: Names, frames: Names) -> str:
        """Return what a compiled graph stores about a call: see `call_in_graph`."""
        torch.compiler.allow_in_graph(result_in_graph)  # here, as it imports the compiler
        named: dict[str, Any] = dict.fromkeys(names, True)
        named |= {"wrenches": dict.fromkeys(frames)} if frames else {}
        kernel, _ = call(self.kernel, [None] * count, named)  # raises if the arguments are wrong
        types = {str(torch_type): torch_type for torch_type in NUMPY_TYPES}
        torch_type = types.get(dtype, TORCH_TYPES[self.kernel.dtype])
        operator = self._variant(kernel).operator(torch_type)
        inputs = [",".join(port.name for port in k.signature.inputs) for k in (self.kernel, kernel)]
        return "\n".join([token_of(operator), *inputs, operator.result_name])

    # The effect of `torch.compiler.assume_constant_result`, without importing the compiler.
    _plan._dynamo_marked_constant = True  # pyright: ignore


def call_in_graph(
    plan: Callable[[str, int, Names, Names], str], args: Sequence[Any], named: Mapping[str, Any]
) -> Any:
    """Call a function inside `torch.compile`, which traces this code instead of running it.

    Args:
        plan: a function of the tensors' type, the number of positional arguments, the names of the
            others and the frames of wrenches. It returns a string of four lines: the token of the
            operator; the names of the positional inputs; the names of all inputs in order; the name
            of the result type if it is a named tuple.
        args: positional arguments.
        named: keyword arguments.
    """
    values = {**named}
    wrenches, gravity = values.pop("wrenches", None), values.pop("gravity", None)
    wrenches = {} if wrenches is None else wrenches
    frames = tuple(wrenches)
    dtype = first_dtype((*args, *values.values()))
    names = (*values, "gravity") if gravity is not None else (*values,)
    token, positional_names, input_names, result = plan(str(dtype), len(args), names, frames).split(
        "\n"
    )
    for name, value in zip(positional_names.split(","), args):  # noqa: B905 - no strict in dynamo
        values[name] = value
    for frame in frames:
        values[f"wrench_{frame}"] = wrenches[frame]
    if gravity is not None:
        values["gravity"] = gravity
    tensors: list[Tensor] = []
    for name in input_names.split(","):
        if name not in values:
            break  # the remaining inputs have defaults, or `result_in_graph` raises
        value = values[name]
        tensors.append(value if isinstance(value, Tensor) else torch.as_tensor(value, dtype=dtype))
    outputs = result_in_graph(token, *tensors)
    return getattr(results, result)(*outputs) if result else outputs


def wrap(kernel: Any, replay: bool = False) -> Any:
    """Convert a kernel to a function of tensors.

    Args:
        kernel: a method or `function` of a `linkwork.KinDyn`, a function of `@linkwork.compile`, a
            derivative of one, or a `linkwork.Rollout`.
        replay: whether to replay the program as tensor operations, on the CPU too.
    """
    if isinstance(kernel, Rollout):
        return TorchRollout(kernel)
    if not isinstance(kernel, Kernel):
        message = f"wrap: expected a kernel, got {shown(kernel)}"
        raise ArgumentError(f"{message}; use kd.mass_matrix or a function of @linkwork.compile")
    return TorchKernel(lambda: kernel, replay=replay)


class Functions(Bridged):
    """A robot whose functions take and return tensors."""

    _OWN_OPTIONS = ("replay",)
    replay: bool

    def __init__(
        self, model: Any, base: str | None = None, *, replay: bool = False, **options: Any
    ) -> None:
        dtype = options.get("dtype")
        if isinstance(dtype, torch.dtype):
            options["dtype"] = NUMPY_TYPES.get(dtype, dtype)
        super().__init__(model, base, **options)
        self.__dict__["replay"] = bool(replay)
        for name, method in self._METHODS.items():  # now, as `torch.compile` cannot create them
            if is_attribute(method):
                create: Any = partial(self.numpy.function, name)
                self.__dict__[name] = documented(TorchKernel(create, replay=replay), method)

    def _wrapped(self, kernel: Kernel) -> TorchKernel:
        return TorchKernel(lambda: kernel, replay=self.replay)

    def _constant(self, array: Any) -> Tensor:
        return torch.from_numpy(array)

    def _of(self, *request: Any) -> Any:
        if _is_compiling():
            return partial(self._call_in_graph, request)
        return super()._of(*request)

    def _call_in_graph(self, request: tuple[Any, ...], *args: Any, **named: Any) -> Any:
        return call_in_graph(partial(self._plan, request), args, named)

    def _plan(
        self, request: tuple[Any, ...], dtype: str, count: int, names: Names, frames: Names
    ) -> str:
        return super()._of(*request)._plan(dtype, count, names, frames)

    _plan._dynamo_marked_constant = True  # pyright: ignore


class KinDyn(Functions, BridgedKinDyn):
    """Every quantity of one robot, as functions of PyTorch tensors with derivatives.

    Options, methods and conventions are those of `linkwork.KinDyn`, with tensors in and out.
    """

    __module__ = "linkwork.torch"


class ConstrainedKinDyn(Functions, BridgedConstrainedKinDyn):
    """A robot with closed loops and contacts, as functions of PyTorch tensors with derivatives.

    Options, methods and conventions are those of `linkwork.ConstrainedKinDyn`, with tensors in and
    out. `KinDyn.constrained` creates it.
    """

    __module__ = "linkwork.torch"


Functions._CLASSES = KinDyn, ConstrainedKinDyn  # pyright: ignore[reportPrivateUsage]
