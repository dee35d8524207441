"""Robots with closed loops: linkages of textbooks, and random ones."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from tests.support.models import random_model

import linkwork as lw
from linkwork.model.joints import KINDS
from linkwork.model.joints.motion import motion_pose
from linkwork.model.parts import unit_vector
from linkwork.model.pose import as_pose

Y = (0.0, 1.0, 0.0)


def rod(mass, length, axis=0):
    """A thin rod along an axis of its link, from the origin on."""
    size, com = [0.04, 0.04, 0.04], [0.0, 0.0, 0.0]
    size[axis], com[axis] = length, length / 2
    return lw.solid_box(mass, tuple(size), com=tuple(com))


def at(x=0.0, y=0.0, z=0.0, rpy=(0.0, 0.0, 0.0)):
    return lw.Pose(xyz=(x, y, z), rpy=rpy)


def four_bar(closing="revolute"):
    """Crank, coupler and rocker on the ground; `closing` is the kind of the last joint."""
    b = lw.ModelBuilder("four_bar")
    b.add_link("ground", inertia=lw.solid_box(1.0, (0.1, 0.1, 0.1)))
    for name, length in (("crank", 0.4), ("coupler", 0.8), ("rocker", 0.6)):
        b.add_link(name, inertia=rod(2.0 * length, length))
    b.add_joint("a", "revolute", "ground", "crank", axis=Y)
    b.add_joint("b", "revolute", "crank", "coupler", axis=Y, first_H_joint=at(0.4))
    b.add_joint("d", "revolute", "ground", "rocker", axis=Y, first_H_joint=at(0.7))
    mounts = {"first_H_joint": at(0.8), "joint_H_second": at(-0.6)}
    b.add_joint("c", closing, "coupler", "rocker", axis=Y, **mounts)
    return b.build()


def five_bar():
    """Two driven cranks whose forearms meet: two degrees of freedom."""
    b = lw.ModelBuilder("five_bar")
    b.add_link("ground", inertia=lw.solid_box(1.0, (0.1, 0.1, 0.1)))
    for side, x in (("left", -0.15), ("right", 0.15)):
        b.add_link(f"{side}_crank", inertia=rod(0.5, 0.3))
        b.add_link(f"{side}_forearm", inertia=rod(0.4, 0.5))
        b.add_joint(
            f"{side}_motor", "revolute", "ground", f"{side}_crank", axis=Y, first_H_joint=at(x)
        )
        ends = f"{side}_crank", f"{side}_forearm"
        b.add_joint(f"{side}_elbow", "revolute", *ends, axis=Y, first_H_joint=at(0.3))
    ends = "left_forearm", "right_forearm"
    mounts = {"first_H_joint": at(0.5), "joint_H_second": at(-0.5)}
    b.add_joint("tip", "revolute", *ends, axis=Y, **mounts)
    return b.build()


def delta():
    """Three driven arms, six rods, and a platform that only translates."""
    b = lw.ModelBuilder("delta")
    b.add_link("frame", inertia=lw.solid_box(5.0, (0.4, 0.4, 0.05)))
    b.add_link("platform", inertia=lw.solid_box(0.5, (0.1, 0.1, 0.02)))
    for k in range(3):
        yaw = 2 * np.pi * k / 3
        c, s = np.cos(yaw), np.sin(yaw)
        b.add_link(f"arm{k}", inertia=rod(0.4, 0.25))
        mount = at(0.2 * c, 0.2 * s, rpy=(0.0, 0.0, yaw))
        b.add_joint(f"motor{k}", "revolute", "frame", f"arm{k}", axis=Y, first_H_joint=mount)
        for side, y in (("l", 0.05), ("r", -0.05)):
            name = f"rod{k}{side}"
            b.add_link(name, inertia=rod(0.1, 0.6))
            b.add_joint(
                f"elbow{k}{side}", "universal", f"arm{k}", name, axis=Y, first_H_joint=at(0.25, y)
            )
            on_platform = at(0.06 * c - y * s, 0.06 * s + y * c, rpy=(0.0, 0.0, yaw)).matrix()
            b.add_joint(
                f"wrist{k}{side}",
                "spherical",
                name,
                "platform",
                first_H_joint=at(0.6),
                joint_H_second=np.linalg.inv(on_platform),
            )
    return b.build()


def stewart():
    """Six legs that change their length: a platform with six degrees of freedom."""
    b = lw.ModelBuilder("stewart")
    b.add_link("ground", inertia=lw.solid_box(5.0, (1.0, 1.0, 0.1)))
    b.add_link("platform", inertia=lw.solid_box(4.0, (0.5, 0.5, 0.05)))
    for k in range(6):
        foot = 2 * np.pi * (k // 2) / 3 + (0.25 if k % 2 else -0.25)
        head = 2 * np.pi * (k // 2) / 3 + (0.8 if k % 2 else -0.8)
        b.add_link(f"cylinder{k}", inertia=rod(0.5, 0.4, axis=2))
        b.add_link(f"piston{k}", inertia=rod(0.3, 0.4, axis=2))
        mount = at(0.6 * np.cos(foot), 0.6 * np.sin(foot))
        b.add_joint(
            f"foot{k}", "universal", "ground", f"cylinder{k}", axis=(1, 0, 0), first_H_joint=mount
        )
        ends = f"cylinder{k}", f"piston{k}"
        b.add_joint(f"leg{k}", "prismatic", *ends, first_H_joint=at(z=0.4), lower=-0.3, upper=0.6)
        anchor = at(0.35 * np.cos(head), 0.35 * np.sin(head))
        b.add_joint(
            f"head{k}",
            "spherical",
            f"piston{k}",
            "platform",
            first_H_joint=at(z=0.4),
            joint_H_second=np.linalg.inv(anchor.matrix()),
        )
    return b.build()


def parallel_ankle():
    """A foot on a universal joint, driven by two cranks with rods."""
    b = lw.ModelBuilder("ankle")
    b.add_link("shank", inertia=rod(2.0, 0.4, axis=2))
    b.add_link("foot", inertia=lw.solid_box(1.0, (0.25, 0.1, 0.04), com=(0.05, 0.0, -0.05)))
    b.add_joint("ankle", "universal", "shank", "foot", axis=Y)
    for side, y in (("left", 0.06), ("right", -0.06)):
        b.add_link(f"{side}_crank", inertia=rod(0.1, 0.05))
        b.add_link(f"{side}_rod", inertia=rod(0.1, 0.25, axis=2))
        motor = at(0.0, y, 0.25)
        b.add_joint(
            f"{side}_motor", "revolute", "shank", f"{side}_crank", axis=Y, first_H_joint=motor
        )
        ends = f"{side}_crank", f"{side}_rod"
        mount = at(-0.05, rpy=(np.pi, 0.0, 0.0))
        b.add_joint(f"{side}_pin", "universal", *ends, axis=(1, 0, 0), first_H_joint=mount)
        b.add_joint(
            f"{side}_ball",
            "spherical",
            f"{side}_rod",
            "foot",
            first_H_joint=at(z=0.25),
            joint_H_second=at(0.05, -y),
        )
    return b.build()


def gripper():
    """Two fingers on parallelograms; a coupling moves them by opposite angles."""
    b = lw.ModelBuilder("gripper")
    b.add_link("palm", inertia=lw.solid_box(0.8, (0.1, 0.1, 0.1)))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        for part, x in (("inner", 0.02), ("outer", 0.05)):
            b.add_link(f"{side}_{part}", inertia=rod(0.05, 0.08, axis=2))
            mount = at(sign * x)
            b.add_joint(
                f"{side}_{part}_hinge",
                "revolute",
                "palm",
                f"{side}_{part}",
                axis=Y,
                first_H_joint=mount,
            )
        b.add_link(f"{side}_finger", inertia=rod(0.06, 0.06, axis=2))
        ends = f"{side}_inner", f"{side}_finger"
        b.add_joint(f"{side}_tip", "revolute", *ends, axis=Y, first_H_joint=at(z=0.08))
        b.add_joint(
            f"{side}_link",
            "revolute",
            f"{side}_outer",
            f"{side}_finger",
            axis=Y,
            first_H_joint=at(z=0.08),
            joint_H_second=at(-sign * 0.03),
        )
    model = b.build()
    ends = "left_inner_hinge", "right_inner_hinge"
    return model.with_constraint("coupling", *ends, coefficients=(0.0, -1.0))


def leg():
    """A floating trunk and a leg of two joints; two points of its foot are redundant as contacts.

    The points `heel` and `toe` cannot move toward each other, so that one of six equations depends
    on the others, in a direction that rotates with the foot.
    """
    b = lw.ModelBuilder("leg")
    for name in ("trunk", "thigh", "shank"):
        b.add_link(name, inertia=lw.Inertia(1.5, (0.1, 0.0, 0.02), (0.1, 0.0, 0.0, 0.2, 0.0, 0.15)))
    b.add_joint("hip", "revolute", "trunk", "thigh", axis=Y, first_H_joint=at(0.1, -0.2, -0.1))
    ends = "thigh", "shank"
    b.add_joint("knee", "revolute", *ends, axis=(1, 1, 0), first_H_joint=at(0.0, 0.1, -0.4))
    b.add_frame("heel", "shank", at(-0.1, 0.0, -0.4))
    b.add_frame("toe", "shank", at(0.15, 0.02, -0.4))
    return b.build()


LINKAGES = {  # degrees of freedom with a fixed base
    "four_bar": (four_bar, 1),
    "five_bar": (five_bar, 2),
    "delta": (delta, 3),
    "stewart": (stewart, 6),
    "parallel_ankle": (parallel_ankle, 2),
    "gripper": (gripper, 1),
}


def closed(kd, n, seed=0):
    """(n, nq) closed configurations; of a delta robot, around its usual posture."""
    if kd.model.name != "delta":
        return kd.random(n, seed=seed)
    angle = 2.278  # of the rods, so that the platform is below the frame
    elbows = {name: (angle, 0.0) for name in kd.joint_names if name.startswith("elbow")}
    wrist = {"wrist0l": (np.cos(angle / 2), 0.0, -np.sin(angle / 2), 0.0)}
    steps = 0.1 * np.random.default_rng(seed).normal(size=(n, kd.nv))
    result = lw.assemble(kd, kd.integrate(kd.q(elbows | wrist), steps))
    assert result.converged.all()
    return result.q


def random_linkage(seed, closing, n_links=9, floating=True):
    """A random tree with one more joint of a kind, and a configuration in which it closes.

    Returns:
        the `KinDyn`, and the configuration.
    """
    rng = np.random.default_rng(seed)
    tree = random_model(rng, n_links, mimic=False)
    kd = lw.KinDyn(tree, floating=floating)
    q = kd.random(seed=seed)
    first, second = max(  # with many coordinates between them
        combinations(tree.link_names, 2),
        key=lambda ends: int(kd.relative_jacobian_sparsity(*ends).any(axis=0).sum()),
    )
    first_H_second = np.linalg.inv(kd.transform(first, q)) @ kd.transform(second, q)
    pitch = 0.3 if KINDS[closing].has_pitch else 0.0
    mount = lw.Pose(xyz=tuple(rng.normal(size=3)), rpy=tuple(rng.uniform(-1, 1, 3)))
    joint = lw.Joint(
        name="closing",
        kind=closing,
        first=first,
        second=second,
        axis=unit_vector(rng.normal(size=3)),
        pitch=pitch,
        first_H_joint=mount,
    )
    kind = joint.motion_kind
    theta = kind.moved(kind.neutral, tuple(rng.uniform(-1, 1, kind.nv)))
    moved = mount.matrix() @ motion_pose(joint, np.array(theta, dtype=float))
    joint = lw.Joint(
        **{
            name: getattr(joint, name)
            for name in ("name", "kind", "first", "second", "axis", "pitch", "first_H_joint")
        },
        joint_H_second=as_pose(np.linalg.inv(moved) @ first_H_second),
    )
    model = lw.Model(
        name="random", links=tree.links, joints=(*tree.joints, joint), frames=tree.frames
    )
    return lw.KinDyn(model, kd.base, floating=floating, cut=["closing"]), q
