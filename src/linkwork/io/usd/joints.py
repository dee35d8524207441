"""Joints of a USD stage.

Ends       `body0` is the first link, `body1` the second; without a body, or with a prim that is not
           in a rigid body, it is the world. If `body1` is the world, the ends are swapped, and the
           axis points the other way
Zero       joints are at zero where their frames on both bodies coincide, whatever the poses of the
           bodies in the stage
General    the free axes of a `PhysicsJoint` are those that no limit locks: translations, followed
           by one or three rotations. Several of them are a chain of joints with massless links
           between them, unless linkwork has a joint with these axes
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ModelError
from linkwork.io.usd.bodies import Body
from linkwork.io.usd.stage import (
    Prim,
    UsdFile,
    quaternion_rotation,
    rotation_and_scale,
)
from linkwork.model.numbers import Triple
from linkwork.model.parts import NO_LIMITS, Joint, Limits, Link
from linkwork.model.pose import Pose, as_pose
from linkwork.spatial.source import se3

WORLD = "world"
AXES: dict[str, Triple] = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
TYPED = {
    "PhysicsFixedJoint": "fixed",
    "PhysicsRevoluteJoint": "revolute",
    "PhysicsPrismaticJoint": "prismatic",
    "PhysicsSphericalJoint": "spherical",
}
ROTATIONS, TRANSLATIONS = ("rotX", "rotY", "rotZ"), ("transX", "transY", "transZ")
OTHERS = ("drive:", "physics:", "physxLimit:")  # of the drive, of the schema, of soft limits
WITH_AXIS = ("revolute", "prismatic", "planar")
# Properties of joints in extensions of the schema, such as those of PhysX and MuJoCo.
PASSIVE = ("armature", "damping", "stiffness", "friction", "frictionloss", "jointFriction")
UNLIMITED = 1e30  # larger limits are infinite: files have single precision


@dataclass(frozen=True, slots=True)
class UsdJoint:
    """A joint, or a chain of joints with massless links between them."""

    first: str
    second: str
    joints: tuple[Joint, ...]
    between: tuple[Link, ...]
    prim: Prim
    is_excluded: bool  # from its articulation

    @property
    def edge(self) -> Joint:
        """The connection of both ends, whatever its motion."""
        return Joint(name=self.joints[0].name, kind="fixed", first=self.first, second=self.second)


@dataclass(frozen=True, slots=True)
class _Motion:
    """The motion of one joint; `suffix` is its axis if it is a part of a chain."""

    kind: str
    axis: Triple = (0.0, 0.0, 1.0)
    limits: Limits = NO_LIMITS
    suffix: str = ""

    @property
    def inverse(self) -> _Motion:
        """The motion of the first link relative to the second."""
        x, y, z = self.axis
        return replace(self, axis=(-x, -y, -z))


def read_joint(
    prim: Prim, name: str, owner: Callable[[Prim], Body | None], file: UsdFile
) -> UsdJoint | None:
    """Read a joint.

    Args:
        prim: the joint.
        name: of the joint.
        owner: the body that contains a prim, or None.
        file: the open stage.

    Returns:
        The joint; None if it has an error, is disabled, or connects nothing.
    """
    report, schema = file.report, file.pxr.UsdPhysics.Joint(prim)
    if not schema.GetJointEnabledAttr().Get():
        report.warning(prim, "left out: the joint is disabled")
        return None
    motions = _read_motions(prim, file)
    sides = [_read_side(prim, number, owner, file) for number in (0, 1)]
    if not motions or sides[0] is None or sides[1] is None:
        return None
    (first, first_H_joint), (second, second_H_joint) = sides[0], sides[1]
    if first == second:
        report.warning(prim, f"left out: the joint connects {first!r} to itself")
        return None
    if second == WORLD:
        first, first_H_joint, second, second_H_joint = second, second_H_joint, first, first_H_joint
        motions = [motion.inverse for motion in reversed(motions)]
    _report_ignored(prim, file)
    try:
        joints, between = _chain(name, (first, second), motions, file)
        armature = _armature(prim, joints[0].kind, file)
    except ModelError as error:
        report.extend(replace(one, element=f"prim {prim.GetPath()}") for one in error.findings)
        return None
    if armature and len(joints) > 1:
        report.warning(prim, "left out: physxJoint:armature of several axes")
        armature = 0.0
    joints[0] = replace(joints[0], first_H_joint=first_H_joint, armature=armature)
    joint_H_second = as_pose(se3.inverse(second_H_joint.matrix()))
    joints[-1] = replace(joints[-1], joint_H_second=joint_H_second)
    is_excluded = bool(schema.GetExcludeFromArticulationAttr().Get())
    return UsdJoint(first, second, tuple(joints), tuple(between), prim, is_excluded)


def _chain(
    name: str, ends: tuple[str, str], motions: Sequence[_Motion], file: UsdFile
) -> tuple[list[Joint], list[Link]]:
    """Return joints with these motions one after the other, and the massless links between them."""
    names = [f"{name}_{one.suffix}" if len(motions) > 1 else name for one in motions]
    links = [ends[0], *(f"{ends[1]}_after_{one}" for one in names[:-1]), ends[1]]
    joints = [
        Joint(
            name=names[k],
            kind=motion.kind,
            first=links[k],
            second=links[k + 1],
            axis=motion.axis if motion.kind in WITH_AXIS else AXES["Z"],
            limits=motion.limits,
            location=file.report.location,
        )
        for k, motion in enumerate(motions)
    ]
    return joints, [Link(name=one, location=file.report.location) for one in links[1:-1]]


def _read_side(
    prim: Prim, number: int, owner: Callable[[Prim], Body | None], file: UsdFile
) -> tuple[str, Pose] | None:
    """Return the link on one side of a joint, and the joint frame on it; None after an error."""
    schema = file.pxr.UsdPhysics.Joint(prim)
    xyz = np.array(getattr(schema, f"GetLocalPos{number}Attr")().Get(), dtype=float)
    R = quaternion_rotation(getattr(schema, f"GetLocalRot{number}Attr")().Get())
    targets = getattr(schema, f"GetBody{number}Rel")().GetForwardedTargets()
    target = file.stage.GetPrimAtPath(targets[0]) if targets else None
    if not (np.isfinite(xyz).all() and np.isfinite(R).all()):
        file.report.error(prim, f"the frame of the joint on body{number} is not finite")
    elif len(targets) > 1:
        file.report.error(prim, f"physics:body{number} has {len(targets)} targets; expected one")
    elif targets and not target:
        file.report.error(prim, f"physics:body{number}: there is no prim {targets[0]}")
    else:
        return _side(target, R, xyz, owner, file)
    return None


def _side(
    target: Prim | None,
    R: Array,
    xyz: Array,
    owner: Callable[[Prim], Body | None],
    file: UsdFile,
) -> tuple[str, Pose] | None:
    """Return the link that contains a prim, or the world, and the joint frame on it."""
    if target is None:
        return WORLD, as_pose(file.in_world(se3.pose(R, xyz)))
    body = owner(target)
    if body is not None and body.prim == target:
        return body.name, as_pose(se3.pose(R, xyz * body.scale * file.meters))
    stage_H_joint = _in_stage(target, R, xyz, file)
    if stage_H_joint is None:
        return None
    if body is None:
        return WORLD, as_pose(file.in_world(stage_H_joint))
    pose = np.asarray(se3.inverse(body.stage_H_body) @ stage_H_joint)
    pose[:3, 3] *= file.meters
    return body.name, as_pose(pose)


def _in_stage(target: Prim, R: Array, xyz: Array, file: UsdFile) -> Array | None:
    """Return the frame of a joint in the stage, from its pose in a scaled prim."""
    matrix = file.matrix(target)
    split = rotation_and_scale(matrix)
    if split is None or split[1][0] < 0:
        file.report.error(target, "the target of a joint has a shear or a mirrored axis")
        return None
    return se3.pose(split[0] @ R, matrix[:3, :3] @ xyz + matrix[:3, 3])


# Motion.


def _read_motions(prim: Prim, file: UsdFile) -> list[_Motion]:
    """Return the motions of a joint one after the other; empty after an error."""
    type_name = str(prim.GetTypeName())
    if type_name == "PhysicsJoint":
        return _general_motions(prim, file)
    kind = TYPED.get(type_name)
    if kind is None:
        text = f"{type_name} has no counterpart among the joints of linkwork"
        file.report.error(prim, f"{text}; deactivate it, or replace it by constraints")
        return []
    if kind == "fixed":
        return [_Motion(kind)]
    UsdPhysics = file.pxr.UsdPhysics
    if kind == "spherical":
        schema = UsdPhysics.SphericalJoint(prim)
        cones = (schema.GetConeAngle0LimitAttr().Get(), schema.GetConeAngle1LimitAttr().Get())
        if any(0 <= angle < inf for angle in cones):
            file.report.warning(prim, "left out: limits of the cone of a spherical joint")
        return [_Motion(kind)]
    is_revolute = kind == "revolute"
    schema = (UsdPhysics.RevoluteJoint if is_revolute else UsdPhysics.PrismaticJoint)(prim)
    axis = AXES.get(str(schema.GetAxisAttr().Get()))
    if axis is None:
        file.report.error(
            prim, f"physics:axis: expected X, Y or Z, got {schema.GetAxisAttr().Get()}"
        )
        return []
    bounds = (schema.GetLowerLimitAttr().Get(), schema.GetUpperLimitAttr().Get())
    motion = _with_limits(prim, kind, axis, bounds, file)
    return [motion] if motion else []


def _with_limits(
    prim: Prim, kind: str, axis: Triple, bounds: tuple[float, float], file: UsdFile
) -> _Motion | None:
    unit = math.radians(1.0) if kind == "revolute" else file.meters
    speed = _number(prim, "physxJoint:maxJointVelocity", inf)
    low, high, fastest = (
        math.copysign(inf, value) if abs(value) >= UNLIMITED else value * unit
        for value in (*bounds, speed)
    )
    try:
        return _Motion(kind, axis, Limits(lower=low, upper=high, velocity=fastest))
    except ModelError as error:
        file.report.error(prim, error.findings[0].text)
        return None


def _general_motions(prim: Prim, file: UsdFile) -> list[_Motion]:
    """Return the motions of a `PhysicsJoint`, whose limits lock some of its axes."""
    LimitAPI = file.pxr.UsdPhysics.LimitAPI
    limits: dict[str, tuple[float, float]] = {}
    for name in (*TRANSLATIONS, *ROTATIONS, "distance"):
        if prim.HasAPI(LimitAPI, name):
            api = LimitAPI(prim, name)
            limits[name] = (float(api.GetLowAttr().Get()), float(api.GetHighAttr().Get()))
    locked = {name for name, (low, high) in limits.items() if low > high or low == high == 0}
    rotations = [name for name in ROTATIONS if name not in locked]
    translations = [name for name in TRANSLATIONS if name not in locked]
    bounded = [name for name in (*translations, *rotations) if name in limits]
    if "distance" in limits:
        file.report.warning(prim, "left out: the limit of the distance")
    if len(rotations) == 2:
        text = f"two rotations, {rotations[0]} and {rotations[1]}, whose order USD does not define"
        file.report.error(prim, f"{text}; use two joints and a body between them")
        return []
    if len(rotations) == 3 and bounded:
        names = [name for name in bounded if name in rotations or len(translations) == 3]
        text = f"left out: limits of several axes: {', '.join(names)}"
        file.report.warning(prim, text) if names else None
    if len(rotations) == 3 and len(translations) == 3:
        return [_Motion("floating")]
    across = [name for name in TRANSLATIONS if name not in translations]
    if len(rotations) == len(across) == 1 and rotations[0][-1] == across[0][-1] and not bounded:
        return [_Motion("planar", AXES[across[0][-1]])]
    singles = [*translations, *(rotations if len(rotations) == 1 else [])]
    motions: list[_Motion] = []
    for name in singles:
        kind = "revolute" if name in ROTATIONS else "prismatic"
        bounds = limits.get(name, (-inf, inf))
        motion = _with_limits(prim, kind, AXES[name[-1]], bounds, file)
        if motion is None:
            return []
        motions.append(replace(motion, suffix=name))
    ball = [_Motion("spherical", suffix="rot")] if len(rotations) == 3 else []
    return [*motions, *ball] or [_Motion("fixed")]


def _armature(prim: Prim, kind: str, file: UsdFile) -> float:
    """Return the rotor inertia, which PhysX adds to the schema."""
    value = _number(prim, "physxJoint:armature", 0.0)
    return value * file.kilograms * (file.meters**2 if kind == "revolute" else 1.0)


def _report_ignored(prim: Prim, file: UsdFile) -> None:
    """Note drives, and warn about properties that affect the motion."""
    properties = prim.GetAuthoredPropertyNames()
    if any(name.startswith("drive:") for name in properties):
        file.report.add("note", prim, "left out: the drive of the joint", "left out")
    mimics = [name for name in properties if "mimic" in name.lower()]
    if mimics:
        file.report.warning(prim, f"left out: the joint mimics another: {mimics[0]}")
    if any(name.startswith(("physxTendon", "physxTendonAxis")) for name in properties):
        file.report.warning(prim, "left out: a tendon of PhysX")
    for name in properties:
        is_read = name == "physxJoint:armature" or name.startswith(OTHERS)
        if not is_read and name.rpartition(":")[2] in PASSIVE and _is_nonzero(prim, name):
            file.report.warning(prim, f"left out: {name}")


def _number(prim: Prim, name: str, default: float) -> float:
    """Return the number of an attribute of an extension; the default if it is not authored."""
    attribute = prim.GetAttribute(name)
    value = attribute.Get() if attribute and attribute.HasAuthoredValue() else None
    return float(value) if isinstance(value, (int, float)) else default


def _is_nonzero(prim: Prim, name: str) -> bool:
    """Return whether an attribute has a value other than zero."""
    attribute = prim.GetAttribute(name)
    return bool(np.any(attribute.Get())) if attribute else False
