"""Robots with closed loops of their own in workcells."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.linkages import Y, at, five_bar, four_bar, rod
from tests.support.models import assert_close

import linkwork as lw
from linkwork.model.inertia import moved
from linkwork.model.pose import as_pose

Z = (0.0, 0.0, 1.0)
TILTED = lw.Pose((0.1, 0.2, 0.8), (0.3, -0.2, 0.4))
BOX = lw.solid_box(1.0, (0.1, 0.2, 0.1), com=(0.02, 0.0, 0.01))


def coupled():
    """A five-bar whose cranks move against each other; its tip also is the name of a link."""
    model = five_bar().renamed(links={"right_forearm": "tip"})
    return model.with_constraint(
        "coupling", "left_motor", "right_motor", name="gears", coefficients=(np.pi, -1.0)
    )


def tethered():
    """A pendulum of four links whose end is held at a point of its world."""
    b = lw.ModelBuilder("tethered")
    b.add_link("root", inertia=rod(1.0, 0.2))
    before = "root"
    for name, axis in (("upper", Y), ("middle", Z), ("lower", Y), ("last", Z)):
        b.add_link(name, inertia=rod(0.5, 0.3))
        b.add_joint(name, "revolute", before, name, axis=axis, first_H_joint=at(0.3))
        before = name
    held = {"first_xyz": (0.3, 0.0, 0.0), "second_xyz": (0.5, 0.1, 0.2)}
    return b.build().with_constraint("point", "last", name="tether", **held)


@pytest.fixture(scope="module")
def cell():
    cell = lw.WorkCell("linkages").with_frame("table", parent_H_frame=TILTED)
    cell = cell.with_robot("gears", coupled(), parent="table", end="tip")
    cell = cell.with_robot("rope", tethered(), parent="table", parent_H_base=at(0.5, 0.1))
    cell = cell.with_robot("kite", tethered(), parent="table", floating=True)
    return cell.with_frame("box", movable=True, attachable=True, inertia=BOX)


@pytest.fixture(scope="module")
def state(cell):
    q = {name: random_q(cell, name) for name in ("gears", "rope", "kite")}
    return cell.grip(cell.state(q), "box", "gears.tip")


def random_q(cell, name):
    """A configuration that satisfies the constraints of a robot."""
    spec = cell.device(name).spec
    return lw.KinDyn(spec.model, floating=spec.floating).random(seed=0)


def alone(cell, state, name):
    """A robot with what it carries, without the cell; its world is the frame it is placed on."""
    spec = cell.device(name).spec
    model, world_H_base = spec.model, cell.world_H_frame(spec.base, state)
    if name == "gears":
        pose = as_pose(cell.frame_H_frame("gears.tip", "box", state))
        model = model.with_payload("tip", moved(BOX, pose))
    gravity = world_H_base[:3, :3].T @ (0.0, 0.0, -9.80665)
    return lw.KinDyn(model, floating=spec.floating, gravity=gravity)


@pytest.mark.parametrize("name", ["gears", "rope", "kite"])
def test_one_robot(cell, state, name):
    """Kinematics on the spanning tree, and forward dynamics that respects the loops."""
    device, dyn, kd = cell.device(name), cell.dynamics(name), alone(cell, state, name)
    assert (device.nq, device.nv) == (kd.nq, kd.nv)
    q = device.get_q(state)
    H = cell.world_H_frame(device.base, state)
    frames = kd.model.link_names
    poses = cell.world_H_frames([f"{name}.{link}" for link in frames], state)
    assert_close(poses, H @ kd.transforms(q, frames=frames), 1e-13)
    nu = kd.constrained().project_velocity(q, np.random.default_rng(1).normal(size=kd.nv))
    tau = np.arange(1.0, kd.nv + 1)
    assert_close(dyn.mass_matrix(state), kd.mass_matrix(q), 1e-13)
    assert_close(dyn.forward_dynamics(state, nu, tau), kd.forward_dynamics(q, nu, tau), 1e-12)
    with pytest.raises(lw.ArgumentError, match=r"kd\.constrained"):
        dyn.inverse_dynamics(state, nu, nu)


def test_all_robots(cell, state):
    """The robot of a composite device, with all loops, against each robot alone."""
    both = lw.CompositeDevice("both", "table", "gears.tip", ("gears", "rope"))
    more = cell.with_device(both)
    dyn, state = more.dynamics("both"), more.upgrade(state)
    actuated = {"gears": ["left_motor"], "rope": ["upper", "middle"]}
    joints = ["gears.left_crank", "rope.upper", "rope.middle"]
    loops = dyn.kd.constrained(actuated=joints, stabilization=2.0)
    assert list(loops.rows) == ["gears.tip loop", "gears.gears", "rope.tether"]
    rng = np.random.default_rng(3)
    q = dyn.device.get_q(state)
    q, p = q + 1e-4 * rng.normal(size=len(q)), dyn.parameters(state)
    assert np.abs(loops.error(dyn.device.get_q(state), parameters=p)).max() < 1e-10
    nu, tau = rng.normal(size=(2, len(q)))
    tau[~np.isin(dyn.device.joint_names, joints)] = 0.0
    forward = loops.forward_dynamics(q, nu, tau, parameters=p)
    inverse = loops.inverse_dynamics(q, nu, forward.nu_dot, parameters=p)
    assert np.abs(inverse.residual).max() < 1e-10
    at_nu = at_row = at_torque = 0
    for name in ("gears", "rope"):
        kd = alone(cell, state, name)
        one = kd.constrained(actuated=actuated[name], stabilization=2.0)
        own, rows = slice(at_nu, at_nu + kd.nv), slice(at_row, at_row + one.m)
        expected = one.forward_dynamics(q[own], nu[own], tau[own])
        assert_close(forward.nu_dot[own], expected.nu_dot, 1e-11)
        J = one.jacobian(q[own])  # forces of a planar loop are not unique
        assert_close(forward.forces[rows] @ J, expected.forces @ J, 1e-11)
        expected = one.inverse_dynamics(q[own], nu[own], forward.nu_dot[own])
        n = len(expected.torques)
        assert_close(inverse.torques[at_torque : at_torque + n], expected.torques, 1e-11)
        at_nu, at_row, at_torque = own.stop, rows.stop, at_torque + n
    assert (at_nu, at_row, at_torque) == (len(q), loops.m, len(inverse.torques))
    closed = loops.project_configuration(q, parameters=p)
    assert np.abs(loops.error(closed, parameters=p)).max() < 1e-10


def test_devices_of_frames_keep_the_loops(cell, state):
    both = lw.CompositeDevice("both", "table", "gears.tip", ("rope", "gears"))
    part = lw.SerialDevice("part", "table", "gears.left_forearm")
    more = cell.with_device(both).with_device(part)
    nu, tau = np.zeros(8), np.arange(8.0)
    actual = more.dynamics("both").forward_dynamics(more.upgrade(state), nu, tau)
    assert_close(actual[:4], cell.dynamics("rope").forward_dynamics(state, nu[:4], tau[:4]))
    assert_close(actual[4:], cell.dynamics("gears").forward_dynamics(state, nu[4:], tau[4:]))
    with pytest.raises(lw.ArgumentError, match="closed loops"):
        more.dynamics("part")


def test_inverse_kinematics_keeps_loops_closed(cell, state):
    """The result is that of the robot alone; the error of every loop is reported, by row."""
    kd = lw.KinDyn(coupled(), floating=False)
    q = np.stack([kd.random(seed=seed) for seed in (1, 2)])
    expected = kd.transform("tip", q)
    targets = cell.world_H_frame("table", state) @ expected
    targets[1, :3, 3] += 5.0  # out of reach
    result = cell.ik(state, {"gears.tip": targets[:, :3, 3]})
    assert result.converged.tolist() == [True, False]
    assert set(result.loop_errors) == {"gears.tip loop", "gears.gears"}
    for error in result.loop_errors.values():
        assert error.shape == (2,)
        assert error.max() <= 1e-10
    errors = kd.constrained().error(cell.device("gears").get_q(result.state))
    assert np.abs(errors).max() <= 1e-10


def test_cut_chooses_the_spanning_tree():
    cell = lw.WorkCell("cut").with_robot("bar", four_bar(), cut=["b"])
    assert cell.device("bar").joint_names == ("bar.crank", "bar.rocker", "bar.coupler")
    kd = lw.KinDyn(four_bar(), floating=False, cut=["b"])
    q = kd.random(seed=1)
    state = cell.state({"bar": q})
    actual = cell.dynamics("bar").forward_dynamics(state, np.zeros(3), np.ones(3))
    assert_close(actual, kd.forward_dynamics(q, np.zeros(3), np.ones(3)))
    with pytest.raises(lw.NameNotFoundError):
        lw.WorkCell("cut").with_robot("bar", four_bar(), cut=["x"])
    with pytest.raises(lw.ArgumentError, match="cut"):
        lw.WorkCell("cut").with_robot("bar", four_bar(), cut="b")
    with pytest.raises(lw.ModelError, match="loop"):
        lw.dump_workcell(cell)
