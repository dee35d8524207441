"""A universal joint is two revolute joints and a link without mass between them, in every quantity.

The two robots are computed in quite different ways: one joint has a motion subspace that depends on
the position, the other two have constant ones.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.support.kindyn import Interpreted, on_numpy
from tests.support.models import assert_close, random_model, random_q

import linkwork as lw
from linkwork.mechanics.base import REPRESENTATIONS
from linkwork.model.joints.kind import axes_across

KINDS = ("universal", "revolute", "prismatic", "spherical")
SEEDS = (0, 1, 2, 3)
STATES = [(True, velocity) for velocity in REPRESENTATIONS] + [
    (False, velocity) for velocity in REPRESENTATIONS
]
on_many_robots = pytest.mark.parametrize("seed", SEEDS)


def in_some(states):
    """Each robot in two of some states, and each state with one robot at least."""
    count = len(states)
    chosen = [(s, *states[k % count]) for s in SEEDS for k in (s, s + count // 2)]
    return pytest.mark.parametrize(("seed", "floating", "velocity"), chosen)


def with_two_revolutes(model):
    """The same robot with two revolute joints for each universal one; s stays what it is."""
    links, joints = list(model.links), []
    for joint in model.joints:
        if joint.kind != "universal":
            joints.append(joint)
            continue
        middle = lw.Link(name=f"{joint.name}_cross")
        links.append(middle)
        first = replace(joint, kind="revolute", second=middle.name, joint_H_second=lw.Pose())
        second = replace(joint, name=f"{joint.name}_2", kind="revolute", first=middle.name)
        second = replace(second, first_H_joint=lw.Pose(), axis=_second(joint))
        joints += [first, second]
    return replace(model, links=tuple(links), joints=tuple(joints))


def _second(joint):
    x, y, z = axes_across(joint.axis)[0]
    return (float(x), float(y), float(z))


class Pair:
    """Both robots in one state."""

    def __init__(self, seed, **options):
        rng = np.random.default_rng(seed)
        self.model = random_model(rng, 9, KINDS, mimic=False)
        base = str(rng.choice(self.model.frame_names))
        twin = with_two_revolutes(self.model)
        self.here = Interpreted(lw.KinDyn(self.model, base=base, **options))
        self.there = on_numpy(lw.KinDyn(twin, base=base, **options))
        self.q = random_q(self.here.layout, rng)
        self.nu, self.nu_dot, self.tau = rng.normal(size=(3, self.here.nv)) * 2.0
        self.frames = self.model.frame_names[::3]

    def agree(self, name, *arguments, rtol=1e-12, **options):
        found = getattr(self.here, name)(*arguments, **options)
        expected = getattr(self.there, name)(*arguments, **options)
        scale = max(1.0, np.abs(expected).max(initial=0.0))
        assert_close(found, expected, rtol, scale=scale)


@in_some(STATES[:4])  # of a fixed base, only frames know representations
def test_dynamics_are_the_same(seed, floating, velocity):
    pair = Pair(seed, representation=velocity, floating=floating)
    q, nu = pair.q, pair.nu

    pair.agree("mass_matrix", q)
    pair.agree("mass_matrix_dot", q, nu)
    pair.agree("coriolis_matrix", q, nu)
    pair.agree("bias_force", q, nu)
    pair.agree("inverse_dynamics", q, nu, pair.nu_dot)
    pair.agree("centroidal_momentum_matrix", q)
    pair.agree("centroidal_momentum_bias", q, nu)
    pair.agree("com_acceleration", q, nu, pair.nu_dot)
    pair.agree("average_velocity_jacobian", q)
    pair.agree("kinetic_energy", q, nu)
    loss = np.linalg.cond(pair.here.mass_matrix(q))
    pair.agree("forward_dynamics", q, nu, pair.tau, rtol=1e-14 * loss)


@in_some(STATES)
def test_frames_move_the_same(seed, floating, velocity):
    pair = Pair(seed, representation=velocity, floating=floating)
    q, nu = pair.q, pair.nu
    for frame in pair.frames:
        pair.agree("transform", frame, q)
        pair.agree("jacobian", frame, q)
        pair.agree("jacobian_dot", frame, q, nu)
        pair.agree("acceleration", frame, q, nu, pair.nu_dot)
        pair.agree("relative_jacobian", frame, pair.frames[0], q)


@on_many_robots
def test_wrenches_in_other_joints_and_the_regressor_are_the_same(seed):
    pair = Pair(seed)
    q, nu, nu_dot = pair.q, pair.nu, pair.nu_dot
    there = pair.there.model
    joints = [there.joint_index(name) for name in pair.model.joint_names]
    kinds = [joint.kind for joint in pair.model.joints]

    found = pair.here.joint_wrenches(q, nu, nu_dot)
    expected = pair.there.joint_wrenches(q, nu, nu_dot)[joints]
    Y = pair.here.regressor(q, nu, nu_dot)

    same = [kind != "universal" for kind in kinds]
    assert_close(found[same], expected[same], rtol=1e-12)
    Y_there = pair.there.regressor(q, nu, nu_dot)[:, : Y.shape[1]]
    assert_close(Y, Y_there, rtol=1e-12)


def test_steps_are_those_of_the_two_angles(rng):
    pair = Pair(0)
    end = random_q(pair.here.layout, rng)
    pair.agree("integrate", pair.q, pair.nu)
    pair.agree("difference", pair.q, end)
    pair.agree("normalize", pair.q)


def test_both_robots_have_what_they_should():
    pairs = [Pair(seed) for seed in SEEDS]
    backwards = [
        joint.kind
        for pair in pairs
        for joint, is_backwards in zip(pair.here.tree.joints, pair.here.tree.backwards, strict=True)
        if joint and is_backwards
    ]
    assert backwards.count("universal") >= 2
    for pair in pairs:
        assert "universal" in {joint.kind for joint in pair.model.joints}
        assert "universal" not in {joint.kind for joint in pair.there.model.joints}


def test_urdf_has_the_type_as_an_extension():
    """Written and read as linkwork's own, like spherical."""
    builder = lw.ModelBuilder("gimbal")
    for link in ("base", "tip"):
        builder.add_link(
            link, inertia=lw.Inertia(1.0, (0.0, 0.0, 0.1), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0))
        )
    builder.add_joint("cross", "universal", "base", "tip", axis=(0.0, 1.0, 0.0))
    model = builder.build()

    with pytest.warns(lw.LinkworkWarning, match="universal.*only linkwork.*cross"):
        text = lw.dump_urdf(model)

    assert 'type="universal"' in text
    assert lw.load(text) == model
