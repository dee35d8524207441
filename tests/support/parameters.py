"""Robots with parameters, and the same robots as edited models."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
from tests.support.kindyn import on_numpy
from tests.support.models import random_inertia, random_model, random_pose

import linkwork as lw
from linkwork import parameters as lp
from linkwork.model.inertia import from_parameters, moved
from linkwork.model.pose import as_pose
from linkwork.spatial.source import quat, se3


def pose_of(numbers):
    """A pose of position (3) and quaternion wxyz (4)."""
    return as_pose(se3.pose(quat.to_rotation(numbers[3:]), numbers[:3]))


def numbers_of(pose):
    """Position (3) and quaternion wxyz (4) of a pose."""
    return np.array([*pose.xyz, *quat.from_rotation(pose.matrix()[:3, :3])])


def edited(kd, vector):
    """The `KinDyn` of the model with the values of one parameter vector written into it."""
    model, options, loads = kd.model, dict(kd.options), []
    del options["parameters"]
    for name, point in kd.parameters.items():
        what, _, part = name.partition(".")
        own = np.asarray(vector)[point]
        if what == "inertia":
            model = model.with_inertia(part, from_parameters(own))
        elif what == "density_multiplier":
            old = model.link(part).inertia.parameters()
            model = model.with_inertia(part, from_parameters(own * old))
        elif what == "payload":
            mount = kd.parameters.get(f"mount.{part}")
            pose = lw.Pose() if mount is None else pose_of(np.asarray(vector)[mount])
            loads.append((part, moved(from_parameters(own), pose)))
        elif what == "gravity":
            options["gravity"] = own
        elif what in ("damping", "friction", "armature"):
            model = _with_joint(model, part, **{what: float(own[0])})
        elif what == "joint_pose":
            model = _with_joint(model, part, first_H_joint=pose_of(own))
        elif what == "frame_pose":
            frames = [
                replace(f, link_H_frame=pose_of(own)) if f.name == part else f for f in model.frames
            ]
            model = replace(model, frames=tuple(frames))
        else:
            assert what == "mount", what
    for frame, load in loads:  # after frames have moved
        model = model.with_payload(frame, load)
    return on_numpy(lw.KinDyn(model, **options))


def _with_joint(model, name, **changes):
    joints = [replace(j, **changes) if j.name == name else j for j in model.joints]
    return replace(model, joints=tuple(joints))


class Varied:
    """A random robot of all kinds of joints, with all kinds of parameters and random values."""

    def __init__(self, seed, rows=2, **options):
        rng = np.random.default_rng(seed)
        model = random_model(rng, 9)
        base = [None, model.link_names[-1], model.frames[0].name][seed % 3]
        links = [str(name) for name in rng.permutation(model.link_names)]
        joints = [str(name) for name in rng.permutation(model.joint_names)]
        moving = [name for name in joints if not model.joint(name).is_fixed]
        frame, other = model.frames[1].name, links[3]
        listed = [
            lp.LinkInertia(links[0]),
            lp.Payload(frame, mount=True),
            lp.Payload(other),
            lp.DensityMultiplier(links[1]),
            lp.Gravity(),
            lp.JointPose(joints[0]),
            lp.JointPose(joints[1]),
            lp.FramePose(model.frames[0].name),
            lp.JointDamping(moving[0]),
            lp.JointArmature(moving[1]),
            lp.JointFriction(moving[0]),
        ]
        plain = lw.KinDyn(model, base, joint_dynamics=True, **options)
        self.plain = on_numpy(plain)
        self.kd = on_numpy(plain.replace(parameters=listed))
        self.p = np.stack([self.numbers(rng) for _ in range(rows)])
        self.q = self.kd.random(rows, seed=seed)
        self.nu, self.nu_dot = rng.normal(size=(2, rows, self.kd.nv))
        self.frames = [frame, other, model.frames[0].name]

    def numbers(self, rng):
        """Random values for all parameters."""
        kd, values = self.kd, {}
        for name, point in kd.parameters.items():
            what = name.partition(".")[0]
            if what in ("inertia", "payload"):
                values[name] = random_inertia(rng).parameters()
            elif what in ("mount", "joint_pose", "frame_pose"):
                values[name] = numbers_of(random_pose(rng))
            else:
                values[name] = rng.uniform(0.3, 2.0, point.stop - point.start)
        return kd.parameter_values(values)

    def arguments(self, inputs):
        """Random arguments of a quantity with these inputs."""
        known = {"q": self.q, "nu": self.nu, "nu_dot": self.nu_dot, "tau": self.nu_dot}
        return [known[one.name] for one in inputs]


varied = cache(Varied)
