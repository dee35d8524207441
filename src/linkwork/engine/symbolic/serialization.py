"""Programs as bytes, to be kept on disk.

    digest      SHA-256 of all that follows
    header      its length (uint32), then JSON: names and shapes, and how many numbers follow
    steps       operations (uint8), their arguments (int32), constants (float64), results (int32)

Numbers are little-endian. Bytes that are damaged, of another version, or inconsistent contain no
program, whether or not their digest is right.
"""

from __future__ import annotations

import hashlib
import json
import struct
from itertools import chain
from typing import Any

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.node import ARGUMENTS, Op
from linkwork.engine.symbolic.program import Port, Program

_VERSION = 1
_DIGEST_SIZE = 32
_OPS = {int(op): op for op in Op}
_KINDS = ("<u1", "<i4", "<f8", "<i4")
_MOST_NUMBERS = 2**31 - 1  # of all inputs: steps refer to them by an index of 32 bits
# By operation, how many of the stored arguments it takes; -1 if there is no such operation.
_N_ARGUMENTS = np.full(256, -1)
for _op in Op:
    _N_ARGUMENTS[_op] = 0 if _op is Op.CONST else ARGUMENTS[_op]


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
    try:
        return _parsed(body)
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError, struct.error):
        return None


def _parsed(body: bytes) -> Program | None:
    """The program in bytes whose digest is right; None or an exception if they are inconsistent."""
    length = struct.unpack_from("<I", body)[0]
    header: dict[str, Any] = json.loads(body[4 : 4 + length])
    if header["version"] != _VERSION:
        return None
    inputs, outputs = _ports(header["inputs"]), _ports(header["outputs"])
    start, parts = 4 + length, list[Any]()
    for size, kind in zip(header["sizes"], _KINDS, strict=True):
        if not _is_count(size):
            return None
        parts.append(np.frombuffer(body, kind, size, start))
        start += parts[-1].nbytes
    n_inputs, n_outputs = (sum(port.size for port in ports) for ports in (inputs, outputs))
    if start != len(body) or n_inputs > _MOST_NUMBERS or n_outputs != len(parts[-1]):
        return None
    ops, flat, constants, results = parts
    if not _is_consistent(ops, flat, constants, results, n_inputs):
        return None
    steps = _steps(ops.tolist(), flat.tolist(), constants.tolist())
    return Program(inputs, outputs, steps, tuple(results.tolist()))


def _ports(entries: list[Any]) -> tuple[Port, ...]:
    for name, shape in entries:
        if (
            not isinstance(name, str)
            or not isinstance(shape, list)
            or not all(map(_is_count, shape))
        ):
            raise ValueError("not a name and a shape")
    return tuple(Port(name, tuple(shape)) for name, shape in entries)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_consistent(
    ops: Array, flat: Array, constants: Array, results: Array, n_inputs: int
) -> bool:
    """Whether every operation exists, and has arguments that are earlier steps, or inputs."""
    counts = _N_ARGUMENTS[ops]
    if counts.min(initial=0) < 0 or counts.sum() != len(flat):
        return False
    step = np.repeat(np.arange(len(ops)), counts)  # by argument
    limit = np.where(ops[step] == Op.INPUT, n_inputs, step)
    return (
        np.count_nonzero(ops == Op.CONST) == len(constants)
        and bool(((flat >= 0) & (flat < limit)).all())
        and bool(((results >= 0) & (results < len(ops))).all())
    )


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
