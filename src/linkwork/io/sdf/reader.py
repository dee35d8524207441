"""Reader of SDF files, versions 1.4 to 1.12. All errors are reported at once, with file and line.

Order     links, joints and frames keep the order of the file; nested models follow
Joints    `first` is the parent, `second` the child. Both mounts differ from the identity, because
          link frames need not be on joints
World     the link `world` exists if a joint is attached to it; gravity is a property of `KinDyn`
Ignored   sensors, plugins, lights, physics and rendering
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import Finding, ModelError, SourceLocation, listed
from linkwork.io.folders import Folders
from linkwork.io.formats import EARTH, Reading, left_out_gravity
from linkwork.io.meshes import MeshFinder
from linkwork.io.sdf.elements import WORLD, FrameGraph, FrameNode, SdfFile, SdfPart, SdfReport
from linkwork.io.sdf.model import ModelParts, named, read_models, read_version
from linkwork.io.sdf.parts import PARALLEL, Gearbox
from linkwork.io.writing import unique_name
from linkwork.io.xml.documents import Source, parse_xml
from linkwork.model.check import doubtful_parts
from linkwork.model.configurations import initial_poses
from linkwork.model.graph import connected_pieces, part_findings
from linkwork.model.model import Model
from linkwork.model.parts import Constraint, Joint, Link
from linkwork.model.pose import IDENTITY, Pose, as_pose
from linkwork.spatial.source import quat, se3


@dataclass(frozen=True, slots=True)
class PlacedModel:
    """A robot, the pose of its default base in the world, and whether it is fixed to the world."""

    model: Model
    world_H_base: Pose  # while all joints are at zero
    is_static: bool


def assemble_robot(parts: ModelParts, world_H_model: Array, *, mimic: bool) -> PlacedModel | None:
    """Return the robot of a model; None after an error.

    Args:
        parts: the parts of the model.
        world_H_model: its pose in the world, for the joints with the world.
        mimic: whether gearboxes couple joints.
    """
    report = parts.part.report
    if not parts.links:
        if not report.n_errors:
            parts.part.error("the model has no links")
        return None
    poses = {link: world_H_model @ pose for link, pose in parts.frames.link_poses.items()}
    joints = [_in_world(joint, poses) for joint in _kept_joints(parts)]
    report.extend(
        part_findings(_with_world(parts, joints), joints, parts.extra_frames, parts.unread)
    )
    couplings = tuple(_couplings(parts, joints, poses)) if mimic else ()
    if report.n_errors:
        report.extend(doubtful_parts(parts.links, joints))
        return None
    joints += _fixed_joints(parts, joints, poses)
    free = _free_joints(parts, joints)
    joints += free
    try:
        model = Model(
            name=parts.name,
            links=_with_world(parts, joints),
            joints=tuple(joints),
            frames=tuple(parts.extra_frames),
            constraints=couplings,
            configurations=initial_poses({j.name: _coordinates(poses[j.second]) for j in free}),
        )
    except ModelError as error:
        report.extend(error.findings)
        return None
    base = model.default_base
    world_H_base = IDENTITY if base == WORLD else as_pose(poses[base])
    return PlacedModel(model, world_H_base, parts.is_static)


def _with_world(parts: ModelParts, joints: Sequence[Joint]) -> tuple[Link, ...]:
    """Return the links, after the link `world` if a joint is attached to it."""
    world = Link(name=WORLD, location=parts.part.location)
    uses_world = any(joint.first == WORLD for joint in joints)
    return (world, *parts.links) if uses_world else tuple(parts.links)


def _kept_joints(parts: ModelParts) -> list[Joint]:
    """Return the joints that are not between links that are fixed to the world."""
    fixed = {WORLD, *parts.static}
    moving = [j for j in parts.joints if not parts.static or not {j.first, j.second} <= fixed]
    if len(moving) < len(parts.joints):
        names = [joint.name for joint in parts.joints if {joint.first, joint.second} <= fixed]
        text = f"the model is static; its joints are left out: {listed(names)}"
        parts.part.note(text, "left out")
    return moving


def _in_world(joint: Joint, world_H_link: Mapping[str, Array]) -> Joint:
    """Return the joint; a mount in the world was relative to the child link until now."""
    if joint.first != WORLD or joint.second not in world_H_link:
        return joint
    pose = world_H_link[joint.second] @ joint.first_H_joint.matrix()
    return replace(joint, first_H_joint=as_pose(pose))


def _fixed_joints(
    parts: ModelParts, joints: Sequence[Joint], world_H_link: Mapping[str, Array]
) -> list[Joint]:
    """Return the joints that fix the links of static models to the world."""
    return [
        Joint(
            name=name,
            kind="fixed",
            first=WORLD,
            second=link,
            first_H_joint=as_pose(world_H_link[link]),
            location=parts.part.location,
        )
        for link, name in _new_names(parts.static, joints, "fixed")
    ]


def _free_joints(parts: ModelParts, joints: Sequence[Joint]) -> list[Joint]:
    """Return floating joints between the world and groups of links that are not connected to it.

    A robot that is a single group without a joint to the world needs none: it has a floating base.
    The poses in the file are the configuration `initial`.
    """
    groups = connected_pieces([link.name for link in _with_world(parts, joints)], joints)
    if len(groups) == 1:
        return []
    seconds = {joint.second for joint in joints}
    order = {link.name: index for index, link in enumerate(parts.links)}
    free = [
        min({*group} - seconds or {group[0]}, key=order.__getitem__)
        for group in groups
        if WORLD not in group
    ]
    parts.part.note(f"links without a joint to the world move freely: {listed(free)}")
    return [
        Joint(name=name, kind="floating", first=WORLD, second=link, location=parts.part.location)
        for link, name in _new_names(free, joints, "free")
    ]


def _coordinates(world_H_link: Array) -> tuple[float, ...]:
    """Return the coordinates of a floating joint."""
    wxyz = quat.from_rotation(se3.rotation_of(world_H_link))
    return (*se3.position_of(world_H_link).tolist(), *wxyz.tolist())


def _new_names(
    links: Iterable[str], joints: Sequence[Joint], suffix: str
) -> Iterator[tuple[str, str]]:
    """Yield links with unique names for new joints, such as `arm_fixed`."""
    used = {joint.name for joint in joints}
    return ((link, unique_name(f"{link}_{suffix}", used)) for link in links)


def _couplings(
    parts: ModelParts, joints: Sequence[Joint], world_H_link: Mapping[str, Array]
) -> Iterator[Constraint]:
    """Yield gearboxes as couplings of two revolute joints."""
    for gearbox in parts.gearboxes:
        if gearbox.child not in world_H_link:
            continue  # another model has the same name, which is reported
        world_R_child = se3.rotation_of(world_H_link[gearbox.child])
        turning: list[tuple[str, float]] = []
        for link, axis in (
            (gearbox.parent, gearbox.parent_axis),
            (gearbox.child, gearbox.child_axis),
        ):
            joint = _gear_joint(gearbox, link, world_R_child @ np.array(axis), joints, world_H_link)
            if joint is None:
                break
            turning.append(joint)
        else:
            (parent, parent_sign), (child, child_sign) = turning
            ratio = -gearbox.ratio * parent_sign * child_sign
            yield Constraint(
                name=gearbox.name,
                kind="coupling",
                first=child,
                second=parent,
                coefficients=(0.0, ratio),
                location=gearbox.part.location,
            )


def _gear_joint(
    gearbox: Gearbox,
    link: str,
    axis: Array,
    joints: Sequence[Joint],
    world_H_link: Mapping[str, Array],
) -> tuple[str, float] | None:
    """Return the revolute joint of a link and the reference of a gearbox, and its sign."""
    ends, reachable = {gearbox.reference, link}, {WORLD, *world_H_link}
    for joint in joints:
        if joint.kind == "revolute" and {joint.first, joint.second} == ends <= reachable:
            joint_R_second = se3.rotation_of(joint.joint_H_second.matrix())
            world_R_second = se3.rotation_of(world_H_link[joint.second])
            direction = world_R_second @ joint_R_second.T @ np.array(joint.axis)
            sign = 1.0 if joint.second == link else -1.0
            if np.linalg.norm(np.cross(direction, axis)) <= PARALLEL:
                return joint.name, sign * float(np.sign(direction @ axis))
    text = f"no revolute joint about its axis connects {gearbox.reference!r} and {link!r}"
    gearbox.part.error(f"a gearbox couples two revolute joints, but {text}")
    return None


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
