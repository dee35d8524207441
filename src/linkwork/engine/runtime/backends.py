"""Backends: how programs become code.

Functions  a `FunctionBackend` compiles a program into a Python function of columns: `numpy`
Objects    an `ObjectBackend` compiles it into machine code that the disk cache can keep: `llvm`;
           `c`, the system's C compiler, for machines without LLVM

`LINKWORK_BACKEND` chooses one of them by its name, `llvm` by default. To register another one:

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
from linkwork.engine.runtime.compiler import FAST, RELOCATION, Code, compiled, setting
from linkwork.engine.runtime.memory import Lease
from linkwork.engine.runtime.numpy_code import NumpyCode
from linkwork.engine.runtime.processor import NoMachineCodeError, has_short_offsets, this_machine
from linkwork.engine.symbolic.program import Program

# Computes the columns of each output from those of each input: one array (rows,) for each number of
# a row. All inputs of one row may give an array with the numbers of a row instead.
ColumnFunction: TypeAlias = Callable[..., Sequence[Any]]
Compiler: TypeAlias = Callable[[str], bytes]  # an object file from a text


class MachineCode(Protocol):
    """Machine code in memory, as long as its lease."""

    @property
    def lease(self) -> object:
        """What owns the memory."""
        ...

    def address(self, name: str) -> int:
        """The address of a function."""
        ...


@dataclass(frozen=True)
class Form:
    """Which code of a program: how many rows it computes at a time, in which precision."""

    width: int = 1
    scalar: str = "double"  # or "float"
    has_checks: bool = False  # whether code of several rows checks that large matrices are finite


class FunctionBackend(ABC):
    """Compiles programs into Python functions."""

    @abstractmethod
    def compile(self, program: Program) -> ColumnFunction:
        """The function that computes a program."""


class ObjectBackend(ABC):
    """Compiles programs into machine code: a function `f` that the C extension calls.

    Its signature is `function_t` of `engine/kernel/csrc/call.h`. Code of several rows that has
    checks returns a negative number if an entry of a square output with more than SMALL_MATRIX rows
    is not finite. What cannot be compiled or loaded here raises `NoMachineCodeError`.
    """

    @property
    @abstractmethod
    def identity(self) -> str:
        """What code depends on besides its program, for the keys of the disk cache."""

    @property
    @abstractmethod
    def lanes(self) -> int:
        """How many rows of double precision the fastest code computes at a time."""

    @abstractmethod
    def emit(self, program: Program, form: Form) -> str:
        """The program as a text."""

    @abstractmethod
    def compile(self, text: str, level: int) -> bytes:
        """The machine code of a text as an object file, optimized to a level: QUICK or FAST."""

    @abstractmethod
    def load(self, data: bytes) -> MachineCode:
        """The functions of an object file."""

    def compile_in_background(self, text: str, background: Compiler) -> bytes:
        """Fast code, compiled in a thread; `background` compiles LLVM IR in another process."""
        del background
        return self.compile(text, FAST)


class NumpyBackend(FunctionBackend):
    """A program as Python source, on NumPy arrays: works everywhere."""

    def compile(self, program: Program) -> ColumnFunction:
        """The function that computes a program."""
        return NumpyCode(program)


class LlvmBackend(ObjectBackend):
    """LLVM by llvmlite: the default."""

    @property
    def identity(self) -> str:
        """The processor, the version of LLVM, and how addresses are coded."""
        return "|".join((this_machine().name, *RELOCATION.values()))

    @property
    def lanes(self) -> int:
        """As many as a vector register has."""
        return this_machine().lanes

    def emit(self, program: Program, form: Form) -> str:
        """LLVM IR."""
        is_checked = form.has_checks and form.width > 1
        checked = checked_results(program) if is_checked else ()
        lanes = Lanes(form.width, form.scalar, has_short_offsets())
        return emit_llvm(program, "f", lanes, checked=checked)

    def compile(self, text: str, level: int) -> bytes:
        """Compile in this process."""
        return compiled(text, level)

    def compile_in_background(self, text: str, background: Compiler) -> bytes:
        """Compile in the compiler process."""
        return background(text)

    def load(self, data: bytes) -> MachineCode:
        """Load an object file, by LLVM where linkwork's loader does not support it."""
        return Code(data)


class CBackend(ObjectBackend):
    """The system's C compiler, `cc` or what CC names."""

    @property
    def lanes(self) -> int:
        """One row at a time."""
        return 1

    @property
    def identity(self) -> str:
        """The compiler, by its file."""
        command = self._command()
        status = Path(command[0]).stat()
        return f"{command}|{status.st_size}|{status.st_mtime_ns}|{platform.machine()}"

    def emit(self, program: Program, form: Form) -> str:
        """C99."""
        return emit_c(program, "f", Real(form.scalar))

    def compile(self, text: str, level: int) -> bytes:
        """A shared library."""
        import subprocess
        import tempfile

        command = self._command()
        options = "-std=c99", f"-O{level}", "-ffp-contract=off", "-fPIC", "-shared"
        try:
            with tempfile.TemporaryDirectory(prefix="linkwork_c_") as folder:
                source, library = Path(folder) / "f.c", Path(folder) / "f.so"
                source.write_text(text, encoding="utf-8")
                command += [*options, str(source), "-o", str(library), "-lm"]
                done = subprocess.run(
                    command,
                    capture_output=True,
                    text=True,
                    errors="replace",
                    check=False,
                    start_new_session=True,  # Ctrl-C is not for what compiles in the background
                )
                if done.returncode == 0:
                    return library.read_bytes()
                reason = done.stderr.strip()
        except OSError as error:  # it cannot be started, or has written nothing
            raise NoMachineCodeError(f"{command[0]} cannot compile it ({error})") from error
        raise NoMachineCodeError(f"{command[0]} cannot compile it ({reason})")

    def load(self, data: bytes) -> MachineCode:
        """Open a shared library, which stays until the process ends."""
        import tempfile

        try:
            with tempfile.TemporaryDirectory(prefix="linkwork_c_") as folder:
                path = Path(folder) / "f.so"
                path.write_bytes(data)
                return _Library(path)
        except OSError as error:
            raise NoMachineCodeError(f"it cannot be loaded ({error})") from error

    @staticmethod
    def _command() -> list[str]:
        """The file of the compiler, and the options that CC gives it."""
        import shlex
        import shutil

        text = os.environ.get("CC", "").strip() or "cc"
        try:
            command, *options = shlex.split(text)
        except ValueError:  # quotes that do not end
            command, options = text, []
        path = shutil.which(command)
        if path is None or os.name != "posix":
            raise NoMachineCodeError(f"there is no C compiler {text!r}")
        return [path, *options]


class _Library:
    """An open shared library."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        self.lease = Lease(lambda: None)

    def address(self, name: str) -> int:
        """The address of a function."""
        return ctypes.cast(self._library[name], ctypes.c_void_p).value or 0


BACKENDS: dict[str, FunctionBackend | ObjectBackend] = {
    "llvm": LlvmBackend(),
    "numpy": NumpyBackend(),
    "c": CBackend(),
}
"""All backends by name; the first one is the default."""


def chosen_backend() -> str:
    """The name of the backend that `LINKWORK_BACKEND` chooses."""
    return setting("LINKWORK_BACKEND", tuple(BACKENDS))
