"""Joints and shapes as MJCF elements of the body that they belong to.

Joints      revolute, revolute_cos_sin -> hinge; prismatic -> slide; spherical -> ball;
            floating -> free; universal -> two hinges; planar -> two slides and a hinge
Dependent   `<equality><joint polycoef="offset multiplier 0 0 0">`: in MuJoCo the joint moves by
            itself, and a soft constraint pulls it to where it belongs
Limits      `range`, and `actuatorfrcrange` for the effort; MuJoCo has no limits of velocity
Shapes      visual ones in group 2, which touch nothing; collision shapes in group 3
Meshes      named by their path on this machine, since MuJoCo opens them and knows no packages; it
            reads binary STL, OBJ and MSH
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite, nextafter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import Finding, ModelError, listed, model_error
from linkwork.io.xml.write import add, number_text
from linkwork.model.geometry import Box, Capsule, Cylinder, Geometry, Material, Mesh, Shape, Sphere
from linkwork.model.joints import plane_basis
from linkwork.model.model import Model
from linkwork.model.parts import Joint, Link
from linkwork.model.pose import IDENTITY
from linkwork.spatial.source import quat, se3

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]


UNBOUNDED = 1e10  # MuJoCo's mjMAXVAL; stands for infinity where the other bound is finite
SMALLEST = 1e-300  # stands for 0 where MuJoCo takes 0 for no limit

_Part = tuple[str, str, Array]  # what is put behind the name, type, axis in the joint's frame


class JointWriter:
    """Writes joints; `order` lists them as MuJoCo numbers them, `doubts` what is to be said."""

    def __init__(self, model: Model, is_world: Callable[[str], bool]) -> None:
        self.model = model
        self.order: list[str] = []
        self._is_world = is_world
        self._taken = set(model.joint_names)
        self._parts: dict[str, str] = {}  # by joint of one coordinate: its name in the file
        self.doubts = Doubts()

    def base_name(self) -> str:
        """A name for the free joint of the floating base, which no other joint has."""
        return self._fresh("floating_base")

    def write(self, body: Element, joint: Joint, child: str) -> None:
        """Add the joints of a body."""
        if joint.is_fixed:
            return
        self.order.append(joint.name)
        if joint.kind == "floating":
            self._write_free(body, joint, child)
            return
        child_H_joint, sign = self._seen_from(joint, child)
        parts = _parts(joint)
        for suffix, kind, axis in parts:
            name = self._fresh(f"{joint.name}{suffix}") if suffix else joint.name
            if len(parts) == 1:
                self._parts[joint.name] = name
            seen = sign * (child_H_joint[:3, :3] @ axis)
            at = child_H_joint[:3, 3] if kind != "slide" else np.zeros(3)
            add(
                body,
                "joint",
                name=name,
                type=kind,
                pos=number_text(*(at + 0.0)) if at.any() else None,
                axis=number_text(*(seen + 0.0)) if kind != "ball" else None,
                **self._limits(joint),
                **_dynamics(joint),
            )
        self._tell_about(joint, child_H_joint)

    def write_equalities(self, top: Element) -> None:
        """Add what makes joints depend on others."""
        dependent = [joint for joint in self.model.joints if joint.mimic]
        if not dependent:
            return
        equality = add(top, "equality")
        for joint in dependent:
            mimic = joint.mimic
            assert mimic
            leader = self._parts[mimic.joint]
            numbers = number_text(mimic.offset, mimic.multiplier, 0.0, 0.0, 0.0)
            name = self._parts[joint.name]
            add(equality, "joint", joint1=name, joint2=leader, polycoef=numbers)
            text = "MuJoCo moves dependent joints freely, and a soft constraint pulls them along"
            self.doubts.add(text, joint.name)

    def _write_free(self, body: Element, joint: Joint, child: str) -> None:
        """A free joint, whose coordinates are those of the body in the world."""
        parent = joint.first if joint.second == child else joint.second
        if not self._is_world(parent) or joint.second != child:
            text = f"MuJoCo lets bodies float in the world only, and this one floats on {parent!r}"
            raise model_error(text, f"joint {joint.name!r}", joint.location)
        mounts = joint.first_H_joint.matrix(), joint.joint_H_second.matrix()
        if any(not np.array_equal(mount, np.eye(4)) for mount in mounts):
            self.doubts.add("its coordinates are the pose of the link in the world", joint.name)
        add(body, "joint", name=joint.name, type="free", **_dynamics(joint))
        if joint.armature:
            self.doubts.add(
                "armature acts along the axes of the world in MuJoCo, not of the body", joint.name
            )

    def _seen_from(self, joint: Joint, child: str) -> tuple[Array, float]:
        """Pose of the joint in the link that it moves, and the sign of its axis seen from there."""
        if joint.second == child:
            return np.asarray(se3.inverse(joint.joint_H_second.matrix())), 1.0
        if not joint.motion_kind.inverse_is_opposite:
            text = f"a {joint.kind} joint cannot be turned around with the same coordinates"
            raise model_error(text, f"joint {joint.name!r}", joint.location)
        return joint.first_H_joint.matrix(), -1.0

    def _limits(self, joint: Joint) -> dict[str, str | None]:
        limits = joint.limits
        given: dict[str, str | None] = {}
        if isfinite(limits.velocity):
            self.doubts.add("left out: limits of velocity, which MuJoCo does not have", joint.name)
        if isfinite(limits.effort):
            effort = max(abs(limits.effort), SMALLEST)
            given["actuatorfrcrange"] = number_text(-effort, effort)
            if effort == SMALLEST:
                self.doubts.add(f"an effort limit of 0 is written as {SMALLEST:g}", joint.name)
        if isfinite(limits.lower) or isfinite(limits.upper):
            lower, upper = max(limits.lower, -UNBOUNDED), min(limits.upper, UNBOUNDED)
            if lower >= upper:
                upper = nextafter(lower, inf)
                self.doubts.add(
                    "limits that leave no room are one step of a float apart", joint.name
                )
            given["range"] = number_text(lower, upper)
            if not (isfinite(limits.lower) and isfinite(limits.upper)):
                text = f"limits of one side only have {UNBOUNDED:g} on the other"
                self.doubts.add(text, joint.name)
        return given

    def _tell_about(self, joint: Joint, child_H_joint: Array) -> None:
        if joint.kind == "revolute_cos_sin":
            self.doubts.add("the position is the angle, not its cosine and sine", joint.name)
        if joint.kind == "universal":
            self.doubts.add("a universal joint is written as two hinges", joint.name)
        if joint.kind == "planar":
            text = "a planar joint is written as two slides and a hinge; velocities are along fixed"
            self.doubts.add(f"{text} axes instead of the moving ones", joint.name)
        if joint.kind == "spherical" and not np.array_equal(child_H_joint[:3, :3], np.eye(3)):
            self.doubts.add(
                "the quaternion is in the axes of the link, not of the joint", joint.name
            )

    def _fresh(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def _parts(joint: Joint) -> list[_Part]:
    """MuJoCo's joints for one of linkwork's, one after the other."""
    axis = np.array(joint.axis)
    across = plane_basis(axis).T
    match joint.kind:
        case "revolute" | "revolute_cos_sin":
            return [("", "hinge", axis)]
        case "prismatic":
            return [("", "slide", axis)]
        case "spherical":
            return [("", "ball", axis)]
        case "universal":
            return [("_first", "hinge", axis), ("_second", "hinge", across[0])]
        case "planar":
            first, second = across
            return [("_x", "slide", first), ("_y", "slide", second), ("_angle", "hinge", axis)]
        case _:
            text = f"MuJoCo has no {joint.kind} joint"
            raise ModelError([Finding("error", f"joint {joint.name!r}", text, joint.location)])


def _dynamics(joint: Joint) -> dict[str, str | None]:
    names = {"damping": "damping", "friction": "frictionloss", "armature": "armature"}
    return {
        theirs: number_text(value)
        for ours, theirs in names.items()
        if (value := getattr(joint, ours))
    }


VISUAL, COLLISION = "visual", "collision"  # classes of geoms
MESH_FILES = (".stl", ".obj", ".msh")


class ShapeWriter:
    """Writes geoms, and the meshes and materials that they use, each once."""

    def __init__(self, top: Element, *, meshes: bool) -> None:
        defaults = add(top, "default")
        for name, group, touches in ((VISUAL, "2", "0"), (COLLISION, "3", None)):
            geoms = add(defaults, "default", class_=name)
            add(geoms, "geom", group=group, contype=touches, conaffinity=touches)
        self._assets = add(top, "asset")
        self._wanted = meshes
        self._meshes: dict[tuple[str, tuple[float, float, float]], str] = {}
        self._materials: dict[str, tuple[float, float, float, float] | None] = {}
        self._names: set[str] = set()
        self.doubts = Doubts()

    def write(self, body: Element, link: Link) -> None:
        """Add the shapes of a link."""
        for kind, shapes in ((VISUAL, link.visuals), (COLLISION, link.collisions)):
            for shape in shapes:
                self._write_geom(body, link, shape, kind)

    def _write_geom(self, body: Element, link: Link, shape: Shape, kind: str) -> None:
        geometry = self._geometry(shape.geometry, link)
        if geometry is None:
            return
        pose = shape.link_H_shape
        turned = any(pose.rpy)
        add(
            body,
            "geom",
            name=self._name(shape.name, link),
            class_=kind,
            **geometry,
            pos=number_text(*pose.xyz) if pose != IDENTITY else None,
            quat=number_text(*quat.from_rotation(pose.matrix()[:3, :3])) if turned else None,
            **self._material(shape.material, link),
        )

    def _geometry(self, geometry: Geometry, link: Link) -> dict[str, str | None] | None:
        match geometry:
            case Mesh():
                return self._mesh(geometry, link)
            case Box(size):
                sizes, kind = tuple(edge / 2 for edge in size), "box"
            case Sphere(radius):
                sizes, kind = (radius,), "sphere"
            case Cylinder(radius, length):
                sizes, kind = (radius, length / 2), "cylinder"
            case Capsule(radius, length):
                sizes, kind = (radius, length / 2), "capsule"
        if min(sizes) <= 0:
            self.doubts.add("left out: shapes without size, which MuJoCo refuses", link.name)
            return None
        return {"type": kind, "size": number_text(*sizes)}

    def _mesh(self, mesh: Mesh, link: Link) -> dict[str, str | None] | None:
        if not self._wanted:
            self.doubts.add("left out, as asked: meshes", link.name)
            return None
        if mesh.path is None:
            self.doubts.add("left out: meshes that were not found", mesh.filename)
            return None
        if Path(mesh.path).suffix.lower() not in MESH_FILES:
            kinds = ", ".join(MESH_FILES)
            self.doubts.add(
                f"left out: meshes of a kind that MuJoCo cannot read ({kinds})", mesh.filename
            )
            return None
        known = mesh.path, mesh.scale
        if known not in self._meshes:
            name = Path(mesh.path).stem
            while name in self._meshes.values():
                name += "_"
            self._meshes[known] = name
            scaled = number_text(*mesh.scale) if mesh.scale != (1.0, 1.0, 1.0) else None
            add(self._assets, "mesh", name=name, file=mesh.path, scale=scaled)
        return {"type": "mesh", "mesh": self._meshes[known]}

    def _material(self, material: Material | None, link: Link) -> dict[str, str | None]:
        if material is None:
            return {}
        if material.texture:
            self.doubts.add("left out: textures", link.name)
        rgba = None if material.rgba is None else number_text(*material.rgba)
        if not material.name:
            return {"rgba": rgba}
        if material.name not in self._materials:
            self._materials[material.name] = material.rgba
            add(self._assets, "material", name=material.name, rgba=rgba)
        own = material.rgba != self._materials[material.name]
        return {"material": material.name, "rgba": rgba if own else None}

    def _name(self, name: str, link: Link) -> str | None:
        """A name that no other geom has, as MuJoCo wants it."""
        if not name:
            return None
        unique, number = name, 2
        while unique in self._names:
            unique, number = f"{name}_{number}", number + 1
        self._names.add(unique)
        if unique != name:
            self.doubts.add("shapes of one name have numbers behind it", link.name)
        return unique


class Doubts:
    """Warnings that may concern many parts of a robot, each with the names of all of them."""

    def __init__(self) -> None:
        self._names: dict[str, list[str]] = {}  # by text

    def add(self, text: str, name: str) -> None:
        """Say something about a part."""
        names = self._names.setdefault(text, [])
        if name not in names:
            names.append(name)

    @property
    def findings(self) -> list[Finding]:
        """Each text once."""
        texts = self._names.items()
        return [Finding("warning", "", f"{text}: {listed(names)}") for text, names in texts]
