"""Reader of dynamic workcells (`.dwc.xml`): masses, inertias and force limits of a workcell.

    <DynamicWorkCell workcell="scene.wc.xml">
      <RigidBody frame="box"> <Mass>, <COG>, <Inertia> or <EstimateInertia/> </RigidBody>
      <RigidDevice device="arm">
        <ForceLimit joint="Joint1">, <Link object="Joint1"> as a RigidBody, a base
      </RigidDevice>
    </DynamicWorkCell>

Mass      [kg]; COG [m] in the axes of the frame
Inertia   [kg m^2] about the COG, in the axes of the frame: 3 diagonal entries, or 9 entries
Estimate  a homogeneous solid of the boxes, spheres and cylinders of the collision shapes
Ignored   gravity, materials, contacts, sensors, controllers; masses of fixed and kinematic bodies
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from linkwork.model.geometry import Primitive
from linkwork.model.inertia import NO_INERTIA, Inertia, combined, moved
from linkwork.workcell.cell.frames import CellFrame
from linkwork.workcell.files.collect import Collected, DeferredChange
from linkwork.workcell.files.devices import DEVICES
from linkwork.workcell.files.elements import CellPart

INCLUDED = "IncludeData"  # the root element of files that a dynamic workcell includes
_BODIES = {"RigidBody": "frame", "RigidBase": "frame"}
_LINKS = {"Link": "object", "RigidJoint": "joint", "KinematicJoint": "joint"}
_BASES = ("FixedBase", "KinematicBase", "RefBase", "FixedBody", "KinematicBody")  # without mass
_DEVICE_ELEMENTS = ("RigidDevice", "KinematicDevice")


def workcell_of(top: CellPart) -> CellPart:
    """Return the workcell or device of a dynamic workcell; after an error, the element itself."""
    top.required_attribute("workcell")
    for part in top.parts():
        if part.tag == "WorkCell" or part.tag in DEVICES:
            return part
    if not top.report.n_errors:
        top.error("the file that 'workcell' names has no <WorkCell>")
    return top


def read_dynamics(cell: Collected, top: CellPart) -> None:
    """Read bodies and devices of a dynamic workcell as changes of frames."""
    for part in top.parts():
        if part.tag == INCLUDED:
            read_dynamics(cell, part)
        elif part.tag in _BODIES:
            _add_body(cell, part, _BODIES[part.tag], "")
        elif part.tag in _DEVICE_ELEMENTS:
            _read_device(cell, part)
        elif part.tag not in ("WorkCell", *DEVICES, *_BASES):
            cell.report.ignore(part.element, f"<{part.tag}> of a dynamic workcell")


def _read_device(cell: Collected, part: CellPart) -> None:
    device = part.required_attribute("device")
    for child in part.parts():
        if child.tag in _BODIES or child.tag in _LINKS:
            attribute = (_BODIES | _LINKS)[child.tag]
            if child.attribute(attribute) is None and child.attribute("object") is not None:
                attribute = "object"
            _add_body(cell, child, attribute, f"{device}.")
        elif child.tag == "ForceLimit":
            _add_force_limit(cell, child, f"{device}.")
        elif child.tag not in _BASES:
            cell.report.ignore(child.element, f"<{child.tag}> of a <{part.tag}>")


def _add_force_limit(cell: Collected, part: CellPart, prefix: str) -> None:
    joint = prefix + part.required_attribute("joint")
    limit = part.numbers_in(part.content("joint"), "", 1)

    def apply(frame: CellFrame) -> CellFrame:
        if frame.motion is None or limit is None:
            part.error(f"{joint!r} is not a joint")
            return frame
        limits = replace(frame.motion.limits, effort=limit[0])
        return replace(frame, motion=replace(frame.motion, limits=limits))

    if limit is not None:
        cell.deferred.append(DeferredChange(part, (), joint, apply))


def _add_body(cell: Collected, part: CellPart, attribute: str, prefix: str) -> None:
    name = part.required_attribute(attribute)
    if not name:
        return
    part = part.owned_by(f"body {prefix + name!r}")
    inertia = _read_inertia(part)

    def apply(frame: CellFrame) -> CellFrame:
        return replace(frame, inertia=inertia(frame) or frame.inertia)

    cell.deferred.append(DeferredChange(part, (), prefix + name, apply))


def _read_inertia(part: CellPart) -> Callable[[CellFrame], Inertia | None]:
    """Return the inertia of a body as a function of its frame, whose shapes may define it."""
    mass_part, cog_part, tensor_part = (part.child(tag) for tag in ("Mass", "COG", "Inertia"))
    estimate = part.child("EstimateInertia")
    if mass_part is None:
        part.error(f"<{part.tag}> has no <Mass>")
        return lambda frame: None
    mass = mass_part.content_numbers(1)
    cog = cog_part.content_numbers(3) if cog_part else None
    tensor = _read_tensor(tensor_part) if tensor_part else None
    if estimate is None and (tensor_part is None or cog_part is None):
        part.error(f"<{part.tag}> has neither <EstimateInertia/> nor both <COG> and <Inertia>")
    for child in part.parts() if estimate else ():
        if child.tag == "Associate":
            part.report.ignore(
                child.element, "<Associate>, whose shapes RobWork uses for the estimate,"
            )
    if mass is None:
        return lambda frame: None
    com = None if cog is None else (cog[0], cog[1], cog[2])
    if estimate is None:
        return lambda frame: Inertia(mass[0], com or (0, 0, 0), tensor or NO_INERTIA.tensor)
    return lambda frame: _estimated(part, frame, mass[0], com)


def _read_tensor(part: CellPart) -> tuple[float, float, float, float, float, float] | None:
    text = part.content()
    if len(text.split()) == 3:
        diagonal = part.numbers_in(text, "", 3)
        return (diagonal[0], 0.0, 0.0, diagonal[1], 0.0, diagonal[2]) if diagonal else None
    numbers = part.numbers_in(text, "", 9)
    if numbers is None:
        return None
    xx, xy, xz, yx, yy, yz, zx, zy, zz = numbers
    if max(abs(xy - yx), abs(xz - zx), abs(yz - zy)) > 1e-6 * max(map(abs, numbers)):
        part.error("Inertia: the matrix is not symmetric")
    return (xx, (xy + yx) / 2, (xz + zx) / 2, yy, (yz + zy) / 2, zz)


def _estimated(
    part: CellPart, frame: CellFrame, mass: float, com: tuple[float, float, float] | None
) -> Inertia:
    """Estimate the inertia of a frame by solids of its collision shapes; else by a point mass."""
    shapes = frame.collisions or frame.visuals
    solids = [
        (shape.geometry, shape.link_H_shape)
        for shape in shapes
        if isinstance(shape.geometry, Primitive) and shape.geometry.volume
    ]
    if len(solids) < len(shapes) or not solids:
        reason = "meshes, or shapes without volume" if shapes else "no shapes"
        result = "they are ignored" if solids else "a point mass is used"
        part.warning(f"<EstimateInertia/>: frame {frame.name!r} has {reason}; {result}")
    total = sum(geometry.volume for geometry, _ in solids)
    inertia = NO_INERTIA
    for geometry, pose in solids:
        part_mass = mass * (geometry.volume / total)
        inertia = combined(inertia, moved(geometry.solid(part_mass), pose))
    if not solids:
        inertia = Inertia(mass)
    return inertia if com is None else replace(inertia, com=com)
