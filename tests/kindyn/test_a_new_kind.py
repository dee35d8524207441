"""A kind of joint is one object: a kind that only a test has obeys every law of mechanics.

Exports and bridges have tests of the same kind: tests/export and tests/bridges/test_a_new_kind.py.
"""

from __future__ import annotations

import warnings
from inspect import signature

import numpy as np
import pytest
from tests.kindyn import (
    test_identities,
    test_identities_of_derivatives,
    test_identities_of_derived_quantities,
)
from tests.support.kindyn import random_case
from tests.support.models import assert_close, random_q
from tests.support.rolling_joint import FactoredRolling, Rolling

import linkwork as lw
from linkwork import errors
from linkwork.model import joints as kinds

LAWS = [
    law
    for module in (
        test_identities,
        test_identities_of_derived_quantities,
        test_identities_of_derivatives,
    )
    for name, law in vars(module).items()
    if name.startswith("test_") and list(signature(law).parameters) == ["case"]
]
ROBOTS = [(3, ("rolling",)), (17, ("rolling", "revolute", "universal", "fixed"))]


@pytest.fixture(autouse=True)
def _register(monkeypatch):
    monkeypatch.setitem(kinds._ALL, "rolling", Rolling())


def robot(seed, chosen, **options):
    return random_case(seed, n_links=7, kinds=chosen, **options)


def test_there_are_laws_and_joints_read_backwards():
    cases = [robot(seed, chosen) for seed, chosen in ROBOTS]
    backwards = {
        joint.kind
        for case in cases
        for joint, is_backwards in zip(case.kd.tree.joints, case.kd.tree.backwards, strict=True)
        if joint and is_backwards
    }
    assert len(LAWS) >= 15
    assert {"rolling", "universal"} <= backwards
    assert [bool(case.kd.layout.followers) for case in cases] == [True, False]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__.removeprefix("test_"))
@pytest.mark.parametrize(("seed", "chosen"), ROBOTS, ids=["all", "some"])
@pytest.mark.parametrize(("floating", "velocity"), [(True, "mixed"), (False, "body")])
def test_a_kind_written_here_obeys(law, seed, chosen, floating, velocity):
    law(robot(seed, chosen, floating=floating, velocity=velocity))


def test_batches_of_compiled_code_give_what_single_rows_give(rng):
    kd = lw.KinDyn(robot(*ROBOTS[1]).model)
    q, nu = random_q(kd.layout, rng, (9,)), rng.normal(size=(9, kd.nv))
    bias, ends = kd.bias_force(q, nu), kd.integrate(q, nu)
    for row in range(9):
        assert_close(bias[row], kd.bias_force(q[row], nu[row]), rtol=1e-12)
        assert_close(kd.difference(q[row], ends[row]), nu[row], rtol=1e-12)


@pytest.mark.parametrize("kind", [Rolling, FactoredRolling])
@pytest.mark.parametrize(("seed", "chosen"), ROBOTS, ids=["all", "some"])
def test_a_workcell_computes_what_a_robot_of_its_own_does(monkeypatch, kind, seed, chosen, rng):
    """Poses, Jacobians and dynamics, also of what is gripped; what is slow is reported."""
    monkeypatch.setitem(kinds._ALL, "rolling", kind())
    monkeypatch.setattr(errors, "_warned_topics", set())
    model = robot(seed, chosen).model
    kd = lw.KinDyn(model, floating=False)
    cell = lw.WorkCell("hall").with_robot("r", model)
    cell = cell.with_frame("box", movable=True, attachable=True, inertia=lw.solid_box(1, (1, 1, 1)))
    link, device = model.links[-1].name, cell.device("r")
    q = random_q(kd.layout, rng, (4,))
    states = device.set_q(cell.state(), q)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", lw.LinkworkWarning)
        table = cell.fk(states)
        for name in model.link_names:
            assert_close(table[f"r.{name}"], kd.transform(name, q), rtol=1e-12)
            assert_close(device.base_J_frame(f"r.{name}", states), kd.jacobian(name, q), rtol=1e-12)
    topics = ["subspace"] if kind is FactoredRolling else ["factors", "subspace"]
    assert all(topic in str(one.message) for topic, one in zip(topics, caught, strict=True))
    assert all("'rolling'" in str(one.message) for one in caught)

    nu = rng.normal(size=(4, kd.nv))
    gripped = cell.grip(states, "box", f"r.{link}")
    J, step = device.base_J_frame("box", gripped), 1e-6
    ends = [
        cell.world_H_frame("box", device.set_q(gripped, kd.integrate(q, side * step * nu)))
        for side in (1, -1)
    ]
    speed = (ends[0] - ends[1])[..., :3, 3] / (2 * step)
    np.testing.assert_allclose((J @ nu[..., None])[:, :3, 0], speed, atol=1e-6)
    np.testing.assert_allclose(cell.dynamics("r").jacobian("box", gripped), J, atol=1e-12)
    assert_close(cell.dynamics("r").mass_matrix(states), kd.mass_matrix(q), rtol=1e-12)
