"""Rigid bodies of a USD stage as links: inertias, collision shapes, visuals.

Frame     the frame of the prim, without its scale
Inertia   from `PhysicsMassAPI`. What it leaves open comes from the collision shapes, with their
          densities: of the shape, else of the body, else of the material, else 1000 kg/m^3
Shapes    Cube, Sphere, Cylinder and Capsule. USD contains the points of meshes, and the meshes of a
          link are files, so meshes have no shape, but count for inertias
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ModelError, listed
from linkwork.io.solids import NoVolumeError, solid_surface
from linkwork.io.usd.stage import (
    Prim,
    UsdFile,
    quaternion_rotation,
    rotation_and_scale,
)
from linkwork.model.geometry import (
    Box,
    Capsule,
    Cylinder,
    Material,
    Primitive,
    Shape,
    Sphere,
    Surface,
)
from linkwork.model.inertia import NO_INERTIA, Inertia, combined, moved, six
from linkwork.model.parts import Link
from linkwork.model.pose import as_pose
from linkwork.spatial.source import se3

WATER = 1000.0  # the default density [kg/m^3]
SCALE_ROUNDING = 1e-5  # scales that differ by less, relative to the larger, are equal
VISIBLE = ("default", "render")  # purposes of visuals


@dataclass(frozen=True, slots=True)
class Body:
    """A rigid body: its prim and its name, its pose in the stage, and its scale."""

    prim: Prim
    name: str
    stage_H_body: Array  # (4, 4) without scale, in units of the stage
    scale: Array  # (3,)


def read_body(prim: Prim, name: str, file: UsdFile) -> Body:
    """Return the frame of a rigid body."""
    matrix = file.matrix(prim)
    split = rotation_and_scale(matrix)
    if split is None or split[1][0] < 0:
        file.report.error(prim, "the body has a shear, a zero scale or a mirrored axis")
        split = np.eye(3), np.ones(3)
    return Body(prim, name, se3.pose(split[0], matrix[:3, 3]), split[1])


def read_link(body: Body, parts: list[Prim], file: UsdFile) -> Link:
    """Return a body as a link; `parts` are its prims."""
    UsdPhysics, UsdGeom = file.pxr.UsdPhysics, file.pxr.UsdGeom
    visuals: list[Shape] = []
    collisions: list[Shape] = []
    colliders: list[Prim] = []
    without_shape: list[str] = []
    for prim in parts:
        if not prim.IsA(UsdGeom.Gprim):
            continue
        is_collider = _is_collider(prim, body.prim, UsdPhysics)
        if is_collider:
            colliders.append(prim)
        is_visual = not is_collider and _is_visible(prim, UsdGeom)
        if not is_collider and not is_visual:
            continue
        shape = read_shape(prim, body, file)
        if shape is None:
            without_shape.append(str(prim.GetPath()))
        else:
            (collisions if is_collider else visuals).append(shape)
    if without_shape:
        text = "left out: linkwork has no shapes for meshes in USD, cones, planes and others"
        file.report.add("note", body.prim, f"{text}: {listed(without_shape)}", "left out")
    _warn_left_out(body.prim, file)
    return Link(
        name=body.name,
        inertia=_Inertias(body, colliders, file).total(),
        visuals=tuple(visuals),
        collisions=tuple(collisions),
        location=file.report.location,
    )


def _is_collider(prim: Prim, body: Prim, UsdPhysics: Any) -> bool:
    """Return whether a prim, or a prim above it in the body, is an enabled collision shape."""
    while True:
        if prim.HasAPI(UsdPhysics.CollisionAPI):
            return bool(UsdPhysics.CollisionAPI(prim).GetCollisionEnabledAttr().Get())
        if prim == body:
            return False
        prim = prim.GetParent()


def _is_visible(prim: Prim, UsdGeom: Any) -> bool:
    imageable = UsdGeom.Imageable(prim)
    hidden = imageable.ComputeVisibility() == UsdGeom.Tokens.invisible
    return not hidden and str(imageable.ComputePurpose()) in VISIBLE


def _warn_left_out(prim: Prim, file: UsdFile) -> None:
    """Warn about properties that affect the motion but have no counterpart."""
    kinematic = file.pxr.UsdPhysics.RigidBodyAPI(prim).GetKinematicEnabledAttr().Get()
    if kinematic:
        file.report.warning(prim, "left out: physics:kinematicEnabled")
    for name in ("disableGravity", "linearDamping", "angularDamping"):
        attribute = prim.GetAttribute(f"physxRigidBody:{name}")
        if attribute and attribute.HasAuthoredValue() and attribute.Get():
            file.report.warning(prim, f"left out: physxRigidBody:{name}")


# Shapes.


def body_H_part(prim: Prim, body: Body, file: UsdFile) -> Array:
    """Return the transform (4, 4) of a prim in its body, with its scale, in units of the stage."""
    return np.asarray(se3.inverse(body.stage_H_body) @ file.matrix(prim))


def read_shape(prim: Prim, body: Body, file: UsdFile) -> Shape | None:
    """Return the shape of a geometric prim; None if linkwork has no such shape."""
    transform = body_H_part(prim, body, file)
    split = rotation_and_scale(transform)
    UsdGeom = file.pxr.UsdGeom
    if split is None:
        return None
    rotation, scale = split[0], np.abs(split[1]) * file.meters
    geometry: Box | Sphere | Cylinder | Capsule | None = None
    for name in ("size", "radius", "height"):
        value = prim.GetAttribute(name).Get() if prim.HasAttribute(name) else None
        if isinstance(value, float) and not 0.0 <= value < np.inf:
            file.report.error(prim, f"{name}: expected a finite length of at least 0, got {value}")
            return None
    if prim.IsA(UsdGeom.Cube):
        x, y, z = (float(UsdGeom.Cube(prim).GetSizeAttr().Get()) * scale).tolist()
        geometry = Box((x, y, z))
    elif prim.IsA(UsdGeom.Sphere) and _equal(*scale):
        geometry = Sphere(float(UsdGeom.Sphere(prim).GetRadiusAttr().Get()) * float(scale[0]))
    elif prim.IsA(UsdGeom.Cylinder) or prim.IsA(UsdGeom.Capsule):
        is_cylinder = prim.IsA(UsdGeom.Cylinder)
        schema = (UsdGeom.Cylinder if is_cylinder else UsdGeom.Capsule)(prim)
        axis_name = str(schema.GetAxisAttr().Get())
        if axis_name not in ("X", "Y", "Z"):
            file.report.error(prim, f"axis: expected X, Y or Z, got {axis_name}")
            return None
        axis = "XYZ".index(axis_name)
        along, *across = np.roll(scale, -axis).tolist()
        round_enough = _equal(*across) and (is_cylinder or _equal(along, across[0]))
        if round_enough:
            radius = float(schema.GetRadiusAttr().Get()) * across[0]
            length = float(schema.GetHeightAttr().Get()) * along
            geometry = (Cylinder if is_cylinder else Capsule)(radius, length)
            # the axes in the order that moves this one to z
            rotation = np.roll(rotation, 2 - axis, axis=1)
    if geometry is None:
        return None
    pose = se3.pose(rotation, transform[:3, 3] * file.meters)
    return Shape(geometry, as_pose(pose), str(prim.GetName()), _material(prim, UsdGeom))


def _equal(*scales: float) -> bool:
    return max(scales) - min(scales) <= SCALE_ROUNDING * max(scales)


def _material(prim: Prim, UsdGeom: Any) -> Material | None:
    colors = UsdGeom.Gprim(prim).GetDisplayColorAttr().Get()
    opacity = UsdGeom.Gprim(prim).GetDisplayOpacityAttr().Get()
    if not colors:
        return None
    r, g, b = (float(value) for value in colors[0])
    return Material(rgba=(r, g, b, float(opacity[0]) if opacity else 1.0))


# Inertias.


class _Inertias:
    """The inertia of a body, from its mass properties and its collision shapes."""

    def __init__(self, body: Body, colliders: list[Prim], file: UsdFile) -> None:
        self.body = body
        self.colliders = colliders
        self.file = file

    def total(self) -> Inertia:
        """Return the inertia of the body; zero after an error."""
        try:
            return self._total()
        except NoVolumeError as error:
            text = f"no mass properties from shapes: {error}"
            self.file.report.error(self.body.prim, f"{text}; author those of the body")
        except ModelError as error:
            self.file.report.error(self.body.prim, error.findings[0].text)
        return NO_INERTIA

    def _total(self) -> Inertia:
        file, body = self.file, self.body
        api = file.pxr.UsdPhysics.MassAPI(body.prim)
        authored = api.GetMassAttr().Get()
        if authored is not None and not isfinite(authored):
            file.report.error(body.prim, f"physics:mass: {authored} is not a finite number")
        mass = _positive(api.GetMassAttr()) * file.kilograms
        com = np.array(api.GetCenterOfMassAttr().Get() or (-np.inf,) * 3, dtype=float)
        moments = np.array(api.GetDiagonalInertiaAttr().Get() or (0.0,) * 3, dtype=float)
        moments = moments * file.kilograms * file.meters**2
        has_com, has_moments = bool(np.isfinite(com).all()), bool(moments.any())
        solid = NO_INERTIA
        if not (mass and has_com and has_moments):
            solid = self._solids(mass)
        if not solid.mass and not mass and self.colliders:
            file.report.error(body.prim, "the body has no mass, and no shapes with a volume")
            return NO_INERTIA
        if not solid.mass and not mass and not has_moments:
            file.report.warning(body.prim, "no mass and no collision shapes; it is massless")
            return NO_INERTIA
        if not solid.mass and not has_moments:
            text = "no moments of inertia and no collision shapes; the body is a point mass"
            file.report.warning(body.prim, text)
        center = com * body.scale * file.meters if has_com else np.array(solid.com)
        tensor = solid.matrix()
        if has_moments:
            axes = api.GetPrincipalAxesAttr().Get()
            if self.colliders and not api.GetPrincipalAxesAttr().HasAuthoredValue():
                text = "moments of inertia without physics:principalAxes are about the axes of the"
                file.report.warning(body.prim, f"{text} prim")
            rotation = quaternion_rotation(axes) if axes is not None else np.eye(3)
            tensor = (rotation * moments) @ rotation.T
        elif has_com and solid.mass:
            # the shapes keep their places, so their moments are about another point
            apart = center - np.array(solid.com)
            tensor = tensor + solid.mass * (apart @ apart * np.eye(3) - np.outer(apart, apart))
        x, y, z = center.tolist()
        return Inertia(mass or solid.mass, (x, y, z), six((tensor + tensor.T) / 2))

    def _solids(self, mass: float) -> Inertia:
        """Return the inertia of all collision shapes, scaled to a mass unless it is zero."""
        total = NO_INERTIA
        for prim in self.colliders:
            total = combined(total, self._solid(prim))
        if not mass or not total.mass:
            return total
        return _scaled(total, mass)

    def _solid(self, prim: Prim) -> Inertia:
        density, shape_mass = self._density(prim)
        shape = read_shape(prim, self.body, self.file)
        if shape is None:
            solid = self._mesh_solid(prim, density)
        else:
            assert isinstance(shape.geometry, Primitive)
            solid = moved(shape.geometry.inertia(density), shape.link_H_shape)
        return _scaled(solid, shape_mass) if shape_mass and solid.mass else solid

    def _density(self, prim: Prim) -> tuple[float, float]:
        """Return the density [kg/m^3] of a collision shape, and its mass [kg] or 0."""
        UsdPhysics, file = self.file.pxr.UsdPhysics, self.file
        material, _ = file.pxr.UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")
        attributes = [
            UsdPhysics.MassAPI(prim).GetDensityAttr(),
            UsdPhysics.MassAPI(self.body.prim).GetDensityAttr(),
            *([UsdPhysics.MaterialAPI(material.GetPrim()).GetDensityAttr()] if material else []),
        ]
        authored = next((value for one in attributes if (value := _positive(one))), 0.0)
        density = authored * file.kilograms / file.meters**3 if authored else WATER
        is_body = prim == self.body.prim  # whose mass is that of all shapes
        mass = 0.0 if is_body else _positive(UsdPhysics.MassAPI(prim).GetMassAttr())
        return density, mass * file.kilograms

    def _mesh_solid(self, prim: Prim, density: float) -> Inertia:
        """Return the inertia of a mesh, in the frame of the body."""
        UsdGeom, path = self.file.pxr.UsdGeom, str(prim.GetPath())
        if not prim.IsA(UsdGeom.Mesh):
            raise NoVolumeError(f"{prim.GetTypeName()} {path} with its scale is not supported")
        mesh = UsdGeom.Mesh(prim)
        points = np.array(mesh.GetPointsAttr().Get() or np.zeros((0, 3)), dtype=float)
        counts = np.array(mesh.GetFaceVertexCountsAttr().Get() or (), dtype=int)
        corners = np.array(mesh.GetFaceVertexIndicesAttr().Get() or (), dtype=int)
        if not len(points) or counts.sum() != len(corners) or not len(corners):
            raise NoVolumeError(f"mesh {path} has no faces, or their sizes disagree")
        if corners.min() < 0 or corners.max() >= len(points) or not np.isfinite(points).all():
            raise NoVolumeError(f"mesh {path} refers to points that it does not have")
        transform = body_H_part(prim, self.body, self.file)
        vertices = (points @ transform[:3, :3].T + transform[:3, 3]) * self.file.meters
        faces = np.array(list(_triangles(counts, corners)))
        solid, warning = solid_surface(Surface(vertices, faces), density, f"mesh {path}")
        if warning:
            self.file.report.warning(self.body.prim, warning)
        return solid


def _triangles(counts: Array, corners: Array) -> Iterator[tuple[int, int, int]]:
    """Yield polygons as fans of triangles."""
    start = 0
    for count in counts.tolist():
        face = corners[start : start + count].tolist()
        for second, third in pairwise(face[1:]):
            yield face[0], second, third
        start += count


def _scaled(inertia: Inertia, mass: float) -> Inertia:
    """Return the inertia of the same body with another density."""
    factor = mass / inertia.mass
    return Inertia(mass, inertia.com, six(inertia.matrix() * factor))


def _positive(attribute: Any) -> float:
    """Return a number of an attribute; 0 if it has none, because 0 stands for no value in USD."""
    value = attribute.Get() if attribute else None
    return float(value) if value is not None and isfinite(value) and value > 0 else 0.0
