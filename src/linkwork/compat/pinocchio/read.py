"""Conversion of a `pinocchio.Model` to a linkwork model.

Links    one for each joint in Pinocchio, which merges the links of one body. It has the name of the
         BODY frame at the joint, or of the joint if there is none
Frames   all other frames, including those of fixed joints, become additional frames
Order    joints keep their order. Their `location` has their index in Pinocchio, for `to_pinocchio`
Base     a free-flyer on the universe is the floating base and not a joint here; otherwise the
         universe is a link, and the KinDyn needs `floating=False`
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

import numpy as np

from linkwork.compat.pinocchio.order import ORIGIN, is_free_flyer
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, SourceLocation, concerning, model_error, shown
from linkwork.model.inertia import Inertia, six
from linkwork.model.joints.kind import axes_across
from linkwork.model.model import Model
from linkwork.model.parts import Frame, Joint, Limits, Link, Mimic, unit_vector
from linkwork.model.pose import NOT_A_ROTATION, ROUNDING_NOISE, as_pose
from linkwork.spatial.source import se3

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
