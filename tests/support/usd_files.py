"""A writer of robots as USD, independent of the reader; only for tests."""

from __future__ import annotations

import math

import numpy as np
from pxr import Gf, Usd, UsdGeom, UsdPhysics

import linkwork as lw
from linkwork.spatial.source import quat, se3

ALL = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")
TYPES = {
    "fixed": UsdPhysics.FixedJoint,
    "revolute": UsdPhysics.RevoluteJoint,
    "prismatic": UsdPhysics.PrismaticJoint,
    "spherical": UsdPhysics.SphericalJoint,
}
# The axes that a joint of another kind leaves free, for an axis z.
FREE = {"planar": ("transX", "transY", "rotZ"), "floating": ALL}


def quaternion(rotation) -> Gf.Quatf:
    w, x, y, z = np.asarray(quat.from_rotation(np.asarray(rotation))).tolist()
    return Gf.Quatf(w, x, y, z)


def usd_stage(
    model: lw.Model, *, meters: float = 1.0, kilograms: float = 1.0, up: str = "Z", scale=1.0
) -> Usd.Stage:
    """Write a robot whose joints have axes x, y or z; every body has a random pose and a scale."""
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, meters)
    UsdPhysics.SetStageKilogramsPerUnit(stage, kilograms)
    UsdGeom.SetStageUpAxis(stage, up)
    robot = UsdGeom.Xform.Define(stage, f"/{model.name}")
    stage.SetDefaultPrim(robot.GetPrim())
    UsdPhysics.ArticulationRootAPI.Apply(robot.GetPrim())
    random = np.random.default_rng(0)
    for link in model.links:
        if link.name == "world":
            continue
        xform = UsdGeom.Xform.Define(stage, f"/{model.name}/{link.name}")
        xform.AddTranslateOp().Set(tuple(random.normal(size=3)))
        xform.AddOrientOp().Set(Gf.Quatf(*quat.normalize(random.normal(size=4)).tolist()))
        xform.AddScaleOp().Set((scale, scale, scale))
        write_mass(xform.GetPrim(), link.inertia, meters, kilograms, scale)
    for joint in model.joints:
        write_joint(stage, model, joint, meters=meters, up=up, scale=scale)
    return stage


def write_mass(prim: Usd.Prim, inertia: lw.Inertia, meters, kilograms, scale) -> None:
    UsdPhysics.RigidBodyAPI.Apply(prim)
    api = UsdPhysics.MassAPI.Apply(prim)
    moments, axes = np.linalg.eigh(inertia.matrix())
    axes = axes * np.linalg.det(axes)
    api.CreateMassAttr(inertia.mass / kilograms)
    api.CreateCenterOfMassAttr(tuple(float(x) / meters / scale for x in inertia.com))
    api.CreateDiagonalInertiaAttr(tuple((moments / (kilograms * meters**2)).tolist()))
    api.CreatePrincipalAxesAttr(quaternion(axes))


def write_joint(stage: Usd.Stage, model: lw.Model, joint: lw.Joint, *, meters, up, scale) -> None:
    path = f"/{model.name}/joints/{joint.name}"
    schema = TYPES.get(joint.kind, UsdPhysics.Joint).Define(stage, path)
    axis = "XYZ"[int(np.argmax(np.abs(joint.axis)))]
    if joint.kind in ("revolute", "prismatic"):
        unit = math.degrees(1.0) if joint.kind == "revolute" else 1 / meters
        schema.CreateAxisAttr(axis)
        schema.CreateLowerLimitAttr(joint.limits.lower * unit)
        schema.CreateUpperLimitAttr(joint.limits.upper * unit)
    for name in ALL if joint.kind in FREE else ():
        if name not in FREE[joint.kind]:
            limit = UsdPhysics.LimitAPI.Apply(schema.GetPrim(), name)
            limit.CreateLowAttr(1.0)
            limit.CreateHighAttr(-1.0)
    sides = [joint.first_H_joint.matrix(), se3.inverse(joint.joint_H_second.matrix())]
    for number, (link, side) in enumerate(zip((joint.first, joint.second), sides, strict=True)):
        pose, size = side, 1.0
        if link == "world":
            if up == "Y":  # y up, z toward the viewer
                pose = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1.0]]) @ pose
        else:
            size = scale
            relation = schema.CreateBody1Rel() if number else schema.CreateBody0Rel()
            relation.SetTargets([f"/{model.name}/{link}"])
        xyz = tuple((pose[:3, 3] / meters / size).tolist())
        if number:
            schema.CreateLocalPos1Attr(xyz)
            schema.CreateLocalRot1Attr(quaternion(pose[:3, :3]))
        else:
            schema.CreateLocalPos0Attr(xyz)
            schema.CreateLocalRot0Attr(quaternion(pose[:3, :3]))


def text_of(stage: Usd.Stage) -> str:
    return stage.GetRootLayer().ExportToString()
