"""The compiler process, as seen from the process that uses it."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
from pathlib import Path

from linkwork.engine.runtime import worker
from linkwork.engine.runtime.processor import Target, llvmlite_file

START_LIMIT = 30.0  # [s] a Python interpreter that takes longer to start is killed
_NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)  # writing to an ended process is no SIGPIPE


class CompilerProcess:
    """A process that runs worker.py. It is not our child, so that it need not be waited for."""

    def __init__(self) -> None:
        """Start it, with LOCK held: a child forked meanwhile would keep the connection open."""
        self.pid: int | None = None  # once it is ready
        self._socket, other = socket.socketpair()
        try:
            with other:
                self._starter = subprocess.Popen(
                    [sys.executable, "-I", str(Path(worker.__file__)), llvmlite_file() or ""],
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
        try:
            self._starter.wait(START_LIMIT)
        except subprocess.TimeoutExpired:  # not a Python interpreter, whatever its name
            self._starter.kill()
            self._starter.wait()
            raise
        self._socket.settimeout(START_LIMIT)
        (self.pid,) = worker.START.unpack(worker.exactly(self._socket.recv, worker.START.size))
        self._socket.settimeout(None)

    def compiled(self, level: int, target: Target, ir: str) -> bytes:
        """Compile a module there, and wait for it.

        Raises:
            CompileError: it could not be compiled there.
            BrokenPipeError: the process had ended before.
            EOFError: the process ended while it compiled.
        """
        job = worker.packed_job(level, target.cpu, target.features, target.triple, ir)
        self._socket.sendall(job, _NO_SIGNAL)
        try:
            return worker.read_answer(self._socket.recv)
        except (ConnectionError, EOFError) as error:
            text = "the compiler process ended while it compiled, perhaps for lack of memory"
            raise EOFError(text) from error

    def close(self) -> None:
        """End it, even during a job; a thread that waits for the answer gets an error."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self.disown()

    def disown(self) -> None:
        """In a forked child: leave it to the parent."""
        self._socket.close()
        self._starter.returncode = 0  # so that `subprocess` does not wait for it
