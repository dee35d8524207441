"""The compiler process: both ends of its connection.

`CompilerProcess` starts it and sends jobs. The process runs this file: it reads jobs and writes
object files until the connection is closed. It shares no memory and no locks with the process that
started it. It does not import linkwork. Search paths such as PYTHONPATH do not apply to it, so its
only argument is the file of the llvmlite that the other process would import. Standard input is a
socket, for jobs and answers.

    start   process id (4 bytes)
    job     level (1 byte), four lengths (4 bytes each), then cpu, features, triple and IR as UTF-8
    answer  1 on success, else 0 (1 byte), length (4 bytes), then the object file, or the error
            message as UTF-8

Daemon    it forks and the child compiles, so that it is not a child of the program that uses
          linkwork: `os.wait()` does not wait for it
Priority  the lowest
End       as soon as the connection is closed, even during a job
"""

from __future__ import annotations

import contextlib
import os
import signal
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

Receive = Callable[[int], bytes]  # returns at most this many bytes; no bytes at the end


class CompileError(RuntimeError):
    """An error that the compiler process reports."""


def packed_job(level: int, *texts: str) -> bytes:
    """Pack the message of a job: cpu, features, triple and IR."""
    parts = [text.encode() for text in texts]
    return JOB.pack(level, *map(len, parts)) + b"".join(parts)


def read_answer(receive: Receive) -> bytes:
    """Receive the object file of a job."""
    succeeded, length = ANSWER.unpack(exactly(receive, ANSWER.size))
    content = exactly(receive, length)
    if not succeeded:
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
    """The connection to the compiler process, in the process that uses it."""

    def __init__(self, llvmlite_file: str) -> None:
        """Start the process, with LOCK held: a forked child would keep the connection open.

        Args:
            llvmlite_file: the file that `import llvmlite` runs in this process; may be empty.
        """
        import socket  # not at the top, since the compiler process does not need it
        import subprocess

        self.pid: int | None = None  # set once it is ready
        self._no_signal = getattr(socket, "MSG_NOSIGNAL", 0)  # no SIGPIPE if it has ended
        self._socket, other = socket.socketpair()
        try:
            with other:
                self._starter = subprocess.Popen(
                    [sys.executable, "-I", str(Path(__file__)), llvmlite_file],
                    stdin=other.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # Ctrl-C must not interrupt it
                )
        except BaseException:
            self._socket.close()
            raise

    def wait_until_ready(self) -> None:
        """Wait until it has started."""
        from subprocess import TimeoutExpired

        try:
            self._starter.wait(START_LIMIT)
        except TimeoutExpired:  # not a Python interpreter, despite its name
            self._starter.kill()
            self._starter.wait()
            raise
        self._socket.settimeout(START_LIMIT)
        (self.pid,) = START.unpack(exactly(self._socket.recv, START.size))
        self._socket.settimeout(None)

    def compiled(self, level: int, target: Target, ir: str) -> bytes:
        """Send a module to the process, and wait for the object file.

        Raises:
            CompileError: the process could not compile it.
            BrokenPipeError: the process had ended before.
            EOFError: the process ended during the compilation.
        """
        job = packed_job(level, target.cpu, target.features, target.triple, ir)
        self._socket.sendall(job, self._no_signal)
        try:
            return read_answer(self._socket.recv)
        except (ConnectionError, EOFError) as error:
            text = "the compiler process ended during the compilation, perhaps for lack of memory"
            raise EOFError(text) from error

    def close(self) -> None:
        """End the process, even during a job; a thread waiting for the answer gets an error."""
        from socket import SHUT_RDWR

        with contextlib.suppress(OSError):
            self._socket.shutdown(SHUT_RDWR)
        if self.pid is not None:  # if it was stopped, it would not notice the end
            with contextlib.suppress(OSError):
                os.kill(self.pid, signal.SIGCONT)
        self.disown()

    def disown(self) -> None:
        """In a forked child, leave the process to the parent."""
        self._socket.close()
        self._starter.returncode = 0  # so that `subprocess` does not wait for it


# The process itself.


def _send(data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(0, left) :]


def _import_llvmlite(file: str) -> None:
    """Import llvmlite from its file; if the file is empty, it is imported as usual."""
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
    """Receive jobs, also during a compilation; the end of the connection ends the process."""
    receive = partial(os.read, 0)
    try:
        while True:
            level, *lengths = JOB.unpack(exactly(receive, JOB.size))
            jobs.put((level, [exactly(receive, length) for length in lengths]))
    finally:
        os._exit(0)


def main() -> None:
    """Compile jobs until the connection is closed."""
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
            succeeded, content = 1, _compile(level, cpu, features, triple, ir)
        except Exception as error:  # noqa: BLE001 - sent as the answer
            succeeded, content = 0, f"{type(error).__name__}: {error}".encode()
        _send(ANSWER.pack(succeeded, len(content)) + content)


if __name__ == "__main__":
    main()
