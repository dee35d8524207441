"""The length of a Jacobian is known before it is made."""

from __future__ import annotations

import pytest
from tests.support.expressions import random_program

import linkwork as lw
from linkwork.engine.autodiff.diff import jacobian
from linkwork.engine.autodiff.jacobian_size import jacobian_steps


@pytest.mark.parametrize(
    ("quantity", "wrt"),
    [
        ("com", "q"),
        ("mass_matrix", "q"),
        ("inverse_dynamics", "q"),
        ("inverse_dynamics", "nu"),
        ("forward_dynamics", "tau"),
        ("kinetic_energy", "q"),
    ],
)
def test_of_robots(quantity, wrt):
    program = lw.KinDyn(lw.robots.load("arm")).function(quantity).program
    real = len(jacobian(program, [wrt]).steps)
    assert real <= 1.1 * jacobian_steps(program, [wrt])
    assert jacobian_steps(program, [wrt]) <= 2.5 * real


@pytest.mark.parametrize("wrt", [["a"], ["b"], ["a", "b"]])
def test_of_random_programs(wrt):
    for seed in range(6):
        program, _ = random_program(seed)
        real = len(jacobian(program, wrt).steps)
        assert 0.3 * real <= jacobian_steps(program, wrt) <= 6 * real
