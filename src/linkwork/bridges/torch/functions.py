"""`linkwork.torch`: kernels and `KinDyn` for PyTorch tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import torch
from torch import Tensor

from linkwork.bridges.derived_kernels import in_precision
from linkwork.bridges.methods import METHODS, Bridged, call, documented, is_attribute
from linkwork.bridges.torch.autograd import result_in_graph, result_of, token_of
from linkwork.bridges.torch.operators import KernelOperator, Operator
from linkwork.bridges.torch.rollout import TorchRollout
from linkwork.bridges.torch.tensors import NUMPY_TYPES, TORCH_TYPES, as_tensors
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

    Call it as the kernel, with tensors by position or by name; numbers, lists and NumPy arrays are
    constants. Tensors are all float64 or all float32, and so are the results.
    """

    def __init__(self, make: Callable[[], Kernel], *, replay: bool = False) -> None:
        """Prepare a function; nothing is made or compiled before it is needed.

        Args:
            make: gives the kernel.
            replay: whether to replay the program as tensor operations, on the CPU too.
        """
        self._make = make
        self.replay = replay
        self._count = -1  # of inputs; known once there is an operator
        self._operators: dict[Any, Operator] = {}  # by the type of the tensors
        self._others: dict[int, TorchKernel] = {}  # with gravity or wrenches, by id of the kernel

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel, a function of NumPy arrays."""
        return self._make()

    @property
    def signature(self) -> Signature:
        """The inputs and outputs of one row."""
        return self.kernel.signature

    def __repr__(self) -> str:
        return repr(self.kernel).replace("<Kernel", "<TorchKernel", 1)

    def __reduce__(self) -> Any:
        return wrap, (self.kernel, self.replay)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The outputs as tensors."""
        if _is_compiling():
            return call_in_graph(self._plan, args, named)
        if not named and len(args) == self._count:
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
        """The results by name, such as "mass_matrix" and "jacobian_l_sole"."""
        found = self(*args, **named)
        names = [port.name for port in self.signature.outputs]
        return dict(zip(names, found if len(names) > 1 else [found], strict=True))

    def warmup(self) -> None:
        """Wait until the fast code is in use."""
        self.kernel.warmup()

    def jacobian(self, *wrt: str) -> TorchKernel:
        """The function that gives the derivatives of each output by each input."""
        return wrap(self.kernel.jacobian(*wrt), self.replay)

    def gradient(self, *wrt: str) -> TorchKernel:
        """The function that gives the derivatives of one number by each input."""
        return wrap(self.kernel.gradient(*wrt), self.replay)

    def hessian(self, *wrt: str) -> TorchKernel:
        """The function that gives the second derivatives of one number."""
        return wrap(self.kernel.hessian(*wrt), self.replay)

    def jvp(self, *wrt: str) -> TorchKernel:
        """The function that gives the Jacobian times a tangent."""
        return wrap(self.kernel.jvp(*wrt), self.replay)

    def vjp(self, *wrt: str) -> TorchKernel:
        """The function that gives a cotangent times the Jacobian."""
        return wrap(self.kernel.vjp(*wrt), self.replay)

    def operator(self, dtype: torch.dtype) -> Operator:
        """What PyTorch runs for tensors of a type."""
        known = self._operators.get(dtype)
        if known is None:
            kernel = in_precision(self.kernel, NUMPY_TYPES[dtype])
            known = self._operators.setdefault(dtype, KernelOperator(kernel, replay=self.replay))
            self._count = len(kernel.signature.inputs)
        return known

    def _call_slowly(self, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Calls with names, with numbers, with other types, or with gravity and wrenches."""
        kernel, values = call(self.kernel, args, named)
        names = [port.name for port in kernel.signature.inputs]
        tensors = as_tensors(names, values, kernel.dtype)
        dtype = tensors[0].dtype if tensors else TORCH_TYPES[kernel.dtype]
        operator = self._of_kernel(kernel).operator(dtype)
        return operator.returned(result_of(operator, tensors))

    def _of_kernel(self, kernel: Kernel) -> TorchKernel:
        """The function of a kernel that takes gravity or wrenches besides."""
        if kernel is self.kernel:
            return self
        known = self._others.get(id(kernel))
        if known is None:
            made = TorchKernel(lambda: kernel, replay=self.replay)
            known = self._others.setdefault(id(kernel), made)
        return known

    def _plan(self, dtype: str, count: int, names: Names, frames: Names) -> str:
        """What a compiled graph keeps of a call: see `call_in_graph`."""
        torch.compiler.allow_in_graph(result_in_graph)  # here, as it imports the compiler
        named: dict[str, Any] = dict.fromkeys(names, True)
        named |= {"wrenches": dict.fromkeys(frames)} if frames else {}
        own = self.kernel
        kernel, _ = call(own, [None] * count, named)  # what is wrong is said here
        types = {str(known): known for known in NUMPY_TYPES}
        wanted = types.get(dtype, TORCH_TYPES[own.dtype])
        operator = self._of_kernel(kernel).operator(wanted)
        inputs = [",".join(port.name for port in k.signature.inputs) for k in (own, kernel)]
        return "\n".join([token_of(operator), *inputs, operator.result_name])

    # What `torch.compiler.assume_constant_result` does, without importing the compiler.
    _plan._dynamo_marked_constant = True  # pyright: ignore


def call_in_graph(
    plan: Callable[[str, int, Names, Names], str], args: Sequence[Any], named: Mapping[str, Any]
) -> Any:
    """A call inside `torch.compile`, which reads this code instead of running it.

    Args:
        plan: from the type of the tensors, how many arguments are given by position, the names of
            the others and the frames of wrenches to a text of four lines: the token of the
            operator; the inputs by position; all inputs in order; the name of the result, if it is
            a named tuple.
        args: arguments by position.
        named: arguments by name.
    """
    values = {**named}
    wrenches, gravity = values.pop("wrenches", None), values.pop("gravity", None)
    wrenches = {} if wrenches is None else wrenches
    frames = tuple(wrenches)
    dtype = next((v.dtype for v in (*args, *values.values()) if isinstance(v, Tensor)), None)
    names = (*values, "gravity") if gravity is not None else (*values,)
    token, given, wanted, result = plan(str(dtype), len(args), names, frames).split("\n")
    for name, value in zip(given.split(","), args):  # noqa: B905 - the compiler knows no strict
        values[name] = value
    for frame in frames:
        values[f"wrench_{frame}"] = wrenches[frame]
    if gravity is not None:
        values["gravity"] = gravity
    tensors: list[Tensor] = []
    for name in wanted.split(","):
        if name not in values:
            break  # the rest have defaults, or are missed
        value = values[name]
        tensors.append(value if isinstance(value, Tensor) else torch.as_tensor(value, dtype=dtype))
    outputs = result_in_graph(token, *tensors)
    return getattr(results, result)(*outputs) if result else outputs


def wrap(kernel: Any, replay: bool = False) -> Any:
    """A kernel as a function of tensors.

    Args:
        kernel: any kernel: a method or `function` of a `linkwork.KinDyn`, a function of
            `@linkwork.compile`, a derivative of one; or a `linkwork.Rollout`.
        replay: whether to replay the program as tensor operations, on the CPU too.
    """
    if isinstance(kernel, Rollout):
        return TorchRollout(kernel)
    if not isinstance(kernel, Kernel):
        text = f"wrap: expected a kernel, got {shown(kernel)}"
        raise ArgumentError(f"{text}; such as kd.mass_matrix, or a function of @linkwork.compile")
    return TorchKernel(lambda: kernel, replay=replay)


class KinDyn(Bridged):
    """Every quantity of one robot, as functions of PyTorch tensors with derivatives.

    Arguments, methods and meaning are those of `linkwork.KinDyn`, with tensors in and out.
    """

    __module__ = "linkwork.torch"
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
        for name, method in METHODS.items():  # now, as `torch.compile` cannot make them
            if is_attribute(method):
                make: Any = partial(self.numpy._of, name)  # pyright: ignore[reportPrivateUsage]
                self.__dict__[name] = documented(TorchKernel(make, replay=replay), method)

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
