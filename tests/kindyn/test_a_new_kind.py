"""A kind of joint is one object: a kind written in this file alone obeys every law of mechanics.

The kind is a wheel that rolls on a line without slipping: one angle, a motion subspace that depends
on it, and no inverse that is the same joint about the opposite axis.
"""

from __future__ import annotations

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

import linkwork as lw
from linkwork.arrays import cos, sin
from linkwork.model import kinds
from linkwork.model.kinds.kind import JointKind, axes_across
from linkwork.spatial.blocks import apply_t, cross, rotation_about, scale


class Rolling(JointKind):
    """A wheel of radius `pitch` about the axis, rolling along the first direction across it."""

    name, nq, nv, neutral, reach = "rolling", 1, 1, (0.0,), (np.pi,)
    rotation, translates, has_pitch = "about_axis", True, True

    def pose(self, axis, theta):
        e1, _ = axes_across(axis.direction)
        R = rotation_about(axis.direction, cos(theta[0]), sin(theta[0]))
        return R, scale(theta[0], scale(axis.pitch, e1))

    def subspace(self, axis, theta):
        R, _ = self.pose(axis, theta)
        e1, _ = axes_across(axis.direction)
        return ((apply_t(R, scale(axis.pitch, e1)), axis.direction),)

    def subspace_rate(self, axis, theta, nu):
        ((linear, direction),) = self.subspace(axis, theta)
        return ((scale(nu[0], cross(linear, direction)), (0.0, 0.0, 0.0)),)


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
