"""Reader of SDF files, versions 1.4 to 1.12. All errors are reported at once, with file and line.

Order     links, joints and frames keep the order of the file; nested models follow
Joints    `first` is the parent, `second` the child. Both mounts differ from the identity, because
          link frames need not be on joints
World     see `robot`; gravity is a property of `KinDyn`
Ignored   sensors, plugins, lights, physics and rendering
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import Finding, SourceLocation, listed
from linkwork.io.folders import Folders
from linkwork.io.formats import Reading
from linkwork.io.meshes import MeshFinder
from linkwork.io.sdf.elements import SdfFile, SdfPart, SdfReport
from linkwork.io.sdf.frames import WORLD, FrameGraph, FrameNode
from linkwork.io.sdf.include import read_version
from linkwork.io.sdf.model import ModelParts, named, read_models
from linkwork.io.sdf.robot import PlacedModel, assemble_robot
from linkwork.io.units import EARTH, left_out_gravity
from linkwork.io.xml.parse import parse_xml
from linkwork.io.xml.source import Source

OTHERS_WORLD = (
    *("physics", "scene", "light", "plugin", "gui", "audio", "wind", "atmosphere", "actor"),
    *("magnetic_field", "spherical_coordinates", "road"),
)
LEFT_OUT_WORLD = ("state", "population")  # they create models, or move them


@dataclass(frozen=True, slots=True)
class WorldReading:
    """The result of reading a world: its name, its models, and all findings."""

    name: str
    models: tuple[PlacedModel, ...]  # empty if there are errors
    findings: tuple[Finding, ...]

    @property
    def robots(self) -> tuple[PlacedModel, ...]:
        """The models that are not static, or all models if all are static."""
        return tuple(one for one in self.models if not one.is_static) or self.models


def read_sdf(
    source: Source, *, mimic: bool = True, package_dirs: Folders = (), repair: bool = False
) -> Reading:
    """Read an SDF document with one model, or with one that is not static.

    Args:
        source: the document. The files that it includes must be in its `allowed` folders, if it has
            any.
        mimic: whether joints that mimic others depend on them, and gearboxes couple joints.
        package_dirs: folders that contain the packages of `model://` and `package://` names.
        repair: whether to use the first of several elements where only one is allowed.

    Raises:
        ParseError: the document is not XML.
    """
    world = read_world(source, mimic=mimic, package_dirs=package_dirs, repair=repair)
    if not world.models:
        return Reading(None, world.findings)
    robot, *others = world.robots
    location = SourceLocation(source.name, 1)
    if others:
        names = listed([one.model.name for one in world.robots])
        text = f"the file has {len(world.robots)} models: {names}; load it with load_workcell"
        return Reading(None, (Finding("error", "", text, location), *world.findings))
    static = [one.model.name for one in world.models if one is not robot]
    text = f"left out: static models {listed(static)}; load_workcell reads all models"
    left_out = [Finding("warning", "", text, location)] if static else []
    return Reading(robot.model, (*world.findings, *left_out))


def read_world(
    source: Source, *, mimic: bool = True, package_dirs: Folders = (), repair: bool = False
) -> WorldReading:
    """Read all models of an SDF document; arguments as for `read_sdf`."""
    document = parse_xml(source)
    report = SdfReport(source.name, document, repair=repair)
    root = SdfPart(document.root, "", report)
    path = source.path.resolve() if source.path else None
    file = SdfFile(
        version=read_version(root),
        path=source.path,
        meshes=MeshFinder(source.path, package_dirs, allowed=source.allowed),
        allowed=source.allowed,
        package_dirs=package_dirs,
        mimic=mimic,
        including=(path,) if path else (),
    )
    root.check(("model", "world", "include"), ("light", "actor"), ("version",))
    world = root.child("world") or root
    if world is not root:
        _check_world(root, world)
    models = read_models(world, file)
    if not models and not report.n_errors:
        world.error(f"<{world.tag}> has no <model>")
    placed = [
        robot
        for model, pose in zip(models, _poses(world, models, file), strict=True)
        if (robot := assemble_robot(model, pose, mimic=mimic))
    ]
    name = world.attribute("name") or (source.path.stem if source.path else "world")
    report.note_ignored()
    findings = tuple(dict.fromkeys(report.findings))
    return WorldReading(name, () if report.n_errors else tuple(placed), findings)


def _check_world(root: SdfPart, world: SdfPart) -> None:
    """Check the elements of a world other than its models."""
    for model in root.children("model"):
        model.error("a <model> is outside of the <world>")
    world.check(
        ("model", "include", "frame", "gravity", "joint", *LEFT_OUT_WORLD), OTHERS_WORLD, ("name",)
    )
    for part in world.children(*LEFT_OUT_WORLD):
        part.warning(f"left out: <{part.tag}>")
    for part in world.children("joint"):
        part.error("joints between the models of a world are not supported; nest the models in one")
    # Before SDF 1.6, gravity was part of <physics>. A world may have several profiles of it.
    profiles = [part for part in world.children("physics") if part.child("gravity")]
    default = [part for part in profiles if part.boolean(part.attribute("default"))]
    holder = [*default, *profiles, world][0]
    gravity = holder.values("gravity", 3, EARTH)
    world.report.extend(
        replace(finding, location=holder.location) for finding in left_out_gravity(gravity)
    )


def _poses(world: SdfPart, models: Sequence[ModelParts], file: SdfFile) -> list[Array]:
    """Return world_H_model of all models."""
    graph = FrameGraph(root=WORLD)
    for child in world.children("frame"):
        part = named(child, file)
        if part is not None:
            target = (part.attribute("attached_to") or "").strip() or WORLD
            node = FrameNode(part, part.relative_pose(file), target, target)
            graph.nodes[(part.attribute("name") or "").strip()] = node
    for model in models:
        if model.name in graph.nodes:
            model.part.error("another model or frame of the world has this name")
        node = FrameNode(model.part, model.pose, WORLD, placement=model.placement)
        graph.nodes[model.name] = node
        graph.nested[model.name] = model.frames
    poses = graph.resolve(None).poses
    return [poses.get(model.name, np.eye(4)) for model in models]
