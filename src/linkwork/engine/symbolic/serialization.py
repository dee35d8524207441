"""Serialization of programs, for the cache on disk.

    digest      SHA-256 of everything that follows
    header      its length (uint32), then JSON: names and shapes of the ports, sizes of the arrays,
                and for each loop its number of iterations, direction, and body size in bytes
    steps       the arrays of `FlatSteps`: operations, their arguments, constants, loops, results
    loops       the body of each loop in the same format, without a digest

Numbers are little-endian. Data that is damaged, inconsistent or of another version is rejected,
even if its digest is correct.
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

import numpy as np

from linkwork.engine.symbolic.flat_steps import FlatSteps, verify_loop
from linkwork.engine.symbolic.program import Loop, Port, Program

_VERSION = 3
_DIGEST_SIZE = 32


def to_bytes(program: Program) -> bytes:
    """Serialize a program."""
    body = _serialize(program)
    return hashlib.sha256(body).digest() + body


def _serialize(program: Program) -> bytes:
    flat = FlatSteps.of(program)
    parts = (flat.ops, flat.args, flat.constants, flat.loops, flat.results)
    bodies = [_serialize(loop.body) for loop in program.loops]
    loops = [
        (loop.n, loop.is_reversed, len(body))
        for loop, body in zip(program.loops, bodies, strict=True)
    ]
    header = json.dumps(
        {
            "version": _VERSION,
            "inputs": [(port.name, port.shape) for port in program.inputs],
            "outputs": [(port.name, port.shape) for port in program.outputs],
            "sizes": [len(part) for part in parts],
            "loops": loops,
        }
    ).encode()
    arrays = [part.tobytes() for part in parts]
    return b"".join([struct.pack("<I", len(header)), header, *arrays, *bodies])


def from_bytes(data: bytes) -> Program | None:
    """Return the program that `to_bytes` serialized; None if the data is not valid."""
    digest, body = data[:_DIGEST_SIZE], data[_DIGEST_SIZE:]
    if hashlib.sha256(body).digest() != digest:
        return None
    try:
        return _parse(body)
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError, struct.error):
        return None


def _parse(body: bytes) -> Program:
    """Parse data whose digest is correct; raise if it is not valid."""
    length = struct.unpack_from("<I", body)[0]
    header: dict[str, Any] = json.loads(body[4 : 4 + length])
    if header["version"] != _VERSION:
        raise ValueError("unknown version")
    inputs, outputs = _ports(header["inputs"]), _ports(header["outputs"])
    start, parts = 4 + length, list[Any]()
    for size, kind in zip(header["sizes"], FlatSteps.KINDS, strict=True):
        parts.append(np.frombuffer(body, kind, _count(size), start))
        start += parts[-1].nbytes
    loops: list[Loop] = []
    for n, is_reversed, size in header["loops"]:
        if not isinstance(is_reversed, bool):
            raise TypeError("is_reversed is not a boolean")
        stop = start + _count(size)
        loops.append(Loop(_parse(body[start:stop]), _count(n), is_reversed))
        verify_loop(loops[-1])
        start = stop
    if start != len(body):
        raise ValueError("wrong length")
    flat = FlatSteps(*parts)
    flat.verify(inputs, outputs, loops)
    steps, results = flat.steps(loops), tuple(flat.results.tolist())
    return Program(inputs, outputs, steps, results, tuple(loops))


def _ports(entries: list[Any]) -> tuple[Port, ...]:
    for name, shape in entries:
        if not isinstance(name, str) or not isinstance(shape, list):
            raise TypeError("not a name and a shape")
    return tuple(Port(name, tuple(map(_count, shape))) for name, shape in entries)


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("not a count")
    return value
