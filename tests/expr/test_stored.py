"""Programs as bytes: the same when they come back, and nothing if they were damaged."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest
from tests.support.expressions import program_for, random_program

import linkwork as lw
from linkwork.expr.program import Program
from linkwork.expr.stored import from_bytes, to_bytes


@pytest.mark.parametrize("seed", range(5))
def test_a_program_comes_back(seed):
    program, _ = random_program(seed)
    again = from_bytes(to_bytes(program))

    assert again == program
    again.verify()
    assert again.digest == program.digest


def test_every_bit_of_constants_comes_back():
    numbers = [0.1, -1e-308, 1.7e308, math.pi, 5e-324]
    program = program_for(lambda a: np.stack([a[0] + x for x in numbers]), (1,))
    assert from_bytes(to_bytes(program)) == program


def test_a_program_without_steps():
    assert from_bytes(to_bytes(Program((), (), (), ()))) == Program((), (), (), ())


def test_a_robot_takes_few_bytes():
    program = lw.KinDyn(lw.robots.load("arm")).forward_dynamics.program
    data = to_bytes(program)
    assert from_bytes(data) == program
    assert len(data) < 10 * len(program.steps) + 1000


def test_damaged_bytes_give_nothing():
    data = to_bytes(random_program(1)[0])
    for place in (0, 31, 32, 40, len(data) // 2, len(data) - 1):
        damaged = bytearray(data)
        damaged[place] ^= 1
        assert from_bytes(bytes(damaged)) is None
    for end in (0, 10, 32, 36, len(data) - 1):
        assert from_bytes(data[:end]) is None


def test_bytes_of_another_version_give_nothing():
    body = to_bytes(random_program(1)[0])[32:].replace(b'"version": 1', b'"version": 9')
    assert from_bytes(hashlib.sha256(body).digest() + body) is None
