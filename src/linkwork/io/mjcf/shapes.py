"""Geoms of a MuJoCo model as shapes of links.

Visual      what MuJoCo's viewer draws unless told otherwise: the groups 0, 1 and 2
Collision   what can touch something: contype or conaffinity is not 0
Meshes      MuJoCo moves the points of a mesh to its centre and principal axes; the pose here is
            that of the file's own points
Left out    planes, height fields, ellipsoids and signed distances, which are no kind of shape here,
            and meshes that stand in the model instead of a file
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from linkwork.engine.symbolic.arrays import Array
from linkwork.io.mjcf.package import MjModel, given_name, name_in_enum
from linkwork.model.geometry import (
    Box,
    Capsule,
    Cylinder,
    Geometry,
    Material,
    Mesh,
    Shape,
    Sphere,
)
from linkwork.model.pose import as_pose
from linkwork.spatial.source import quat, se3

DRAWN_GROUPS = 3  # MuJoCo's viewer starts with the groups below this one shown
DEFAULT_RGBA = (0.5, 0.5, 0.5, 1.0)  # of a geom; a material takes its place
DIGITS = 6  # MuJoCo keeps colours in single precision


@dataclass(frozen=True, slots=True)
class Shapes:
    """Shapes by the number of the body they belong to."""

    visuals: Mapping[int, tuple[Shape, ...]]
    collisions: Mapping[int, tuple[Shape, ...]]


def shapes_of(mj: MjModel, folder: str | None) -> Shapes:
    """Read the geoms; meshes lie in `folder` if their names are relative."""
    visuals: dict[int, tuple[Shape, ...]] = {}
    collisions: dict[int, tuple[Shape, ...]] = {}
    for geom, body in enumerate(mj.geom_bodyid.tolist()):
        shape = _shape(mj, geom, folder)
        if shape is None:
            continue
        if mj.geom_group[geom] < DRAWN_GROUPS:
            visuals[body] = (*visuals.get(body, ()), shape)
        if mj.geom_contype[geom] or mj.geom_conaffinity[geom]:
            collisions[body] = (*collisions.get(body, ()), shape)
    return Shapes(visuals, collisions)


def _shape(mj: MjModel, geom: int, folder: str | None) -> Shape | None:
    geometry = _geometry(mj, geom, folder)
    if geometry is None:
        return None
    pose = _matrix(mj.geom_pos[geom], mj.geom_quat[geom])
    if isinstance(geometry, Mesh):
        mesh = int(mj.geom_dataid[geom])
        file_H_geom = _matrix(mj.mesh_pos[mesh], mj.mesh_quat[mesh])
        pose = pose @ se3.inverse(file_H_geom)
    return Shape(
        geometry=geometry,
        link_H_shape=as_pose(pose),
        name=given_name(mj, "geom", geom),
        material=_material(mj, geom),
    )


def _geometry(mj: MjModel, geom: int, folder: str | None) -> Geometry | None:
    x, y, z = mj.geom_size[geom].tolist()
    match name_in_enum("mjtGeom", mj.geom_type[geom]):
        case "mjGEOM_SPHERE":
            return Sphere(x)
        case "mjGEOM_CAPSULE":
            return Capsule(x, 2 * y)
        case "mjGEOM_CYLINDER":
            return Cylinder(x, 2 * y)
        case "mjGEOM_BOX":
            return Box((2 * x, 2 * y, 2 * z))
        case "mjGEOM_MESH":
            return _mesh(mj, int(mj.geom_dataid[geom]), folder)
        case _:
            return None


def _mesh(mj: MjModel, mesh: int, folder: str | None) -> Mesh | None:
    start = int(mj.mesh_pathadr[mesh])
    if start < 0:
        return None
    filename = mj.paths[start:].split(b"\0", 1)[0].decode(errors="replace")
    path = Path(folder or ".") / filename
    x, y, z = mj.mesh_scale[mesh].tolist()
    return Mesh(filename, (x, y, z), str(path) if path.is_file() else None, (str(path),))


def _material(mj: MjModel, geom: int) -> Material:
    number = int(mj.geom_matid[geom])
    name = given_name(mj, "material", number) if number >= 0 else ""
    own = _rgba(mj.geom_rgba[geom])
    return Material(name, own if number < 0 or own != DEFAULT_RGBA else _rgba(mj.mat_rgba[number]))


def _rgba(values: Array) -> tuple[float, float, float, float]:
    r, g, b, a = (round(value, DIGITS) for value in values.tolist())
    return (r, g, b, a)


def _matrix(xyz: Array, wxyz: Array) -> Array:
    return se3.pose(quat.to_rotation(quat.normalize(wxyz)), xyz)
