"""Dynamics of a device with loads, compared with edited models and Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.grasps import ARM, FULL_ARM, OBJECTS, bench, loaded, pinocchio_with
from tests.support.models import assert_close, random_pose
from tests.support.spatial import pin

import linkwork as lw

CELL = bench()
DYN = CELL.dynamics("arm")


@pytest.fixture
def state(rng):
    device = CELL.device("arm")
    return device.set_q(CELL.state(), lw.KinDyn(ARM, floating=False).random(seed=3))


def agree(dyn, state, kd, rng, rtol=1e-11):
    """Compare all quantities of the dynamics of a device with a `KinDyn`."""
    q = dyn.device.get_q(state)
    nu, other = rng.normal(size=(2, dyn.device.nv))
    assert_close(dyn.mass_matrix(state), kd.mass_matrix(q), rtol)
    assert_close(dyn.bias_force(state, nu), kd.bias_force(q, nu), rtol)
    assert_close(dyn.gravity_force(state), kd.gravity_force(q), rtol)
    assert_close(dyn.inverse_dynamics(state, nu, other), kd.inverse_dynamics(q, nu, other), rtol)
    assert_close(dyn.forward_dynamics(state, nu, other), kd.forward_dynamics(q, nu, other), 1e-9)
    assert_close(dyn.centroidal_momentum(state, nu), kd.centroidal_momentum(q, nu), rtol)
    assert_close(dyn.kinetic_energy(state, nu), kd.kinetic_energy(q, nu), rtol)
    assert_close(dyn.com(state), kd.com(q), rtol)
    assert_close(dyn.total_mass(state), kd.model.total_mass, rtol)
    assert_close(dyn.potential_energy(state), kd.potential_energy(q), rtol)


def test_dynamics_without_a_load_is_that_of_the_arm(state, rng):
    agree(DYN, state, loaded(CELL, state, {}), rng)


def test_dynamics_with_a_dependent_finger(rng):
    cell = bench(FULL_ARM)
    q = lw.KinDyn(FULL_ARM, floating=False).random(seed=4)
    held = cell.grip(cell.device("arm").set_q(cell.state(), q), "can", "arm.right_finger")
    kd = loaded(cell, held, {"can": "right_finger"})
    nu = rng.normal(size=kd.nv)
    assert_close(cell.dynamics("arm").mass_matrix(held), kd.mass_matrix(q), 1e-12)
    assert_close(cell.dynamics("arm").bias_force(held, nu), kd.bias_force(q, nu), 1e-12)


@pytest.mark.peers
@pytest.mark.parametrize("link", ["tool", "left_finger", "forearm", "base"])
@pytest.mark.parametrize("name", OBJECTS)
def test_objects_on_every_link(name, link, state, rng):
    """The finger is fixed to the tool. The forearm is not an end, so all links have payloads."""
    gripped = CELL.grip(state, name, f"arm.{link}")
    kd = loaded(CELL, gripped, {name: link} if link != "base" else {})
    agree(DYN, gripped, kd, rng)
    there = pinocchio_with(CELL, gripped, name, link)
    data, q = there.createData(), CELL.device("arm").get_q(gripped)
    nu, nu_dot = rng.normal(size=(2, there.nv))
    M = pin.crba(there, data, q)
    assert_close(DYN.mass_matrix(gripped), np.triu(M) + np.triu(M, 1).T, 1e-12)
    tau = pin.rnea(there, data, q, nu, nu_dot)
    assert_close(DYN.inverse_dynamics(gripped, nu, nu_dot), tau, 1e-12)
    nu_dot = pin.aba(there, data, q, nu, tau)
    assert_close(DYN.forward_dynamics(gripped, nu, tau), nu_dot, 1e-9)


def test_objects_on_carried_objects_are_included(state, rng):
    state = CELL.grip(state, "can", "box")
    state = CELL.grip(state, "grain", "can")
    held = CELL.grip(state, "box", "arm.tool")
    carried = dict.fromkeys(("box", "can", "grain"), "tool")
    agree(DYN, held, loaded(CELL, held, carried), rng)
    agree(DYN, CELL.release(held, "box"), loaded(CELL, held, {}), rng)
    both = CELL.grip(held, "ball", "arm.forearm")
    agree(DYN, both, loaded(CELL, both, {**carried, "ball": "forearm"}), rng)


def test_frames_fixed_to_a_link_are_included_in_every_state(state, rng):
    camera = lw.solid_box(0.3, (0.05, 0.05, 0.05))
    pose = lw.Pose((0.0, 0.05, 0.02), (0.1, 0.2, 0.3))
    cell = CELL.with_frame("rail", "arm.tool", pose).with_frame("camera", "rail", pose)
    cell = cell.with_changed("camera", inertia=camera)
    now = cell.upgrade(state)
    agree(cell.dynamics("arm"), now, loaded(cell, now, {"camera": "tool"}), rng)
    held = cell.grip(now, "box", "arm.tool")
    kd = loaded(cell, held, {"camera": "tool", "box": "tool"})
    agree(cell.dynamics("arm"), held, kd, rng)


def test_gripped_robot_is_included_at_its_joint_positions(state, rng):
    gripper = lw.robots.load("double_pendulum")
    cell = CELL.with_robot("gripper", gripper, parent="arm.tool")
    now = cell.device("gripper").set_q(cell.upgrade(state), [0.4, -0.7])
    links = {f"gripper.{name}": "tool" for name in gripper.link_names}
    dyn = cell.dynamics("arm")
    agree(dyn, now, loaded(cell, now, links), rng)
    held = cell.grip(now, "box", "gripper.tip")
    agree(dyn, held, loaded(cell, held, {**links, "box": "tool"}), rng)
    # and the gripper itself carries the box, on a base whose pose depends on the arm
    gripper_dyn = cell.dynamics("gripper")
    H = cell.frame_H_frame("gripper.tip", "box", held)
    body = lw.spatial.inertia.transform(H, OBJECTS["box"].parameters())
    p = gripper_dyn.parameters(held)
    assert_close(
        p[..., gripper_dyn.kd.parameters[next(iter(gripper_dyn.kd.parameters))]].shape, (10,)
    )
    model = gripper.with_payload("tip", _inertia(body))
    base = cell.world_H_frame("gripper.base", held)
    kd = lw.KinDyn(model, floating=False, base_pose=base)
    agree(gripper_dyn, held, kd, rng)


def _inertia(parameters):
    mass, com, tensor = lw.spatial.inertia.to_com(parameters)
    return lw.Inertia(float(mass), tuple(com), tuple(tensor[np.triu_indices(3)]))


def test_jacobians_of_frames_of_the_device_and_of_gripped_objects(state, rng):
    held = CELL.grip(state, "box", "arm.tool")
    nu = rng.normal(size=CELL.device("arm").nv)
    kd = loaded(CELL, held, {}).replace(base_pose=CELL.device("arm").world_H_base(held))
    q = CELL.device("arm").get_q(held)
    assert_close(DYN.jacobian("arm.tool", held), kd.jacobian("tool", q), 1e-13)
    framed = kd.replace(
        model=ARM.with_frame("box", "tool", CELL.frame_H_frame("arm.tool", "box", held))
    )
    assert_close(DYN.jacobian("box", held), framed.jacobian("box", q), 1e-12)
    assert_close(DYN.jacobian("can", held) @ nu, np.zeros(6), scale=1.0)


def test_dynamics_of_a_floating_robot(rng):
    cell = bench(lw.robots.load("quadruped"), end=None, floating=True)
    dyn, device = cell.dynamics("arm"), cell.device("arm")
    state = device.set_q(cell.state(), dyn.kd.random(seed=1))
    body = cell.frame(device.joint_names[0]).name.removeprefix("arm.")
    held = cell.grip(state, "box", f"arm.{body}")
    end = device.end.removeprefix("arm.")
    both = cell.grip(held, "can", device.end)
    q, nu = device.get_q(both), rng.normal(size=device.nv)
    R = cell.world_H_frame("table", both)[:3, :3]
    kd = loaded(cell, both, {"box": body, "can": end}, gravity=R.T @ [0.0, 0.0, -9.80665])
    assert_close(dyn.mass_matrix(both), kd.mass_matrix(q), 1e-12)
    assert_close(dyn.bias_force(both, nu), kd.bias_force(q, nu), 1e-12)
    momentum = kd.centroidal_momentum(q, nu).reshape(2, 3) @ R.T
    assert_close(dyn.centroidal_momentum(both, nu), momentum.ravel(), 1e-12)
    assert_close(dyn.com(both), cell.world_H_frame("table", both)[:3] @ [*kd.com(q), 1.0], 1e-12)


def test_dynamics_with_a_moving_base(state, rng):
    cell = lw.WorkCell("cart").with_frame("cart", movable=True)
    cell = cell.with_robot("arm", ARM, parent="cart", end="tool")
    cell = cell.with_frame("box", movable=True, attachable=True, inertia=OBJECTS["box"])
    dyn = cell.dynamics("arm", gravity=(1.0, 2.0, -9.0))
    states = []
    for k in range(3):
        one = cell.set_pose(cell.state(), "cart", lw.Pose((k, 1.0, 2.0), (0.3 * k, 0.2, -k)))
        one = cell.device("arm").set_q(one, lw.KinDyn(ARM, floating=False).random(seed=k))
        states.append(cell.grip(one, "box", "arm.tool") if k else one)
    nu = rng.normal(size=(3, dyn.kd.nv))
    rows = lw.State.stack(states)
    for k, one in enumerate(states):
        kd = loaded(cell, one, {"box": "tool"} if k else {}, gravity=(1.0, 2.0, -9.0))
        agree(dyn, one, kd, rng)
        q = cell.device("arm").get_q(one)
        assert_close(dyn.bias_force(rows, nu)[k], kd.bias_force(q, nu[k]), 1e-11)


def test_floating_robot_on_another_frame_falls_down_there(rng):
    """Gravity and center of mass are those of the world, whatever frame the base is attached to."""
    cell = lw.WorkCell("field")
    for name in ("deck", "cliff"):
        cell = cell.with_frame(name, parent_H_frame=random_pose(rng))
    cell = cell.with_robot("arm", lw.load("arm"), parent="deck", floating=True, attachable=True)
    arm, dyn = cell.device("arm"), cell.dynamics("arm")
    state = arm.set_q(cell.state(), dyn.kd.random(seed=0))
    state = cell.attach(state, arm.joint_names[0], "cliff")

    def com(at):
        """(..., 3) from the poses of the links."""
        table, links = cell.fk(at), lw.load("arm").links
        moments = [
            link.inertia.mass * (table[f"arm.{link.name}"] @ np.append(link.inertia.com, 1.0))
            for link in links
        ]
        return (sum(moments) / sum(link.inertia.mass for link in links))[..., :3]

    assert_close(dyn.com(state), com(state), 1e-12)
    h, eye = 1e-6, np.eye(dyn.kd.nv)
    q = arm.get_q(state)
    moved = [com(arm.set_q(state, dyn.kd.integrate(q, sign * h * eye))) for sign in (1, -1)]
    lifted = 9.80665 * dyn.total_mass(state) * (moved[0] - moved[1])[:, 2] / (2 * h)
    assert_close(dyn.gravity_force(state), lifted, 1e-6)
    J = dyn.jacobian("arm.hand", state)
    poses = [
        cell.fk(arm.set_q(state, dyn.kd.integrate(q, sign * h * eye)))["arm.hand"][:, :3, 3]
        for sign in (1, -1)
    ]
    assert_close(J[:3].T, (poses[0] - poses[1]) / (2 * h), 1e-6)


def test_joints_outside_of_a_robot_that_depend_on_it_are_reported(rng):
    """The dynamics of the robot locks them; a JointDevice moves them."""
    cell = lw.WorkCell("coupled").with_robot("arm", lw.load("arm"), end="tool")
    joints = cell.device("arm").joint_names
    depends = lw.Mimic(joint=joints[0], multiplier=2.0)
    lid = {"axis": (0, 1, 0), "depends": depends, "inertia": lw.solid_box(1.0, (0.1, 0.2, 0.3))}
    cell = cell.with_joint("lid", "revolute", "arm.tool", lw.Pose((0.1, 0, 0)), **lid)
    cell = cell.with_device(lw.JointDevice("whole", "arm.base", "arm.tool", joints))
    with pytest.warns(lw.LinkworkWarning, match=r"'arm'.*lid.*JointDevice"):
        cell.dynamics("arm")
    dyn, state, nu = cell.dynamics("whole"), cell.state(), rng.normal(size=8)
    h, whole = 1e-6, cell.device("whole")
    ahead, behind = (whole.set_q(state, whole.get_q(state) + s * h * nu) for s in (1, -1))
    energy = 0.0
    for frame in cell.frames:
        inertia, R = frame.inertia, cell.world_H_frame(frame.name, state)[:3, :3]
        rate = cell.world_H_frame(frame.name, ahead) - cell.world_H_frame(frame.name, behind)
        v, W = (rate @ np.append(inertia.com, 1.0))[:3] / (2 * h), rate[:3, :3] @ R.T / (2 * h)
        w = R.T @ [W[2, 1], W[0, 2], W[1, 0]]
        energy += 0.5 * (inertia.mass * v @ v + w @ inertia.matrix() @ w)
    assert_close(dyn.kinetic_energy(state, nu), energy, 1e-6)


def test_dynamics_follow_changes_of_the_frames_of_a_robot(rng):
    """Poses, axes and limits: the robot of the dynamics is that of forward kinematics."""
    cell = lw.WorkCell("c").with_robot("arm", lw.robots.load("arm"))
    changed = cell.with_changed("arm.forearm", parent_H_frame=lw.Pose((0.1, 0.2, 1), (0.3, 0, 0)))
    changed = changed.with_changed("arm.elbow", axis=(0.0, 0.6, 0.8))
    device, dynamics = changed.device("arm"), changed.dynamics("arm")
    state = device.set_q(changed.state(), rng.normal(size=device.nq))

    assert_close(dynamics.jacobian("arm.tool", state), device.base_J_end(state), rtol=1e-13)
    tool = dynamics.kd.transform("tool", device.get_q(state), dynamics.parameters(state))
    assert_close(tool, device.base_H_end(state), rtol=1e-13)

    limited = cell.with_changed("arm.forearm", limits=lw.Limits(lower=-0.01, upper=0.01))
    target = cell.device("arm").base_H_end(cell.device("arm").set_q(cell.state(), np.full(8, 0.3)))
    result = limited.ik(limited.state(), {"arm.tool": target})
    assert limited.device("arm").in_bounds(result.state, 1e-12)
    with pytest.raises(lw.ArgumentError, match=r"'arm\.forearm' has another kind"):
        cell.with_changed("arm.forearm", kind="prismatic").dynamics("arm")


def test_robots_start_within_their_limits():
    builder = lw.ModelBuilder("r")
    builder.add_link("a"), builder.add_link("b", inertia=lw.solid_box(1.0, (0.1, 0.1, 0.1)))
    builder.add_joint("j", "revolute", "a", "b", lower=0.5, upper=1.0)
    cell = lw.WorkCell("c").with_robot("r", builder.build())
    assert cell.values("r.b", cell.state()).tolist() == [0.5]
    assert lw.load_workcell(lw.dump_workcell(cell)) == cell


def test_parameters_of_a_state_are_read_only():
    """They are kept for the next call with the same state."""
    cell = lw.WorkCell("c").with_robot("arm", lw.robots.load("arm"))
    dynamics, states = cell.dynamics("arm"), cell.state().broadcast(3)
    for state in (cell.state(), states):
        with pytest.raises(ValueError, match="read-only"):
            dynamics.parameters(state)[...] = 1.0
