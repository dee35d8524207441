"""A kernel as a CasADi function that calls linkwork's machine code.

CasADi's `external` loads a library and finds a function in it by name. `_casadi.c` is such a
library, built with linkwork; each function gets a copy of it, which is filled with the address and
the shapes of a kernel. Its derivatives are kernels too, up to the second order: they are made when
CasADi first asks for them.
"""

from __future__ import annotations

import ctypes
import shutil
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from linkwork.bridges.casadi.sx import (
    casadi_package,
    check_unrolled,
    column_order,
    matrix_shape,
    name_of,
    normalized_part,
)
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.runtime.backends import MachineCode
from linkwork.engine.symbolic.program import Port
from linkwork.errors import ArgumentError, MissingPackageError

# The slots of _casadi.c in their order: what is differentiated how often, the last one first.
SLOTS = ("", "fwd", "adj", "fwd fwd", "adj fwd", "fwd adj", "adj adj", "jac")
FILE = "linkwork_kernel"  # the name of the function in the library


@dataclass(frozen=True)
class Matrix:
    """An argument or result of a CasADi function."""

    name: str
    shape: tuple[int, int]
    order: tuple[int, ...]  # where CasADi keeps each number of the kernel's array

    def named(self, prefix: str) -> Matrix:
        """The same with a longer name."""
        return replace(self, name=f"{prefix}_{self.name}")

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return len(self.order)


@dataclass(frozen=True)
class Call:
    """How a CasADi function calls a kernel.

    Derivatives in CasADi also take the results of the function itself as arguments, which kernels
    do not need.
    """

    kernel: Kernel
    arguments: tuple[Matrix, ...]
    results: tuple[Matrix, ...]
    inputs: tuple[int, ...]  # for each input of the kernel, which argument it is
    outputs: tuple[int, ...]  # for each output of the kernel, which result it is

    def forward(self) -> Call:
        """The product of the Jacobian and a tangent of each argument."""
        known = self._known()
        return Call(
            self.kernel.jvp(),
            (*known, *(matrix.named("fwd") for matrix in self.arguments)),
            tuple(matrix.named("fwd") for matrix in self.results),
            (*self.inputs, *(len(known) + at for at in self.inputs)),
            self.outputs,
        )

    def adjoint(self) -> Call:
        """The product of a cotangent of each result and the Jacobian."""
        known = self._known()
        return Call(
            self.kernel.vjp(),
            (*known, *(matrix.named("adj") for matrix in self.results)),
            tuple(matrix.named("adj") for matrix in self.arguments),
            (*self.inputs, *(len(known) + at for at in self.outputs)),
            self.inputs,
        )

    def jacobian(self) -> Call:
        """The derivatives of each result by each argument."""
        slopes = [_slope(result, by) for result in self.results for by in self.arguments]
        each = tuple(range(len(slopes)))
        return Call(self.kernel.jacobian(), self._known(), tuple(slopes), self.inputs, each)

    def _known(self) -> tuple[Matrix, ...]:
        return (*self.arguments, *(matrix.named("out") for matrix in self.results))


def call_of(kernel: Kernel, slot: str) -> Call:
    """The call of a slot: of the kernel, or of one of its derivatives."""
    arguments, results = kernel.signature.inputs, kernel.signature.outputs
    call = Call(
        kernel,
        tuple(map(_matrix, arguments)),
        tuple(map(_matrix, results)),
        tuple(range(len(arguments))),
        tuple(range(len(results))),
    )
    if slot == "jac":
        return call.jacobian()
    for step in reversed(slot.split()):
        call = call.forward() if step == "fwd" else call.adjoint()
    return call


def _matrix(port: Port) -> Matrix:
    return Matrix(name_of(port.name), matrix_shape(port), tuple(column_order(port)))


def _slope(result: Matrix, by: Matrix) -> Matrix:
    """A derivative: a row for each number of the result, a column for each of the argument."""
    order = tuple(row + result.size * column for row in result.order for column in by.order)
    return Matrix(f"jac_{result.name}_{by.name}", (result.size, by.size), order)


class _Port(ctypes.Structure):
    _fields_ = (
        ("at", ctypes.c_int64),
        ("size", ctypes.c_int64),
        ("order", ctypes.POINTER(ctypes.c_int64)),
    )


_Names = ctypes.POINTER(ctypes.c_char_p)
_Sparsity = ctypes.POINTER(ctypes.POINTER(ctypes.c_longlong))


class _Slot(ctypes.Structure):
    _fields_ = (
        ("n_arg", ctypes.c_int64),
        ("n_res", ctypes.c_int64),
        ("arg_names", _Names),
        ("res_names", _Names),
        ("arg_sparsity", _Sparsity),
        ("res_sparsity", _Sparsity),
        ("n_in", ctypes.c_int64),
        ("n_out", ctypes.c_int64),
        ("in", ctypes.POINTER(_Port)),
        ("out", ctypes.POINTER(_Port)),
        ("n_zero", ctypes.c_int64),
        ("zero", ctypes.POINTER(_Port)),
        ("code", ctypes.c_void_p),
        ("workspace", ctypes.c_int64),
    )


_Fill = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(_Slot))


class Library:
    """A loaded copy of the library, for one kernel; it keeps all that CasADi's calls need."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._kept: list[Any] = []
        self._error: Exception | None = None
        self._lock = threading.RLock()  # held while a slot is filled
        self._folder = tempfile.TemporaryDirectory(prefix="linkwork_casadi_")
        self.path = Path(self._folder.name) / _library_file().name
        shutil.copy(_library_file(), self.path)
        self._library = ctypes.CDLL(str(self.path))
        self._fill = _Fill(self._filled)
        self._library.linkwork_set_fill(self._fill)

    def raise_error(self) -> None:
        """Raise what went wrong while CasADi asked for a derivative."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _filled(self, index: int, slot: Any) -> int:
        try:
            with self._lock:
                if not slot.contents.code:  # else another thread has filled it
                    self._fill_slot(call_of(self._kernel, SLOTS[index]), slot.contents)
        except Exception as error:  # noqa: BLE001  # C has no exceptions: `raise_error` raises it
            self._error = error
            return 1
        return 0

    def _fill_slot(self, call: Call, slot: Any) -> None:
        kernel = call.kernel
        check_unrolled(kernel)
        code, workspace = _code_of(kernel)
        slot.n_arg, slot.n_res = len(call.arguments), len(call.results)
        slot.arg_names, slot.res_names = map(self._names, (call.arguments, call.results))
        slot.arg_sparsity, slot.res_sparsity = map(self._dense, (call.arguments, call.results))
        slot.n_in, slot.n_out = len(call.inputs), len(call.outputs)
        setattr(slot, "in", self._ports(call.inputs, call.arguments))
        slot.out = self._ports(call.outputs, call.results)
        unused = [k for k in range(len(call.results)) if k not in call.outputs]
        slot.n_zero, slot.zero = len(unused), self._ports(unused, call.results)
        slot.workspace = workspace
        slot.code = code.address("f")
        self._kept.append((kernel, code.lease))  # the kernel itself may get other code

    def _names(self, matrices: Sequence[Matrix]) -> Any:
        names = [matrix.name.encode() for matrix in matrices]
        return self._array(ctypes.c_char_p, names)

    def _dense(self, matrices: Sequence[Matrix]) -> Any:
        """CasADi's short form of dense patterns: rows, columns, 1."""
        patterns = [self._array(ctypes.c_longlong, (*matrix.shape, 1)) for matrix in matrices]
        return self._array(ctypes.POINTER(ctypes.c_longlong), patterns)

    def _ports(self, places: Sequence[int], matrices: Sequence[Matrix]) -> Any:
        ports: list[_Port] = []
        for at in places:
            order = matrices[at].order
            is_same = order == tuple(range(len(order)))
            pointer = self._array(ctypes.c_int64, order) if not is_same else None
            ports.append(_Port(at, len(order), pointer))
        return self._array(_Port, ports)

    def _array(self, kind: Any, items: Sequence[Any]) -> Any:
        """A pointer to items in C, which stay there as long as the library."""
        array = (kind * len(items))(*items)
        self._kept.append(array)
        return ctypes.cast(array, ctypes.POINTER(kind))


def _code_of(kernel: Kernel) -> tuple[MachineCode, int]:
    """The fast code of one row, and the bytes of workspace that it needs."""
    kernel.warmup()
    code = kernel.code.one
    if code is None:
        raise ArgumentError(f"{kernel.signature.name}: there is no machine code on this platform")
    takes = ctypes.CFUNCTYPE(
        ctypes.c_int64, *[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_void_p
    )
    return code, takes(code.address("f"))(None, None, None, 0, None)


def _library_file() -> Path:
    try:
        module = import_module("linkwork.bridges.casadi._casadi")
    except ImportError as error:
        text = "compiled CasADi functions need the C extension, which was not built"
        raise MissingPackageError(f"{text} when linkwork was installed ({error})") from error
    return Path(str(module.__file__))


# What each CasADi function needs lives as long as it may be called, and CasADi says nobody when it
# frees a function: the libraries stay until the process ends, one for each kernel.
_kept: list[Library] = []


def compiled_function(kernel: Kernel) -> Any:
    """The `casadi.Function` that computes a kernel by its machine code, dense in all entries."""
    ca = casadi_package()
    check_unrolled(kernel)
    signature = kernel.signature
    library = Library(kernel)
    _kept.append(library)
    inner = ca.external(FILE, str(library.path))
    library.raise_error()
    symbols = [ca.MX.sym(name_of(port.name), *matrix_shape(port)) for port in signature.inputs]
    given = list(symbols)
    for unit in signature.unit_norms:
        parts = ca.vertsplit(given[unit.input])
        span = slice(unit.offset, unit.offset + unit.count)
        parts[span] = normalized_part(parts[span], ca.sqrt)
        given[unit.input] = ca.vertcat(*parts)
    results = inner(*given)
    return ca.Function(
        name_of(signature.name),
        symbols,
        list(results) if isinstance(results, (tuple, list)) else [results],
        [name_of(port.name) for port in signature.inputs],
        [name_of(port.name) for port in signature.outputs],
    )
