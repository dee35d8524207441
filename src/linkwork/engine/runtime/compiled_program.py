"""The machine code of a program: compiled in tiers, kept on disk, taken over while it is in use.

Quick  code of one row that is compiled without optimization: the first call uses it
Fast   optimized code of one row, then of as many rows as a vector register has lanes, compiled in
       the background; each is used once it is ready
Disk   the cache keeps all code under the key of the program, and the program after a
       quick compile; with fast code there, nothing is traced or compiled
NumPy  where there can be no machine code, a function of columns computes instead
Fork   code that was being compiled for the parent is compiled again for the child
"""

from __future__ import annotations

import hashlib
import os
import struct
import weakref
from collections.abc import Callable

from linkwork.engine.runtime import cache
from linkwork.engine.runtime.backends import (
    BACKENDS,
    ColumnFunction,
    Form,
    FunctionBackend,
    MachineCode,
    ObjectBackend,
    chosen_backend,
)
from linkwork.engine.runtime.background import Background, background, background_mode
from linkwork.engine.runtime.compiler import FAST, LOCK, QUICK
from linkwork.engine.runtime.numpy_code import NumpyCode
from linkwork.engine.runtime.processor import NoMachineCodeError
from linkwork.engine.runtime.sources import source_digest
from linkwork.engine.symbolic import serialization
from linkwork.engine.symbolic.program import Program
from linkwork.errors import SlowCompileWarning, warn_once
from linkwork.version import __version__

NO_CODE = -1  # the level before QUICK and FAST
# What compiling took on a core of an AMD EPYC, for each step of a program: quick code of one row;
# fast code of one row and of several.
SECONDS_PER_STEP = {QUICK: 30e-6, FAST: 100e-6}
LONG = 2.0  # [s] a call that waits longer for a compiler warns first
_HEADER = struct.Struct("<Q")  # in front of code on disk: the operations of a row
_NO_EXTENSION = (
    "linkwork was installed without its C extension (install a C compiler, then linkwork again, or"
    " use a wheel)"
)

# use(one, many, width, operations, lease): call the functions at these addresses from now on.
Use = Callable[[int, int, int, int, object], object]


class CompiledProgram:
    """A program and its code.

    Attributes:
        make_program: traces the program.
        key: identifies the program in the disk cache, so that it need not be traced; may be None.
        function: computes columns in place of machine code; None if machine code computes.
        one, many: the code in use, of one row and of `width` rows; None if there is none.
        level: that of the code in use: NO_CODE, QUICK or FAST.
        failure: why there is no fast code, or no machine code at all.
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
        function: ColumnFunction | None = None,
    ) -> None:
        """Prepare a program; nothing is traced or compiled before it is needed.

        Args:
            name: of the program, for messages.
            make_program: traces the program.
            use: puts machine code into use; None if nothing can call machine code.
            key: identifies the program in the disk cache.
            scalar: "double" or "float".
            has_checks: whether code of several rows checks that large matrices are finite.
            function: computes columns, for a program that is too long to compile.
        """
        self.name = name
        self.make_program = make_program
        self.key = key
        self.function = function
        self.one: MachineCode | None = None
        self.many: MachineCode | None = None
        self.level = NO_CODE
        self.failure = "" if function is None else "the program is too long to compile"
        self.cached_program: Program | None = None
        self._use = use
        self._scalar, self._has_checks = scalar, has_checks
        self._backend = ""  # its name, once it was chosen
        self._operations = 0  # of a row, once there is code
        self._process = 0  # id of the process whose background job compiles the fast code

    @property
    def program(self) -> Program:
        """The program: from the disk, else traced."""
        if self.cached_program is None:
            kept = self.kept_program() if self.key else None
            self.cached_program = serialization.from_bytes(kept or b"") or self.make_program()
        return self.cached_program

    @property
    def identity(self) -> str:
        """The key, or a digest of the program where none was given."""
        return self.key or f"{self.program.digest}|{source_digest()}"

    @property
    def is_fast(self) -> bool:
        """Whether the fast code of several rows is in use, which is compiled last."""
        return self.many is not None

    @property
    def status(self) -> str:
        """Which code computes now; see `Kernel.status`."""
        if self.is_fast:
            return "fast"
        if self.function is not None:
            return f"NumPy: {self.failure}"
        if self.failure:
            return f"failed: {self.failure}"
        return "none" if self.level == NO_CODE else "quick"

    @property
    def backend(self) -> FunctionBackend | ObjectBackend:
        """What compiles it; it stays the same once it was asked for."""
        self._backend = self._backend or chosen_backend()
        return BACKENDS[self._backend]

    @property
    def width(self) -> int:
        """How many rows the fastest machine code computes at a time."""
        lanes = self._object_backend.lanes
        return 2 * lanes if self._scalar == "float" and lanes > 1 else lanes

    @property
    def _object_backend(self) -> ObjectBackend:
        backend = self.backend
        assert isinstance(backend, ObjectBackend)
        return backend

    # Preparing.

    def prepare(self, level: int) -> None:
        """Have code of at least this level in use, cached or compiled now; else use NumPy."""
        if self._is_ready(level):
            return
        with LOCK:
            if self._is_ready(level):
                return
            if self._use is None:
                self._compute_with_numpy(_NO_EXTENSION)
            elif isinstance(self.backend, FunctionBackend):
                self.function = self.backend.compile(self.program)
                self.failure = f"LINKWORK_BACKEND={self._backend}"
            else:
                self._prepare_machine_code(level)

    def _is_ready(self, level: int) -> bool:
        """Whether code of this level is in use, and fast code is in use or being compiled."""
        is_submitted = level == QUICK and self._process == os.getpid()
        return self.is_fast or self.function is not None or is_submitted

    def _prepare_machine_code(self, level: int) -> None:
        try:
            if not self._load_from_cache():
                self.compile(level)
        except NoMachineCodeError as error:
            if self.one is None:
                self._compute_with_numpy(str(error))
            else:
                self.failure = str(error)
                _warn(f"{error}; the code of the first call stays in use")

    def _compute_with_numpy(self, reason: str) -> None:
        self.failure = reason
        self.function = NumpyCode(self.program)
        _warn(f"{reason}; NumPy computes instead, slower")

    def _load_from_cache(self) -> bool:
        """Use the fast code that is on disk; False if some of it is missing."""
        one, many = self._fetch(1), self._fetch(self.width)
        if one is None or many is None:
            return False
        load = self._object_backend.load
        self.install(load(one), load(many), FAST)
        return True

    def compile(self, level: int) -> None:
        """Compile code of this level; if it is quick, fast code follows in the background."""
        if level == FAST or background_mode() == "off":
            self._announce(FAST)
            self._compile_all()
            return
        one, in_use = self.one, self.level
        if one is None:
            one, in_use = self._first_code()
        self.install(one, None, in_use)  # in a forked child, `_reset_after_fork` took it out of use
        self._submit()
        self._process = os.getpid()

    def _compile_all(self) -> None:
        backend = self._object_backend
        one = self.one
        if one is None or self.level < FAST:
            one = backend.load(self.compile_fast(1, backend.compile))
        many = one
        if self.width > 1:
            many = backend.load(self.compile_fast(self.width, backend.compile))
        self.install(one, many, FAST)

    def _first_code(self) -> tuple[MachineCode, int]:
        """Code of one row to begin with, and its level.

        Quick code is kept too, until there is fast code, and so is the program: a process that
        ended before that has spared the next one the time to trace and to compile.
        """
        backend = self._object_backend
        fast = self._fetch(1)
        if fast is not None:
            return backend.load(fast), FAST
        quick = self._fetch(1, cache.QUICK_CODE)
        if quick is None:
            self._announce(QUICK)
            quick = backend.compile(self.emit(1), QUICK)
            self._keep(1, quick, cache.QUICK_CODE)
            self.keep_program(serialization.to_bytes(self.program))
        return backend.load(quick), QUICK

    def emit(self, width: int) -> str:
        """The text of code that computes so many rows at a time."""
        return self._object_backend.emit(self.program, Form(width, self._scalar, self._has_checks))

    def compile_fast(self, width: int, compiler: Callable[[str, int], bytes]) -> bytes:
        """Compile fast code of so many rows, and keep it on disk."""
        data = compiler(self.emit(width), FAST)
        self._keep(width, data)
        if width == 1:
            cache.drop(self.cache_key(1), cache.QUICK_CODE)  # not needed any more
        return data

    def _announce(self, level: int) -> None:
        """Warn, once per process, before code is compiled that takes long."""
        steps = self.program.n_steps
        seconds = {one: rate * steps for one, rate in SECONDS_PER_STEP.items()}
        if seconds[level] < LONG:
            return
        text = f"compiling {self.name} ({steps:,} operations) takes about {seconds[level]:.0f} s"
        if level == QUICK:
            text += f", then {seconds[FAST]:.0f} s in the background for faster code"
        text += "; a shorter function, such as the cost of one stage that is called with a batch of"
        text += " stages, compiles faster; warmup() compiles before time matters"
        if cache.cache_folder() is None:
            text += "; the disk cache, which would keep the code for the next process, is off"
        else:
            text += "; the disk cache keeps the code for the next process"
        warn_once("slow compile", text, SlowCompileWarning)

    def install(self, one: MachineCode, many: MachineCode | None, level: int) -> None:
        """Use this code from now on."""
        assert self._use is not None
        leases = one.lease, many.lease if many else None
        operations = self._operations or self.program.n_ops
        addresses = one.address("f"), many.address("f") if many else 0
        self._use(*addresses, self.width if many else 1, operations, leases)
        self.one, self.many, self.level = one, many, level  # after `_use`: `_is_ready` reads them
        (_unfinished.add if many is None else _unfinished.discard)(self)

    # In the background.

    def _submit(self) -> None:
        jobs, reference = background(), weakref.ref(self)

        def job() -> None:
            program = reference()
            if program is not None:  # else nobody needs it any more
                program.compile_in_background(jobs)

        jobs.submit(job)

    def compile_in_background(self, jobs: Background) -> None:
        """Compile fast code, of one row first; `status` has the reason of a failure."""
        try:
            if self.level < FAST:
                self._compile_and_install(1, jobs)
            if not self.is_fast:
                self._compile_and_install(self.width, jobs)
        except Exception as error:
            self.failure = f"{type(error).__name__}: {error}".removesuffix(": ")
            raise

    def _compile_and_install(self, width: int, jobs: Background) -> None:
        """Compile fast code of so many rows, and use it unless other code was faster."""
        backend = self._object_backend
        data = self.compile_fast(
            width, lambda text, _: backend.compile_in_background(text, jobs.compiled)
        )
        with LOCK:
            jobs.check_open()
            if self.is_fast or (width == 1 and self.level == FAST):
                return
            code = backend.load(data)
            one = code if width == 1 or self.one is None else self.one
            self.install(one, code if width == self.width else None, FAST)

    def reset_after_fork(self) -> None:
        """In a forked child: make the next call prepare code, which submits the job again."""
        if self._use is not None:
            self._use(0, 0, 1, 0, None)

    # On disk.

    def kept_program(self) -> bytes | None:
        """What the disk cache has in place of the program."""
        return cache.fetch(self._program_key, cache.PROGRAM)

    def keep_program(self, content: bytes) -> None:
        """Keep the program, or what stands for it, in the disk cache."""
        cache.keep(self._program_key, content, cache.PROGRAM)

    def cache_key(self, width: int) -> str:
        """The key of code of so many rows."""
        identity = self._object_backend.identity
        text = "|".join((__version__, identity, self._scalar, str(width), self.identity))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def _program_key(self) -> str:
        return hashlib.sha256(f"{__version__}|{self.identity}".encode()).hexdigest()

    def _fetch(self, width: int, ending: str = cache.CODE) -> bytes | None:
        """Code that was kept on disk."""
        content = cache.fetch(self.cache_key(width), ending)
        if content is None:
            return None
        (self._operations,) = _HEADER.unpack_from(content)
        return content[_HEADER.size :]

    def _keep(self, width: int, data: bytes, ending: str = cache.CODE) -> None:
        header = _HEADER.pack(self.program.n_ops)
        cache.keep(self.cache_key(width), header + data, ending)


def _warn(text: str) -> None:
    warn_once("machine code", f"no machine code here: {text}")


_unfinished: weakref.WeakSet[CompiledProgram] = weakref.WeakSet()  # not fast yet; needs LOCK


def _reset_after_fork() -> None:
    for program in list(_unfinished):
        program.reset_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
