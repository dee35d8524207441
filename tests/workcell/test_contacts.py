"""Contacts between robots of a cell: the robot of a device as a `ConstrainedKinDyn`."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.models import assert_close

import linkwork as lw
from linkwork.model.inertia import moved
from linkwork.model.pose import as_pose

BOX = lw.solid_box(2.0, (0.1, 0.2, 0.3), com=(0.01, -0.02, 0.03))
ON_B = lw.Pose((0.8, 0.0, 0.0), (0.0, 0.1, 0.3))
AXES = ((0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 1, 0))


def arm():
    """Four joints, with armature and damping, and a tool."""
    b = lw.ModelBuilder("arm")
    b.add_link("base", inertia=lw.solid_box(1.0, (0.1, 0.2, 0.3)))
    before = "base"
    for k, axis in enumerate(AXES):
        b.add_link(f"l{k}", inertia=lw.solid_box(1.0 + k, (0.1, 0.2, 0.3), com=(0.1, 0.0, 0.1)))
        pose = lw.Pose((0.1, 0.0, 0.3))
        own = {"axis": axis, "first_H_joint": pose, "damping": 0.3, "armature": 0.1}
        b.add_joint(f"j{k}", "revolute", before, f"l{k}", **own)
        before = f"l{k}"
    b.add_frame("tool", before, lw.Pose((0.0, 0.0, 0.2), (0.1, 0.2, 0.3)))
    return b.build()


@pytest.fixture(scope="module")
def cell():
    cell = lw.WorkCell("two arms").with_robot("a", arm(), end="tool")
    cell = cell.with_robot("b", arm(), parent_H_base=ON_B, end="tool")
    cell = cell.with_device(lw.CompositeDevice("both", "WORLD", "a.tool", ("a", "b"), ("b.tool",)))
    on_table = lw.Pose((0.3, 0.3, 0.8), (0.1, 0.2, 0.3))
    options = {"movable": True, "attachable": True, "inertia": BOX}
    return cell.with_frame("box", parent_H_frame=on_table, **options)


@pytest.fixture(scope="module")
def state(cell):
    """Random positions, with the box in the hand of a."""
    rng = np.random.default_rng(3)
    state = cell.state({"a": rng.normal(size=4), "b": rng.normal(size=4)})
    return cell.grip(state, "box", "a.tool")


def one_model(cell, state):
    """Both arms and the box in one model, with the loop as a constraint of the model."""
    b = lw.ModelBuilder("one")
    b.add_link("WORLD")
    model = b.build().attached(arm(), to="WORLD", prefix="a.")
    model = model.attached(arm(), to="WORLD", prefix="b.", pose=ON_B)
    b = lw.ModelBuilder("object")
    b.add_link("box", inertia=BOX)
    model = model.attached(b.build(), to="a.tool", pose=cell.frame_H_frame("a.tool", "box", state))
    target = as_pose(cell.frame_H_frame("a.tool", "b.tool", state))
    pose = {"first_xyz": target.xyz, "first_rpy": target.rpy}
    return model.with_constraint("pose", "a.tool", "b.tool", name="b.tool", **pose)


@pytest.mark.parametrize("joint_dynamics", [False, True])
def test_two_arm_grasp_is_one_model_with_a_loop(cell, state, joint_dynamics):
    dyn = cell.dynamics("both", joint_dynamics=joint_dynamics)
    target = cell.frame_H_frame("a.tool", "b.tool", state)
    hand = lw.Contact("b.tool", "pose", reference="a.tool", target=target)
    loop = dyn.kd.constrained([hand], actuated=["a.l0", "b.l0"], stabilization=5.0)
    kd = lw.KinDyn(one_model(cell, state), "WORLD", floating=False, joint_dynamics=joint_dynamics)
    expected = kd.constrained(actuated=["a.j0", "b.j0"], stabilization=5.0)
    q, p = dyn.device.get_q(state), dyn.parameters(state)
    rng = np.random.default_rng(4)
    nu, tau = rng.normal(size=(2, 8))

    assert dyn.device.joint_names == loop.kindyn.joint_names
    for calls in (
        ("forward_dynamics", nu, tau),
        ("inverse_dynamics", nu, tau),
        ("impact", nu, 0.3),
    ):
        name, *arguments = calls
        actual = getattr(loop, name)(q, *arguments, parameters=p)
        for one, other in zip(actual, getattr(expected, name)(q, *arguments), strict=True):
            assert_close(one, other, 1e-11, scale=max(1.0, np.abs(other).max(initial=0.0)))
    released = dyn.parameters(cell.release(state, "box"))
    without = loop.forward_dynamics(q, nu, tau, parameters=released).nu_dot
    assert np.abs(without - loop.forward_dynamics(q, nu, tau, parameters=p).nu_dot).max() > 0.1


def test_states_of_a_batch_may_carry_other_objects(cell, state):
    dyn = cell.dynamics("both")
    loop = dyn.kd.constrained({"b.tool": "point"})
    states = lw.State.stack([state, cell.release(state, "box")])
    q, p = dyn.device.get_q(states), dyn.parameters(states)
    nu_dot = loop.forward_dynamics(q, np.zeros(8), np.zeros(8), parameters=p).nu_dot
    for k in range(2):
        alone = loop.forward_dynamics(q[k], np.zeros(8), np.zeros(8), parameters=p[k])
        assert_close(nu_dot[k], alone.nu_dot, 1e-12)


def test_inertias_of_frames_of_a_robot_can_be_changed(cell, state):
    """The dynamics of one device and of both have the inertias of the frames."""
    heavy, rng = lw.solid_box(5.0, (0.1, 0.2, 0.3)), np.random.default_rng(10)
    changed = cell.with_changed("a.l1", inertia=heavy).with_changed("a.tool", inertia=BOX)
    nu, tau = rng.normal(size=(2, 8))
    one = changed.dynamics("a").forward_dynamics(state, nu[:4], tau[:4])
    both = changed.dynamics("both").forward_dynamics(state, nu, tau)
    pose = as_pose(cell.frame_H_frame("a.tool", "box", state))
    model = arm().with_inertia("l1", heavy).with_payload("tool", BOX)
    kd = lw.KinDyn(model.with_payload("tool", moved(BOX, pose)), floating=False)
    expected = kd.forward_dynamics(cell.device("a").get_q(state), nu[:4], tau[:4])
    assert_close(one, expected, 1e-12)
    assert_close(both[:4], expected, 1e-12)
