"""Reader of USD files with the schema UsdPhysics. All errors are reported at once, by prim.

Robot     the bodies that joints connect to the only `PhysicsArticulationRootAPI`; without one, all
          bodies of the stage
Names     the names of the prims; the complete path if several prims have one name
World     the link `world` exists if a joint is attached to it
Frames    Xforms in a body that contain no shapes, joints or bodies, such as those of sensors
Order     links and joints as in the stage, joints that articulations exclude last: these close
          loops
Ignored   lights, cameras, materials except for colors and densities, collision groups, drives
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ModelError, ParseError, listed, nearest, warn_of
from linkwork.io.folders import Folders
from linkwork.io.formats import Reading, left_out_gravity
from linkwork.io.usd.bodies import Body, body_H_part, read_body, read_link
from linkwork.io.usd.joints import WORLD, UsdJoint, read_joint
from linkwork.io.usd.stage import (
    Prim,
    UsdFile,
    check_types,
    import_usd,
    open_stage,
    rotation_and_scale,
    schema_types,
    usd_reason,
)
from linkwork.io.xml.documents import Source, read_source, source_parse_error
from linkwork.model.graph import connected_pieces
from linkwork.model.model import Model
from linkwork.model.parts import Frame, Joint, Link
from linkwork.model.pose import as_pose
from linkwork.spatial.source import se3


def load_usd(
    source: Any,
    *,
    articulation: str | None = None,
    meters: float | None = None,
    package_dirs: Folders = (),
) -> Model:
    """Load a robot from a USD file or an open stage that may have several.

    Args:
        source: path or content of a USD file, or a `pxr.Usd.Stage`.
        articulation: path of the robot's prim, which has PhysicsArticulationRootAPI; None if there
            is only one robot.
        meters: per unit of length, if the file does not state it; by default 0.01, as in USD.
        package_dirs: further folders of files that the file may refer to.

    Raises:
        SourceError: the file cannot be read.
        ParseError: it does not describe a robot; the message lists all errors.

    Warns:
        LinkworkWarning: one for the file, with everything that is doubtful.
    """
    if isinstance(source, import_usd().Usd.Stage):
        document = Source("<stage>", source.ExportToString(), None, format="usd")
    else:
        document = read_source(source)
    if document.format != "usd":
        raise source_parse_error(document.name, "expected a USD file")
    reading = read_usd(
        document, package_dirs=package_dirs, articulation=articulation, meters=meters
    )
    if reading.model is None:
        raise ParseError([finding for finding in reading.findings if finding.severity == "error"])
    warn_of([finding for finding in reading.findings if finding.severity == "warning"])
    return reading.model


def read_usd(
    source: Source,
    *,
    mimic: bool = True,
    package_dirs: Folders = (),
    repair: bool = False,
    articulation: str | None = None,
    meters: float | None = None,
) -> Reading:
    """Read a USD document with one robot.

    Args:
        source: the document.
        mimic, repair: not used; UsdPhysics has no joints that depend on others.
        package_dirs: further folders of files that the document may refer to.
        articulation: path of the robot's prim, if there are several.
        meters: per unit of length, if the document does not state it.

    Raises:
        ParseError: the document is not USD.
        MissingPackageError: usd-core is not installed.
    """
    del mimic, repair
    try:
        return _read(open_stage(source, package_dirs, meters), source, articulation)
    except UnicodeDecodeError:  # also of the messages of USD, which quote the file
        raise source_parse_error(source.name, "the file is not valid UTF-8", 0) from None


def _read(file: UsdFile, source: Source, articulation: str | None) -> Reading:
    model = None
    try:
        model = None if file.report.n_errors else _read_model(file, source, articulation)
    except file.pxr.Tf.ErrorException as error:  # such as an invalid transform
        file.report.error(None, f"USD: {usd_reason(error)}")
    return Reading(None if file.report.n_errors else model, tuple(file.report.findings))


def _read_model(file: UsdFile, source: Source, articulation: str | None) -> Model | None:
    UsdPhysics = file.pxr.UsdPhysics
    body_prims: list[Prim] = []
    joint_prims: list[Prim] = []
    roots: list[Prim] = []
    types = schema_types(file.pxr)
    for prim in file.prims():
        check_types(prim, types, file.report)
    if file.report.n_errors:
        return None
    for prim in file.prims():
        if prim.HasAPI(UsdPhysics.RigidBodyAPI):
            enabled = UsdPhysics.RigidBodyAPI(prim).GetRigidBodyEnabledAttr().Get()
            body_prims += [prim] if enabled else []
            if not enabled:
                file.report.warning(prim, "a disabled rigid body is a part of what contains it")
        if prim.IsA(UsdPhysics.Joint):
            joint_prims.append(prim)
        if prim.HasAPI(UsdPhysics.ArticulationRootAPI):
            roots.append(prim)
        if prim.IsA(UsdPhysics.Scene):
            _check_gravity(prim, file)
    roots = _selected(roots, articulation, file)
    if not body_prims:
        file.report.error(None, "the stage has no prim with PhysicsRigidBodyAPI")
        return None
    bodies = {
        prim.GetPath(): read_body(prim, name, file)
        for prim, name in zip(body_prims, _names(body_prims, (WORLD,)), strict=True)
    }

    def owner(prim: Prim) -> Body | None:
        while prim and not prim.IsPseudoRoot():
            if prim.GetPath() in bodies:
                return bodies[prim.GetPath()]
            prim = prim.GetParent()
        return None

    named = zip(joint_prims, _names(joint_prims), strict=True)
    joints = [one for prim, name in named if (one := read_joint(prim, name, owner, file))]
    if file.report.n_errors:
        return None
    chosen = _chosen_bodies(list(bodies.values()), joints, roots, file)
    joints = [one for one in joints if {one.first, one.second} <= chosen]
    _check_parallel(joints, file)
    bodies = {path: body for path, body in bodies.items() if body.name in chosen}
    links = _read_links(list(bodies.values()), owner, file)
    frames = _read_frames(bodies, {*chosen, WORLD}, file)
    if file.report.n_errors:
        return None
    return _assembled(links, joints, frames, _robot_name(roots, file, source), file)


def _selected(roots: list[Prim], articulation: str | None, file: UsdFile) -> list[Prim]:
    """Return the articulations with a path; all of them if it is None."""
    paths = [str(prim.GetPath()) for prim in roots]
    if articulation is None or articulation in paths:
        return [one for one, path in zip(roots, paths, strict=True) if articulation in (None, path)]
    text = f"no prim {articulation!r} with PhysicsArticulationRootAPI"
    file.report.error(None, f"{text}; {nearest(articulation, paths)}")
    return []


def _names(prims: Sequence[Prim], reserved: Iterable[str] = ()) -> list[str]:
    """Return unique names of prims: their names, or else their paths."""
    names = [str(prim.GetName()) for prim in prims]
    counts = Counter(names)
    repeated = {name for name in names if counts[name] > 1} | {*reserved}
    return [
        str(prim.GetPath()) if name in repeated else name
        for prim, name in zip(prims, names, strict=True)
    ]


def _robot_name(roots: Sequence[Prim], file: UsdFile, source: Source) -> str:
    default = file.stage.GetDefaultPrim()
    if default:
        return str(default.GetName())
    if roots:
        return str(roots[0].GetPath().GetPrefixes()[0].name)
    return source.path.stem if source.path else "robot"


def _chosen_bodies(
    bodies: Sequence[Body], joints: Sequence[UsdJoint], roots: Sequence[Prim], file: UsdFile
) -> set[str]:
    """Return the names of the links: bodies, and the world if they are connected to it."""
    if len(roots) > 1:
        paths = listed([str(root.GetPath()) for root in roots])
        text = "linkwork reads one robot; deactivate the others, or save them as files"
        file.report.error(None, f"the stage has {len(roots)} articulations: {paths}; {text}")
        return set()
    edges = [one.edge for one in joints]
    uses_world = any(WORLD in (edge.first, edge.second) for edge in edges)
    names = [body.name for body in bodies]
    if not roots:
        pieces = connected_pieces([*([WORLD] if uses_world else []), *names], edges)
        if len(pieces) > 1:
            firsts = listed([piece[0] for piece in pieces])
            text = f"no joints connect these bodies, or groups of bodies: {firsts}"
            hint = "apply PhysicsArticulationRootAPI to the root of the robot"
            file.report.error(None, f"{text}; {hint}")
        return {name for piece in pieces for name in piece}
    return _of_articulation(bodies, edges, roots[0], joints, file)


def _of_articulation(
    bodies: Sequence[Body],
    edges: Sequence[Joint],
    root: Prim,
    joints: Sequence[UsdJoint],
    file: UsdFile,
) -> set[str]:
    """Return the bodies of an articulation, and the bodies that joints connect to them."""
    start = {body.name for body in bodies if body.prim.GetPath().HasPrefix(root.GetPath())}
    for one in joints:
        if one.prim == root:  # Isaac applies the schema to the joint with the world
            start |= {one.first, one.second} - {WORLD}
    if not start:
        file.report.error(root, "the articulation has no rigid bodies")
        return set()
    names = [body.name for body in bodies]
    between = [edge for edge in edges if WORLD not in (edge.first, edge.second)]
    pieces = connected_pieces(names, between)
    chosen = {name for piece in pieces if not start.isdisjoint(piece) for name in piece}
    others = [name for name in names if name not in chosen]
    if others:
        file.report.warning(None, f"left out: bodies outside of the robot: {listed(others)}")
    fixed = [edge for edge in edges if WORLD in (edge.first, edge.second)]
    if any(edge.second in chosen for edge in fixed):
        chosen.add(WORLD)
    kept = [edge for edge in edges if {edge.first, edge.second} <= chosen]
    order = [name for name in (WORLD, *names) if name in chosen]
    groups = connected_pieces(order, kept)
    if len(groups) > 1:
        firsts = listed([group[0] for group in groups])
        file.report.error(root, f"no joints connect the parts of the articulation: {firsts}")
    return chosen


def _read_links(
    bodies: Sequence[Body], owner: Callable[[Prim], Body | None], file: UsdFile
) -> list[Link]:
    parts: dict[str, list[Prim]] = {body.name: [] for body in bodies}
    others: Counter[str] = Counter()  # by type
    for prim in file.prims():
        body = owner(prim)
        if body is not None and body.name in parts:
            parts[body.name].append(prim)
        kind = str(prim.GetTypeName())
        is_scenery = body is None and prim.IsA(file.pxr.UsdGeom.Gprim)
        if is_scenery or kind == "Camera" or kind.endswith("Light"):
            others[kind] += 1
    if others:
        counts = listed([f"{kind} ({count})" for kind, count in others.items()])
        text = f"left out: cameras, lights, and shapes outside of rigid bodies: {counts}"
        file.report.add("note", None, text, "left out")
    return [read_link(body, parts[body.name], file) for body in bodies]


def _read_frames(bodies: Mapping[Any, Body], names: Iterable[str], file: UsdFile) -> list[Frame]:
    """Return the Xforms in bodies that contain only Xforms; `names` are reserved for links."""
    UsdGeom = file.pxr.UsdGeom
    prims: dict[Any, Prim] = {}
    occupied: set[Any] = set()  # paths of prims with something else inside
    for prim in file.prims():
        prims[prim.GetPath()] = prim
        if prim.GetTypeName() not in ("Xform", "Scope", "") or prim.GetPath() in bodies:
            occupied |= {*prim.GetPath().GetPrefixes()}
    empty = {
        path: prim
        for path, prim in prims.items()
        if prim.IsA(UsdGeom.Xform) and path not in occupied
    }
    frames: list[Frame] = []
    for (path, prim), name in zip(empty.items(), _names([*empty.values()], names), strict=True):
        body = next((bodies[one] for one in reversed(path.GetPrefixes()) if one in bodies), None)
        if body is not None:
            matrix = body_H_part(prim, body, file)
            split = rotation_and_scale(matrix)
            if split is None:
                file.report.warning(prim, "left out: a frame with a shear or a zero scale")
                continue
            pose = as_pose(se3.pose(split[0], matrix[:3, 3] * file.meters))
            frames.append(
                Frame(name=name, link=body.name, link_H_frame=pose, location=file.report.location)
            )
    return frames


def _assembled(
    links: list[Link], joints: Sequence[UsdJoint], frames: list[Frame], name: str, file: UsdFile
) -> Model | None:
    ordered = sorted(joints, key=lambda one: one.is_excluded)
    edges = [joint for one in ordered for joint in one.joints]
    links += [link for one in ordered for link in one.between]
    if any(edge.first == WORLD for edge in edges):
        links.insert(0, Link(name=WORLD, location=file.report.location))
    try:
        return Model(name=name, links=tuple(links), joints=tuple(edges), frames=tuple(frames))
    except ModelError as error:
        file.report.extend(error.findings)
        return None


def _check_parallel(joints: Sequence[UsdJoint], file: UsdFile) -> None:
    """Warn about several joints between two bodies, which lock each other."""
    pairs: dict[frozenset[str], list[UsdJoint]] = {}
    for one in joints:
        pairs.setdefault(frozenset((one.first, one.second)), []).append(one)
    for several in pairs.values():
        if len(several) > 1:
            others = listed([str(one.prim.GetPath()) for one in several[:-1]])
            text = f"{others} connect the same bodies; in UsdPhysics, joints restrict each other"
            hint = "write one PhysicsJoint, or bodies between the joints, if a chain is meant"
            file.report.warning(several[-1].prim, f"this joint and {text}; {hint}")


def _check_gravity(prim: Prim, file: UsdFile) -> None:
    """Warn about a gravity that differs from the default of `KinDyn`."""
    scene = file.pxr.UsdPhysics.Scene(prim)
    magnitude = float(scene.GetGravityMagnitudeAttr().Get())
    direction: Array = np.array(scene.GetGravityDirectionAttr().Get(), dtype=float)
    size = magnitude * file.meters if np.isfinite(magnitude) and magnitude >= 0 else 9.81
    down = np.array([0.0, 0.0, -1.0])
    if direction.any():
        down = file.world_R_stage @ direction / np.linalg.norm(direction)
    file.report.extend(
        replace(finding, location=file.report.location)
        for finding in left_out_gravity((size * down).tolist())
    )
