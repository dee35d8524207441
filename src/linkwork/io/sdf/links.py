"""Links of an SDF file: inertia, visuals, collisions, materials.

Inertia   about the center of mass, in the axes of the `<pose>` inside `<inertial>`. A link without
          `<inertial>` has the mass 1 and the principal moments 1, the defaults of SDF
Shapes    box, capsule, cylinder, sphere and mesh; there is no shape for others
"""

from __future__ import annotations

from collections.abc import Callable

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ModelError, listed
from linkwork.io.sdf.elements import Scope, SdfFile, SdfPart
from linkwork.io.urdf.links import MOMENTS
from linkwork.model.geometry import (
    Box,
    Capsule,
    Cylinder,
    Geometry,
    Material,
    Mesh,
    Primitive,
    Shape,
    Sphere,
)
from linkwork.model.inertia import NO_INERTIA, Inertia, combined, moved
from linkwork.model.parts import Link
from linkwork.model.pose import IDENTITY, Pose, as_pose
from linkwork.spatial.source import se3

DEFAULT_MOMENTS = (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)
DEFAULT_DENSITY = 1000.0  # of collisions with automatic inertia [kg/m^3]
READ_LINK = ("pose", "inertial", "visual", "collision", "gravity", "kinematic", "velocity_decay")
# Elements of links without information about kinematics or dynamics.
OTHERS_LINK = (
    *("self_collide", "must_be_base_link", "enable_wind", "sensor", "projector", "audio_sink"),
    *("audio_source", "battery", "light", "particle_emitter", "plugin"),
)
OTHERS_SHAPE = (
    *("cast_shadows", "transparency", "laser_retro", "meta", "plugin", "visibility_flags"),
    *("max_contacts", "surface"),
)
AUTOMATIC = ("density", "auto_inertia_params")  # for automatic inertias
# Shapes for which linkwork has no geometry.
OTHERS_GEOMETRY = ("cone", "ellipsoid", "plane", "heightmap", "image", "polyline", "empty")


def read_link(part: SdfPart, name: str, model_H_link: Array, scope: Scope, *, static: bool) -> Link:
    """Read a `<link>`, whose complete name is `name`; a static one needs no inertia."""
    part.check((*READ_LINK, "frame"), OTHERS_LINK, ("name",))
    _warn_left_out(part)
    shapes = {
        tag: [read_shape(child, model_H_link, scope) for child in part.children(tag)]
        for tag in ("visual", "collision")
    }
    return Link(
        name=name,
        inertia=_read_inertia(part, shapes["collision"], static=static),
        visuals=tuple(shape for shape in shapes["visual"] if shape),
        collisions=tuple(shape for shape in shapes["collision"] if shape),
        location=part.location,
    )


def _warn_left_out(part: SdfPart) -> None:
    """Warn about elements that affect the motion but have no counterpart."""
    if not part.flag("gravity", default=True):
        part.warning("left out: <gravity> is false, but gravity acts on all links")
    if part.flag("kinematic"):
        part.warning("left out: <kinematic>")
    for decay in part.children("velocity_decay"):
        if any(decay.value(tag, 0.0) for tag in ("linear", "angular")):
            decay.warning("left out: <velocity_decay>")
    for frame in part.children("frame"):
        frame.warning("a <frame> inside <link> is ignored; SDF has frames of models only")


def _read_inertia(part: SdfPart, collisions: list[Shape | None], *, static: bool) -> Inertia:
    inertial = part.child("inertial")
    is_automatic = inertial is not None and inertial.boolean(inertial.attribute("auto"))
    if static and (inertial is None or is_automatic):
        return NO_INERTIA
    if inertial is None:
        text = "no <inertial>; mass 1 and principal moments 1, 1, 1 are the default of SDF"
        part.warning(text, topic="default inertia")
        return Inertia(1.0, (0.0, 0.0, 0.0), DEFAULT_MOMENTS)
    if is_automatic:
        return _automatic_inertia(part, inertial, collisions)
    return read_inertial(inertial)


def read_inertial(part: SdfPart) -> Inertia:
    """Read an `<inertial>`, and express it in the axes of the link."""
    read = ("pose", "mass", "inertia", "fluid_added_mass", *AUTOMATIC, "frame")
    part.check(read, (), ("auto",))
    if part.child("fluid_added_mass"):
        part.warning("left out: <fluid_added_mass>")
    errors = part.report.n_errors
    missing = [] if part.child("mass") else ["<mass>"]
    mass, moments = part.value("mass", 1.0), DEFAULT_MOMENTS
    inertia = part.child("inertia")
    if inertia is None:
        missing.append("<inertia>")
    else:
        inertia.check(MOMENTS)
        missing += [f"<{name}>" for name in ("ixx", "iyy", "izz") if not inertia.child(name)]
        defaults = dict(zip(MOMENTS, DEFAULT_MOMENTS, strict=True))
        xx, xy, xz, yy, yz, zz = (inertia.value(name, defaults[name]) for name in MOMENTS)
        moments = (xx, xy, xz, yy, yz, zz)
    if missing:
        part.warning(f"<inertial> has no {listed(missing)}; the default of SDF is 1")
    return part.inertia(mass, moments, _local_pose(part), errors)


def _local_pose(part: SdfPart) -> Pose:
    """Return the `<pose>` of an `<inertial>`, which is always relative to the link."""
    pose = part.child("pose")
    if pose is None:
        return IDENTITY
    for name in ("relative_to", "frame"):
        if (pose.attribute(name) or "").strip():
            pose.error(f"the pose of <inertial> is relative to the link; remove {name!r}")
    return pose.pose()


def _automatic_inertia(part: SdfPart, inertial: SdfPart, collisions: list[Shape | None]) -> Inertia:
    """Return the inertia of the collisions, scaled to the mass if it is stated."""
    total, errors = NO_INERTIA, part.report.n_errors
    default = inertial.value("density", DEFAULT_DENSITY)
    try:
        for element, shape in zip(part.children("collision"), collisions, strict=True):
            density = element.value("density", default)
            if shape and isinstance(shape.geometry, Primitive):
                solid = shape.geometry.inertia(density)
                total = combined(total, moved(solid, shape.link_H_shape))
            else:
                element.error("the inertia of this shape is not computed; write <inertia>")
        if total.mass and inertial.child("mass"):
            scale = inertial.value("mass", 1.0) / total.mass
            xx, xy, xz, yy, yz, zz = (moment * scale for moment in total.tensor)
            total = Inertia(total.mass * scale, total.com, (xx, xy, xz, yy, yz, zz))
    except ModelError as error:
        inertial.error(error.findings[0].text)
        return NO_INERTIA
    if not total.mass and part.report.n_errors == errors:
        inertial.error("the inertia is computed from collisions, but there is none with a volume")
    return total


def read_shape(part: SdfPart, model_H_link: Array, scope: Scope) -> Shape | None:
    """Read a `<visual>` or a `<collision>`; None if there is no such geometry."""
    part.check(("pose", "geometry", "material", *AUTOMATIC, "frame"), OTHERS_SHAPE, ("name",))
    placed = part.relative_pose(scope.file)
    pose = placed.pose
    if placed.relative_to:
        model_H_shape = scope.frames.pose(part, placed.relative_to) @ pose.matrix()
        pose = as_pose(se3.inverse(model_H_link) @ model_H_shape)
    material = part.child("material")
    appearance = read_material(material) if material else None
    geometry_part = part.child("geometry")
    if geometry_part is None:
        part.warning(f"left out: a <{part.tag}> without <geometry>")
        return None
    geometry = read_geometry(geometry_part, scope.file)
    if geometry is None:
        return None
    return Shape(geometry, pose, part.attribute("name") or "", appearance)


def read_geometry(part: SdfPart, file: SdfFile) -> Geometry | None:
    """Read a `<geometry>`: one shape, or several polylines; None if linkwork has no such shape."""
    part.check((*_GEOMETRIES, *OTHERS_GEOMETRY))
    shapes = list(part.children(*_GEOMETRIES, *OTHERS_GEOMETRY))
    if len(shapes) > 1 and any(shape.tag != "polyline" for shape in shapes):
        part.error(f"<geometry> has {len(shapes)} shapes; expected one")
        return None
    if not shapes:
        return None
    shape = shapes[0]
    if shape.tag in _GEOMETRIES:
        return _GEOMETRIES[shape.tag](shape, file)
    if shape.tag != "empty":
        shape.warning(f"left out: linkwork has no shape for <{shape.tag}>")
    return None


def read_material(part: SdfPart) -> Material | None:
    """Read a `<material>`: its diffuse color, else its ambient color."""
    others = ("script", "shader", "render_order", "lighting", "double_sided", "shininess", "pbr")
    part.check(("diffuse", "ambient", "specular", "emissive"), others)
    color = part.child("diffuse") or part.child("ambient")
    if color is None:
        return None
    words = len(color.text().split())
    numbers = color.numbers_in(color.text(), "", 3 if words == 3 else 4)
    if numbers is None:
        return None
    if not all(0 <= number <= 1 for number in numbers):
        color.warning(f"color {list(numbers)} has values outside of 0 to 1")
    r, g, b, *alpha = numbers
    return Material(rgba=(r, g, b, alpha[0] if alpha else 1.0))


def _length(part: SdfPart, tag: str) -> float:
    """Return a required child with a length."""
    child = part.required_child(tag)
    value = part.value(tag, 0.0) if child else 0.0
    if child and value < 0:
        child.error(f"{part.tag} {tag}: {value:g} is negative")
    return abs(value)


def _box(part: SdfPart, file: SdfFile) -> Box:
    del file
    part.check(("size",))
    part.required_child("size")
    x, y, z = part.values("size", 3, (0.0, 0.0, 0.0))
    if min(x, y, z) < 0:
        part.error(f"box size: {[x, y, z]} has a negative edge")
    return Box((abs(x), abs(y), abs(z)))


def _round(
    shape: Callable[..., Cylinder | Capsule | Sphere], *lengths: str
) -> Callable[[SdfPart, SdfFile], Geometry]:
    """Return the reader of a shape with these lengths as children."""

    def read(part: SdfPart, file: SdfFile) -> Geometry:
        del file
        part.check(lengths)
        return shape(*(_length(part, name) for name in lengths))

    return read


def _mesh(part: SdfPart, file: SdfFile) -> Mesh:
    part.check(("uri", "scale", "submesh"), ("convex_decomposition",), ("optimization",))
    uri = part.required_text("uri")
    submesh = part.child("submesh")
    if submesh:
        submesh.warning("<submesh> is ignored; the complete mesh is used")
    x, y, z = part.values("scale", 3, (1.0, 1.0, 1.0))
    mesh = file.meshes.find(uri)
    return Mesh(uri, (x, y, z), mesh.path, mesh.searched)


_GEOMETRIES: dict[str, Callable[[SdfPart, SdfFile], Geometry]] = {
    "box": _box,
    "cylinder": _round(Cylinder, "radius", "length"),
    "sphere": _round(Sphere, "radius"),
    "capsule": _round(Capsule, "radius", "length"),
    "mesh": _mesh,
}
