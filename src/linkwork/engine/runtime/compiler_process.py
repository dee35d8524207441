"""The compiler process: both ends of its connection.

`CompilerProcess` starts it and sends jobs. The process runs this file: it reads jobs and writes
object files until the connection is closed. It shares no memory and no locks with the process that
started it. It imports nothing of linkwork, and the very llvmlite that the other process would
import, which its only argument names: search paths such as PYTHONPATH do not apply there. Standard
input is a socket, for jobs and answers.

    start   process id (4 bytes)
    job     level (1 byte), four lengths (4 bytes each), then cpu, features, triple and IR as UTF-8
    answer  1 if it worked (1 byte), length (4 bytes), then the object file, or the reason as UTF-8

Daemon    it forks and the child does the work, so that it is not a child of the program that uses
          linkwork: `os.wait()` there does not wait for it
Priority  the lowest
End       as soon as the connection is closed, even during a job
"""

from __future__ import annotations

import contextlib
import os
import struct
import sys
import threading
from collections.abc import Callable
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linkwork.engine.runtime.processor import Target

START_LIMIT = 30.0  # [s] a Python interpreter that takes longer to start is killed
START, JOB, ANSWER = struct.Struct("<I"), struct.Struct("<B4I"), struct.Struct("<BI")

Receive = Callable[[int], bytes]  # returns at most this many bytes; none at the end


class CompileError(RuntimeError):
    """The error that the compiler process reports."""


def packed_job(level: int, *texts: str) -> bytes:
    """The message of a job: cpu, features, triple and IR."""
    parts = [text.encode() for text in texts]
    return JOB.pack(level, *map(len, parts)) + b"".join(parts)


def read_answer(receive: Receive) -> bytes:
    """Receive the object file of a job."""
    good, length = ANSWER.unpack(exactly(receive, ANSWER.size))
    content = exactly(receive, length)
    if not good:
        raise CompileError(content.decode())
    return content


def exactly(receive: Receive, count: int) -> bytes:
    """Receive `count` bytes."""
    data = bytearray()
    while len(data) < count:
        part = receive(min(count - len(data), 1 << 20))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


class CompilerProcess:
    """The process, as seen from the one that uses it; it is not a child that must be waited for."""

    def __init__(self, llvmlite_file: str) -> None:
        """Start it, with LOCK held: a child forked meanwhile would keep the connection open.

        Args:
            llvmlite_file: what `import llvmlite` runs in this process; may be empty.
        """
        import socket  # here, as the compiler process itself needs neither
        import subprocess

        self.pid: int | None = None  # once it is ready
        self._no_signal = getattr(socket, "MSG_NOSIGNAL", 0)  # writing to an ended one: no SIGPIPE
        self._socket, other = socket.socketpair()
        try:
            with other:
                self._starter = subprocess.Popen(
                    [sys.executable, "-I", str(Path(__file__)), llvmlite_file],
                    stdin=other.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # an interrupt from the terminal is for us alone
                )
        except BaseException:
            self._socket.close()
            raise

    def wait_until_ready(self) -> None:
        """Wait until it has started."""
        from subprocess import TimeoutExpired

        try:
            self._starter.wait(START_LIMIT)
        except TimeoutExpired:  # not a Python interpreter, whatever its name
            self._starter.kill()
            self._starter.wait()
            raise
        self._socket.settimeout(START_LIMIT)
        (self.pid,) = START.unpack(exactly(self._socket.recv, START.size))
        self._socket.settimeout(None)

    def compiled(self, level: int, target: Target, ir: str) -> bytes:
        """Compile a module there, and wait for it.

        Raises:
            CompileError: it could not be compiled there.
            BrokenPipeError: the process had ended before.
            EOFError: the process ended while it compiled.
        """
        job = packed_job(level, target.cpu, target.features, target.triple, ir)
        self._socket.sendall(job, self._no_signal)
        try:
            return read_answer(self._socket.recv)
        except (ConnectionError, EOFError) as error:
            text = "the compiler process ended while it compiled, perhaps for lack of memory"
            raise EOFError(text) from error

    def close(self) -> None:
        """End it, even during a job; a thread that waits for the answer gets an error."""
        from socket import SHUT_RDWR

        with contextlib.suppress(OSError):
            self._socket.shutdown(SHUT_RDWR)
        self.disown()

    def disown(self) -> None:
        """In a forked child: leave it to the parent."""
        self._socket.close()
        self._starter.returncode = 0  # so that `subprocess` does not wait for it


# The process itself.


def _send(data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(0, left) :]


def _import_llvmlite(file: str) -> None:
    """Import llvmlite from its file; if none is named, it is imported as usual."""
    if file and "llvmlite" not in sys.modules:
        folders = [str(Path(file).parent)]
        spec = spec_from_file_location("llvmlite", file, submodule_search_locations=folders)
        if spec is not None and spec.loader is not None:
            package = sys.modules["llvmlite"] = module_from_spec(spec)
            spec.loader.exec_module(package)


def _compile(level: int, cpu: str, features: str, triple: str, ir: str) -> bytes:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(ir)
    module.verify()
    machine = llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=level, reloc="static", codemodel="jitdefault", jit=True
    )  # as in compiler.py
    return machine.emit_object(module)


def _read_jobs(jobs: SimpleQueue[tuple[int, list[bytes]]]) -> None:
    """Receive jobs while another is compiled; the end of the connection ends the process."""
    receive = partial(os.read, 0)
    try:
        while True:
            level, *lengths = JOB.unpack(exactly(receive, JOB.size))
            jobs.put((level, [exactly(receive, length) for length in lengths]))
    finally:
        os._exit(0)


def main() -> None:
    """Work until the connection is closed."""
    if os.fork():
        os._exit(0)
    os.nice(19)
    _send(START.pack(os.getpid()))
    jobs: SimpleQueue[tuple[int, list[bytes]]] = SimpleQueue()
    threading.Thread(target=_read_jobs, args=(jobs,), daemon=True).start()
    while True:
        level, parts = jobs.get()
        try:
            cpu, features, triple, ir = (part.decode() for part in parts)
            _import_llvmlite(sys.argv[1])
            good, content = 1, _compile(level, cpu, features, triple, ir)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
            good, content = 0, f"{type(error).__name__}: {error}".encode()
        _send(ANSWER.pack(good, len(content)) + content)


if __name__ == "__main__":
    main()
