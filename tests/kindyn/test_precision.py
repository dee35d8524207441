"""Compiled float64 against the same programs in 50 digits, and those against plain sums.

The first says how much rounding costs; the second that the constants of a program, which were
moved, merged and regrouped before it was traced, still describe the robot of the file.
"""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from tests.support.kindyn import Interpreted, base_X, spatial_inertia
from tests.support.models import assert_close, random_model
from tests.support.spatial import exact, to_float

import linkwork as lw
from linkwork.engine.symbolic.operations import Op

DIGITS = 50
MP_FUNCTIONS = {
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda a, b: a * b,
    Op.DIV: lambda a, b: mp.mpf(a) / b,
    Op.NEG: lambda a: -a,
    Op.SQRT: mp.sqrt,
    Op.SIN: mp.sin,
    Op.COS: mp.cos,
}
ARGUMENTS = {
    "inverse_dynamics": ("q", "nu", "nu_dot"),
    "mass_matrix": ("q",),
    "forward_dynamics": ("q", "nu", "tau"),
    "bias_force": ("q", "nu"),
    "centroidal_momentum_matrix": ("q",),
    "kinetic_energy": ("q", "nu"),
}


def in_many_digits(kd, name, *arguments):
    """Result of a program run on mpmath numbers, rounded once at the end."""
    program = kd.function(name).program
    with mp.workdps(DIGITS):
        found = program.run(*(exact(row) for row in arguments), functions=MP_FUNCTIONS)
        return to_float(np.array(found, dtype=object)).reshape(program.outputs[0].shape)


def exact_unit(q):
    """q with a base quaternion of norm 1 to the last bit that float64 has."""
    q = q.copy()
    q[3:7] /= np.linalg.norm(q[3:7])
    return q


@pytest.fixture(scope="module")
def humanoid():
    return lw.KinDyn(lw.robots.load("humanoid"))


@pytest.fixture(scope="module")
def states(humanoid):
    rng = np.random.default_rng(11)
    names = ("nu", "nu_dot", "tau")
    return [
        {"q": exact_unit(q)}
        | dict(zip(names, rng.normal(size=(3, humanoid.nv)) * [[3], [10], [30]], strict=True))
        for q in humanoid.random(3, seed=4)
    ]


@pytest.mark.parametrize("name", ARGUMENTS)
def test_compiled_float64_has_twelve_digits(name, states, monkeypatch):
    """Of quick code and of fast code, of one row and of several at a time."""
    monkeypatch.setenv("LINKWORK_CACHE", "off")  # or there is no quick code
    humanoid = lw.KinDyn(lw.robots.load("humanoid"))
    rows = [[state[argument] for argument in ARGUMENTS[name]] for state in states]
    expected = np.array([in_many_digits(humanoid, name, *row) for row in rows])
    kernel = humanoid.function(name)

    quick = np.array([kernel(*row) for row in rows])
    kernel.warmup()
    fast = np.array([kernel(*row) for row in rows])
    stacked = [np.stack(column) for column in zip(*rows, strict=True)]
    tiled = [np.concatenate([column] * 5) for column in stacked]
    many = kernel(*tiled)

    for row, right in enumerate(expected):
        assert_close(quick[row], right, rtol=1e-12)
        assert_close(fast[row], right, rtol=1e-12)
        for copy in range(5):
            assert_close(many[row + 3 * copy], right, rtol=1e-12)


def test_large_angles_cost_no_digits(humanoid, states):
    """A joint that turned a thousand times: its angle is a number like any other."""
    q = states[0]["q"].copy()
    q[7:] += 2e3 * np.pi * np.arange(1, len(q) - 6) / len(q)

    found = humanoid.mass_matrix(q)

    assert_close(found, in_many_digits(humanoid, "mass_matrix", q), rtol=1e-12)


def sum_over_links(kd, q):
    """M = sum J^T I J with the links' own inertias, by another road than the composite one."""
    body = Interpreted(kd.replace(representation="body"))
    T = np.eye(kd.nv)
    T[:6, :6] = base_X(q, kd.representation)
    M = np.zeros((kd.nv, kd.nv))
    for link in kd.model.links:
        J = body.jacobian(link.name, q) @ T
        M += J.T @ spatial_inertia(link.inertia) @ J
    return M


def test_regrouped_constants_describe_the_humanoid_of_the_file(humanoid, states):
    for state in states:
        found = in_many_digits(humanoid, "mass_matrix", state["q"])
        assert_close(found, sum_over_links(humanoid, state["q"]), rtol=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_regrouped_constants_describe_robots_of_all_kinds_of_joints(seed):
    kd = lw.KinDyn(random_model(np.random.default_rng(seed), 10))
    q = exact_unit(kd.random(seed=seed))

    found = in_many_digits(kd, "mass_matrix", q)

    assert_close(found, sum_over_links(kd, q), rtol=1e-13)


def test_small_diagonal_entries_are_right_to_their_own_size(humanoid, states):
    """A finger weighs little beside the robot; its own inertia must not drown in regrouping."""
    q = states[0]["q"]
    expected = np.diag(sum_over_links(humanoid, q))
    found = np.diag(humanoid.mass_matrix(q))

    assert np.abs(found / expected - 1).max() < 1e-12
