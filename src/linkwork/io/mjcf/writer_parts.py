"""Writers of joints, shapes and inertias as MJCF elements of their body.

Joints      revolute, revolute_cos_sin -> hinge; prismatic -> slide; spherical -> ball;
            floating -> free; universal -> two hinges; planar -> two slides and a hinge
Limits      `range`, and `actuatorfrcrange` for the effort; MuJoCo has no velocity limits
Shapes      visual shapes in group 2, without contacts; collision shapes in group 3
Meshes      by absolute path, because MuJoCo opens them and has no packages; it reads binary STL,
            OBJ and MSH. If it is installed, it tests each mesh, and those it rejects are left out
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import atan2, inf, isfinite, nextafter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import Finding, model_error
from linkwork.io.mjcf.package import UniqueNames, fixed_joint_name, rejection
from linkwork.io.writing import (
    GroupedWarnings,
    add,
    document_text,
    format_numbers,
    listed_findings,
    reject,
    top_element,
    unique_name,
)
from linkwork.model.check import unphysical_links
from linkwork.model.geometry import (
    Box,
    Capsule,
    Cylinder,
    Geometry,
    Material,
    Mesh,
    Shape,
    Sphere,
    row_of,
)
from linkwork.model.graph import Visit
from linkwork.model.inertia import NO_INERTIA, Inertia
from linkwork.model.joints import plane_basis
from linkwork.model.joints.motion import child_H_parent
from linkwork.model.model import Model
from linkwork.model.numbers import Triple
from linkwork.model.parts import Joint, Link
from linkwork.model.pose import IDENTITY, Pose
from linkwork.spatial.source import quat, se3

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]


UNBOUNDED = 1e10  # MuJoCo's mjMAXVAL; replaces infinity if the other bound is finite
SMALLEST = 1e-300  # replaces 0 where it means "no limit" in MuJoCo, which rejects denormal numbers

# The sizes of a geom by shape.
_SIZES: dict[type[Geometry], Callable[[Any], tuple[float, ...]]] = {
    Box: lambda box: tuple(edge / 2 for edge in box.size),
    Sphere: lambda sphere: (sphere.radius,),
    Cylinder: lambda cylinder: (cylinder.radius, cylinder.length / 2),
    Capsule: lambda capsule: (capsule.radius, capsule.length / 2),
}

_MujocoJoint = tuple[str, str, Array]  # suffix of the name, type, axis in the joint's frame


class JointWriter:
    """Writes joints.

    `order` lists them in MuJoCo's order, `names_in_file` their names there. `fixed` lists fixed
    joints whose names are lost.
    """

    def __init__(self, model: Model, is_world: Callable[[str], bool]) -> None:
        self.model = model
        self.order: list[str] = []
        self.fixed: list[str] = []
        self._is_world = is_world
        self._used_names = set(model.joint_names)
        self.names_in_file: dict[str, str] = {}  # of joints with one coordinate
        self.warnings = GroupedWarnings()

    def base_name(self) -> str:
        """Return a unique name for the free joint of the floating base."""
        return unique_name("floating_base", self._used_names)

    def write(self, body: Element, joint: Joint, child: str) -> None:
        """Add the MuJoCo joints of a joint to a body."""
        if joint.is_fixed:
            self.fixed += [joint.name] if joint.name != fixed_joint_name(child) else []
            return
        self.order.append(joint.name)
        if joint.kind == "floating":
            self._write_free(body, joint, child)
            return
        child_H_joint, sign = self._child_H_joint(joint, child)
        mujoco_joints = _mujoco_joints(joint)
        for suffix, kind, axis in mujoco_joints:
            name = unique_name(f"{joint.name}{suffix}", self._used_names) if suffix else joint.name
            if len(mujoco_joints) == 1:
                self.names_in_file[joint.name] = name
            child_axis = sign * (child_H_joint[:3, :3] @ axis)
            anchor = child_H_joint[:3, 3] if kind != "slide" else np.zeros(3)
            add(
                body,
                "joint",
                name=name,
                type=kind,
                pos=format_numbers(*(anchor + 0.0)) if anchor.any() else None,
                axis=format_numbers(*(child_axis + 0.0)) if kind != "ball" else None,
                **self._limits(joint),
                **_dynamics(joint),
            )
        self._warn_about(joint, child_H_joint)

    def _write_free(self, body: Element, joint: Joint, child: str) -> None:
        """Add a free joint, whose coordinates are the pose of the body in the world."""
        parent = joint.first if joint.second == child else joint.second
        if not self._is_world(parent) or joint.second != child:
            text = (
                f"in MuJoCo, bodies can float only in the world, but this one floats on {parent!r}"
            )
            raise model_error(text, f"joint {joint.name!r}", joint.location)
        mounts = joint.first_H_joint.matrix(), joint.joint_H_second.matrix()
        if any(not np.array_equal(mount, np.eye(4)) for mount in mounts):
            self.warnings.add("its coordinates are the pose of the link in the world", joint.name)
        add(body, "joint", name=joint.name, type="free", **_dynamics(joint))
        if joint.armature:
            self.warnings.add(
                "armature acts along the axes of the world in MuJoCo, not of the body", joint.name
            )

    def _child_H_joint(self, joint: Joint, child: str) -> tuple[Array, float]:
        """Return the pose of the joint in the link that it moves, and the sign of its axis."""
        if joint.second == child:
            return np.asarray(se3.inverse(joint.joint_H_second.matrix())), 1.0
        if not joint.motion_kind.inverse_is_opposite:
            text = f"a {joint.kind} joint cannot be reversed with the same coordinates"
            raise model_error(text, f"joint {joint.name!r}", joint.location)
        return joint.first_H_joint.matrix(), -1.0

    def _limits(self, joint: Joint) -> dict[str, str | None]:
        limits = joint.limits
        attributes: dict[str, str | None] = {}
        if isfinite(limits.velocity):
            self.warnings.add("left out: velocity limits, which MuJoCo does not have", joint.name)
        if isfinite(limits.effort):
            effort = max(abs(limits.effort), SMALLEST)
            attributes["actuatorfrcrange"] = format_numbers(-effort, effort)
            if effort == SMALLEST:
                self.warnings.add(f"an effort limit of 0 is written as {SMALLEST:g}", joint.name)
        if isfinite(limits.lower) or isfinite(limits.upper):
            lower, upper = max(limits.lower, -UNBOUNDED), min(limits.upper, UNBOUNDED)
            if lower >= upper:
                upper = max(nextafter(lower, inf), lower + SMALLEST)
                text = "equal limits are written with the smallest difference that MuJoCo accepts"
                self.warnings.add(text, joint.name)
            attributes["range"] = format_numbers(lower, upper)
            if any(UNBOUNDED < abs(one) < inf for one in (limits.lower, limits.upper)):
                self.warnings.add(f"limits beyond {UNBOUNDED:g} are reduced to it", joint.name)
            if not (isfinite(limits.lower) and isfinite(limits.upper)):
                text = f"limits on one side only have {UNBOUNDED:g} on the other"
                self.warnings.add(text, joint.name)
        return attributes

    def _warn_about(self, joint: Joint, child_H_joint: Array) -> None:
        if joint.kind == "revolute_cos_sin":
            self.warnings.add("the position is the angle, not its cosine and sine", joint.name)
        if joint.kind == "universal":
            self.warnings.add("a universal joint is written as two hinges", joint.name)
        if joint.kind == "planar":
            text = (
                "a planar joint is written as two slides and a hinge; linear velocities, friction"
            )
            text += " and armature are along fixed instead of moving axes"
            self.warnings.add(text, joint.name)
        if joint.kind == "spherical" and not np.array_equal(child_H_joint[:3, :3], np.eye(3)):
            self.warnings.add(
                "the quaternion is relative to the axes of the link, not of the joint", joint.name
            )

    def gear(self, joint: Joint, gear: tuple[float, ...]) -> tuple[float, ...] | None:
        """Return a gear as MuJoCo has it; None if one motor cannot drive the joint.

        The torque on a ball joint is along the axes of its body.
        """
        if joint.name not in self.names_in_file:
            return None
        if joint.kind == "spherical" and gear:
            second_R_joint = joint.joint_H_second.matrix()[:3, :3].T
            x, y, z = (second_R_joint @ np.array(gear)).tolist()
            return (x, y, z)
        return (gear or (1.0,)) if joint.motion_kind.nv == 1 else None


def _mujoco_joints(joint: Joint) -> list[_MujocoJoint]:
    """Return the chain of MuJoCo joints that replaces a joint."""
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
            raise model_error(text, f"joint {joint.name!r}", joint.location)


def mujoco_position(joint: Joint, theta: Array) -> list[float]:
    """Return the position of a joint as MuJoCo has it."""
    match joint.kind:
        case "revolute_cos_sin":
            return [atan2(theta[1], theta[0])]
        case "spherical":  # the quaternion is relative to the axes of the second link
            second_R_joint = joint.joint_H_second.matrix()[:3, :3].T
            return [theta[0], *(second_R_joint @ theta[1:])]
        case "floating":  # the pose of the second link in the world
            H = np.asarray(se3.inverse(child_H_parent(joint, theta, child=joint.second)))
            return [*H[:3, 3], *quat.from_rotation(H[:3, :3])]
        case _:
            return list(theta)


def _dynamics(joint: Joint) -> dict[str, str | None]:
    names = {"damping": "damping", "friction": "frictionloss", "armature": "armature"}
    return {
        theirs: format_numbers(value)
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
        # MuJoCo needs no volume then. All bodies have an <inertial>, so this changes nothing else.
        add(defaults, "mesh", inertia="shell")
        self._assets = add(top, "asset")
        self._with_meshes = meshes
        self._meshes: dict[tuple[str, Triple], str] = {}
        self._problems: dict[tuple[str, Triple, str], str] = {}
        self._materials: dict[str, tuple[float, float, float, float] | None] = {}
        self._names = UniqueNames()
        self.warnings = GroupedWarnings()

    def write(self, body: Element, link: Link) -> None:
        """Add the shapes of a link to a body."""
        for kind, shapes in ((VISUAL, link.visuals), (COLLISION, link.collisions)):
            for shape in shapes:
                self._write_geom(body, link, shape, kind)

    def _write_geom(self, body: Element, link: Link, shape: Shape, kind: str) -> None:
        geometry = self._geometry(shape.geometry, link, kind)
        if geometry is None:
            return
        attributes = {**geometry, **pose_attributes(shape.link_H_shape)}
        attributes |= self._material(shape.material, link)
        add(body, "geom", name=self._name(shape.name, link), class_=kind, **attributes)

    def _geometry(self, geometry: Geometry, link: Link, kind: str) -> dict[str, str | None] | None:
        if isinstance(geometry, Mesh):
            return self._mesh(geometry, link, kind)
        sizes = row_of(_SIZES, geometry, "MJCF")(geometry)
        if min(sizes) <= 0:
            self.warnings.add("left out: shapes without size, which MuJoCo rejects", link.name)
            return None
        return {"type": geometry.kind, "size": format_numbers(*sizes)}

    def _mesh(self, mesh: Mesh, link: Link, kind: str) -> dict[str, str | None] | None:
        if not self._with_meshes:
            self.warnings.add("left out: meshes, because of meshes=False", link.name)
            return None
        if mesh.path is None:
            self.warnings.add("left out: meshes that were not found", mesh.filename)
            return None
        if Path(mesh.path).suffix.lower() not in MESH_FILES:
            formats = ", ".join(MESH_FILES)
            text = f"left out: meshes in formats that MuJoCo cannot read (it reads {formats})"
            self.warnings.add(text, mesh.filename)
            return None
        key, use = (mesh.path, mesh.scale), (mesh.path, mesh.scale, kind)
        if use not in self._problems:
            self._problems[use] = _mesh_problem(mesh, has_contacts=kind == COLLISION)
        if self._problems[use]:
            text = f"left out: {kind} meshes that MuJoCo rejects: {self._problems[use]}"
            self.warnings.add(text, mesh.filename)
            return None
        if key not in self._meshes:
            name = unique_name(Path(mesh.path).stem, set(self._meshes.values()))
            self._meshes[key] = name
            add(self._assets, "mesh", name=name, **_mesh_attributes(mesh))
        return {"type": "mesh", "mesh": self._meshes[key]}

    def _material(self, material: Material | None, link: Link) -> dict[str, str | None]:
        if material is None:
            return {}
        if material.texture:
            self.warnings.add("left out: textures", link.name)
        rgba = None if material.rgba is None else format_numbers(*material.rgba)
        if not material.name:
            return {"rgba": rgba}
        if material.name not in self._materials:
            self._materials[material.name] = material.rgba
            add(self._assets, "material", name=material.name, rgba=rgba)
        differs = material.rgba != self._materials[material.name]
        return {"material": material.name, "rgba": rgba if differs else None}

    def _name(self, name: str, link: Link) -> str | None:
        """Return a unique name of a geom, as MuJoCo requires."""
        if not name:
            return None
        unique = self._names.unique(name)
        if unique != name:
            self.warnings.add(
                "a number is appended to names of shapes that are not unique", link.name
            )
        return unique


def _mesh_attributes(mesh: Mesh) -> dict[str, str | None]:
    scaled = format_numbers(*mesh.scale) if mesh.scale != (1.0, 1.0, 1.0) else None
    return {"file": mesh.path, "scale": scaled}


def _mesh_problem(mesh: Mesh, *, has_contacts: bool) -> str:
    """Return why MuJoCo rejects a mesh; empty if it does not, or if it is not installed.

    Meshes with contacts need a convex hull, which flat ones do not have.
    """
    top = top_element("mujoco")
    add(add(top, "asset"), "mesh", name="mesh", inertia="shell", **_mesh_attributes(mesh))
    touches = None if has_contacts else "0"
    geom = {"type": "mesh", "mesh": "mesh", "contype": touches, "conaffinity": touches}
    add(add(top, "worldbody"), "geom", **geom)
    problem = rejection(document_text(top)) or ""
    return problem.partition("\n")[0].removeprefix("Error: ")


def pose_attributes(pose: Pose) -> dict[str, str | None]:
    """Return `pos` and `quat` of a pose; identities are omitted."""
    if pose == IDENTITY:
        return {}
    return matrix_attributes(pose.matrix())


def matrix_attributes(pose: Array) -> dict[str, str | None]:
    """Return `pos` and `quat` of a (4, 4) pose; identities are omitted."""
    rotation = pose[:3, :3]
    is_rotated = not np.array_equal(rotation, np.eye(3))
    return {
        "pos": format_numbers(*(pose[:3, 3] + 0.0)) if pose[:3, 3].any() else None,
        "quat": format_numbers(*quat.from_rotation(rotation)) if is_rotated else None,
    }


MIN_ACCEPTED = 1e-15  # kg and kg m^2: MuJoCo's mjMINVAL
MIN_WRITTEN = 1e-14  # written in place of smaller values
# Moments that violate the triangle inequality by less than this fraction of the largest do so
# because of rounding in this module; their correction is not reported.
ROUNDING = 1e-14


def inertials(
    model: Model, visits: Sequence[Visit], moving: Collection[str]
) -> tuple[dict[str, dict[str, str | None]], list[Finding]]:
    """Return the attributes of `<inertial>` by link, and findings about changes.

    Args:
        model: the robot.
        visits: its links from the base outward.
        moving: the links that move relative to their parents.

    Raises:
        ModelError: an inertia is unphysical, which MuJoCo rejects.
    """
    _reject_unphysical(model)
    massless = _links_without_inertia(model, visits, moving)
    attributes: dict[str, dict[str, str | None]] = {}
    corrected: list[str] = []
    for link in model.links:
        if link.inertia == NO_INERTIA and link.name not in massless:
            continue
        moments, rotation, is_corrected = _principal(link.inertia)
        mass = link.inertia.mass
        if is_corrected:
            corrected.append(link.name)
        if link.name in massless:
            mass, moments = max(mass, MIN_WRITTEN), np.maximum(moments, MIN_WRITTEN)
        attributes[link.name] = {
            "pos": format_numbers(*link.inertia.com),
            "quat": None if rotation is None else format_numbers(*quat.from_rotation(rotation)),
            "mass": format_numbers(mass),
            "diaginertia": format_numbers(*moments),
        }
    reason = "MuJoCo requires that moving bodies have mass and moments of inertia"
    raised = f"{reason}; values below {MIN_WRITTEN:g} kg and kg m^2 were increased to that"
    reduced = "the largest moment of inertia was reduced to the sum of the others, as MuJoCo"
    return attributes, listed_findings({raised: massless, f"{reduced} requires": corrected})


def _principal(inertia: Inertia) -> tuple[Array, Array | None, bool]:
    """Return principal moments, their axes or None, and whether they were corrected."""
    tensor = inertia.matrix()
    rotation = None
    moments = np.diag(tensor).copy()
    if np.abs(tensor - np.diag(moments)).any():
        moments, rotation = np.linalg.eigh(tensor)
        if np.linalg.det(rotation) < 0:
            rotation = rotation * [1.0, 1.0, -1.0]
    moments = np.maximum(moments, 0.0)
    largest = int(moments.argmax())
    others = float(np.delete(moments, largest).sum())
    excess = float(moments[largest]) - others
    if excess > 0:
        moments[largest] = others
    return moments, rotation, excess > ROUNDING * (others + excess)


def _links_without_inertia(
    model: Model, visits: Sequence[Visit], moving: Collection[str]
) -> list[str]:
    """Return moving links without inertia, also of links fixed to them, which MuJoCo rejects."""
    heavy: set[str] = set()  # links with inertia, or with such a link fixed to them
    for visit in reversed(visits):
        inertia = model.link(visit.link).inertia
        moments = _principal(inertia)[0]
        if inertia.mass >= MIN_ACCEPTED and (moments >= MIN_ACCEPTED).all():
            heavy.add(visit.link)
        if visit.link in heavy and visit.parent is not None and visit.link not in moving:
            heavy.add(visit.parent)
    return [visit.link for visit in visits if visit.link in moving and visit.link not in heavy]


def _reject_unphysical(model: Model) -> None:
    findings = [
        Finding(
            "error",
            f"link {link.name!r}",
            "MuJoCo rejects an unphysical inertia; "
            "load the robot with repair=True, or convert it with --repair",
            link.location,
        )
        for link in unphysical_links(model.links)
    ]
    reject(findings)
