"""Operators: functions of tensors with derivatives that PyTorch runs, usually kernels.

Values     compiled code runs on the memory of the tensors, without copies; on other devices than
           the CPU the program is replayed as tensor operations: each step is one operation on
           tensors of the batch, which takes microseconds for any batch size
Backward   the vjp kernel with respect to the inputs that need a gradient; where an input was
           broadcast, its gradient is the sum over the batch
Forward    the jvp kernel with respect to the inputs that have a tangent
Higher     a derivative is an operator too, and has derivatives
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor

from linkwork.bridges.derived_kernels import unit_tangents
from linkwork.bridges.torch.tensors import SMALL_BATCH, from_arrays, most_threads, summed
from linkwork.engine.autodiff.ports import Kind
from linkwork.engine.cached_property import cached_property
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.runtime.numpy_code import python_function
from linkwork.engine.symbolic.operations import FLOAT_FUNCTIONS, OPERATIONS, Op, Operation
from linkwork.engine.symbolic.program import Port, per_port
from linkwork.errors import ArgumentError, ShapeError, ValueRangeError, warn_once


def _of_tensors(op: Op, function: Callable[..., Tensor]) -> Callable[..., Any]:
    """Extend a function of tensors to floats, for steps that have only constants."""
    on_floats = FLOAT_FUNCTIONS[op]

    def apply(*args: Any) -> Any:
        if any(isinstance(arg, Tensor) for arg in args):
            return function(*args)
        return on_floats(*args)

    return apply


def _of_two_tensors(function: Any) -> Any:
    """Extend a function of two tensors to a tensor and a float."""

    def apply(a: Any, b: Any) -> Tensor:
        like = a if isinstance(a, Tensor) else b
        return function(torch.as_tensor(a).to(like), torch.as_tensor(b).to(like))

    return apply


def _torch_function(op: Op, row: Operation) -> Callable[..., Any]:
    if op is Op.SELECT:
        return lambda c, a, b: torch.where(c != 0, a, b)
    function = None if row.symbol else getattr(torch, op.name.lower(), None)
    if function is None:
        assert row.on_any is not None
        return row.on_any
    return function if row.arity == 1 else _of_two_tensors(function)


_FUNCTIONS = {op: _of_tensors(op, _torch_function(op, row)) for op, row in OPERATIONS.items()}


def checked_device(names: Sequence[str], tensors: Sequence[Tensor]) -> torch.device:
    """Return the common device of all tensors; scalars may be on the CPU."""
    first: tuple[str, torch.device] | None = None
    for name, tensor in zip(names, tensors, strict=True):
        if tensor.layout != torch.strided:
            message = f"{name}: expected a dense tensor, got {tensor.layout}"
            raise ArgumentError(f"{message}; use {name}.to_dense()")
        if tensor.ndim == 0 and tensor.device.type == "cpu":
            continue
        if first is not None and tensor.device != first[1]:
            message = f"{name} is on {tensor.device}, {first[0]} is on {first[1]}"
            raise ArgumentError(f"{message}; move all tensors to one device")
        first = first or (name, tensor.device)
    return torch.device("cpu") if first is None else first[1]


class Replay:
    """The program of a kernel as a function of tensors."""

    def __init__(self, kernel: Kernel) -> None:
        if not kernel.is_unrolled:
            message = f"{kernel.signature.name}: its program is too long for other devices"
            raise ArgumentError(f"{message}; move the tensors to the CPU")
        self._signature = kernel.signature
        self._run = python_function(kernel.program, _FUNCTIONS)

    def __call__(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Compute the outputs, with the broadcast batch axes of all inputs."""
        signature = self._signature
        device = checked_device([port.name for port in signature.inputs], tensors)
        if device.type != "cpu":
            warn_once(
                f"replay on {device.type}",
                f"compiled code runs on the CPU only, so {signature.name} and others are replayed"
                f" on {device} as tensor operations, each of which takes a few microseconds;"
                " this is slower except for large batches",
            )
        axes = [len(port.shape) for port in signature.inputs]
        batch = torch.broadcast_shapes(
            *(t.shape[: t.ndim - n] for t, n in zip(tensors, axes, strict=True))
        )
        rows = [
            tensor.reshape((*tensor.shape[: tensor.ndim - n], port.size))
            for tensor, n, port in zip(tensors, axes, signature.inputs, strict=True)
        ]
        columns = [column for row in self._normalized(rows) for column in row.unbind(-1)]
        like = next((t for t in tensors if t.device == device), tensors[0])
        with torch.no_grad():
            elements = [
                torch.as_tensor(element, dtype=like.dtype, device=device).expand(batch)
                for element in self._run(columns)
            ]
        return tuple(
            torch.stack(list(part), dim=-1).reshape((*batch, *port.shape))
            if port.size
            else like.new_empty((*batch, *port.shape))
            for port, part in per_port(signature.outputs, elements)
        )

    def _normalized(self, rows: list[Tensor]) -> list[Tensor]:
        """Divide the quaternions and (cos, sin) pairs of rows by their norms."""
        for unit in self._signature.unit_norms:
            row, end = rows[unit.input], unit.offset + unit.count
            part = row[..., unit.offset : end]
            unit_part = part / part.norm(dim=-1, keepdim=True)
            rows[unit.input] = torch.cat([row[..., : unit.offset], unit_part, row[..., end:]], -1)
        return rows


Tensors: TypeAlias = Sequence[Tensor]
Run: TypeAlias = Callable[..., "tuple[Tensor, ...]"]
"""Runs an operator on tensors: (operator, tensors) to a tuple, in the current mode of PyTorch."""

DERIVED = "\t"  # separator before each derivative in a token

Derived: TypeAlias = Kind | Literal["unit_tangents"]
"""Operators derived from an operator: derivatives, and tangents of a normalized input."""


class Operator:
    """A function of tensors of one type, with its derivatives, that PyTorch runs.

    Each input has any batch axes before the axes of a row. The batch axes are broadcast.
    """

    names: tuple[str, ...]  # of the inputs
    axes: tuple[int, ...]  # for each input, how many of its last axes belong to one row
    outputs: tuple[Port, ...]  # names, and shapes of one row
    keeps_outputs = False  # whether `backward` needs the outputs
    result_name = ""  # name of the named tuple that a call returns

    def __init__(self) -> None:
        self._origin: tuple[Operator, Derived, tuple[str, ...]] | None = None  # of a derivative
        self._derivatives: dict[tuple[Derived, tuple[str, ...]], Operator] = {}

    @cached_property
    def token(self) -> str:
        """A name that is unique to the operator and the same in every process.

        The token of a derivative starts with that of its function, from which it can be created.
        """
        if self._origin is not None:
            function, kind, wrt = self._origin
            return f"{function.token}{DERIVED}{json.dumps([kind, *wrt])}"
        name, *others = self._identity()
        digest = hashlib.sha256(repr((name, *others)).encode()).hexdigest()
        return f"{name} {digest[:32]}"

    def derivative(self, kind: Derived, wrt: tuple[str, ...]) -> Operator:
        """Return the operator of a derivative, created once."""
        operator = self._derivatives.get((kind, wrt))
        if operator is None:
            operator = self._new_derivative(kind, wrt)
            operator._origin = self, kind, wrt
            self._derivatives[kind, wrt] = operator
        return operator

    def returned(self, outputs: Any) -> Any:
        """Convert the outputs to what a call returns."""
        return outputs

    def defaults(self, n_inputs: int, like: Tensors) -> list[Tensor]:
        """Return default values of the inputs after the first `n_inputs`; raise if one has none.

        Args:
            n_inputs: number of inputs that were passed.
            like: tensors of the type and device to use.
        """
        del like
        if n_inputs < len(self.names):
            missing = ", ".join(self.names[n_inputs:])
            raise ArgumentError(f"{self.token.rpartition(' ')[0]}: missing arguments: {missing}")
        return []

    def batch(self, tensors: Tensors) -> torch.Size:
        """Return the broadcast batch axes of the inputs."""
        return torch.broadcast_shapes(
            *(t.shape[: t.ndim - n] for t, n in zip(tensors, self.axes, strict=True))
        )

    def empty(self, tensors: Tensors) -> list[Tensor]:
        """Return uninitialized tensors with the shapes of the outputs."""
        batch = self.batch(tensors)
        return [tensors[0].new_empty((*batch, *port.shape)) for port in self.outputs]

    def batch_first(self, in_dims: Sequence[int | None], tensors: Tensors) -> list[Tensor]:
        """Move the mapped axis of each input, where it has one, in front of all batch axes.

        Args:
            in_dims: the mapped axis of each input, or None.
            tensors: the inputs, which may have other batch axes.
        """
        n_batch_axes = [
            tensor.ndim - axes - (dim is not None)
            for tensor, axes, dim in zip(tensors, self.axes, in_dims, strict=True)
        ]
        rows = zip(self.names, self.axes, n_batch_axes, tensors, strict=True)
        for name, axes, count, tensor in rows:
            if count < 0:
                message = f"{name}: expected {axes} axes for a row, got {axes + count}"
                message = f"{message} without the axis of vmap, in {tuple(tensor.shape)}"
                raise ShapeError(message)
        most = max(n_batch_axes)
        moved: list[Tensor] = []
        for tensor, dim, count in zip(tensors, in_dims, n_batch_axes, strict=True):
            if dim is None:
                moved.append(tensor)
                continue
            front = tensor.movedim(dim, 0)
            moved.append(front.reshape(front.shape[0], *(1,) * (most - count), *front.shape[1:]))
        return moved

    # Defined by each kind of operator.

    def _identity(self) -> tuple[Any, ...]:
        """Return a name, and what else distinguishes the operator from others."""
        raise NotImplementedError

    def _new_derivative(self, kind: Derived, wrt: tuple[str, ...]) -> Operator:
        raise NotImplementedError

    def compute(self, tensors: Tensors) -> Tensor | tuple[Tensor, ...]:
        """Compute the output, or a tuple of outputs, without recording."""
        raise NotImplementedError

    def backward(
        self, run: Run, needed: Sequence[bool], saved: Tensors, cotangents: Tensors
    ) -> Sequence[Tensor | None]:
        """Compute the gradient with respect to each input that needs one.

        Args:
            run: runs operators.
            needed: for each input, whether its gradient is needed.
            saved: the inputs, then the outputs if they are kept.
            cotangents: of each output.
        """
        raise NotImplementedError

    def forward_mode(
        self, run: Run, saved: Tensors, tangents: Sequence[Tensor | None]
    ) -> tuple[Tensor, ...]:
        """Compute the tangent of each output.

        Args:
            run: runs operators.
            saved: the inputs, then the outputs if they are kept.
            tangents: of each input; None where it is constant.
        """
        raise NotImplementedError


class KernelOperator(Operator):
    """An operator that calls a kernel; all tensors have the precision of the kernel."""

    def __init__(self, kernel: Kernel, *, replay: bool = False) -> None:
        """Prepare an operator; nothing is compiled before it is needed.

        Args:
            kernel: the kernel to call.
            replay: whether to replay the program as tensor operations, on the CPU too.
        """
        super().__init__()
        self.kernel = kernel
        self.replay = replay
        signature = kernel.signature
        self.names = tuple(port.name for port in signature.inputs)
        self.axes = tuple(len(port.shape) for port in signature.inputs)
        self.outputs = signature.outputs
        self._is_single = len(signature.outputs) == 1
        self._result: Any = kernel._result  # pyright: ignore[reportPrivateUsage]
        self.result_name = "" if self._result is None else self._result.__name__

    def _identity(self) -> tuple[Any, ...]:
        kernel = self.kernel
        signature = kernel.signature
        return (
            signature.name,
            signature.inputs,
            signature.outputs,
            kernel.identity,
            kernel.dtype.name,
            self.replay,
        )

    def _new_derivative(self, kind: Derived, wrt: tuple[str, ...]) -> Operator:
        if kind == "unit_tangents":
            kernel: Any = unit_tangents(self.kernel, self.names.index(wrt[0]))
        else:
            kernel = self.kernel.derivative(kind, wrt)
        return KernelOperator(kernel, replay=self.replay)

    def returned(self, outputs: Any) -> Any:
        """Convert the outputs to what a call returns: one tensor, a tuple, or a named tuple."""
        if self._result is None or isinstance(outputs, Tensor):
            return outputs
        return tuple.__new__(self._result, outputs)

    def defaults(self, n_inputs: int, like: Tensors) -> list[Tensor]:
        """Return default values of the kernel's last inputs: parameters of the robot."""
        values: Any = getattr(self.kernel.signature, "defaults", {})
        if not set(self.names[n_inputs:]) <= set(values):
            return super().defaults(n_inputs, like)
        return [
            torch.as_tensor(values[name], dtype=like[0].dtype, device=like[0].device)
            for name in self.names[n_inputs:]
        ]

    def compute(self, tensors: Tensors) -> Tensor | tuple[Tensor, ...]:
        """Compute the outputs without recording."""
        if self.replay:
            return self._replayed(tensors)
        try:
            arrays = [tensor.numpy() for tensor in tensors]
        except (TypeError, RuntimeError):  # not on the CPU, or not a plain strided tensor
            return self._replayed(tensors)
        return self._on_arrays(arrays)

    def _on_arrays(self, arrays: Sequence[Any]) -> Tensor | tuple[Tensor, ...]:
        try:
            if all(array.size <= SMALL_BATCH for array in arrays):
                outputs: Any = self.kernel(*arrays)
            else:
                outputs = self.kernel(*arrays, threads=most_threads())
        except ValueRangeError as error:
            outputs = error.results
            if outputs is None:
                raise  # an invalid input; results that overflow are infinite or NaN, as in PyTorch
        return from_arrays(outputs)

    def _replayed(self, tensors: Tensors) -> Tensor | tuple[Tensor, ...]:
        device = checked_device(self.names, tensors)
        if device.type == "cpu" and not self.replay:
            return self._on_arrays([tensor.resolve_neg().numpy() for tensor in tensors])
        outputs = tuple(self.empty(tensors)) if device.type == "meta" else self._replay(tensors)
        return outputs[0] if self._is_single else outputs

    @cached_property
    def _replay(self) -> Replay:
        return Replay(self.kernel)

    def backward(
        self, run: Run, needed: Sequence[bool], saved: Tensors, cotangents: Tensors
    ) -> Sequence[Tensor | None]:
        """Compute the gradient with respect to each input that needs one, by a vjp kernel."""
        wrt = tuple([name for name, is_needed in zip(self.names, needed, strict=True) if is_needed])
        products = iter(run(self.derivative("vjp", wrt), (*saved, *cotangents)))
        gradients: list[Tensor | None] = []
        for k, tensor in enumerate(saved):
            gradient = None
            if needed[k]:
                gradient = self._through_normalization(run, k, next(products), tensor)
                gradient = summed(gradient, tensor)
            gradients.append(gradient)
        return gradients

    def forward_mode(
        self, run: Run, saved: Tensors, tangents: Sequence[Tensor | None]
    ) -> tuple[Tensor, ...]:
        """Compute the tangent of each output, by a jvp kernel."""
        by_name = {
            name: self._through_normalization(run, k, tangent, saved[k])
            for k, (name, tangent) in enumerate(zip(self.names, tangents, strict=True))
            if tangent is not None
        }
        return run(self.derivative("jvp", tuple(by_name)), (*saved, *by_name.values()))

    # A function of a quaternion or a (cos, sin) pair x is one of n = x / |x|. Its kernels compute
    # derivatives with respect to n. Those with respect to x are the same times dn/dx, a symmetric
    # matrix.

    def _through_normalization(self, run: Run, index: int, vector: Tensor, of: Tensor) -> Tensor:
        """Multiply the tangent or gradient of an input by dn/dx where it has parts x."""
        if not self._is_normalized[index]:
            return vector
        return run(self.derivative("unit_tangents", (self.names[index],)), (of, vector))[0]

    @cached_property
    def _is_normalized(self) -> tuple[bool, ...]:
        """For each input, whether it has parts that are normalized."""
        normalized = {unit.input for unit in self.kernel.signature.unit_norms}
        return tuple(index in normalized for index in range(len(self.names)))
