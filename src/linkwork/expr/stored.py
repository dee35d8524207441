"""Programs as bytes, to be kept on disk.

    digest      SHA-256 of all that follows
    header      its length (uint32), then JSON: names and shapes, and how many numbers follow
    steps       operations (uint8), their arguments (int32), constants (float64), results (int32)

Numbers are little-endian. Bytes that are damaged, or of another version, give no program.
"""

from __future__ import annotations

import hashlib
import json
import struct
from itertools import chain
from typing import Any

import numpy as np

from linkwork.expr.node import ARGUMENTS, Op
from linkwork.expr.program import Port, Program

_VERSION = 1
_DIGEST_SIZE = 32
_OPS = {int(op): op for op in Op}


def to_bytes(program: Program) -> bytes:
    """A program as bytes."""
    steps = program.steps
    ops = np.array([step[0] for step in steps], dtype="<u1")
    args = [step[1:] for step in steps if step[0] is not Op.CONST]
    flat = np.array(list(chain.from_iterable(args)), dtype="<i4")
    constants = np.array([step[1] for step in steps if step[0] is Op.CONST], dtype="<f8")
    results = np.array(program.results, dtype="<i4")
    parts = (ops, flat, constants, results)
    header = json.dumps(
        {
            "version": _VERSION,
            "inputs": [(port.name, port.shape) for port in program.inputs],
            "outputs": [(port.name, port.shape) for port in program.outputs],
            "sizes": [len(part) for part in parts],
        }
    ).encode()
    body = struct.pack("<I", len(header)) + header + b"".join(part.tobytes() for part in parts)
    return hashlib.sha256(body).digest() + body


def from_bytes(data: bytes) -> Program | None:
    """The program that `to_bytes` wrote; None if the bytes are not what it wrote."""
    digest, body = data[:_DIGEST_SIZE], data[_DIGEST_SIZE:]
    if hashlib.sha256(body).digest() != digest:
        return None
    length = struct.unpack_from("<I", body)[0]
    header: dict[str, Any] = json.loads(body[4 : 4 + length])
    if header["version"] != _VERSION:
        return None
    start, parts = 4 + length, list[list[Any]]()
    for size, kind in zip(header["sizes"], ("<u1", "<i4", "<f8", "<i4"), strict=True):
        part = np.frombuffer(body, kind, size, start)
        start += part.nbytes
        parts.append(part.tolist())
    ops, flat, constants, results = parts
    ports = [
        tuple(Port(name, tuple(shape)) for name, shape in header[kind])
        for kind in ("inputs", "outputs")
    ]
    return Program(ports[0], ports[1], _steps(ops, flat, constants), tuple(results))


def _steps(ops: list[int], flat: list[int], constants: list[float]) -> tuple[tuple[Any, ...], ...]:
    """The steps, from their operations and the arguments of all of them."""
    steps: list[tuple[Any, ...]] = []
    values, at = iter(constants), 0
    for number in ops:
        op = _OPS[number]
        if op is Op.CONST:
            steps.append((op, next(values)))
        else:
            stop = at + ARGUMENTS[op]
            steps.append((op, *flat[at:stop]))
            at = stop
    return tuple(steps)
