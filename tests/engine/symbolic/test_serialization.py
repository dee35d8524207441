"""Serialized programs: equal after a round trip, rejected if damaged."""

from __future__ import annotations

import hashlib
import json
import math
import struct

import numpy as np
import pytest
from tests.support.expressions import program_for, random_program

import linkwork as lw
from linkwork.engine.symbolic.flat_steps import verify
from linkwork.engine.symbolic.operations import Op
from linkwork.engine.symbolic.program import Program
from linkwork.engine.symbolic.serialization import from_bytes, to_bytes


@pytest.mark.parametrize("seed", range(5))
def test_a_program_survives_a_round_trip(seed):
    program, _ = random_program(seed)
    again = from_bytes(to_bytes(program))

    assert again == program
    verify(again)
    assert again.digest == program.digest


def test_constants_are_stored_exactly():
    numbers = [0.1, -1e-308, 1.7e308, math.pi, 5e-324]
    program = program_for(lambda a: np.stack([a[0] + x for x in numbers]), (1,))
    assert from_bytes(to_bytes(program)) == program


def test_a_program_without_steps():
    assert from_bytes(to_bytes(Program((), (), (), ()))) == Program((), (), (), ())


def test_the_program_of_a_robot_is_small():
    program = lw.KinDyn(lw.robots.load("arm")).forward_dynamics.program
    data = to_bytes(program)
    assert from_bytes(data) == program
    assert len(data) < 10 * len(program.steps) + 1000


def test_damaged_data_is_rejected():
    data = to_bytes(random_program(1)[0])
    for index in (0, 31, 32, 40, len(data) // 2, len(data) - 1):
        damaged = bytearray(data)
        damaged[index] ^= 1
        assert from_bytes(bytes(damaged)) is None
    for end in (0, 10, 32, 36, len(data) - 1):
        assert from_bytes(data[:end]) is None


def test_data_of_another_version_is_rejected():
    body = to_bytes(random_program(1)[0])[32:].replace(b'"version": 3', b'"version": 9')
    assert from_bytes(hashlib.sha256(body).digest() + body) is None


def signed(header, parts):
    """Data with a correct digest."""
    text = json.dumps(header).encode()
    body = struct.pack("<I", len(text)) + text + parts
    return hashlib.sha256(body).digest() + body


@pytest.mark.parametrize(
    "change",
    [
        {"version": None},
        {"sizes": [3, 1, 1, 0]},
        {"sizes": [10**30, 3, 1, 0, 1]},
        {"sizes": [-1, 3, 1, 0, 1]},
        {"sizes": [2, 3, 1, 0, 1]},
        {"loops": [[3, False, 0]]},
        {"loops": [[3, False, 10**30]]},
        {"loops": [3]},
        {"inputs": [["a", [10**30]]]},
        {"inputs": [["a", ["x"]]]},
        {"inputs": [["a", []], 3]},
        {"inputs": []},
        {"outputs": [["b", [2]]]},
        {"outputs": [["b", [10**9]]]},
        {"ops": [Op.INPUT, Op.CONST, 255]},
        {"ops": [Op.INPUT, Op.CONST, Op.CONST]},
        {"ops": [Op.INPUT, Op.CONST, Op.LOOP]},
        {"ops": [Op.INPUT, Op.CONST, Op.LOOP_RESULT]},
        {"flat": [1, 0, 1]},
        {"flat": [0, 0, 2]},
        {"flat": [0, 0, -1]},
        {"results": [3]},
        {"results": [-1]},
    ],
)
def test_invalid_content_with_a_correct_digest_is_rejected(change):
    """Also if they request more memory than any computer has."""
    parts = {"ops": [Op.INPUT, Op.CONST, Op.ADD], "flat": [0, 0, 1], "constants": [2.5]}
    parts |= {"loop_indices": [], "results": [2]}
    header = {"version": 3, "inputs": [["a", []]], "outputs": [["b", []]], "sizes": [3, 3, 1, 0, 1]}
    header |= {"loops": []}

    def data(parts, header):
        kinds = zip(parts.values(), ("<u1", "<i4", "<f8", "<i4", "<i4"), strict=True)
        return signed(header, b"".join(np.array(part, kind).tobytes() for part, kind in kinds))

    assert from_bytes(data(parts, header)).n_ops == 1
    parts |= {name: part for name, part in change.items() if name in parts}
    header |= {name: value for name, value in change.items() if name in header}
    assert from_bytes(data(parts, header)) is None
