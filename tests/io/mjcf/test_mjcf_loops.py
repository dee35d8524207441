"""Closed loops and constraints written as MJCF: what MuJoCo computes, and what is read back."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from tests.support.linkages import at, four_bar, gripper, parallel_ankle, rod
from tests.support.models import assert_close

import linkwork as lw
from linkwork.compat.mujoco import Conventions, kindyn_from_mjmodel

mujoco = pytest.importorskip("mujoco")

Y = (0.0, 0.3, 0.0)


def crane():
    """A chain with a tool whose constraints are of every kind."""
    b = lw.ModelBuilder("crane")
    b.add_link("ground", inertia=rod(1.0, 0.1))
    ends = ["ground", "boom", "arm", "elbow", "wrist", "hand", "tool"]
    for k, (first, second) in enumerate(pairwise(ends)):
        b.add_link(second, inertia=rod(0.5, 0.3))
        axis = [(0, 1, 0), (0, 0, 1), (1, 0, 0)][k % 3]
        b.add_joint(f"j{k}", "revolute", first, second, axis=axis, first_H_joint=at(0.3, 0.05 * k))
    b.add_link("door", inertia=rod(0.7, 0.4))
    b.add_joint("rail", "prismatic", "ground", "door", axis=(1, 0, 0), first_H_joint=at(0.2, 0.1))
    b.add_link("knob", inertia=lw.solid_box(2.0, (0.3, 0.4, 0.5)))
    b.add_joint("bearing", "spherical", "door", "knob", first_H_joint=at(0.1, 0.2))
    model = b.build().with_frame("tip", "tool", at(0.2, 0.0, 0.1, rpy=(0.1, 0.2, 0.3)))
    model = model.with_constraint("point", "tip", "door", name="touch", second_xyz=(0.4, 0.1, 0.2))
    model = model.with_constraint(
        "pose", "knob", name="hold", first_xyz=Y, first_rpy=Y, second_xyz=(0.4, 0.6, 0.0)
    )
    return model.with_constraint("coupling", "j1", "j0", coefficients=(0.1, 0.5, 0.3))


def compiled(model, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)
        return mujoco.MjModel.from_xml_string(lw.dump_mjcf(model, **options))


def names_in_mjcf(joint, read):
    """A universal joint becomes two hinges; a dependent joint has no coordinates."""
    names = joint, f"{joint}_first", f"{joint}_second"
    return [name for name in names if name in read.joint_names]


def translated(kd, read, values):
    """Positions or velocities of a robot in the order in which it is read back."""
    which = "q" if len(values) == kd.nq else "nu"
    ours, theirs = (getattr(one.layout, which) for one in (kd, read))
    result = np.zeros(getattr(read, {"q": "nq", "nu": "nv"}[which]))
    base = len(values) - sum(part.stop - part.start for part in ours.values())
    result[:base] = values[:base]
    for joint, part in ours.items():
        names = names_in_mjcf(joint, read)
        if names:
            result[np.r_[tuple(theirs[name] for name in names)]] = values[part]
    return result


def limit_of_mujoco(mj, kd, q, nu, tau):
    """Accelerations in the limit of hard constraints, and the differences from it on the way.

    They depend on the impedance d through (1 - d) / d, so two values determine the limit.
    """
    conventions, data = Conventions(kd, mj), mujoco.MjData(mj)
    mj.opt.solver, mj.opt.tolerance, mj.opt.iterations = mujoco.mjtSolver.mjSOL_NEWTON, 0.0, 5
    data.qpos[:], data.qvel[:] = conventions.qpos(q), conventions.qvel(q, nu)
    data.qfrc_applied[:] = conventions.qfrc(q, tau)
    results, softness = [], []
    for impedance in (0.99, 0.999, 0.9999):
        mj.eq_solimp[:] = [impedance, impedance, 0.001, 0.5, 2.0]
        mujoco.mj_forward(mj, data)
        results.append(conventions.nu_dot(data.qpos, data.qvel, data.qacc))
        softness.append((1 - impedance) / impedance)
    slope = (results[1] - results[2]) / (softness[1] - softness[2])
    limit = results[2] - softness[2] * slope
    return limit, [np.abs(result - limit).max() for result in results]


MODELS = {  # and whether the base floats
    "revolute": (four_bar, False),
    "spherical": (lambda: parallel_ankle().with_constraint("point", "foot"), True),
    "coupling": (gripper, False),
    "constraints": (crane, False),
}
SPEED = {"constraints": 0.0}  # MuJoCo omits the velocities in the acceleration of polynomials


@pytest.mark.parametrize("name", MODELS)
def test_constrained_accelerations_are_those_of_mujoco_and_of_the_model_read_back(name):
    build, floating = MODELS[name]
    kd = lw.KinDyn(build(), floating=floating)
    mj = compiled(kd.model, floating=floating)
    read = kindyn_from_mjmodel(mj)
    loop = kd.constrained()
    rng = np.random.default_rng(1)
    q = kd.random(seed=2)
    nu = loop.project_velocity(q, SPEED.get(name, 1.0) * rng.normal(size=kd.nv))
    tau = rng.normal(size=kd.nv)
    for joint, part in kd.layout.nu.items():
        if not names_in_mjcf(joint, read):
            tau[part] = 0.0  # of a joint that depends on another in the file
    expected = translated(kd, read, loop.forward_dynamics(q, nu, tau).nu_dot)
    state = [translated(kd, read, values) for values in (q, nu, tau)]

    assert_close(read.forward_dynamics(*state), expected, rtol=1e-8)
    limit, distances = limit_of_mujoco(mj, read, *state)
    assert_close(limit, expected, rtol=1e-4)
    assert distances[0] > 5 * distances[1] > 25 * distances[2]


def written(model, **options):
    """The file, and the messages of the warnings about it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        text = lw.dump_mjcf(model, **options)
    return text, "\n".join(str(warning.message) for warning in caught)


def test_keyframes_lack_the_positions_of_joints_that_close_loops():
    kd = lw.KinDyn(four_bar(), floating=False)
    q = kd.random(seed=2)
    positions = {name: q[kd.layout.q[name]] for name in kd.layout.q}
    model = kd.model.with_configuration("home", {**positions, "c": 0.1})
    text, messages = written(model, floating=False)
    mj = mujoco.MjModel.from_xml_string(text)

    assert re.search(r"positions of joints that close loops.*: c$", messages, re.MULTILINE)
    np.testing.assert_array_equal(mj.key("home").qpos, [q[kd.layout.q[n]][0] for n in "abd"])


def test_another_joint_closes_the_loop_if_mujoco_has_no_constraint_for_it():
    model = four_bar("universal")
    text, messages = written(model, floating=False)
    read = kindyn_from_mjmodel(mujoco.MjModel.from_xml_string(text))
    (cut,) = (name for name in model.joint_names if not names_in_mjcf(name, read))
    kd = lw.KinDyn(model, floating=False, cut=[cut])
    loop = kd.constrained()
    q = kd.random(seed=1)
    state = q, loop.project_velocity(q, np.ones(4)), np.array([1.0, -2.0, 3.0, 4.0])

    assert model.joint(cut).kind == "revolute"
    assert f"close loops: {cut}" in messages
    expected = translated(kd, read, kd.forward_dynamics(*state))
    state = [translated(kd, read, values) for values in state]
    assert_close(read.forward_dynamics(*state), expected, rtol=1e-8)


def test_fixed_joint_that_closes_a_loop_becomes_a_weld():
    b = lw.ModelBuilder("ring")
    for name in ("a", "b", "c"):
        b.add_link(name, inertia=rod(1.0, 0.3))
    b.add_joint("ab", "fixed", "a", "b", first_H_joint=at(0.3, rpy=(0.1, 0.2, 0.3)))
    b.add_joint("ca", "fixed", "c", "a", joint_H_second=at(0.1))
    b.add_joint("bc", "fixed", "b", "c", first_H_joint=at(0.2), joint_H_second=at(0, 0.1))
    mj = compiled(b.build(), floating=False)

    (kind,) = mj.eq_type
    assert kind == mujoco.mjtEq.mjEQ_WELD
    poses = [mj.site(name) for name in ("bc_first", "bc_second")]
    assert poses[0].pos == pytest.approx([0.2, 0.0, 0.0])
    assert poses[1].pos == pytest.approx([0.0, -0.1, 0.0])


def test_what_mujoco_cannot_express_is_an_error_that_names_it():
    b = lw.ModelBuilder("slides")
    for name in ("a", "b", "c"):
        b.add_link(name, inertia=rod(1.0, 0.3))
    for name, axis in (("ab", (1, 0, 0)), ("bc", (0, 1, 0)), ("ca", (1, 1, 0))):
        b.add_joint(name, "prismatic", *name, axis=axis)
    with pytest.raises(lw.ModelError, match=r"'bc'.*revolute"):
        lw.dump_mjcf(b.build())
    coefficients = (0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    model = lw.load("arm")
    first, second = [joint.name for joint in model.joints if not joint.is_fixed][:2]
    steep = model.with_constraint("coupling", first, second, name="gear", coefficients=coefficients)
    with pytest.raises(lw.ModelError, match=r"'gear'.*degree"):
        lw.dump_mjcf(steep)


def test_properties_of_a_joint_that_closes_a_loop():
    """Its links do not collide, and its limits and damping are reported as left out."""
    ball = lw.Shape(geometry=lw.Sphere(0.1))
    plain = four_bar()
    model = lw.Model(
        name="four_bar",
        links=[replace(link, collisions=(ball,)) for link in plain.links],
        joints=[replace(j, damping=0.1) if j.name == "c" else j for j in plain.joints],
    )
    text, messages = written(model)
    mj = mujoco.MjModel.from_xml_string(text)
    excluded = {divmod(int(signature), 1 << 16) for signature in mj.exclude_signature}

    assert excluded == {(mj.body("coupler").id, mj.body("rocker").id)}
    assert (
        "left out: limits, damping, friction and armature of joints that close loops: c" in messages
    )
