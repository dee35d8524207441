"""Serialized programs: equal after a round trip, rejected if damaged."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest
from tests.support.expressions import program_for, random_program
from tests.support.verifier import verify

import linkwork as lw
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
    body = to_bytes(random_program(1)[0])[32:].replace(b'"version": 4', b'"version": 9')
    assert from_bytes(hashlib.sha256(body).digest() + body) is None
