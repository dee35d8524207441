"""Conversion of models to and from Pinocchio.

`to_pinocchio` builds the `pinocchio.Model` that Pinocchio reads from the same URDF:

Joints      have the poses of linkwork's joints; planar joints, and (cos, sin) joints about a tilted
            axis, are rotated so that their axis is z, the only one that Pinocchio supports
Links       become BODY frames, fixed joints FIXED_JOINT frames, additional frames OP_FRAMEs
Inertia     of a link is added to its joint; that of a link on a fixed joint, and of a fixed base,
            also to the frame, as in Pinocchio's reader
Dependent   joints become Pinocchio's mimic joints, without coordinates
Gravity     that of the KinDyn

`from_pinocchio` reads a `pinocchio.Model`:

Links       one for each joint in Pinocchio, which merges the links of one body. It has the name of
            the BODY frame at the joint, or of the joint if there is none
Frames      all other frames, including those of fixed joints, become additional frames
Order       joints keep their order. Their `location` has their index in Pinocchio, for
            `to_pinocchio`
Base        a free-flyer on the universe is the floating base and not a joint here; otherwise the
            universe is a link, and the KinDyn needs `floating=False`

In names, "there" is Pinocchio.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from math import inf
from typing import Any

import numpy as np

from linkwork.compat.pinocchio.order import ORIGIN, crossings, is_cos_sin_there, is_free_flyer
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import (
    ArgumentError,
    MissingPackageError,
    SourceLocation,
    concerning,
    model_error,
    shown,
)
from linkwork.kindyn import KinDyn
from linkwork.model.graph import require_tree
from linkwork.model.inertia import NO_INERTIA, Inertia, six
from linkwork.model.joints import plane_basis
from linkwork.model.joints.kind import axes_across
from linkwork.model.model import Model
from linkwork.model.parts import Frame, Joint, Limits, Link, Mimic, unit_vector
from linkwork.model.pose import NOT_A_ROTATION, ROUNDING_NOISE, as_pose
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
        of Pinocchio's URDF reader, or, if `from_pinocchio` read the robot, in their order there.

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
            name = ROOT_JOINT
            while name in self.kd.model.joint_names:
                name += "_"
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


# Reading.

HUGE = 1e300  # Pinocchio's bound of an unlimited coordinate may be the largest float
SAME_POSE = 1e-14  # frames with at most this difference are at the joint
KINDS = {
    "JointModelUniversal": "universal",
    "JointModelPlanar": "planar",
    "JointModelSpherical": "spherical",
    "JointModelFreeFlyer": "floating",
}
WITHOUT_COUNTERPART = (
    "JointModelComposite",
    "JointModelEllipsoid",
    "JointModelSphericalZYX",
    "JointModelTranslation",
)


def from_pinocchio(pin_model: Any) -> Model:
    """Convert a Pinocchio model to a linkwork model of the same robot.

    Dynamics, frames, limits, damping, friction and armature are kept. Joints are in Pinocchio's
    order, and so is `s`; `to_pinocchio` restores this order. Gravity is an option of `KinDyn`.

    Raises:
        ModelError: linkwork has no such kind of joint, or several frames have the same name.
    """
    if not all(hasattr(pin_model, name) for name in ("joints", "jointPlacements", "inertias")):
        raise ArgumentError(f"pin_model: expected a pinocchio.Model, got {shown(pin_model)}")
    first = 1 if _base_floats(pin_model) else 0
    indices = range(first, pin_model.njoints)
    names = _link_names(pin_model, indices)
    return Model(
        name=str(pin_model.name) or "robot",
        links=tuple(
            Link(name=names[index], inertia=_inertia(pin_model, index)) for index in indices
        ),
        joints=tuple(_joint(pin_model, index, names) for index in indices[1:]),
        frames=tuple(_frames(pin_model, names)),
    )


def _base_floats(pin_model: Any) -> bool:
    """Return whether the first joint is the joint of a floating base."""
    alone = list(pin_model.parents)[1:].count(0) == 1
    if not (alone and is_free_flyer(pin_model)):
        return False
    return bool(np.array_equal(pin_model.jointPlacements[1].homogeneous, np.eye(4)))


def _link_names(pin_model: Any, indices: Sequence[int]) -> dict[int, str]:
    """Return a name for the link of each joint, by the index of the joint."""
    names: dict[int, str] = {}
    for frame in pin_model.frames:
        near = np.abs(frame.placement.homogeneous - np.eye(4)).max() <= SAME_POSE
        if str(frame.type) == "BODY" and near:
            names.setdefault(int(frame.parentJoint), str(frame.name))
    return {index: names.get(index, str(pin_model.names[index])) for index in indices}


def _inertia(pin_model: Any, index: int) -> Inertia:
    inertia = pin_model.inertias[index]
    tensor = np.array(inertia.inertia)
    with concerning(f"inertia of joint {str(pin_model.names[index])!r}"):
        return Inertia(float(inertia.mass), tuple(inertia.lever.tolist()), six(tensor))


def _joint(pin_model: Any, index: int, names: dict[int, str]) -> Joint:
    joint = pin_model.joints[index]
    name, shortname = str(pin_model.names[index]), str(joint.shortname())
    if shortname in WITHOUT_COUNTERPART:
        message = f"{shortname} has no counterpart in linkwork"
        raise model_error(message, f"joint {name!r}")
    kind, axis, pitch = KINDS.get(shortname, ""), (0.0, 0.0, 1.0), 0.0
    placement, rotation = pin_model.jointPlacements[index].homogeneous, np.eye(4)
    if kind == "universal":
        axis, rotation = _two_axes(joint.extract(), name)
    if not kind:
        kind, axis, pitch = _about_an_axis(joint)
    return Joint(
        name=name,
        kind=kind,
        first=names[int(pin_model.parents[index])],
        second=names[index],
        axis=axis,
        pitch=pitch,
        first_H_joint=as_pose(placement @ rotation),
        joint_H_second=as_pose(rotation.T),
        mimic=_mimic(pin_model, index),
        limits=_limits(pin_model, joint),
        damping=_common(pin_model.damping, joint, name, "damping"),
        friction=_common(pin_model.upperDryFrictionLimit, joint, name, "friction"),
        armature=_common(pin_model.armature, joint, name, "armature"),
        location=SourceLocation(ORIGIN, index),
    )


def _two_axes(joint: Any, name: str) -> tuple[tuple[float, float, float], Array]:
    """Return an axis and a (4, 4) rotation that represent the two axes of a universal joint."""
    first, second = unit_vector(joint.axis1.tolist()), unit_vector(joint.axis2.tolist())
    if abs(float(np.dot(first, second))) > NOT_A_ROTATION:
        message = f"its axes {first} and {second} are not perpendicular"
        raise model_error(message, f"joint {name!r}")
    if np.allclose(axes_across(first)[0], second, rtol=0.0, atol=ROUNDING_NOISE):
        return first, np.eye(4)
    R = np.stack([second, np.cross(first, second), first], axis=1)
    return (0.0, 0.0, 1.0), se3.pose(R, np.zeros(3))


def _about_an_axis(joint: Any) -> tuple[str, tuple[float, float, float], float]:
    """Return kind, axis and pitch of a joint with one degree of freedom, from its subspace."""
    data = joint.createData()
    unbounded = joint.nq == 2
    q = np.zeros(max(joint.idx_q, 0) + 2)
    q[max(joint.idx_q, 0)] = 1.0 if unbounded else 0.0
    joint.calc(data, q)
    subspace = np.array(data.S, dtype=float).ravel()
    if joint.shortname() == "JointModelMimic":
        subspace = subspace / joint.extract().scaling
    linear, angular = subspace[:3], subspace[3:]
    if not angular.any():
        return "prismatic", unit_vector(linear.tolist()), 0.0
    pitch = float(linear @ angular)
    kind = "helical" if linear.any() else "revolute_cos_sin" if unbounded else "revolute"
    return kind, unit_vector(angular.tolist()), pitch


def _mimic(pin_model: Any, index: int) -> Mimic | None:
    followers = [int(index) for index in pin_model.mimicking_joints]
    if index not in followers:
        return None
    leader = int(list(pin_model.mimicked_joints)[followers.index(index)])
    joint = pin_model.joints[index].extract()
    return Mimic(
        joint=str(pin_model.names[leader]),
        multiplier=float(joint.scaling),
        offset=float(joint.offset),
    )


def _limits(pin_model: Any, joint: Any) -> Limits:
    """Return the limits of a joint with one velocity: Pinocchio's upper velocity and effort."""
    if joint.nv != 1:
        return Limits()
    lower, upper = -inf, inf
    if joint.nq == 1:
        lower = _bounded(pin_model.lowerPositionLimit[joint.idx_q])
        upper = _bounded(pin_model.upperPositionLimit[joint.idx_q])
    return Limits(
        lower=lower,
        upper=upper,
        velocity=_bounded(pin_model.upperVelocityLimit[joint.idx_v]),
        effort=_bounded(pin_model.upperEffortLimit[joint.idx_v]),
    )


def _bounded(limit: float) -> float:
    return float(limit) if abs(limit) < HUGE else float(np.copysign(inf, limit))


def _common(values: Array, joint: Any, name: str, quantity: str) -> float:
    """Return the common value of all velocities of a joint; raise if they differ."""
    if not joint.nv:
        return 0.0
    elements = [float(value) for value in values[joint.idx_v : joint.idx_v + joint.nv]]
    if len(set(elements)) > 1:
        message = f"its {quantity} {elements} is not the same for all of its velocities"
        raise model_error(message, f"joint {name!r}")
    return elements[0]


def _frames(pin_model: Any, names: dict[int, str]) -> Iterator[Frame]:
    """Yield frames that are neither joints nor links; fixed joints only if their name is unused."""
    used = set(names.values())
    frames = [frame for frame in pin_model.frames if int(frame.parentJoint) in names]
    fixed = [frame for frame in frames if str(frame.type) == "FIXED_JOINT"]
    others = [frame for frame in frames if str(frame.type) not in ("FIXED_JOINT", "JOINT")]
    for frame in (*others, *fixed):
        link, name = names[int(frame.parentJoint)], str(frame.name)
        if name in used and (name == link or frame in fixed):
            continue
        used.add(name)
        yield Frame(name=name, link=link, link_H_frame=as_pose(frame.placement.homogeneous))
