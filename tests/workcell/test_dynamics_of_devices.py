"""Dynamics of devices that consist of frames of a cell, and conservation of energy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.grasps import OBJECTS
from tests.support.models import assert_close, random_inertia, random_pose

import linkwork as lw
from linkwork.spatial import se3


def frames_of(model, cell, parent):
    """A cell with the joints and links of a robot as separate frames."""
    for joint in model.joints:
        on = parent if joint.first == model.default_base else joint.first
        inertia = model.link(joint.second).inertia
        if joint.is_fixed:
            cell = cell.with_frame(joint.second, on, joint.first_H_joint, inertia=inertia)
        else:
            cell = cell.with_joint(
                joint.second,
                joint.kind,
                on,
                joint.first_H_joint,
                axis=joint.axis,
                depends=joint.mimic and _on_link(model, joint.mimic),
                inertia=inertia,
            )
    return cell


def _on_link(model, mimic):
    leader = model.joint(mimic.joint).second
    return lw.Mimic(joint=leader, multiplier=mimic.multiplier, offset=mimic.offset)


def with_objects(cell):
    for name, inertia in OBJECTS.items():
        cell = cell.with_frame(name, movable=True, attachable=True, inertia=inertia)
    return cell


@pytest.fixture(scope="module")
def arm():
    return lw.robots.load("arm")


@pytest.fixture(scope="module")
def cell(arm):
    """The bundled arm as frames, on a tilted plate: joints, fixed frames, a dependent finger."""
    cell = lw.WorkCell("frames").with_frame("plate", parent_H_frame=lw.Pose((0, 0, 1), (0.5, 0, 0)))
    cell = with_objects(frames_of(arm, cell, "plate"))
    cell = cell.with_device(lw.SerialDevice("serial", "plate", "tool"))
    return cell.with_device(lw.TreeDevice("tree", "plate", ["tool", "left_finger"]))


def test_tree_device_agrees_with_the_robot_of_its_frames(cell, arm, rng):
    dyn, device = cell.dynamics("tree"), cell.device("tree")
    kd = lw.KinDyn(arm, floating=False)
    q, nu = kd.random(seed=1), rng.normal(size=kd.nv)
    by_name = dict(zip(kd.joint_names, range(kd.nv), strict=True))
    links = [j.second for j in arm.joints if j.nq]
    order = [by_name[arm.joints[_holder(arm, name)].name] for name in device.joint_names]
    assert sorted(links) == sorted(device.joint_names)
    state = cell.grip(device.set_q(cell.state(), q[order]), "box", "tool")
    H = cell.frame_H_frame("tool", "box", state)
    body = lw.spatial.inertia.transform(H, OBJECTS["box"].parameters())
    base = cell.world_H_frame("plate", state)
    loaded = lw.KinDyn(
        arm, floating=False, base_pose=base, parameters=[lw.parameters.Payload("tool")]
    )
    M = loaded.mass_matrix(q, parameters=body)
    assert_close(dyn.mass_matrix(state), M[np.ix_(order, order)], 1e-12)
    h = loaded.bias_force(q, nu, parameters=body)
    assert_close(dyn.bias_force(state, nu[order]), h[order], 1e-12)
    assert_close(dyn.jacobian("tool", state) @ nu[order], loaded.velocity("tool", q, nu), 1e-12)


def _holder(model, link):
    return next(k for k, joint in enumerate(model.joints) if joint.second == link)


def test_joints_outside_of_a_device_are_locked(cell, arm, rng):
    """The fingers are not joints of the serial device, so their loads move with the hand."""
    device, tree = cell.device("serial"), cell.device("tree")
    kd = lw.KinDyn(arm, floating=False)
    state = cell.grip(tree.set_q(cell.state(), kd.random(seed=2)), "ball", "left_finger")
    dyn, whole = cell.dynamics("serial"), cell.dynamics("tree")
    rows = [tree.joint_names.index(name) for name in device.joint_names]
    assert len(rows) < tree.nv
    M = whole.mass_matrix(state)
    assert_close(dyn.mass_matrix(state), M[np.ix_(rows, rows)], 1e-12)
    nu = np.zeros(tree.nv)
    nu[rows] = rng.normal(size=len(rows))
    h = whole.bias_force(state, nu)
    assert_close(dyn.bias_force(state, nu[rows]), h[rows], 1e-12)


def test_two_arms_as_one_device(rng):
    pendulum = lw.robots.load("double_pendulum")
    cell = lw.WorkCell("two").with_robot("left", pendulum, parent_H_base=lw.Pose((0, 1, 0)))
    cell = with_objects(cell.with_robot("right", pendulum, parent_H_base=lw.Pose(rpy=(0.4, 0, 0))))
    both = lw.CompositeDevice("both", "WORLD", "left.tip", ("left", "right"), ("right.tip",))
    cell = cell.with_device(both)
    device = cell.device("both")
    state = device.set_q(cell.state(), rng.normal(size=4))
    state = cell.grip(cell.grip(state, "box", "right.tip"), "can", "left.tip")
    nu = rng.normal(size=4)
    dyn = cell.dynamics("both")
    assert dyn.carriers == ("left.tip", "right.tip")
    M, h = np.zeros((4, 4)), np.zeros(4)
    for k, name in enumerate(("left", "right")):
        at = slice(2 * k, 2 * k + 2)
        M[at, at] = cell.dynamics(name).mass_matrix(state)
        h[at] = cell.dynamics(name).bias_force(state, nu[at])
    assert_close(dyn.mass_matrix(state), M, 1e-12)
    assert_close(dyn.bias_force(state, nu), h, 1e-12)


def test_devices_without_dynamics_are_rejected(cell):
    with pytest.raises(lw.ArgumentError, match="movable frame 'box'"):
        cell.with_device(lw.JointDevice("odd", "WORLD", "box", ("box",))).dynamics("odd")
    tray = lw.WorkCell("gap").with_frame("tray", movable=True, attachable=True)
    tray = tray.with_frame("shelf").with_joint("j", "revolute", "tray", inertia=OBJECTS["can"])
    device = lw.JointDevice("rack", "shelf", "shelf", ("j",))
    with pytest.raises(lw.ArgumentError, match=r"base 'shelf'.*'j'"):
        tray.with_device(device).dynamics("rack")


LOCKED = {  # by frame: how it moves on its parent, and its numbers in a state
    "mount": ("movable", [0.1, 0.2, 0.3, *[0.5, 0.5, -0.5, 0.5]]),
    "slide": ("prismatic", [0.2]),
    "wrist": ("movable", [0.0, 0.1, 0.0, *[0.6, 0.0, 0.8, 0.0]]),
    "follower": ("revolute", []),
}


def chain_of(poses=None):
    """A chain of two driven joints, with frames between them that are locked, or fixed at poses."""
    rng, cell, parent = np.random.default_rng(3), lw.WorkCell("chain"), "WORLD"
    for name in ("base", "mount", "j1", "slide", "follower", "j2", "wrist", "plate"):
        pose, inertia = random_pose(rng), random_inertia(rng)
        depends = lw.Mimic(joint="slide", multiplier=2.0, offset=0.1)
        if name in ("j1", "j2"):
            cell = cell.with_joint(name, "revolute", parent, pose, axis=(0, 1, 1), inertia=inertia)
        elif name not in LOCKED or poses is not None:
            pose = poses[name] if name in LOCKED else pose
            cell = cell.with_frame(name, parent, pose, inertia=inertia)
        elif LOCKED[name][0] == "movable":
            cell = cell.with_frame(name, parent, pose, movable=True, inertia=inertia)
        else:
            follows = depends if name == "follower" else None
            kind = LOCKED[name][0]
            cell = cell.with_joint(
                name, kind, parent, pose, active=False, depends=follows, inertia=inertia
            )
        parent = name
    return with_objects(cell.with_device(lw.SerialDevice("arm", "base", "plate")))


def test_frames_between_joints_are_locked_at_their_pose_in_the_state(rng):
    """Movable frames, passive joints and their followers may differ in a batch."""
    cell = chain_of()
    dyn, states = cell.dynamics("arm"), []
    for scale in (0.0, 1.0, 2.0):
        state = cell.device("arm").set_q(cell.state(), rng.normal(size=2))
        if scale:
            for name, (_, numbers) in LOCKED.items():
                if numbers:
                    first = scale * np.array(numbers[:3])  # a position; a quaternion stays
                    state = cell.set_values(state, name, [*first, *numbers[3:]])
        states.append(cell.grip(state, "box", "plate" if scale else "WORLD"))
    nu = rng.normal(size=2)
    batch = dyn.mass_matrix(lw.State.stack(states)), dyn.bias_force(lw.State.stack(states), nu)
    for k, state in enumerate(states):
        poses = {name: cell.parent_H_frame(name, state) for name in LOCKED}
        rigid = chain_of(poses)
        there = rigid.set_pose(
            rigid.device("arm").set_q(rigid.state(), cell.device("arm").get_q(state)),
            "box",
            cell.world_H_frame("box", state),
            "WORLD",
        )
        if k:
            there = rigid.grip(there, "box", "plate")
        reference = rigid.dynamics("arm")
        assert_close(dyn.mass_matrix(state), reference.mass_matrix(there), 1e-12)
        assert_close(dyn.bias_force(state, nu), reference.bias_force(there, nu), 1e-12)
        assert_close(dyn.com(state), reference.com(there), 1e-12)
        for frame in ("wrist", "plate", "box"):
            J = reference.jacobian(frame, there)
            np.testing.assert_allclose(dyn.jacobian(frame, state), J, atol=1e-12)
        assert_close(batch[0][k], reference.mass_matrix(there), 1e-12)
        assert_close(batch[1][k], reference.bias_force(there, nu), 1e-12)


def test_error_names_a_locked_frame_with_another_parent():
    cell = lw.WorkCell("cell").with_frame("tray", attachable=True, movable=True)
    cell = cell.with_joint("j", "revolute", "tray", inertia=OBJECTS["can"]).with_frame("shelf")
    cell = cell.with_device(lw.JointDevice("rack", "WORLD", "j", ("j",)))
    dyn = cell.dynamics("rack")
    assert dyn.mass_matrix(cell.state()) > 0
    with pytest.raises(lw.StateError, match=r"'tray'.*'WORLD'"):
        dyn.mass_matrix(cell.attach(cell.state(), "tray", "shelf"))


def test_joints_that_move_no_inertia_are_a_warning():
    cell = lw.WorkCell("cell").with_joint("a", "revolute").with_joint("b", "revolute", "a")
    cell = cell.with_joint("c", "revolute", "b").with_frame("tool", "c")
    cell = cell.with_device(lw.SerialDevice("arm", "WORLD", "tool"))
    with pytest.warns(lw.LinkworkWarning, match=r"'arm'.*inertia.*: a, b, c;"):
        cell.dynamics("arm")
    loaded = cell.with_changed("b", inertia=OBJECTS["can"])
    with pytest.warns(lw.LinkworkWarning, match=r"'arm'.*inertia.*: c;"):
        loaded.dynamics("arm")
    loaded = cell.with_changed("tool", inertia=OBJECTS["can"])
    assert loaded.dynamics("arm").mass_matrix(loaded.state()).shape == (3, 3)


class Swing:
    """A double pendulum that grips a box at rest, swings, and releases it in motion."""

    dt = 2e-3

    def __init__(self):
        cell = lw.WorkCell("swing").with_robot(
            "arm",
            lw.robots.load("double_pendulum"),
            parent_H_base=lw.Pose((0, 0, 2), (0.2, 0.1, 0)),
        )
        self.cell = with_objects(cell)
        self.arm, self.dyn = self.cell.device("arm"), self.cell.dynamics("arm")

    def step(self, state, nu):
        """Runge-Kutta of order 4, with no torques."""
        q, tau = self.arm.get_q(state), np.zeros_like(nu)

        def slope(dq, dnu):
            return dnu, self.dyn.forward_dynamics(self.arm.set_q(state, dq), dnu, tau)

        h, k = self.dt, [slope(q, nu)]
        for part in (0.5, 0.5, 1.0):
            k.append(slope(q + part * h * k[-1][0], nu + part * h * k[-1][1]))
        dq, dnu = (h / 6.0 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]) for i in range(2))
        return self.arm.set_q(state, q + dq), nu + dnu

    def energy(self, state, nu):
        return self.dyn.kinetic_energy(state, nu) + self.dyn.potential_energy(state)

    def energy_of_box(self, state, velocity):
        """As a free body: of its velocity [linear; angular] at its origin, in the world's axes."""
        world_H_box = self.cell.world_H_frame("box", state)
        inertia = OBJECTS["box"]
        rotation = se3.pose(world_H_box[:3, :3], np.zeros(3))
        numbers = lw.spatial.inertia.transform(rotation, inertia.parameters())
        com = world_H_box[:3] @ [*inertia.com, 1.0]
        kinetic = lw.spatial.inertia.kinetic_energy(numbers, velocity)
        return kinetic + inertia.mass * 9.80665 * com[2]


def test_energy_is_conserved_over_a_swing_with_grip_and_release():
    """There is no impact, because the box is gripped at rest, and no force at the release.

    The energy of the box at the release is that of its velocity and height.
    """
    swing = Swing()
    cell = swing.cell
    state = swing.arm.set_q(cell.state(), [0.9, -0.4])
    state = cell.set_pose(
        state, "box", cell.world_H_frame("arm.tip", state) @ se3.pose(np.eye(3), [0.05, 0.0, -0.1])
    )
    nu = np.zeros(2)
    before = swing.energy(state, nu) + swing.energy_of_box(state, np.zeros(6))
    state = cell.grip(state, "box", "arm.tip")
    assert_close(swing.energy(state, nu), before, 1e-13)
    for _ in range(250):
        state, nu = swing.step(state, nu)
    assert_close(swing.energy(state, nu), before, 1e-8)
    assert swing.dyn.kinetic_energy(state, nu) > 5.0  # [J]
    velocity = swing.dyn.jacobian("box", state) @ nu
    free = cell.release(state, "box")
    box = swing.energy_of_box(free, velocity)
    assert_close(swing.energy(free, nu) + box, swing.energy(state, nu), 1e-12)
    for _ in range(250):
        free, nu = swing.step(free, nu)
    assert_close(swing.energy(free, nu) + box, before, 1e-8)
