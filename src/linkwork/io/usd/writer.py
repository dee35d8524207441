"""Writer of USD files with the schema UsdPhysics, as text (.usda).

Layout      the robot is the default prim, with PhysicsArticulationRootAPI; bodies are its children,
            and joints are in the scope `joints`. Frames are Xforms in their bodies
Poses       bodies are where they are while all joints are at zero
Joints      the axis of a joint frame is x. Joints that close loops are excluded from the
            articulation
Units       meters and kilograms; z is up. Attributes of UsdPhysics have single precision
Left out    meshes, velocity and effort limits, damping, friction, armature, mimic joints
"""

from __future__ import annotations

import math
from os import PathLike
from typing import Any

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import Finding
from linkwork.io.formats import Conversion
from linkwork.io.usd.joints import TYPED
from linkwork.io.usd.reader import read_usd
from linkwork.io.usd.stage import import_usd
from linkwork.io.writing import (
    away_from_world,
    finish,
    is_world,
    listed_findings,
    poses_at_zero,
    read_back,
    reject,
    rejected_constraints,
)
from linkwork.model.geometry import Box, Capsule, Cylinder, Geometry, Mesh, Shape, Sphere, row_of
from linkwork.model.graph import walk
from linkwork.model.inertia import Inertia
from linkwork.model.joints.kind import axes_across
from linkwork.model.model import Model
from linkwork.model.parts import Joint, Link
from linkwork.spatial.source import quat, se3

JOINT_TYPES = {kind: name.removeprefix("Physics") for name, kind in TYPED.items()}


# The schema of a shape, and the attributes of its sizes; those of a box are a scale.
_SHAPES: dict[type[Geometry], tuple[str, tuple[str, ...]]] = {
    Box: ("Cube", ()),
    Sphere: ("Sphere", ("Radius",)),
    Cylinder: ("Cylinder", ("Radius", "Height")),
    Capsule: ("Capsule", ("Radius", "Height")),
}
SMALLEST_MOMENT = 1e-30  # [kg m^2] in place of 0, which stands for no value in USD


def dump_usd(
    model: Model, path: str | PathLike[str] | None = None, *, prim_path: str | None = None
) -> str:
    """Write a robot as USD, in its text format.

    Args:
        model: the robot.
        path: the file to write, which ends in .usda or .usd; None to only return its content.
        prim_path: of the robot's prim; by default `/` and the name of the robot.

    Returns:
        The content of the file.

    Raises:
        ModelError: USD cannot express the robot: it has constraints, or joints other than revolute,
            prismatic, spherical and fixed ones.
        MissingPackageError: usd-core is not installed.

    Warns:
        LinkworkWarning: the robot has properties that USD does not have, such as mimic joints, or
            names that are not valid in USD.
    """
    text, findings = usd_text(model, prim_path)
    return finish(Conversion(text, tuple(findings)), path)


def convert_usd(model: Model) -> Conversion:
    """Convert a robot to USD, and check that it can be read.

    Raises:
        ModelError: USD cannot express the robot.
    """
    text, findings = usd_text(model)
    read_back(read_usd, text)
    return Conversion(text, tuple(findings), "can be read; values have single precision")


def usd_text(model: Model, prim_path: str | None = None) -> tuple[str, list[Finding]]:
    """Return the content of a USD file, and warnings about what it does not contain."""
    _reject_inexpressible(model)
    pxr = import_usd()
    stage = pxr.Usd.Stage.CreateInMemory(".usda")
    pxr.UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    pxr.UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
    pxr.UsdGeom.SetStageUpAxis(stage, pxr.UsdGeom.Tokens.z)
    writer = _Writer(pxr, stage, model, prim_path or f"/{pxr.Tf.MakeValidIdentifier(model.name)}")
    writer.write()
    return stage.GetRootLayer().ExportToString(), [*writer.findings(), *_left_out(model)]


class _Writer:
    """Writes the parts of a robot to a stage."""

    def __init__(self, pxr: Any, stage: Any, model: Model, root: str) -> None:
        self.pxr, self.stage, self.model, self.root = pxr, stage, model, root
        self.paths: dict[str, str] = {}  # of links
        self.renamed: list[str] = []
        self.solid: list[str] = []  # massless links with collision shapes
        self.meshes: dict[str, None] = {}  # links with meshes

    def write(self) -> None:
        """Write the robot."""
        pxr, model = self.pxr, self.model
        robot = pxr.UsdGeom.Xform.Define(self.stage, self.root).GetPrim()
        pxr.UsdPhysics.ArticulationRootAPI.Apply(robot)
        self.stage.SetDefaultPrim(self.stage.GetPrimAtPath(robot.GetPath().GetPrefixes()[0]))
        poses = poses_at_zero(model)
        for link in model.links:
            if not is_world(model, link.name):
                self._write_link(link, poses[link.name])
        scope = self._path(self.root, "joints")
        pxr.UsdGeom.Scope.Define(self.stage, scope)
        in_tree = {one.joint.name for one in walk(model, model.default_base) if one.joint}
        for joint in model.joints:
            self._write_joint(scope, away_from_world(joint), joint.name in in_tree)

    def findings(self) -> list[Finding]:
        """Return warnings about what was written differently."""
        texts = {
            "names that USD does not allow are changed": self.renamed,
            "left out: meshes of links": list(self.meshes),
            "collision shapes of massless links are visuals, because USD computes the mass of a "
            "body without one": self.solid,
        }
        return listed_findings(texts)

    def _path(self, parent: str, name: str, *, is_shape: bool = False) -> str:
        """Return an unused path for a part with a name; other names of shapes are not reported."""
        valid = self.pxr.Tf.MakeValidIdentifier(name)
        while self.stage.GetPrimAtPath(f"{parent}/{valid}"):
            valid += "_"
        if valid != name and not is_shape:
            self.renamed.append(f"{name} to {valid}")
        return f"{parent}/{valid}"

    def _place(self, path: str, pose: Array, schema: str = "Xform") -> Any:
        """Define a prim at a pose (4, 4); rotations have double precision."""
        prim = getattr(self.pxr.UsdGeom, schema).Define(self.stage, path)
        Gf, precision = self.pxr.Gf, self.pxr.UsdGeom.XformOp.PrecisionDouble
        prim.AddTranslateOp(precision).Set(Gf.Vec3d(*pose[:3, 3].tolist()))
        prim.AddOrientOp(precision).Set(Gf.Quatd(*_wxyz(pose[:3, :3])))
        return prim

    def _write_link(self, link: Link, pose: Array) -> None:
        path = self.paths[link.name] = self._path(self.root, link.name)
        prim = self._place(path, pose).GetPrim()
        self.pxr.UsdPhysics.RigidBodyAPI.Apply(prim)
        for frame in self.model.frames:
            if frame.link == link.name:
                self._place(self._path(path, frame.name), frame.link_H_frame.matrix())
        if link.inertia.mass > 0:
            self._write_inertia(prim, link.inertia)
        elif link.collisions:
            self.solid.append(link.name)
        for shapes, collides in ((link.visuals, False), (link.collisions, link.inertia.mass > 0)):
            for shape in shapes:
                self._write_shape(path, link, shape, collides=collides)

    def _write_inertia(self, prim: Any, inertia: Inertia) -> None:
        Gf, api = self.pxr.Gf, self.pxr.UsdPhysics.MassAPI.Apply(prim)
        moments, axes = np.linalg.eigh(inertia.matrix())
        axes = axes * np.sign(np.linalg.det(axes))
        api.CreateMassAttr(inertia.mass)
        api.CreateCenterOfMassAttr(Gf.Vec3f(*inertia.com))
        api.CreateDiagonalInertiaAttr(Gf.Vec3f(*np.maximum(moments, SMALLEST_MOMENT).tolist()))
        api.CreatePrincipalAxesAttr(Gf.Quatf(*_wxyz(axes)))

    def _write_shape(self, path: str, link: Link, shape: Shape, *, collides: bool) -> None:
        geometry, pose = shape.geometry, shape.link_H_shape.matrix()
        if isinstance(geometry, Mesh):
            self.meshes[link.name] = None
            return
        schema, attributes = row_of(_SHAPES, geometry, "USD")
        default = "collision" if collides else "visual"
        prim = self._place(self._path(path, shape.name or default, is_shape=True), pose, schema)
        for name, size in zip(attributes, geometry.sizes, strict=False):
            getattr(prim, f"Create{name}Attr")(size)
        if "Height" in attributes:
            prim.CreateAxisAttr("Z")
        elif not attributes:
            prim.CreateSizeAttr(1.0)
            scale = prim.AddScaleOp(self.pxr.UsdGeom.XformOp.PrecisionDouble)
            scale.Set(self.pxr.Gf.Vec3d(*geometry.sizes))
        if collides:
            self.pxr.UsdPhysics.CollisionAPI.Apply(prim.GetPrim())
            prim.CreatePurposeAttr(self.pxr.UsdGeom.Tokens.guide)
        if shape.material is not None and shape.material.rgba is not None:
            prim.CreateDisplayColorAttr([self.pxr.Gf.Vec3f(*shape.material.rgba[:3])])
            prim.CreateDisplayOpacityAttr([shape.material.rgba[3]])

    def _write_joint(self, scope: str, joint: Joint, in_tree: bool) -> None:
        Gf, schema = self.pxr.Gf, getattr(self.pxr.UsdPhysics, JOINT_TYPES[joint.kind])
        prim = schema.Define(self.stage, self._path(scope, joint.name))
        # the joint frame, turned so that its x axis is the axis of the joint
        turn = np.eye(4)
        if joint.motion_kind.has_axis:
            turn[:3, :3] = np.array([joint.axis, *axes_across(joint.axis)]).T
        frames = (
            (joint.first, joint.first_H_joint.matrix() @ turn),
            (joint.second, np.asarray(se3.inverse(joint.joint_H_second.matrix())) @ turn),
        )
        for index, (link, pose) in enumerate(frames):
            if link in self.paths:
                getattr(prim, f"GetBody{index}Rel")().SetTargets([self.paths[link]])
            getattr(prim, f"CreateLocalPos{index}Attr")(Gf.Vec3f(*pose[:3, 3].tolist()))
            getattr(prim, f"CreateLocalRot{index}Attr")(Gf.Quatf(*_wxyz(pose[:3, :3])))
        if joint.kind in ("revolute", "prismatic"):
            prim.CreateAxisAttr("X")
            unit = math.degrees(1.0) if joint.kind == "revolute" else 1.0
            prim.CreateLowerLimitAttr(joint.limits.lower * unit)
            prim.CreateUpperLimitAttr(joint.limits.upper * unit)
        if not in_tree:
            prim.CreateExcludeFromArticulationAttr(True)


def _wxyz(rotation: Array) -> list[float]:
    return np.asarray(quat.from_rotation(rotation)).tolist()


def _reject_inexpressible(model: Model) -> None:
    findings = [
        Finding("error", f"joint {one.name!r}", f"dump_usd has no joints of kind {one.kind!r}")
        for one in model.joints
        if one.kind not in JOINT_TYPES
    ]
    reject([*findings, *rejected_constraints(model, "USD")])


def _left_out(model: Model) -> list[Finding]:
    joints = model.joints
    limited = [
        j.name for j in joints if math.isfinite(j.limits.velocity) or math.isfinite(j.limits.effort)
    ]
    damped = [j.name for j in joints if j.damping or j.friction or j.armature]
    texts = {
        "left out: that joints mimic others": [joint.name for joint in joints if joint.mimic],
        "left out: velocity and effort limits of joints": limited,
        "left out: damping, friction and armature of joints": damped,
        "left out: frames of the world": [
            frame.name for frame in model.frames if is_world(model, frame.link)
        ],
        "left out: named configurations": [one.name for one in model.configurations],
    }
    return listed_findings(texts)
