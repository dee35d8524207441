"""The machine code of a program, compiled in tiers that replace each other while it is in use.

Quick  code of one row, compiled without optimization; the first call uses it
Fast   optimized code of one row, then of as many rows as a vector register has lanes, compiled in
       the background; each is used as soon as it is ready
Disk   the disk cache stores all code under the key of the program, and the program itself after
       quick code was compiled. If it has fast code, the program is neither traced nor compiled
NumPy  without machine code, a function of columns computes instead
Fork   code that is being compiled for the parent is compiled again for the child
"""

from __future__ import annotations

import hashlib
import os
import struct
import threading
import weakref
from collections.abc import Callable

from linkwork.engine.runtime import backends, cache, compiler
from linkwork.engine.runtime.backends import ColumnFunction, Form, MachineCode
from linkwork.engine.runtime.background import Background, background, background_mode
from linkwork.engine.runtime.compiler import FAST, LOCK, QUICK, load_code
from linkwork.engine.runtime.numpy_code import NumpyCode
from linkwork.engine.runtime.processor import NoMachineCodeError
from linkwork.engine.runtime.sources import source_digest
from linkwork.engine.symbolic import serialization
from linkwork.engine.symbolic.program import Program
from linkwork.errors import SlowCompileWarning, warn_once
from linkwork.version import __version__

NO_CODE = -1  # the level before QUICK and FAST
# Measured compile times for each step of a program, on a core of an AMD EPYC: quick code of one
# row; fast code of one row and of several.
SECONDS_PER_STEP = {QUICK: 30e-6, FAST: 100e-6}
LONG = 2.0  # [s] a call that waits longer for a compiler issues a warning
_HEADER = struct.Struct("<Q")  # precedes code on disk: the number of operations of a row
_NO_EXTENSION = (
    "linkwork was installed without its C extension (install a C compiler, then linkwork again, or"
    " use a wheel)"
)

# use(one, many, width, operations, lease): use the functions at these addresses in calls.
Use = Callable[[int, int, int, int, object], object]


class CompiledProgram:
    """A program and its code.

    Attributes:
        make_program: traces the program.
        key: identifies the program in the disk cache, so that it need not be traced; may be None.
        column_function: computes in place of machine code; None if machine code is used.
        one, many: the code in use, of one row and of `width` rows; None if there is none.
        level: the level of the code in use: NO_CODE, QUICK or FAST.
        failure: the reason why there is no fast code, or no machine code at all.
    """

    def __init__(
        self,
        name: str,
        make_program: Callable[[], Program],
        use: Use | None,
        *,
        key: str | None = None,
        scalar: str = "double",
        has_checks: bool = False,
        columns: bool = False,
        column_function: ColumnFunction | None = None,
    ) -> None:
        """Prepare a program; it is traced and compiled when it is first needed.

        Args:
            name: the name of the program, for messages.
            make_program: traces the program.
            use: installs machine code for later calls; None if machine code cannot be called.
            key: identifies the program in the disk cache.
            scalar: "double" or "float".
            has_checks: whether code of several rows checks that large matrices are finite.
            columns: whether code of several rows stores them as `Lanes.columns` says.
            column_function: computes in place of machine code, for programs too long to compile.
        """
        self.name = name
        self.make_program = make_program
        self.key = key
        self.column_function = column_function
        self.one: MachineCode | None = None
        self.many: MachineCode | None = None
        self.level = NO_CODE
        self.failure = "" if column_function is None else "the program is too long to compile"
        self.cached_program: Program | None = None
        self._use = use
        self._scalar, self._has_checks, self._columns = scalar, has_checks, columns
        self._backend = ""  # the name of the backend, once it is chosen
        self._operations = 0  # operations of a row, once there is code
        self._process = 0  # id of the process in which a background job compiles the fast code

    @property
    def program(self) -> Program:
        """The program, from the disk cache or traced."""
        if self.cached_program is None:
            content = self.stored_program() if self.key else None
            self.cached_program = serialization.from_bytes(content or b"") or self.make_program()
        return self.cached_program

    @property
    def identity(self) -> str:
        """The key, or a digest of the program if there is no key."""
        return self.key or f"{self.program.digest}|{source_digest()}"

    @property
    def is_fast(self) -> bool:
        """Whether the fast code of several rows, which is compiled last, is in use."""
        return self.many is not None

    @property
    def status(self) -> str:
        """The code in use; see `Kernel.status`."""
        if self.is_fast:
            return "fast"
        if self.column_function is not None:
            return f"NumPy: {self.failure}"
        if self.failure:
            return f"failed: {self.failure}"
        return "none" if self.level == NO_CODE else "quick"

    @property
    def backend(self) -> str:
        """The name of the backend, chosen when it is first needed."""
        self._backend = self._backend or backends.chosen_backend()
        return self._backend

    @property
    def width(self) -> int:
        """Number of rows that the fastest machine code computes at a time."""
        return backends.vector_width(self._scalar)

    # Preparation.

    def prepare(self, level: int) -> None:
        """Load or compile code of at least this level; use NumPy if that is not possible."""
        if self._is_ready(level):
            return
        with LOCK:
            if self._is_ready(level):
                return
            if self._use is None:
                self._compute_with_numpy(_NO_EXTENSION)
            elif self.backend == "numpy":
                self.column_function = NumpyCode(self.program)
                self.failure = "LINKWORK_BACKEND=numpy"
            else:
                self._prepare_machine_code(level)

    def wait_for_fast_code(self, limit: float) -> None:
        """Wait until the fast code is in use or failed, for at most `limit` seconds."""
        if not (self.is_fast or self.failure):
            self._submit(is_urgent=True).wait(limit)

    @property
    def operations(self) -> int:
        """The number of operations of a row."""
        return self._operations or self.program.n_ops

    def _is_ready(self, level: int) -> bool:
        """Return whether code of this level is in use, and fast code is in use or on its way."""
        is_submitted = level == QUICK and self._process == os.getpid()
        return self.is_fast or self.column_function is not None or is_submitted

    def _prepare_machine_code(self, level: int) -> None:
        try:
            if not self._load_from_cache():
                self.compile(level)
        except NoMachineCodeError as error:
            if self.one is None:
                self._compute_with_numpy(str(error))
            else:
                self.failure = str(error)
                _warn(f"{error}; calls keep using the code of the first call")

    def _compute_with_numpy(self, reason: str) -> None:
        self.failure = reason
        self.column_function = NumpyCode(self.program)
        _warn(f"{reason}; calls are computed with NumPy, which is slower")

    def _load_from_cache(self) -> bool:
        """Install the fast code from the disk cache; return False if it is incomplete."""
        one, many = self._fetch(1), self._fetch(self.width)
        if one is None or many is None:
            return False
        self.install(load_code(one), load_code(many), FAST)
        return True

    def compile(self, level: int) -> None:
        """Compile code of this level; after quick code, compile fast code in the background."""
        if level == FAST or background_mode() == "off":
            self._warn_if_slow(FAST)
            self._compile_all()
            return
        one, in_use = self.one, self.level
        if one is None:
            one, in_use = self._first_code()
        self.install(one, None, in_use)  # again, since `_reset_after_fork` removes it in a child
        self._submit()
        self._process = os.getpid()

    def _compile_all(self) -> None:
        one = self.one
        if one is None or self.level < FAST:
            one = load_code(self.compile_fast(1, compiler.compiled))
        many = one
        if self.width > 1:
            many = load_code(self.compile_fast(self.width, compiler.compiled))
        self.install(one, many, FAST)

    def _first_code(self) -> tuple[MachineCode, int]:
        """Return code of one row for the first calls, and its level.

        Quick code is stored on disk until there is fast code, and so is the program. If this
        process ends before that, the next one needs neither to trace nor to compile.
        """
        fast = self._fetch(1)
        if fast is not None:
            return load_code(fast), FAST
        quick = self._fetch(1, cache.QUICK_CODE)
        if quick is None:
            self._warn_if_slow(QUICK)
            quick = compiler.compiled(self.emit(1), QUICK)
            self._store(1, quick, cache.QUICK_CODE)
            self.store_program(serialization.to_bytes(self.program))
        return load_code(quick), QUICK

    def emit(self, width: int) -> str:
        """Return the source of code that computes `width` rows at a time."""
        form = Form(width, self._scalar, self._has_checks, self._columns and width > 1)
        return backends.emit(self.program, form)

    def compile_fast(self, width: int, compile_ir: Callable[[str], bytes]) -> bytes:
        """Compile fast code of `width` rows, and store it on disk."""
        data = compile_ir(self.emit(width))
        self._store(width, data)
        if width == 1:
            cache.drop(self.cache_key(1), cache.QUICK_CODE)  # no longer needed
        return data

    def _warn_if_slow(self, level: int) -> None:
        """Warn, once per process, before a compilation that takes long."""
        steps = self.program.n_steps
        seconds = {one: rate * steps for one, rate in SECONDS_PER_STEP.items()}
        if seconds[level] < LONG:
            return
        text = f"compiling {self.name} ({steps:,} operations) takes about {seconds[level]:.0f} s"
        if level == QUICK:
            text += f", then {seconds[FAST]:.0f} s in the background for faster code"
        text += "; a shorter function, such as the cost of one stage that is called with a batch of"
        text += " stages, compiles faster; call warmup() to compile in advance"
        if cache.cache_folder() is None:
            text += "; the disk cache, which would store the code for the next process, is disabled"
        else:
            text += "; the disk cache stores the code for the next process"
        warn_once("slow compile", text, SlowCompileWarning)

    def install(self, one: MachineCode, many: MachineCode | None, level: int) -> None:
        """Use this code in later calls."""
        assert self._use is not None
        leases = one.lease, many.lease if many else None
        addresses = one.address("f"), many.address("f") if many else 0
        self._use(*addresses, self.width if many else 1, self.operations, leases)
        self.one, self.many, self.level = one, many, level  # after `_use`: `_is_ready` reads them
        (_unfinished.add if many is None else _unfinished.discard)(self)

    # Compilation in the background.

    def _submit(self, *, is_urgent: bool = False) -> threading.Event:
        jobs, reference = background(), weakref.ref(self)

        def job() -> None:
            program = reference()
            if program is not None:  # None if the kernel was deleted
                program.compile_in_background(jobs)

        return jobs.submit(job, is_urgent=is_urgent)

    def compile_in_background(self, jobs: Background) -> None:
        """Compile fast code, first of one row; `status` reports the reason of a failure."""
        try:
            if self.level < FAST:
                self._compile_and_install(1, jobs)
            if not self.is_fast:
                self._compile_and_install(self.width, jobs)
        except Exception as error:
            self.failure = f"{type(error).__name__}: {error}".removesuffix(": ")
            raise

    def _compile_and_install(self, width: int, jobs: Background) -> None:
        """Compile fast code of `width` rows, and install it unless such code is in use."""
        data = self.compile_fast(width, jobs.compiled)
        with LOCK:
            jobs.check_open()
            if self.is_fast or (width == 1 and self.level == FAST):
                return
            code = load_code(data)
            one = code if width == 1 or self.one is None else self.one
            self.install(one, code if width == self.width else None, FAST)

    def reset_after_fork(self) -> None:
        """In a forked child, make the next call prepare code, which submits the job again."""
        if self._use is not None:
            self._use(0, 0, 1, 0, None)

    # The disk cache.

    def stored_program(self) -> bytes | None:
        """Return the content that `store_program` has stored, if any."""
        return cache.fetch(self._program_key, cache.PROGRAM)

    def store_program(self, content: bytes) -> None:
        """Store the serialized program, or a marker in its place, in the disk cache."""
        cache.store(self._program_key, content, cache.PROGRAM)

    def cache_key(self, width: int) -> str:
        """Return the key of code of `width` rows."""
        layout = f"{width} columns" if self._columns and width > 1 else str(width)
        text = "|".join((__version__, backends.identity(), self._scalar, layout, self.identity))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def _program_key(self) -> str:
        return hashlib.sha256(f"{__version__}|{self.identity}".encode()).hexdigest()

    def _fetch(self, width: int, ending: str = cache.CODE) -> bytes | None:
        """Return code from the disk cache, if it is there."""
        content = cache.fetch(self.cache_key(width), ending)
        if content is None:
            return None
        (self._operations,) = _HEADER.unpack_from(content)
        return content[_HEADER.size :]

    def _store(self, width: int, data: bytes, ending: str = cache.CODE) -> None:
        header = _HEADER.pack(self.program.n_ops)
        cache.store(self.cache_key(width), header + data, ending)


def _warn(text: str) -> None:
    warn_once("machine code", f"machine code is not available: {text}")


_unfinished: weakref.WeakSet[CompiledProgram] = weakref.WeakSet()  # without fast code; needs LOCK


def _reset_after_fork() -> None:
    for program in list(_unfinished):
        program.reset_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
