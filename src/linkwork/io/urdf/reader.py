"""Reader of URDF files. All errors in a file are reported at once, each with its line.

Order      links and joints keep the order of the file
Joints     `first` is the parent, `second` the child, whose origin is on the joint
Ignored    transmissions, sensors, plugins, calibration, and extensions of other programs
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from linkwork.errors import LONGEST_NAME, MOST_LISTED, Finding, listed, shown
from linkwork.io.folders import Folders
from linkwork.io.formats import Reading
from linkwork.io.meshes import MeshFinder
from linkwork.io.urdf.elements import read_joint, read_link, read_material
from linkwork.io.xml.documents import Source, namespace_of, parse_xml, tag_of
from linkwork.io.xml.elements import Part, Report, has_xacro, report_xacro, xacro_message
from linkwork.model.check import doubtful_parts
from linkwork.model.geometry import Material
from linkwork.model.graph import NamedPlace, cycles, joined, part_findings
from linkwork.model.model import Model
from linkwork.model.parts import Frame, Joint, Link

SRDF_ELEMENTS = (
    *("disable_collisions", "group", "group_state", "end_effector", "virtual_joint"),
    *("passive_joint", "disable_default_collisions", "link_sphere_approximation"),
)
# Elements of robots for other programs, without information about kinematics or dynamics.
OTHERS_ROBOT = (
    *("gazebo", "transmission", "sensor", "ros2_control", "mujoco", "simulated_robot", "plugin"),
    *SRDF_ELEMENTS,
    *("frame", "actuator", "static", "self_collide"),
)
REFERRING = ("transmission", "ros2_control")  # may refer to joints that do not exist
ROBWORK_ROOTS = (
    *("WorkCell", "DynamicWorkcell", "DynamicWorkCell"),
    *("SerialDevice", "TreeDevice", "MobileDevice"),
)
OTHER_FORMATS = {
    "COLLADA": "a COLLADA mesh, not a robot",
    **dict.fromkeys(ROBWORK_ROOTS, "a RobWork workcell: load it with load_workcell"),
}


def read_urdf(
    source: Source, *, mimic: bool = True, package_dirs: Folders = (), repair: bool = False
) -> Reading:
    """Read a URDF document.

    Args:
        source: the document.
        mimic: whether joints that mimic others depend on them; if not, they move independently.
        package_dirs: folders that contain the packages of `package://` names.
        repair: whether to use the first of several elements where only one is allowed.

    Raises:
        ParseError: the document is not XML.
    """
    document = parse_xml(source)
    report = Report(source.name, document.lines, repair=repair)
    report.extend(document.findings)
    robot = Part(document.root, "", report)
    if not _is_urdf(robot, source):
        return Reading(None, tuple(report.findings))
    name = _name(robot, source)
    _check_robot(robot)
    meshes = MeshFinder(source.path, package_dirs, allowed=source.allowed)
    links, joints = _read_parts(robot, meshes, mimic=mimic)
    report.note_ignored()
    if report.n_errors:
        report.extend(doubtful_parts(links, joints))
        return Reading(None, tuple(report.findings))
    model = Model(name=name, links=links, joints=joints)
    return Reading(_with_marked_frames(model, robot), tuple(report.findings))


def _is_urdf(robot: Part, source: Source) -> bool:
    """Return whether the document is URDF; if not, record the reason."""
    if robot.tag != "robot":
        hint = f"; this is {OTHER_FORMATS[robot.tag]}" if robot.tag in OTHER_FORMATS else ""
        namespace = namespace_of(robot.element)
        hint = f" in the namespace {shown(namespace)}" if namespace else hint
        robot.error(f"expected <robot> as the root, got <{robot.tag.lstrip(':')}>{hint}")
        return False
    return not report_xacro(robot, source.text)


def _check_robot(robot: Part) -> None:
    robot.warn_unknown(("link", "joint", "material"), ("name", "version"), ignored=OTHERS_ROBOT)
    _warn_ignored_parts(robot)
    version = robot.attribute("version")
    if version is not None and version.split(".")[0].strip() != "1":
        robot.warning(f"unknown URDF version {version!r}; read as version 1")


def _warn_ignored_parts(robot: Part) -> None:
    """Warn about links and joints inside elements that are not read.

    Groups, sensors and plugins also refer to links and joints of the robot by elements `<link>` and
    `<joint>`, so only names that the robot does not have are reported.
    """
    names = {
        tag: {part.attribute("name") for part in robot.children(tag)} for tag in ("link", "joint")
    }
    for other in (tag for tag in OTHERS_ROBOT if tag not in REFERRING):
        for part in robot.children(other):
            for element in part.element.iterdescendants("link", "joint"):
                tag, name = tag_of(element), element.get("name")
                if name and name not in names[tag]:
                    text = f"a <{tag}> inside <{other}> is not read"
                    robot.report.add("warning", element, f"{tag} {shown(name)}", text)


def _name(robot: Part, source: Source) -> str:
    name = robot.attribute("name")
    if name and has_xacro(name):
        robot.error(xacro_message(f"name={shown(name)}"))
    if name and name.strip():
        return name
    default = source.path.stem if source.path else "robot"
    robot.warning(f"<robot> has no name; {default!r} is used")
    return default


def _read_parts(
    robot: Part, meshes: MeshFinder, *, mimic: bool
) -> tuple[tuple[Link, ...], tuple[Joint, ...]]:
    materials = _read_materials(robot)
    links = [read_link(part, materials, meshes) for part in _named(robot, "link")]
    joints: list[Joint] = []
    unread: list[NamedPlace] = []
    for part in _named(robot, "joint"):
        joint = read_joint(part, mimic=mimic)
        if joint is None:
            unread.append((part.attribute("name") or "", part.location))
        else:
            joints.append(joint)
    n_links, n_joints = (sum(1 for _ in robot.children(tag)) for tag in ("link", "joint"))
    if n_links == 0:
        is_srdf = any(tag in SRDF_ELEMENTS for tag in robot.child_tags)
        hint = "; this is an SRDF file: load the URDF that it belongs to" if is_srdf else ""
        robot.error(f"the robot has no links{hint}")
        return (), ()
    joints = _with_resolved_leaders(joints, robot.report)
    robot.report.extend(part_findings(links, joints, (), unread))
    robot.report.extend(_tree_findings(joints))
    if n_links == len(links) and n_joints == len(joints):  # else the graph is incomplete
        robot.report.extend(_root_findings(links, joints))
    return tuple(links), tuple(joints)


def _read_materials(robot: Part) -> dict[str, Material]:
    """Return the materials of the robot and of its visuals by name."""
    materials: dict[str, Material] = {}
    for part in robot.children("material"):
        material = read_material(part, {})
        if material.name and materials.setdefault(material.name, material) != material:
            part.warning(f"material {shown(material.name)} is defined twice; the first is used")
    for link in robot.children("link"):
        for visual in link.children("visual"):
            for part in visual.children("material"):
                report = Report(robot.report.file, {})  # `read_shape` reports the findings
                material = read_material(Part(part.element, "", report), {})
                if material.name and (material.rgba or material.texture) and not report.n_errors:
                    materials.setdefault(material.name, material)
    return materials


def _named(robot: Part, tag: str) -> Iterator[Part]:
    """Yield the links or joints, each as the owner of its findings; a missing name is an error."""
    for part in robot.children(tag):
        name = part.required_attribute("name")
        if name.strip():
            yield Part(part.element, f"{tag} {shown(name)}", robot.report)


def _with_resolved_leaders(joints: Sequence[Joint], report: Report) -> list[Joint]:
    """Add missing prefixes to leaders: `l_thumb_2` that mimics `thumb_1` means `l_thumb_1`.

    Such files reuse a part with different prefixes. A leader is replaced, with a warning, only if
    exactly one prefix matches.
    """
    names = {joint.name for joint in joints}
    resolved: list[Joint] = []
    for joint in joints:
        named = joint.mimic.joint if joint.mimic else None
        if joint.mimic and named not in names:
            matches = [prefix for prefix in _prefixes(joint.name) if f"{prefix}{named}" in names]
            if len(matches) == 1:
                leader = f"{matches[0]}{named}"
                text = f"mimics joint {named!r}, which does not exist; read as {leader!r}"
                report.extend([Finding("warning", f"joint {joint.name!r}", text, joint.location)])
                joint = replace(joint, mimic=replace(joint.mimic, joint=leader))  # noqa: PLW2901
        resolved.append(joint)
    return resolved


def _prefixes(name: str) -> list[str]:
    """Return the prefixes of a name that end with a separator."""
    if len(name) > LONGEST_NAME:
        return []
    return [name[: index + 1] for index, letter in enumerate(name) if letter in "_-./:"]


LOOP_HINT = (
    "URDF describes trees: omit one joint of a closed loop, and close it with lw.load(..., loops=)"
    " or model.with_constraint"
)


def _tree_findings(joints: Sequence[Joint]) -> Iterator[Finding]:
    """Yield errors of the tree of parents and children: several parents, and cycles.

    A `Model` is less strict: its joints may point in either direction.
    """
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


def _root_findings(links: Sequence[Link], joints: Sequence[Joint]) -> Iterator[Finding]:
    """Yield an error if a complete robot has several roots."""
    link_names = {link.name for link in links}
    children = {joint.second for joint in joints}
    roots = [link for link in links if link.name not in children]
    ends_exist = all({joint.first, joint.second} <= link_names for joint in joints)
    if len(roots) > 1 and ends_exist and len(link_names) == len(links):
        names = listed([f"{shown(link.name)} ({_short(link)})" for link in roots])
        text = f"expected one root, but {len(roots)} links are not the child of a joint: {names}"
        yield Finding("error", "", text, roots[1].location)


def _short(part: Link | Joint) -> str:
    return part.location.short if part.location else "?"


def _with_marked_frames(model: Model, robot: Part) -> Model:
    """Convert empty links that linkwork wrote for additional frames back to frames."""
    marked = {
        part.attribute("name")
        for part in robot.children("link")
        if part.attribute("linkwork") == "frame"
    }
    if not marked:
        return model
    mounts = {
        joint.second: joint
        for joint in model.joints
        if joint.second in marked and joint.kind == "fixed" and _is_empty_leaf(model, joint.second)
    }
    frames = [
        Frame(name=name, link=one.first, link_H_frame=one.first_H_joint, location=one.location)
        for name, one in mounts.items()
    ]
    return replace(
        model,
        links=tuple(link for link in model.links if link.name not in mounts),
        joints=tuple(joint for joint in model.joints if joint.second not in mounts),
        frames=tuple(frames),
    )


def _is_empty_leaf(model: Model, name: str) -> bool:
    link = model.link(name)
    return link == Link(name=name) and len(model.neighbors(name)) == 1
