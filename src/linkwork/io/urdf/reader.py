"""URDF files. What is wrong in a file is reported with its line, all at once; nothing is guessed.

Order      links and joints keep the order of the file
Joints     `first` is the parent, `second` the child, and the joint sits at the child's origin
Passed over   transmissions, sensors, plugins, calibration, and what other programs add
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from linkwork.errors import LONGEST_NAME, MOST_LISTED, Finding, listed, shown
from linkwork.io.meshes import Folders, MeshFinder
from linkwork.io.urdf.elements import Part, Report, is_xacro, xacro_text
from linkwork.io.urdf.joints import read_joint
from linkwork.io.urdf.links import read_link, read_material
from linkwork.io.xml.parse import namespace_of, parse_xml, tag_of
from linkwork.io.xml.source import Reading, Source
from linkwork.model.check import doubtful_parts
from linkwork.model.geometry import Material
from linkwork.model.model import Model
from linkwork.model.parts import Frame, Joint, Link
from linkwork.model.structure import cycles, joined, part_findings

SRDF_ELEMENTS = (
    *("disable_collisions", "group", "group_state", "end_effector", "virtual_joint"),
    *("passive_joint", "disable_default_collisions", "link_sphere_approximation"),
)
# Elements that other programs put into robots. They say nothing about kinematics or dynamics.
OTHERS_ROBOT = (
    *("gazebo", "transmission", "sensor", "ros2_control", "mujoco", "simulated_robot", "plugin"),
    *SRDF_ELEMENTS,
    *("frame", "actuator", "static", "self_collide"),
)
REFERRING = ("transmission", "ros2_control")  # refer to joints by name, also to missing ones
OTHER_FORMATS = {
    "sdf": "an SDF file: convert it to URDF first, or look for the URDF that most robots have, too",
    "COLLADA": "a COLLADA mesh, not a robot",
    **dict.fromkeys(
        (
            "WorkCell",
            "DynamicWorkcell",
            "DynamicWorkCell",
            "SerialDevice",
            "TreeDevice",
            "MobileDevice",
        ),
        "a RobWork workcell: load it with load_workcell",
    ),
}


def read_urdf(
    source: Source, *, mimic: bool = True, package_dirs: Folders = (), repair: bool = False
) -> Reading:
    """Read a URDF text.

    Args:
        source: the text.
        mimic: whether joints that mimic others depend on them, or are free.
        package_dirs: folders in which the packages of `package://` names lie.
        repair: whether the first of several elements is used where one is allowed.

    Raises:
        ParseError: the text is not XML.
    """
    document = parse_xml(source)
    report = Report(source.name, document.lines, repair=repair)
    report.extend(document.findings)
    robot = Part(document.root, "", report)
    if not _is_urdf(robot, source):
        return Reading(None, tuple(report.findings))
    name = _name(robot, source)
    _check_robot(robot)
    parts = _read_parts(robot, MeshFinder(source.path, package_dirs), mimic=mimic)
    if report.n_errors:
        report.extend(doubtful_parts(parts.links, parts.joints))
        return Reading(None, tuple(report.findings))
    model = Model(name=name, links=parts.links, joints=parts.joints)
    return Reading(_with_marked_frames(model, robot), tuple(report.findings))


@dataclass(frozen=True, slots=True)
class _Parts:
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]


def _is_urdf(robot: Part, source: Source) -> bool:
    """Whether it is worth reading on; if not, the one reason is noted."""
    if robot.tag != "robot":
        hint = f"; this is {OTHER_FORMATS[robot.tag]}" if robot.tag in OTHER_FORMATS else ""
        namespace = namespace_of(robot.element)
        hint = f" in the namespace {shown(namespace)}" if namespace else hint
        robot.error(f"expected <robot> at the top, found <{robot.tag.lstrip(':')}>{hint}")
        return False
    for element in robot.element.iter() if "xacro" in source.text else ():
        tag = tag_of(element)
        if tag.startswith("xacro:") or namespace_of(element).endswith("/wiki/xacro"):
            advice = f"{xacro_text(f'<{tag}>')}, or have linkwork do so: pip install xacro"
            robot.report.add("error", element, "", advice)
            return False
    return True


def _check_robot(robot: Part) -> None:
    robot.note_unknown(("link", "joint", "material", *OTHERS_ROBOT), ("name", "version"))
    _note_passed_over(robot)
    version = robot.text("version")
    if version is not None and version.split(".")[0].strip() != "1":
        robot.warning(f"version {version!r} of URDF is not known; read as version 1")


def _note_passed_over(robot: Part) -> None:
    """Warn of links and joints inside elements that are not read, unless they only name one.

    Groups, sensors and plugins refer to links and joints by elements of the same name, so only
    names that the robot does not have tell of something that is lost.
    """
    known = {tag: {part.text("name") for part in robot.children(tag)} for tag in ("link", "joint")}
    for other in (tag for tag in OTHERS_ROBOT if tag not in REFERRING):
        for part in robot.children(other):
            for element in part.element.iterdescendants("link", "joint"):
                tag, name = tag_of(element), element.get("name")
                if name and name not in known[tag]:
                    text = f"a <{tag}> inside <{other}> is not read"
                    robot.report.add("warning", element, f"{tag} {shown(name)}", text)


def _name(robot: Part, source: Source) -> str:
    name = robot.text("name")
    if name and is_xacro(name):
        robot.error(xacro_text(f"name={shown(name)}"))
    if name and name.strip():
        return name
    instead = source.path.stem if source.path else "robot"
    robot.warning(f"<robot> has no name; it is called {instead!r}")
    return instead


def _read_parts(robot: Part, meshes: MeshFinder, *, mimic: bool) -> _Parts:
    materials = _read_materials(robot)
    links = [read_link(part, materials, meshes) for part in _named(robot, "link")]
    joints = [read_joint(part, mimic=mimic) for part in _named(robot, "joint")]
    known = [joint for joint in joints if joint is not None]
    n_links, n_joints = (sum(1 for _ in robot.children(tag)) for tag in ("link", "joint"))
    if n_links == 0:
        is_srdf = any(tag in SRDF_ELEMENTS for tag in robot.child_tags)
        hint = "; this is an SRDF file, which belongs to a URDF: load that one" if is_srdf else ""
        robot.error(f"the robot has no links{hint}")
        return _Parts((), ())
    known = _with_resolved_leaders(known, robot.report)
    unread = {part.text("name") or "" for part in robot.children("joint")}
    unread -= {joint.name for joint in known}
    robot.report.extend(part_findings(links, known, (), unread))
    if n_links == len(links) and n_joints == len(known):  # else the graph has unknown pieces
        robot.report.extend(_root_findings(links, known))
    return _Parts(tuple(links), tuple(known))


def _read_materials(robot: Part) -> dict[str, Material]:
    """Materials by name: those of the robot, then those that visuals define on the way."""
    materials: dict[str, Material] = {}
    for part in robot.children("material"):
        look = read_material(part, {})
        if look.name and materials.setdefault(look.name, look) != look:
            part.warning(f"material {shown(look.name)} is defined twice; the first one is used")
    for link in robot.children("link"):
        for visual in link.children("visual"):
            for part in visual.children("material"):
                aside = Report(robot.report.file, {})  # what is wrong is noted with the visual
                look = read_material(Part(part.element, "", aside), {})
                if look.name and (look.rgba or look.texture) and not aside.n_errors:
                    materials.setdefault(look.name, look)
    return materials


def _named(robot: Part, tag: str) -> Iterator[Part]:
    """The links or joints, each with its name to report about it; those without one are errors."""
    for part in robot.children(tag):
        name = part.needed_text("name")
        if name.strip():
            yield Part(part.element, f"{tag} {shown(name)}", robot.report)


def _with_resolved_leaders(joints: Sequence[Joint], report: Report) -> list[Joint]:
    """Complete leaders without their prefix: `l_thumb_2` that mimics `thumb_1` means `l_thumb_1`.

    It happens where a part was written once and put into a robot twice. Only an exact and single
    match is taken, and reported.
    """
    names = {joint.name for joint in joints}
    resolved: list[Joint] = []
    for joint in joints:
        wanted = joint.mimic.joint if joint.mimic else None
        if joint.mimic and wanted not in names:
            matches = [prefix for prefix in _prefixes(joint.name) if f"{prefix}{wanted}" in names]
            if len(matches) == 1:
                leader = f"{matches[0]}{wanted}"
                text = f"mimics joint {wanted!r}, which does not exist; read as {leader!r}"
                report.extend([Finding("warning", f"joint {joint.name!r}", text, joint.location)])
                joint = replace(joint, mimic=replace(joint.mimic, joint=leader))  # noqa: PLW2901
        resolved.append(joint)
    return resolved


def _prefixes(name: str) -> list[str]:
    """What may stand before the name of a part: everything up to a separator."""
    if len(name) > LONGEST_NAME:
        return []
    return [name[: at + 1] for at, letter in enumerate(name) if letter in "_-./:"]


LOOP_HINT = (
    "URDF describes trees: leave one joint of a closed loop out, and close it with "
    "`model.with_constraint` or `lw.load(..., loops=...)`"
)


def _root_findings(links: Sequence[Link], joints: Sequence[Joint]) -> Iterator[Finding]:
    """Why the links do not hang on one root, in the terms of parents and children.

    This is more than a `Model` asks for: a tree of links, in which joints point either way.
    """
    known = {link.name for link in links}
    parents: dict[str, list[Joint]] = {}
    for joint in joints:
        parents.setdefault(joint.second, []).append(joint)
    for child, several in parents.items():
        if len(several) > 1:
            names = [f"{shown(joint.name)} ({_short(joint)})" for joint in several[:MOST_LISTED]]
            names += ["more"] if len(several) > MOST_LISTED else []
            text = f"is the child of {len(several)} joints: {' and '.join(names)}; {LOOP_HINT}"
            yield Finding("error", f"link {child!r}", text, several[1].location)
    parent_of = {child: several[0] for child, several in parents.items()}
    for upward in cycles({child: joint.first for child, joint in parent_of.items()}):
        cycle = upward[::-1]
        text = f"cycle: {joined([*cycle, cycle[0]], ' -> ')}"
        joint = parent_of[cycle[0]]
        yield Finding("error", f"joint {joint.name!r}", text, joint.location)
    roots = [link for link in links if link.name not in parents]
    ends_known = all({joint.first, joint.second} <= known for joint in joints)
    if len(roots) > 1 and ends_known and len(known) == len(links):
        names = listed([f"{shown(link.name)} ({_short(link)})" for link in roots])
        text = (
            f"{len(roots)} links are the child of no joint, but only one can be the root: {names}"
        )
        yield Finding("error", "", text, roots[1].location)


def _short(part: Link | Joint) -> str:
    return part.location.short if part.location else "?"


def _with_marked_frames(model: Model, robot: Part) -> Model:
    """Turn bare links that linkwork wrote for additional frames back into frames."""
    marked = {
        part.text("name") for part in robot.children("link") if part.text("linkwork") == "frame"
    }
    if not marked:
        return model
    mounts = {
        joint.second: joint
        for joint in model.joints
        if joint.second in marked and joint.kind == "fixed" and _is_bare_leaf(model, joint.second)
    }
    frames = [
        Frame(
            name=name, link=mount.first, link_H_frame=mount.first_H_joint, location=mount.location
        )
        for name, mount in mounts.items()
    ]
    return Model(
        name=model.name,
        links=tuple(link for link in model.links if link.name not in mounts),
        joints=tuple(joint for joint in model.joints if joint.second not in mounts),
        frames=tuple(frames),
    )


def _is_bare_leaf(model: Model, name: str) -> bool:
    link = model.link(name)
    return link == Link(name=name) and len(model.neighbors(name)) == 1
