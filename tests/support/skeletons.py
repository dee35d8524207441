"""Skeletons of robots in random states, shared by the tests of algorithms."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.models import random_model, random_q
from tests.support.real_robots import ROBOT_FILES, label, load_quietly
from tests.support.spatial import pin

from linkwork.algorithms.kinematics import frames
from linkwork.mechanics.base import REPRESENTATIONS
from linkwork.mechanics.skeleton import skeleton_of
from linkwork.model.layout import Layout
from linkwork.model.tree import tree_from

SEEDS = range(8)
REAL = [
    ("talos_data/talos_reduced", True),
    ("anymal_b_simple_description/anymal", True),
    ("iCubGenova04/model", True),
    ("tiago_description/tiago", True),
    ("tiago_description/tiago", False),
    ("panda_description/panda", False),
]
every_representation = pytest.mark.parametrize("velocity", REPRESENTATIONS)
floating_or_not = pytest.mark.parametrize("floating", [True, False])


class Case:
    """A robot with some base, in a random pose and moving."""

    def __init__(self, model, rng, *, floating, base=None):
        self.model = model
        self.layout = Layout(model, floating=floating)
        self.tree = tree_from(model, base)
        self.skeleton = skeleton_of(self.tree, self.layout)
        self.q = random_q(self.layout, rng)
        self.nu, self.nu_dot = rng.normal(size=(2, self.layout.nv))
        self.frames = range(len(model.frame_names))

    def at(self, function, **options):
        """Result of a function of the configuration."""
        return np.array(function(self.skeleton, list(self.q), **options), dtype=float)

    def moving(self, function, **options):
        """Result of a function of the configuration and the velocity."""
        actual = function(self.skeleton, list(self.q), list(self.nu), **options)
        return np.array(actual, dtype=float)


def random_case(seed, *, floating, **options):
    rng = np.random.default_rng(seed)
    model = random_model(rng, 14, **options)
    return Case(model, rng, floating=floating, base=str(rng.choice(model.frame_names)))


def skeleton_seen_by(kd):
    """The skeleton of the robot of a `KinDyn`."""
    return skeleton_of(kd.tree, kd.layout)


def robot_file(name):
    return next(path for path in ROBOT_FILES if label(path) == name)


def real_case(name, rng, *, floating):
    """A real robot, with joints that mimic others freed."""
    return Case(load_quietly(robot_file(name), mimic=False), rng, floating=floating)


def frame_poses(tree, layout, q):
    """(..., frames, 4, 4) poses of all frames of a robot, computed on columns of a batch."""
    q = np.asarray(q, dtype=float)
    names = range(len(tree.model.frame_names))
    nested = frames.frame_poses(skeleton_of(tree, layout), list(np.moveaxis(q, -1, 0)), *names)
    actual = np.empty((*q.shape[:-1], len(names), 4, 4))
    for frame, row, column in np.ndindex(len(names), 4, 4):
        actual[..., frame, row, column] = nested[frame][row][column]
    return actual


def moved_by(joint, theta):  # noqa: PLR0911 - one for each kind
    """Motion of a joint as an exponential of Pinocchio, or by its quaternion."""
    axis = np.array(joint.axis)
    zero = np.zeros(3)
    match joint.kind:
        case "revolute":
            return pin.exp6(np.concatenate([zero, axis * theta[0]]))
        case "revolute_cos_sin":
            return pin.exp6(np.concatenate([zero, axis * np.arctan2(theta[1], theta[0])]))
        case "prismatic":
            return pin.SE3(np.eye(3), axis * theta[0])
        case "helical":
            return pin.exp6(np.concatenate([axis * joint.pitch, axis]) * theta[0])
        case "universal":
            largest = int(np.argmax(np.abs(axis)))
            across = np.cross(axis, np.eye(3)[(largest + 1) % 3])
            second = np.cross(across / np.linalg.norm(across), axis)
            return pin.SE3(pin.exp3(axis * theta[0]) @ pin.exp3(second * theta[1]), zero)
        case "planar":
            largest = int(np.argmax(np.abs(axis)))
            across = np.cross(axis, np.eye(3)[(largest + 1) % 3])  # the second direction
            second = across / np.linalg.norm(across)
            first = np.cross(second, axis)
            return pin.SE3(pin.exp3(axis * theta[2]), first * theta[0] + second * theta[1])
        case "spherical":
            return pin.SE3(pin.Quaternion(*theta.tolist()), zero)
        case "floating":
            return pin.SE3(pin.Quaternion(*theta[3:].tolist()), theta[:3])
        case "fixed":
            return pin.SE3.Identity()
        case _:
            raise NotImplementedError(joint.kind)


def own_theta(model, joint, layout, q):
    """Position of a joint, by following the chain of joints that it mimics."""
    if joint.mimic:
        leader = own_theta(model, model.joint(joint.mimic.joint), layout, q)
        return joint.mimic.multiplier * leader + joint.mimic.offset
    return q[layout.q[joint.name]] if joint.motion_kind.nq else q[:0]


def walked_poses(model, base, q, floating):
    """World poses of all frames: recursion over the graph, one joint after another."""
    layout = Layout(model, floating=floating)
    world_H_base = pin.SE3.Identity()
    if floating:
        world_H_base = pin.SE3(pin.Quaternion(*q[3:7].tolist()), q[:3])
    start = model.frame(base)
    actual = {start.link: world_H_base * pin.SE3(start.link_H_frame.matrix()).inverse()}
    joints = list(model.joints)
    while joints:
        joint = joints.pop(0)
        moved = moved_by(joint, own_theta(model, joint, layout, q))
        first_H_second = pin.SE3(joint.first_H_joint.matrix()) * moved
        first_H_second = first_H_second * pin.SE3(joint.joint_H_second.matrix())
        if joint.first in actual:
            actual[joint.second] = actual[joint.first] * first_H_second
        elif joint.second in actual:
            actual[joint.first] = actual[joint.second] * first_H_second.inverse()
        else:
            joints.append(joint)
    frames = [model.frame(name) for name in model.frame_names]
    return np.array(
        [(actual[f.link] * pin.SE3(f.link_H_frame.matrix())).homogeneous for f in frames]
    )
