"""Backends, which compile programs.

Functions  a `FunctionBackend` compiles a program into a Python function of columns: `numpy`
Objects    an `ObjectBackend` compiles it into machine code that the disk cache can store: `llvm`;
           `c`, the system's C compiler, for machines without LLVM

`LINKWORK_BACKEND` selects a backend by name, `llvm` by default. To register another one:

    BACKENDS["mine"] = MyBackend()
"""

from __future__ import annotations

import ctypes
import os
import platform
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from linkwork.engine.codegen.c.emit import emit_c
from linkwork.engine.codegen.c.statements import Real
from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.codegen.llvm.emit import emit_llvm
from linkwork.engine.codegen.llvm.finite import checked_results
from linkwork.engine.runtime.compiler import FAST, RELOCATION, compiled, load_code, setting
from linkwork.engine.runtime.memory import Lease
from linkwork.engine.runtime.numpy_code import NumpyCode
from linkwork.engine.runtime.processor import NoMachineCodeError, has_short_offsets, this_machine
from linkwork.engine.symbolic.fusion import fused
from linkwork.engine.symbolic.program import Program, values_of

# Computes the columns of each output from those of each input: one array (rows,) for each element
# of a row. If all inputs have one row, it may return that row of an output instead of its columns.
ColumnFunction: TypeAlias = Callable[..., Sequence[Any]]
Compiler: TypeAlias = Callable[[str], bytes]  # from source to an object file


class MachineCode(Protocol):
    """Machine code that stays in memory as long as its lease."""

    @property
    def lease(self) -> object:
        """The owner of the memory."""
        ...

    def address(self, name: str) -> int:
        """Return the address of a function."""
        ...


@dataclass(frozen=True)
class Form:
    """The variant of the code of a program: number of rows at a time, and precision."""

    width: int = 1
    scalar: str = "double"  # or "float"
    has_checks: bool = False  # whether code of several rows checks that large matrices are finite
    columns: bool = False  # whether code of several rows stores them as `Lanes.columns` says


class FunctionBackend(ABC):
    """Compiles programs into Python functions."""

    @abstractmethod
    def compile(self, program: Program) -> ColumnFunction:
        """Compile a program to a function of columns."""


class ObjectBackend(ABC):
    """Compiles programs into machine code: a function `f` that the C extension calls.

    Its signature is `function_t` in `engine/kernel/csrc/call.h`. Code of several rows with checks
    returns a negative number if an entry of a square output with more than SMALL_MATRIX rows is not
    finite. Methods raise `NoMachineCodeError` if code cannot be compiled or loaded.
    """

    @property
    @abstractmethod
    def identity(self) -> str:
        """Everything that code depends on except its program, for the keys of the disk cache."""

    @property
    @abstractmethod
    def lanes(self) -> int:
        """Number of rows of double precision that the fastest code computes at a time."""

    @abstractmethod
    def emit(self, program: Program, form: Form) -> str:
        """Print the program as source."""

    @abstractmethod
    def compile(self, text: str, level: int) -> bytes:
        """Compile source to an object file, with a level of optimization: QUICK or FAST."""

    @abstractmethod
    def load(self, data: bytes) -> MachineCode:
        """Load the functions of an object file."""

    def compile_in_background(self, text: str, background: Compiler) -> bytes:
        """Compile fast code in a thread; `background` compiles LLVM IR in another process."""
        del background
        return self.compile(text, FAST)


class NumpyBackend(FunctionBackend):
    """Python source that computes with NumPy arrays; works on every machine."""

    def compile(self, program: Program) -> ColumnFunction:
        """Compile a program to a function of columns."""
        return NumpyCode(program)


class LlvmBackend(ObjectBackend):
    """LLVM through llvmlite, the default."""

    @property
    def identity(self) -> str:
        """The processor, the version of LLVM, and the relocation model."""
        return "|".join((this_machine().name, *RELOCATION.values()))

    @property
    def lanes(self) -> int:
        """The doubles of a vector register."""
        return this_machine().lanes

    def emit(self, program: Program, form: Form) -> str:
        """Print LLVM IR."""
        program = values_of(program)
        if this_machine().has_fma:  # else LLVM would call libm for each fused step
            program = fused(program)
        is_checked = form.has_checks and form.width > 1
        checked = checked_results(program) if is_checked else ()
        lanes = Lanes(form.width, form.scalar, has_short_offsets(), form.columns)
        return emit_llvm(program, "f", lanes, checked=checked)

    def compile(self, text: str, level: int) -> bytes:
        """Compile in this process."""
        return compiled(text, level)

    def compile_in_background(self, text: str, background: Compiler) -> bytes:
        """Compile in the compiler process."""
        return background(text)

    def load(self, data: bytes) -> MachineCode:
        """Load an object file, with LLVM if linkwork's loader does not support it."""
        return load_code(data)


class CBackend(ObjectBackend):
    """The system's C compiler: `cc`, or the command in the environment variable CC."""

    @property
    def lanes(self) -> int:
        """One row at a time."""
        return 1

    @property
    def identity(self) -> str:
        """The command, and the size and modification time of the compiler's file."""
        command = self._command()
        status = Path(command[0]).stat()
        options = self._options()
        return f"{command}|{options}|{status.st_size}|{status.st_mtime_ns}|{platform.machine()}"

    def emit(self, program: Program, form: Form) -> str:
        """Print C99."""
        return emit_c(program, "f", Real(form.scalar))

    def compile(self, text: str, level: int) -> bytes:
        """Compile to a shared library."""
        import subprocess
        import tempfile

        command = self._command()
        options = f"-O{level}", *self._options()
        try:
            with tempfile.TemporaryDirectory(prefix="linkwork_c_") as folder:
                source, library = Path(folder) / "f.c", Path(folder) / "f.so"
                source.write_text(text, encoding="utf-8")
                command += [*options, str(source), "-o", str(library), "-lm"]
                completed = subprocess.run(
                    command,
                    capture_output=True,
                    text=True,
                    errors="replace",
                    check=False,
                    start_new_session=True,  # Ctrl-C must not interrupt it
                )
                if completed.returncode == 0:
                    return library.read_bytes()
                reason = completed.stderr.strip()
        except OSError as error:  # it cannot be started, or has written no file
            raise NoMachineCodeError(f"{command[0]} cannot compile it ({error})") from error
        raise NoMachineCodeError(f"{command[0]} cannot compile it ({reason})")

    def load(self, data: bytes) -> MachineCode:
        """Open a shared library, which stays loaded until the process ends."""
        import tempfile

        try:
            with tempfile.TemporaryDirectory(prefix="linkwork_c_") as folder:
                path = Path(folder) / "f.so"
                path.write_bytes(data)
                return _Library(path)
        except OSError as error:
            raise NoMachineCodeError(f"it cannot be loaded ({error})") from error

    @staticmethod
    def _options() -> tuple[str, ...]:
        fma = ("-mfma",) if has_short_offsets() and this_machine().has_fma else ()
        return "-std=c99", "-ffp-contract=off", "-fPIC", "-shared", *fma

    @staticmethod
    def _command() -> list[str]:
        """Return the path of the compiler, and the options in CC."""
        import shlex
        import shutil

        text = os.environ.get("CC", "").strip() or "cc"
        try:
            command, *options = shlex.split(text)
        except ValueError:  # unbalanced quotes
            command, options = text, []
        path = shutil.which(command)
        if path is None or os.name != "posix":
            raise NoMachineCodeError(f"no C compiler {text!r} was found")
        return [path, *options]


class _Library:
    """An open shared library."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        self.lease = Lease(lambda: None)

    def address(self, name: str) -> int:
        """Return the address of a function."""
        return ctypes.cast(self._library[name], ctypes.c_void_p).value or 0


BACKENDS: dict[str, FunctionBackend | ObjectBackend] = {
    "llvm": LlvmBackend(),
    "numpy": NumpyBackend(),
    "c": CBackend(),
}
"""All backends by name; the first one is the default."""


def chosen_backend() -> str:
    """Return the name of the backend that `LINKWORK_BACKEND` selects."""
    return setting("LINKWORK_BACKEND", tuple(BACKENDS))
