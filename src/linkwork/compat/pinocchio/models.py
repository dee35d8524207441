"""Conversion of models to Pinocchio.

`to_pinocchio` builds the `pinocchio.Model` that Pinocchio reads from the same URDF:

Joints      have the poses of linkwork's joints; planar joints, and (cos, sin) joints about a tilted
            axis, are rotated so that their axis is z, the only one that Pinocchio supports
Links       become BODY frames, fixed joints FIXED_JOINT frames, additional frames OP_FRAMEs
Inertia     of a link is added to its joint; that of a link on a fixed joint, and of a fixed base,
            also to the frame, as in Pinocchio's reader
Dependent   joints become Pinocchio's mimic joints, without coordinates
Gravity     that of the KinDyn

In names, "there" is Pinocchio.
"""

from __future__ import annotations

import sys
from importlib import import_module
from math import inf
from typing import Any

import numpy as np

from linkwork.compat.pinocchio.order import crossings, is_cos_sin_there
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import (
    ArgumentError,
    MissingPackageError,
    model_error,
    shown,
)
from linkwork.io.writing import unique_name
from linkwork.kindyn import KinDyn
from linkwork.model.graph import require_tree
from linkwork.model.inertia import NO_INERTIA
from linkwork.model.joints import plane_basis
from linkwork.model.joints.kind import axes_across
from linkwork.model.model import Model
from linkwork.model.parts import Joint
from linkwork.spatial.source import se3

ROOT_JOINT = "root_joint"  # Pinocchio's name for the joint of a floating base
UNIT_BOUND = 1.01  # Pinocchio's bound of coordinates on the unit circle or sphere
UNBOUNDED = sys.float_info.max  # Pinocchio's bound of a floating base, finite for sampling
AXIS_NOISE = 1e-12  # axes with at most this difference from x, y or z are aligned with it


def to_pinocchio(robot: Model | KinDyn) -> Any:
    """Convert a robot to a `pinocchio.Model`.

    Args:
        robot: a KinDyn, whose base, floating or fixed, and gravity are kept; or a Model, which
            has a floating base, its default base.

    Returns:
        The model; `Conventions(kd)` maps the vectors of the KinDyn to it. Joints are in the order
        of Pinocchio's URDF reader.

    Raises:
        ModelError: a dependent joint is helical, or cannot come after the joint it depends on.
        MissingPackageError: Pinocchio is not installed.
    """
    kd = KinDyn(robot, floating=True) if isinstance(robot, Model) else robot
    if not isinstance(kd, KinDyn):
        raise ArgumentError(f"robot: expected a Model or a KinDyn, got {shown(robot)}")
    return _Builder(kd).model


def _pinocchio() -> Any:
    try:
        return import_module("pinocchio")
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            "Pinocchio is not installed; `pip install pin` installs it"
        ) from error


class _Builder:
    """Builds a Pinocchio model, joint by joint outward from the base."""

    def __init__(self, kd: KinDyn) -> None:
        require_tree(kd.model, "to_pinocchio converts trees only")
        self.pin = pinocchio = _pinocchio()
        self.kd, self.tree = kd, kd.tree
        self.model: Any = pinocchio.Model()
        self.model.name = kd.model.name
        self.model.gravity.linear = np.array(kd.gravity)
        self._leaders = {follower.leader for follower in kd.layout.followers.values()}
        self._bodies = {joint.name: body for body, _, joint in self.tree.outward()}
        self._poses: dict[int, tuple[int, Array]] = {}  # by body: its joint there, joint_H_body
        self._body_frames: dict[str, int] = {}  # by link: its frame there
        self._add_base()
        for crossing in crossings(kd.model, self.tree.base):
            near = self._body_frames[crossing.near]
            is_fixed = crossing.joint.kind == "fixed"
            if is_fixed:
                above = self._add_fixed_frame(crossing.joint.name, crossing.beyond, near)
            else:
                above = self._add_joint(crossing.joint, near)
            self._add_link(crossing.beyond, above, is_fixed=is_fixed)
        for frame in kd.model.frames:
            self._add_frame(frame.name, self._body_frames[frame.link], self.pin.OP_FRAME)

    def _add_base(self) -> None:
        joint, above = 0, 0
        if self.kd.floating:
            name = unique_name(ROOT_JOINT, set(self.kd.model.joint_names))
            root = self.pin.JointModelFreeFlyer()
            joint = self.model.addJoint(0, root, self.pin.SE3.Identity(), name, *_free_bounds())
            above = self.model.addJointFrame(joint, 0)
        self._poses[0] = (joint, self.kd.layout.base_pose.matrix())
        self._add_link(self.kd.model.frame(self.tree.base).link, above)

    def _add_joint(self, joint: Joint, near: int) -> int:
        """Add a moving joint and return its frame; `near` is its parent frame."""
        body = self._bodies[joint.name]
        parent, parent_H_body = self._poses[self.tree.parents[body]]
        # traversed backwards, a joint about or along an axis has the opposite axis
        sign = -1.0 if self.tree.backwards[body] and joint.kind != "planar" else 1.0
        axis = sign * np.array(joint.axis)
        unbounded = is_cos_sin_there(joint, self._leaders)
        rotated = joint.kind == "planar" or (unbounded and not _letter(axis))
        rotation = _rotation_to(axis) if rotated else np.eye(4)
        placement = parent_H_body @ self.tree.parent_H_joint[body] @ rotation
        kind = self._kind(joint, axis, unbounded=unbounded)
        bounds = self._bounds(joint) if joint.nv else ()
        pose = self.pin.SE3(placement)
        index = self.model.addJoint(parent, kind, pose, joint.name, *bounds)
        there = self.model.joints[index]
        self.model.armature[there.idx_v : there.idx_v + there.nv] = joint.armature
        self._poses[body] = (index, se3.inverse(rotation) @ self.tree.joint_H_body[body])
        return self.model.addJointFrame(index, near)

    def _kind(self, joint: Joint, axis: Array, *, unbounded: bool) -> Any:
        """Return the joint model of Pinocchio."""
        pin = self.pin
        match joint.kind:
            case "universal":
                axes = [joint.axis, axes_across(joint.axis)[0]]
                backwards = self.tree.backwards[self._bodies[joint.name]]
                first, second = axes[::-1] if backwards else axes
                return pin.JointModelUniversal(np.array(first), np.array(second))
            case "planar":
                return pin.JointModelPlanar()
            case "spherical":
                return pin.JointModelSpherical()
            case "floating":
                return pin.JointModelFreeFlyer()
            case "helical":
                kind = pin.JointModelHelicalUnaligned(axis, joint.pitch)
            case "prismatic":
                kind = self._along("JointModelP", "JointModelPrismaticUnaligned", axis)
            case _ if unbounded:
                return getattr(pin, "JointModelRUB" + (_letter(axis) or "Z"))()
            case "revolute":
                kind = self._along("JointModelR", "JointModelRevoluteUnaligned", axis)
            case _:
                message = f"a {joint.kind} joint has no counterpart in Pinocchio"
                raise model_error(message, f"joint {joint.name!r}", joint.location)
        return self._following(joint, kind) if joint.mimic else kind

    def _along(self, aligned: str, tilted: str, axis: Array) -> Any:
        letter = _letter(axis)
        return getattr(self.pin, aligned + letter)() if letter else getattr(self.pin, tilted)(axis)

    def _following(self, joint: Joint, kind: Any) -> Any:
        """Return a joint without coordinates, which depends on its leader."""
        if joint.kind == "helical":  # Pinocchio 4.1 has wrong Jacobians for it, or crashes
            message = "a helical joint that mimics another has no counterpart in Pinocchio"
            raise model_error(message, f"joint {joint.name!r}")
        follower = self.kd.layout.followers[joint.name]
        leader = self.model.joints[self.model.getJointId(follower.leader)]
        kind.setIndexes(leader.id, leader.idx_q, leader.idx_v, leader.idx_vExtended)
        wrapped = self.pin.JointModel(kind)
        return self.pin.JointModelMimic(wrapped, follower.multiplier, follower.offset)

    def _bounds(self, joint: Joint) -> tuple[Array, ...]:
        """Return effort, velocity, position, friction and damping, in the order of `addJoint`."""
        limits, one = joint.limits, np.ones(joint.nv)
        if joint.nv > 1 or is_cos_sin_there(joint, self._leaders):
            lower, upper = _position_bounds(joint.kind)
        else:
            lower, upper = np.array([limits.lower]), np.array([limits.upper])
        return (
            -limits.effort * one,
            limits.effort * one,
            -limits.velocity * one,
            limits.velocity * one,
            lower,
            upper,
            -joint.friction * one,
            joint.friction * one,
            joint.damping * one,
        )

    def _add_link(self, link: str, above: int, *, is_fixed: bool = False) -> None:
        """Add the frame of a link, and its inertia unless the frame of a fixed joint has it."""
        joint, placement = self._placed(link)
        inertia = self.pin.Inertia.Zero() if is_fixed else self._inertia(link)
        if joint and not is_fixed:
            if self.kd.model.link(link).inertia != NO_INERTIA:
                self.model.appendBodyToJoint(joint, inertia, placement)  # counts in nbodies
            inertia = self.pin.Inertia.Zero()
        frame = self.pin.Frame(link, joint, above, placement, self.pin.BODY, inertia)
        self._body_frames[link] = self.model.addFrame(frame)  # adds its inertia to the joint's

    def _inertia(self, link: str) -> Any:
        inertia = self.kd.model.link(link).inertia
        there = self.pin.Inertia.Zero()  # its constructor rejects inertias that files contain
        there.mass, there.lever = inertia.mass, np.array(inertia.com)
        there.inertia = inertia.matrix()
        return there

    def _add_fixed_frame(self, name: str, beyond: str, near: int) -> int:
        joint, placement = self._placed(beyond)
        inertia = self._inertia(beyond)
        frame = self.pin.Frame(name, joint, near, placement, self.pin.FIXED_JOINT, inertia)
        return self.model.addFrame(frame)

    def _add_frame(self, name: str, above: int, kind: Any) -> None:
        joint, placement = self._placed(name)
        self.model.addFrame(self.pin.Frame(name, joint, above, placement, kind))

    def _placed(self, frame: str) -> tuple[int, Any]:
        """Return the joint there that carries a frame, and the frame's placement on it."""
        index = self.kd.model.frame_index(frame)
        joint, joint_H_body = self._poses[self.tree.frame_bodies[index]]
        return joint, self.pin.SE3(joint_H_body @ self.tree.body_H_frame[index])


def _letter(axis: Array) -> str:
    """Return X, Y or Z if the axis is aligned with it; empty if tilted or opposite."""
    near = np.flatnonzero(np.abs(axis - np.eye(3)).max(axis=1) <= AXIS_NOISE)
    return "XYZ"[near[0]] if len(near) else ""


def _rotation_to(axis: Array) -> Array:
    """(4, 4) pose whose z axis is the given axis."""
    return se3.pose(np.concatenate([plane_basis(axis), axis[:, None]], axis=1), np.zeros(3))


def _position_bounds(kind: str) -> tuple[Array, Array]:
    sizes = {"universal": (2, 0), "planar": (2, 2), "spherical": (0, 4), "floating": (3, 4)}
    free, unit = sizes.get(kind, (0, 2))
    upper = np.array([inf] * free + [UNIT_BOUND] * unit)
    return -upper, upper


def _free_bounds() -> tuple[Array, ...]:
    """Return the bounds of the joint of a floating base, in the order of `addJoint`."""
    velocity, position, zero = np.full(6, UNBOUNDED), np.full(7, UNBOUNDED), np.zeros(6)
    return (-velocity, velocity, -velocity, velocity, -position, position, zero, zero, zero)
