"""Operators: what PyTorch runs, functions of tensors with derivatives; above all kernels.

Numbers    compiled code runs on the memory of the tensors, without copies; on other devices than
           the CPU the program is replayed as tensor operations
Backward   the vjp kernel by those inputs that need it; where an input was broadcast, its gradient
           is the sum over the batch
Forward    the jvp kernel by those inputs that have a tangent
Higher     the derivatives of a derivative are those of its own operator
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor

from linkwork.bridges.derived_kernels import unit_tangents
from linkwork.bridges.torch.replay import Replay, checked_device
from linkwork.bridges.torch.tensors import SMALL_BATCH, most_threads
from linkwork.engine.autodiff.ports import Kind
from linkwork.engine.cached_property import cached_property
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.program import Port
from linkwork.errors import ArgumentError, ShapeError

Tensors: TypeAlias = Sequence[Tensor]
Run: TypeAlias = Callable[..., "tuple[Tensor, ...]"]
"""Runs an operator on tensors: (operator, tensors) to a tuple, however PyTorch is calling."""

DERIVED = "\t"  # before each derivative in a token

Derived: TypeAlias = Kind | Literal["unit_tangents"]
"""What is made of an operator: its derivatives, and tangents of an input that is normalized."""


class Operator:
    """What PyTorch runs: a function of tensors of one type, with its derivatives.

    Each input has any batch axes before those of its own, and they are broadcast.
    """

    names: tuple[str, ...]  # of the inputs
    axes: tuple[int, ...]  # for each input how many of its last axes belong to one row
    outputs: tuple[Port, ...]  # names, and shapes of one row
    keeps_outputs = False  # whether `backward` needs what the forward pass gave
    result_name = ""  # of the named tuple that a call returns

    def __init__(self) -> None:
        self._origin: tuple[Operator, Derived, tuple[str, ...]] | None = None  # of a derivative
        self._derivatives: dict[tuple[Derived, tuple[str, ...]], Operator] = {}

    @cached_property
    def token(self) -> str:
        """A name that is the same in every process, and different for every other operator.

        That of a derivative starts with that of its function, so that it can be made from it.
        """
        if self._origin is not None:
            function, kind, wrt = self._origin
            return f"{function.token}{DERIVED}{json.dumps([kind, *wrt])}"
        name, *others = self._identity()
        digest = hashlib.sha256(repr((name, *others)).encode()).hexdigest()
        return f"{name} {digest[:32]}"

    def derivative(self, kind: Derived, wrt: tuple[str, ...]) -> Operator:
        """The operator of a derivative, made once."""
        known = self._derivatives.get((kind, wrt))
        if known is None:
            known = self._made_derivative(kind, wrt)
            known._origin = self, kind, wrt
            self._derivatives[kind, wrt] = known
        return known

    def returned(self, outputs: Any) -> Any:
        """The outputs as a call returns them."""
        return outputs

    def defaults(self, given: int, like: Tensors) -> list[Tensor]:
        """Tensors for the inputs after the first `given` ones; they are missed if there are none.

        Args:
            given: how many inputs there are.
            like: tensors that say the type and the device.
        """
        del like
        if given < len(self.names):
            missing = ", ".join(self.names[given:])
            raise ArgumentError(f"{self.token.rpartition(' ')[0]}: {missing} missing")
        return []

    def batch(self, tensors: Tensors) -> torch.Size:
        """The batch axes of the inputs, broadcast."""
        return torch.broadcast_shapes(
            *(t.shape[: t.ndim - n] for t, n in zip(tensors, self.axes, strict=True))
        )

    def empty(self, tensors: Tensors) -> list[Tensor]:
        """Tensors of the shapes of the outputs, without numbers."""
        batch = self.batch(tensors)
        return [tensors[0].new_empty((*batch, *port.shape)) for port in self.outputs]

    def batch_first(self, in_dims: Sequence[int | None], tensors: Tensors) -> list[Tensor]:
        """Inputs whose mapped axis, where they have one, is the first of all batch axes.

        Args:
            in_dims: the mapped axis of each input, or None.
            tensors: the inputs, with any batch axes of their own besides.
        """
        own = [
            tensor.ndim - axes - (dim is not None)
            for tensor, axes, dim in zip(tensors, self.axes, in_dims, strict=True)
        ]
        for name, axes, count, tensor in zip(self.names, self.axes, own, tensors, strict=True):
            if count < 0:
                text = f"{name}: expected {axes} axes for a row, got {axes + count}"
                raise ShapeError(f"{text} besides the one of vmap, in {tuple(tensor.shape)}")
        most = max(own)
        moved: list[Tensor] = []
        for tensor, dim, count in zip(tensors, in_dims, own, strict=True):
            if dim is None:
                moved.append(tensor)
                continue
            front = tensor.movedim(dim, 0)
            moved.append(front.reshape(front.shape[0], *(1,) * (most - count), *front.shape[1:]))
        return moved

    # What each kind of operator says.

    def _identity(self) -> tuple[Any, ...]:
        """A name, and what else makes it different from others."""
        raise NotImplementedError

    def _made_derivative(self, kind: Derived, wrt: tuple[str, ...]) -> Operator:
        raise NotImplementedError

    def compute(self, tensors: Tensors) -> Tensor | tuple[Tensor, ...]:
        """The output, or a tuple of them; nothing is recorded."""
        raise NotImplementedError

    def backward(
        self, run: Run, needed: Sequence[bool], saved: Tensors, cotangents: Tensors
    ) -> Sequence[Tensor | None]:
        """The gradient by each input that needs one.

        Args:
            run: runs operators.
            needed: for each input whether its gradient is wanted.
            saved: the inputs; then the outputs, if they are kept.
            cotangents: of each output.
        """
        raise NotImplementedError

    def forward_mode(
        self, run: Run, saved: Tensors, tangents: Sequence[Tensor | None]
    ) -> tuple[Tensor, ...]:
        """The tangent of each output.

        Args:
            run: runs operators.
            saved: the inputs; then the outputs, if they are kept.
            tangents: of each input; None where it does not vary.
        """
        raise NotImplementedError


class KernelOperator(Operator):
    """A kernel as PyTorch runs it; all tensors have the precision of the kernel."""

    def __init__(self, kernel: Kernel, *, replay: bool = False) -> None:
        """Prepare an operator; nothing is compiled before it is needed.

        Args:
            kernel: to run.
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
        own = kernel.signature
        return own.name, own.inputs, own.outputs, kernel.identity, kernel.dtype.name, self.replay

    def _made_derivative(self, kind: Derived, wrt: tuple[str, ...]) -> Operator:
        if kind == "unit_tangents":
            kernel: Any = unit_tangents(self.kernel, self.names.index(wrt[0]))
        else:
            kernel = self.kernel.derivative(kind, wrt)
        return KernelOperator(kernel, replay=self.replay)

    def returned(self, outputs: Any) -> Any:
        """The outputs as a call returns them: one tensor, a tuple, or the named tuple."""
        if self._result is None or isinstance(outputs, Tensor):
            return outputs
        return tuple.__new__(self._result, outputs)

    def defaults(self, given: int, like: Tensors) -> list[Tensor]:
        """Those of the kernel: numbers of the robot that are inputs, where they are not given."""
        known: Any = getattr(self.kernel.signature, "defaults", {})
        if not set(self.names[given:]) <= set(known):
            return super().defaults(given, like)
        return [
            torch.as_tensor(known[name], dtype=like[0].dtype, device=like[0].device)
            for name in self.names[given:]
        ]

    def compute(self, tensors: Tensors) -> Tensor | tuple[Tensor, ...]:
        """The outputs; nothing is recorded."""
        if self.replay:
            return self._replayed(tensors)
        try:
            arrays = [tensor.numpy() for tensor in tensors]
        except (TypeError, RuntimeError):  # not on the CPU, or no plain memory
            return self._replayed(tensors)
        return self._on_arrays(arrays)

    def _on_arrays(self, arrays: Sequence[Any]) -> Tensor | tuple[Tensor, ...]:
        if all(array.size <= SMALL_BATCH for array in arrays):
            found: Any = self.kernel(*arrays)
        else:
            found = self.kernel(*arrays, threads=most_threads())
        if self._is_single:
            return torch.from_numpy(found)
        return tuple([torch.from_numpy(array) for array in found])

    def _replayed(self, tensors: Tensors) -> Tensor | tuple[Tensor, ...]:
        device = checked_device(self.names, tensors)
        if device.type == "cpu" and not self.replay:
            return self._on_arrays([tensor.resolve_neg().numpy() for tensor in tensors])
        found = tuple(self.empty(tensors)) if device.type == "meta" else self._replay(tensors)
        return found[0] if self._is_single else found

    @cached_property
    def _replay(self) -> Replay:
        return Replay(self.kernel)

    def backward(
        self, run: Run, needed: Sequence[bool], saved: Tensors, cotangents: Tensors
    ) -> Sequence[Tensor | None]:
        """The gradient by each input that needs one, by a vjp kernel."""
        wrt = tuple([name for name, wanted in zip(self.names, needed, strict=True) if wanted])
        found = iter(run(self.derivative("vjp", wrt), (*saved, *cotangents)))
        gradients: list[Tensor | None] = []
        for k, tensor in enumerate(saved):
            gradient = None
            if needed[k]:
                gradient = self._by_unit(run, k, next(found), tensor)
                if gradient.shape != tensor.shape:
                    gradient = gradient.sum_to_size(tensor.shape)
            gradients.append(gradient)
        return gradients

    def forward_mode(
        self, run: Run, saved: Tensors, tangents: Sequence[Tensor | None]
    ) -> tuple[Tensor, ...]:
        """The tangent of each output, by a jvp kernel."""
        given = [
            (name, self._by_unit(run, k, tangent, saved[k]))
            for k, (name, tangent) in enumerate(zip(self.names, tangents, strict=True))
            if tangent is not None
        ]
        jvp = self.derivative("jvp", tuple([name for name, _ in given]))
        return run(jvp, (*saved, *[tangent for _, tangent in given]))

    # A function of a quaternion or a (cos, sin) pair x is one of n = x / |x|, and its kernels give
    # derivatives by n. Those by x are these, times dn/dx, which is a symmetric matrix.

    def _by_unit(self, run: Run, index: int, vector: Tensor, of: Tensor) -> Tensor:
        """The tangent or gradient of an input, times dn/dx where x is a part of the input."""
        if not self._has_units[index]:
            return vector
        return run(self.derivative("unit_tangents", (self.names[index],)), (of, vector))[0]

    @cached_property
    def _has_units(self) -> tuple[bool, ...]:
        """For each input whether it has parts that are normalized."""
        normalized = {unit.input for unit in self.kernel.signature.unit_norms}
        return tuple(index in normalized for index in range(len(self.names)))
