"""A process that compiles: it reads jobs and writes object files until it is closed.

It shares nothing with the process that started it, so neither waits for the other's locks. It
imports llvmlite and nothing of linkwork.

    job     level (1 byte), four lengths (4 bytes each), then cpu, features, triple and IR as UTF-8
    answer  1 if it worked (1 byte), length (4 bytes), then the object file, or the reason as UTF-8
"""

from __future__ import annotations

import struct
import sys
from typing import IO

JOB, ANSWER = struct.Struct("<B4I"), struct.Struct("<BI")


class CompileError(RuntimeError):
    """What the process says that could not compile."""


def write_job(pipe: IO[bytes], level: int, *texts: str) -> None:
    """Send a job: cpu, features, triple and IR."""
    parts = [text.encode() for text in texts]
    left = memoryview(JOB.pack(level, *map(len, parts)) + b"".join(parts))
    while left:  # a pipe without a buffer takes what it can
        left = left[pipe.write(left) :]
    pipe.flush()


def read_answer(pipe: IO[bytes]) -> bytes:
    """Take the object file of a job."""
    good, length = ANSWER.unpack(_exactly(pipe, ANSWER.size))
    content = _exactly(pipe, length)
    if not good:
        raise CompileError(content.decode())
    return content


def _exactly(pipe: IO[bytes], count: int) -> bytes:
    data = bytearray()
    while len(data) < count:  # a pipe without a buffer gives what it has
        part = pipe.read(count - len(data))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


def _compile(level: int, cpu: str, features: str, triple: str, ir: str) -> bytes:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(ir)
    module.verify()
    machine = llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=level, reloc="static", codemodel="jitdefault", jit=True
    )  # as in jit.py
    return machine.emit_object(module)


def main() -> None:
    """Work until there are no more jobs."""
    jobs, answers = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            level, *lengths = JOB.unpack(_exactly(jobs, JOB.size))
            parts = [_exactly(jobs, length) for length in lengths]
        except EOFError:
            return
        try:
            cpu, features, triple, ir = (part.decode() for part in parts)
            good, content = 1, _compile(level, cpu, features, triple, ir)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
            good, content = 0, str(error).encode()
        answers.write(ANSWER.pack(good, len(content)) + content)
        answers.flush()


if __name__ == "__main__":
    main()
