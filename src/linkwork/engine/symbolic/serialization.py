"""Serialization of programs, for the cache on disk.

    digest      SHA-256 of everything that follows
    header      its length (uint32), then JSON: names and shapes of the ports, sizes of the arrays,
                and for each loop its number of iterations, direction, whether it is conditional,
                and body size in bytes
    arrays      operations (uint8); their arguments (int32), except the first ones of CONST and
                LOOP; constants (float64); loops (int32); results (int32)
    loops       the body of each loop in the same format, without a digest

Numbers are little-endian. Data that is damaged or of another version is rejected.
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

import numpy as np

from linkwork.engine.symbolic.operations import ARGUMENTS, Op
from linkwork.engine.symbolic.program import Loop, Port, Program

_VERSION = 4
_DIGEST_SIZE = 32
_KINDS = ("<u1", "<i4", "<f8", "<i4", "<i4")  # types of the arrays
_OPS = {int(op): op for op in Op}


def to_bytes(program: Program) -> bytes:
    """Serialize a program."""
    body = _serialize(program)
    return hashlib.sha256(body).digest() + body


def _serialize(program: Program) -> bytes:
    first_args = {Op.CONST: list[float](), Op.LOOP: list[int]()}
    args: list[int] = []
    for op, *step_args in program.steps:
        is_separate = op in first_args
        if is_separate:
            first_args[op].append(step_args[0])
        args += step_args[is_separate:]
    parts = ([step[0] for step in program.steps], args, *first_args.values(), program.results)
    bodies = [_serialize(loop.body) for loop in program.loops]
    loops = [
        (loop.n, loop.is_reversed, loop.is_conditional, len(body))
        for loop, body in zip(program.loops, bodies, strict=True)
    ]
    header = json.dumps(
        {
            "version": _VERSION,
            "inputs": [(port.name, port.shape) for port in program.inputs],
            "outputs": [(port.name, port.shape) for port in program.outputs],
            "sizes": [len(part) for part in parts],
            "loops": loops,
            "follows_numpy": program.follows_numpy,
        }
    ).encode()
    arrays = [np.array(part, kind).tobytes() for part, kind in zip(parts, _KINDS, strict=True)]
    return b"".join([struct.pack("<I", len(header)), header, *arrays, *bodies])


def from_bytes(data: bytes) -> Program | None:
    """Return the program that `to_bytes` serialized; None if damaged or of another version."""
    digest, body = data[:_DIGEST_SIZE], data[_DIGEST_SIZE:]
    return _parse(body) if hashlib.sha256(body).digest() == digest else None


def _parse(body: bytes) -> Program | None:
    """Parse data whose digest is correct; None if it is of another version."""
    start = 4 + struct.unpack_from("<I", body)[0]
    header: dict[str, Any] = json.loads(body[4:start])
    if header["version"] != _VERSION:
        return None
    parts: list[Any] = []
    for size, kind in zip(header["sizes"], _KINDS, strict=True):
        array = np.frombuffer(body, kind, size, start)
        parts.append(array.tolist())
        start += array.nbytes
    loops: list[Loop] = []
    for n, is_reversed, is_conditional, size in header["loops"]:
        loop_body = _parse(body[start : start + size])
        assert loop_body is not None
        loops.append(Loop(loop_body, n, is_reversed, is_conditional))
        start += size
    ops, args, constants, loop_indices, results = parts
    first_args = {Op.CONST: iter(constants), Op.LOOP: iter(loop_indices)}
    steps: list[tuple[Any, ...]] = []
    end = 0
    for number in ops:
        op = _OPS[number]
        first = [next(first_args[op])] if op in first_args else []
        count = loops[first[0]].n_inputs if op is Op.LOOP else ARGUMENTS[op] - len(first)
        steps.append((op, *first, *args[end : end + count]))
        end += count
    inputs, outputs = _ports(header["inputs"]), _ports(header["outputs"])
    return Program(
        inputs, outputs, tuple(steps), tuple(results), tuple(loops), header["follows_numpy"]
    )


def _ports(entries: list[Any]) -> tuple[Port, ...]:
    return tuple(Port(name, tuple(shape)) for name, shape in entries)
