"""Estimates of the size of a Jacobian."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.expressions import random_program
from tests.support.loop_programs import loop_program

import linkwork as lw
from linkwork.engine.autodiff.diff import jacobian
from linkwork.engine.autodiff.jacobian_size import cheaper_mode, jacobian_steps
from linkwork.engine.symbolic.program import Port
from linkwork.engine.symbolic.tracing import trace


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


@pytest.mark.parametrize("wrt", [["a"], ["b"], ["a", "b"]])
def test_of_programs_with_loops(wrt):
    for seed in range(6):
        program = loop_program(seed, n=seed + 2, depth=seed % 3, size=2)
        real = jacobian(program, wrt).n_steps
        assert 0.2 * real <= jacobian_steps(program, wrt) <= 6 * real


def test_the_mode_with_less_work_is_chosen_for_a_loop():
    def function(x):
        return lw.repeat(9, lambda y: np.sin(y) * y[::-1] + 0.1 * y, x)

    ports = [Port("x", (30,))]
    total = trace(lambda x: np.sum(function(x)), ports, "y")
    spread = trace(lambda x: np.stack([x[0], x[1]] * 15) * function(x[:2].repeat(15)), ports, "y")
    assert cheaper_mode(total, range(30))[0] == "reverse"
    assert cheaper_mode(spread, range(2))[0] == "forward"
    assert cheaper_mode(total, range(30))[1] < 30 * total.n_steps
