"""A kernel as a CasADi function: its program replayed on symbols of type SX, or its machine code.

Shapes        CasADi has matrices only: a scalar is (1, 1), a vector (n, 1), and an array (a, b, c)
              is (a b, c), its matrices stacked vertically
Zeros         entries that are always zero are structural zeros of the matrix of SX
Norms         quaternions and (cos, sin) pairs are divided by their norm, whatever its value
Machine code  `external` of CasADi loads a library and looks up a function in it by name.
              `_casadi.c` is such a library, built with linkwork. Each function gets a copy of it,
              which holds the address and the shapes of one kernel. Derivatives up to the second
              order are kernels too. They are compiled when CasADi first requests them
"""

from __future__ import annotations

import ctypes
import re
import shutil
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from importlib import import_module
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.engine.kernel.arguments import Signature, UnitNorm
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.runtime.backends import MachineCode
from linkwork.engine.symbolic.operations import OPERATIONS, Op
from linkwork.engine.symbolic.program import Port, Program, per_port
from linkwork.errors import ArgumentError, MissingPackageError, missing_package, shown


def casadi_package() -> Any:
    """Import CasADi, which is optional."""
    try:
        import casadi
    except ImportError as error:
        raise missing_package("linkwork.casadi", "casadi") from error
    return casadi


def sx_function(kernel: Kernel) -> Any:
    """Build the `casadi.Function` that computes a kernel with SX operations."""
    ca = casadi_package()
    check_unrolled(kernel)
    signature, program = kernel.signature, kernel.program
    symbols = [ca.SX.sym(name_of(port.name), *matrix_shape(port)) for port in signature.inputs]
    rows = [_in_row_order(port, x) for port, x in zip(signature.inputs, symbols, strict=True)]
    normalized = _normalized(rows, signature.unit_norms)
    results = program.run(*normalized, functions=_functions(ca))
    outputs = [
        _matrix(port, entries, steps, program)
        for (port, entries), (_, steps) in zip(
            per_port(signature.outputs, results),
            per_port(signature.outputs, program.results),
            strict=True,
        )
    ]
    return _function(signature, symbols, outputs)


def _function(signature: Signature, symbols: Sequence[Any], outputs: Sequence[Any]) -> Any:
    """Build a `casadi.Function` with the names of a signature."""
    names = [
        [name_of(port.name) for port in part] for part in (signature.inputs, signature.outputs)
    ]
    return casadi_package().Function(name_of(signature.name), symbols, outputs, *names)


def check_unrolled(kernel: Kernel) -> None:
    """Raise if a kernel has no program because it would be too long."""
    if not kernel.is_unrolled:
        message = f"{kernel.signature.name} has too many operations for a CasADi function"
        raise ArgumentError(f"{message}; call it with NumPy arrays")


def name_of(text: str) -> str:
    """Return a valid CasADi name: letters, digits and single underscores, a letter first."""
    name = re.sub(r"[^a-zA-Z0-9]+", "_", text).strip("_")
    return name if name[:1].isalpha() else f"f_{name}"


def matrix_shape(port: Port) -> tuple[int, int]:
    """Return the rows and columns of a port in CasADi."""
    if len(port.shape) < 2:
        return port.size, 1
    columns = port.shape[-1]
    return (port.size // columns if columns else 0), columns


def column_order(port: Port) -> list[int]:
    """Return the column-major index of each element of a port, in row-major order."""
    n_rows, n_columns = matrix_shape(port)
    return [row + n_rows * column for row in range(n_rows) for column in range(n_columns)]


def as_matrix(port: Port, value: Any) -> Any:
    """Convert an argument to SX, MX or DM; floats become DM, a list of symbols a column."""
    ca = casadi_package()
    kinds = ca.SX, ca.MX, ca.DM
    if isinstance(value, kinds):
        return value
    if isinstance(value, (list, tuple)) and any(isinstance(entry, kinds) for entry in value):
        value = np.array([*value, None], dtype=object)[:-1]  # an array of objects: None prevents
        # NumPy from converting the entries
    try:
        array = np.asarray(value)
        if array.dtype.kind in "fiub":
            return ca.DM(array.astype(float))
        if array.ndim == 1 and any(isinstance(entry, kinds) for entry in array):
            return ca.vertcat(*array)
    except (TypeError, ValueError, NotImplementedError):
        pass
    message = f"{port.name}: expected SX, MX, DM or numbers"
    raise ArgumentError(f"{message}, got {shown(value)}")


def normalized_part(values: Sequence[Any], root: Any) -> list[Any]:
    """Divide values by their Euclidean norm."""
    inverse = 1.0 / root(reduce(add, [value * value for value in values]))
    return [value * inverse for value in values]


def _in_row_order(port: Port, symbol: Any) -> list[Any]:
    elements = symbol.elements()
    return [elements[index] for index in column_order(port)]


def _normalized(rows: Sequence[list[Any]], unit_norms: Sequence[UnitNorm]) -> list[list[Any]]:
    ca = casadi_package()
    normalized = [list(row) for row in rows]
    for unit in unit_norms:
        span = slice(unit.offset, unit.offset + unit.count)
        normalized[unit.input][span] = normalized_part(normalized[unit.input][span], ca.sqrt)
    return normalized


def _matrix(port: Port, entries: Sequence[Any], steps: Sequence[int], program: Program) -> Any:
    """Build the matrix of an output, without the entries that are always zero."""
    ca = casadi_package()
    n_rows, n_columns = matrix_shape(port)
    nonzeros: list[tuple[int, int, Any]] = []  # in column-major order, as CasADi stores them
    for column in range(n_columns):
        for row in range(n_rows):
            index = row * n_columns + column
            if not program.is_zero(steps[index]):
                nonzeros.append((row, column, entries[index]))
    rows, columns = [row for row, *_ in nonzeros], [column for _, column, _ in nonzeros]
    sparsity = ca.Sparsity.triplet(n_rows, n_columns, rows, columns)
    return ca.SX(sparsity, ca.vertcat(*[ca.SX(entry) for *_, entry in nonzeros]))


def _functions(ca: Any) -> dict[Op, Any]:
    """Return CasADi's function for each operation."""
    functions = {
        op: row.on_any or getattr(ca, op.name.lower(), None) for op, row in OPERATIONS.items()
    }
    return functions | {Op.SELECT: ca.if_else}


# The slots of _casadi.c in order: the function and its derivatives, the outermost one first.
SLOTS = ("", "fwd", "adj", "fwd fwd", "adj fwd", "fwd adj", "adj adj", "jac")
FILE = "linkwork_kernel"  # the name of the function in the library


@dataclass(frozen=True)
class Matrix:
    """An argument or result of a CasADi function."""

    name: str
    shape: tuple[int, int]
    order: tuple[int, ...]  # for each element of the kernel's array, its index in CasADi's matrix

    def prefixed(self, prefix: str) -> Matrix:
        """Return a copy with a prefix before the name."""
        return replace(self, name=f"{prefix}_{self.name}")

    @property
    def size(self) -> int:
        """Number of elements."""
        return len(self.order)


@dataclass(frozen=True)
class Call:
    """How a CasADi function calls a kernel.

    CasADi also passes the results of the function to its derivatives; kernels do not need them.
    """

    kernel: Kernel
    arguments: tuple[Matrix, ...]
    results: tuple[Matrix, ...]
    inputs: tuple[int, ...]  # for each input of the kernel, the index of its argument
    outputs: tuple[int, ...]  # for each output of the kernel, the index of its result

    def forward(self) -> Call:
        """Return the call of the Jacobian times a tangent of each argument."""
        primals = self._primals()
        return Call(
            self.kernel.jvp(),
            (*primals, *(matrix.prefixed("fwd") for matrix in self.arguments)),
            tuple(matrix.prefixed("fwd") for matrix in self.results),
            (*self.inputs, *(len(primals) + index for index in self.inputs)),
            self.outputs,
        )

    def adjoint(self) -> Call:
        """Return the call of a cotangent of each result times the Jacobian."""
        primals = self._primals()
        return Call(
            self.kernel.vjp(),
            (*primals, *(matrix.prefixed("adj") for matrix in self.results)),
            tuple(matrix.prefixed("adj") for matrix in self.arguments),
            (*self.inputs, *(len(primals) + index for index in self.outputs)),
            self.inputs,
        )

    def jacobian(self) -> Call:
        """Return the call of the derivatives of each result with respect to each argument."""
        partials = [_partial(result, wrt) for result in self.results for wrt in self.arguments]
        outputs = tuple(range(len(partials)))
        return Call(self.kernel.jacobian(), self._primals(), tuple(partials), self.inputs, outputs)

    def _primals(self) -> tuple[Matrix, ...]:
        return (*self.arguments, *(matrix.prefixed("out") for matrix in self.results))


def call_of(kernel: Kernel, slot: str) -> Call:
    """Return the call for a slot: the kernel, or one of its derivatives."""
    arguments, results = kernel.signature.inputs, kernel.signature.outputs
    call = Call(
        kernel,
        tuple(map(_argument, arguments)),
        tuple(map(_argument, results)),
        tuple(range(len(arguments))),
        tuple(range(len(results))),
    )
    if slot == "jac":
        return call.jacobian()
    for derivative in reversed(slot.split()):
        call = call.forward() if derivative == "fwd" else call.adjoint()
    return call


def _argument(port: Port) -> Matrix:
    return Matrix(name_of(port.name), matrix_shape(port), tuple(column_order(port)))


def _partial(result: Matrix, wrt: Matrix) -> Matrix:
    """Describe a derivative: rows for elements of the result, columns for elements of `wrt`."""
    order = tuple(row + result.size * column for row in result.order for column in wrt.order)
    return Matrix(f"jac_{result.name}_{wrt.name}", (result.size, wrt.size), order)


class _Port(ctypes.Structure):
    _fields_ = (
        ("index", ctypes.c_int64),
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
    """A loaded copy of the library for one kernel; it owns all memory that CasADi's calls need."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._references: list[Any] = []
        self._error: Exception | None = None
        self._lock = threading.RLock()  # held while a slot is filled
        self._folder = tempfile.TemporaryDirectory(prefix="linkwork_casadi_")
        self.path = Path(self._folder.name) / _library_file().name
        shutil.copy(_library_file(), self.path)
        self._library = ctypes.CDLL(str(self.path))
        self._fill = _Fill(self._fill_slot_from_c)
        self._library.linkwork_set_fill(self._fill)

    def raise_error(self) -> None:
        """Raise the error that occurred while CasADi requested a derivative."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _fill_slot_from_c(self, index: int, slot: Any) -> int:
        try:
            with self._lock:
                if not slot.contents.code:  # otherwise another thread has filled it
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
        self._references.append((kernel, code.lease))  # the kernel may switch to other code

    def _names(self, matrices: Sequence[Matrix]) -> Any:
        names = [matrix.name.encode() for matrix in matrices]
        return self._array(ctypes.c_char_p, names)

    def _dense(self, matrices: Sequence[Matrix]) -> Any:
        """Return dense patterns in CasADi's short form: rows, columns, 1."""
        patterns = [self._array(ctypes.c_longlong, (*matrix.shape, 1)) for matrix in matrices]
        return self._array(ctypes.POINTER(ctypes.c_longlong), patterns)

    def _ports(self, indices: Sequence[int], matrices: Sequence[Matrix]) -> Any:
        ports: list[_Port] = []
        for index in indices:
            order = matrices[index].order
            is_same = order == tuple(range(len(order)))
            pointer = self._array(ctypes.c_int64, order) if not is_same else None
            ports.append(_Port(index, len(order), pointer))
        return self._array(_Port, ports)

    def _array(self, kind: Any, items: Sequence[Any]) -> Any:
        """Return a C array of items, which lives as long as the library."""
        array = (kind * len(items))(*items)
        self._references.append(array)
        return ctypes.cast(array, ctypes.POINTER(kind))


def _code_of(kernel: Kernel) -> tuple[MachineCode, int]:
    """Return the optimized code of one row, and its workspace in bytes."""
    kernel.warmup()
    code = kernel.code.one
    if code is None:
        raise ArgumentError(f"{kernel.signature.name}: there is no machine code on this platform")
    signature = ctypes.CFUNCTYPE(
        ctypes.c_int64, *[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_void_p
    )
    return code, signature(code.address("f"))(None, None, None, 0, None)


def _library_file() -> Path:
    try:
        module = import_module("linkwork.bridges.casadi._casadi")
    except ImportError as error:
        message = "compiled CasADi functions need the C extension, which was not built"
        raise MissingPackageError(f"{message} when linkwork was installed ({error})") from error
    return Path(str(module.__file__))


# CasADi does not report when it frees a function, so the libraries stay loaded until the process
# ends, one for each kernel.
_libraries: list[Library] = []


def compiled_function(kernel: Kernel) -> Any:
    """Build the `casadi.Function` that calls a kernel's machine code; its outputs are dense."""
    ca = casadi_package()
    check_unrolled(kernel)
    signature = kernel.signature
    library = Library(kernel)
    _libraries.append(library)
    inner = ca.external(FILE, str(library.path))
    library.raise_error()
    symbols = [ca.MX.sym(name_of(port.name), *matrix_shape(port)) for port in signature.inputs]
    arguments = list(symbols)
    for unit in signature.unit_norms:
        parts = ca.vertsplit(arguments[unit.input])
        span = slice(unit.offset, unit.offset + unit.count)
        parts[span] = normalized_part(parts[span], ca.sqrt)
        arguments[unit.input] = ca.vertcat(*parts)
    results = inner(*arguments)
    listed = list(results) if isinstance(results, (tuple, list)) else [results]
    return _function(signature, symbols, listed)
