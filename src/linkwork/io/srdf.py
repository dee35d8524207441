"""SRDF files: groups, named configurations, disabled collision pairs of a robot.

All errors in a file are reported at once, each with its line.

Unknown     one SRDF often serves several variants of a robot, so links, joints and groups that do
            not exist are warnings, and whatever refers to them is left out
Virtual     the position of a virtual joint is the pose of its child link in the world
Root        `root_joint`, Pinocchio's name for a floating base, need not be declared
Values      of a group state: one number, "x y z qx qy qz qw" for a floating joint, "qx qy qz qw"
            for a spherical one, "x y angle" for a planar one
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import cos, sin
from os import PathLike
from typing import Literal, TypeAlias, get_args

from linkwork.engine.cached_property import cached_property
from linkwork.errors import (
    Finding,
    ModelError,
    ParseError,
    Suggestions,
    name_not_found,
    nearest,
    shown,
)
from linkwork.io.folders import Folders
from linkwork.io.formats import checked
from linkwork.io.xacro import expand_xacro
from linkwork.io.xml.documents import Source, parse_xml, read_source
from linkwork.io.xml.elements import Part, Report, report_xacro
from linkwork.model.configurations import Configuration, position_problem
from linkwork.model.graph import Visit, cycles, walk
from linkwork.model.model import Model
from linkwork.model.numbers import argument
from linkwork.model.parts import Joint
from linkwork.model.pose import IDENTITY, Pose

VirtualKind: TypeAlias = Literal["fixed", "planar", "floating"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A named set of links and joints. Chains and nested groups are expanded.

    links: those listed, those along the chains with both ends, the child of each listed joint.
    joints: those listed, those along the chains, the joint that carries each listed link; fixed and
        dependent ones too, but no virtual joints.
    """

    name: str
    links: tuple[str, ...]  # in the order of the model
    joints: tuple[str, ...]  # in the order of the model
    chains: tuple[tuple[str, str], ...] = ()  # (base link, tip link), not those of nested groups
    groups: tuple[str, ...] = ()  # nested groups


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualJoint:
    """How a link moves in the world, such as a floating base. It is not a joint of the model."""

    name: str
    kind: VirtualKind
    parent_frame: str
    child_link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DisabledCollision:
    """Two links between which collisions are not checked."""

    first: str
    second: str
    reason: str = ""  # such as "Adjacent" or "Never"


@dataclass(frozen=True, kw_only=True)
class SRDF:
    """The semantic description of a robot, as `load_srdf` reads it."""

    name: str
    groups: tuple[Group, ...] = ()
    configurations: tuple[Configuration, ...] = ()
    """The group states. States of the same name in several groups are named `group/state`."""
    virtual_joints: tuple[VirtualJoint, ...] = ()
    disabled_collisions: tuple[DisabledCollision, ...] = ()
    """Each pair once, those of `disable_default_collisions` included."""
    ignored: tuple[str, ...] = ()
    """Names of elements that are not part of SRDF and were not read, such as `gripper`."""

    @cached_property
    def disabled_pairs(self) -> frozenset[frozenset[str]]:
        """The pairs of links between which collisions are not checked, in any order."""
        return frozenset(frozenset((one.first, one.second)) for one in self.disabled_collisions)

    def group(self, name: str) -> Group:
        """Return the group of this name."""
        by_name = {group.name: group for group in self.groups}
        if name not in by_name:
            raise name_not_found("group", name, by_name)
        return by_name[name]

    def added_to(self, model: Model) -> Model:
        """Return the model with the named configurations of the file, for `kd.q(name)`.

        They replace configurations of the same names.
        """
        names = {one.name for one in self.configurations}
        others = tuple(one for one in model.configurations if one.name not in names)
        return replace(model, configurations=(*others, *self.configurations))


ROOT_JOINT = "root_joint"
ELEMENTS = (
    *("group", "group_state", "virtual_joint"),
    *("disable_collisions", "enable_collisions", "disable_default_collisions"),
)
# Elements that linkwork does not use, of MoveIt, HPP, Pinocchio and Tesseract.
OTHERS = (
    *("end_effector", "passive_joint"),
    *("gripper", "handle", "contact", "specificities", "rotor_params", "torque_constant"),
    *("joint_property", "position_only_ik", "link_sphere_approximation"),
    *("group_tcps", "kinematics_plugin_config", "contact_managers_plugin_config"),
    *("calibration_config", "collision_margins"),
)
AGREES = 1e-6  # a dependent joint may differ by this from what its leader prescribes [rad] or [m]


def load_srdf(
    source: str | bytes | PathLike[str],
    model: Model,
    *,
    strict: bool = False,
    package_dirs: Folders = (),
    xacro_args: Mapping[str, str] | None = None,
) -> SRDF:
    """Load the SRDF file of a robot: groups, named configurations, disabled collision pairs.

    Args:
        source: path of the file, or its content as a string. Files with xacro need the package
            `xacro`.
        model: the robot that the file describes. `lw.load(path, srdf=source)` loads both at once.
        strict: whether to raise an error instead of a warning.
        package_dirs: folders that contain the packages of `$(find NAME)` in a xacro file.
        xacro_args: arguments of a xacro file, by name.

    Returns:
        What the file says about links and joints that the model has. `added_to(model)` returns the
        model with its named configurations.

    Raises:
        MissingFileError: there is no such file.
        SourceError: the file cannot be read.
        ParseError: the file is not valid; the message lists all errors, each with its line.

    Warns:
        LinkworkWarning: one for the file, with all names that the model does not have, and
            everything else that is doubtful.
    """
    argument(model, Model, "model")
    srdf, findings = read_srdf(read_source(source), model, xacro_args, package_dirs)
    return checked(srdf, findings, strict=strict)


def read_srdf(
    source: Source,
    model: Model,
    xacro_args: Mapping[str, str] | None = None,
    package_dirs: Folders = (),
) -> tuple[SRDF | None, tuple[Finding, ...]]:
    """Read an SRDF document; None if there are errors, and all findings."""
    try:
        source, warnings = expand_xacro(source, xacro_args, package_dirs, content=ELEMENTS)
        document = parse_xml(source)
    except ParseError as error:
        return None, error.findings
    report = Report(source.name, document.lines)
    report.extend([*warnings, *document.findings])
    robot = Part(document.root, "", report)
    if robot.tag != "robot":
        robot.error(f"expected <robot> as the root, got <{robot.tag}>")
        return None, tuple(report.findings)
    if report_xacro(robot, source.text):
        return None, tuple(report.findings)
    if any(tag in robot.child_tags for tag in ("link", "joint")):
        robot.error("this is a URDF file: it contains links or joints; load it with lw.load")
        return None, tuple(report.findings)
    srdf = _Reader(model, robot).read()
    return (None if report.n_errors else srdf), tuple(report.findings)


@dataclass
class _GroupParts:
    """A group before its nested groups are expanded."""

    part: Part
    links: set[str] = field(default_factory=set[str])
    joints: set[str] = field(default_factory=set[str])
    chains: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    groups: list[str] = field(default_factory=list[str])


class _Reader:
    """Reads the elements of a file, and reports each unknown name once."""

    def __init__(self, model: Model, robot: Part) -> None:
        self.model = model
        self.robot = robot
        visits = list(walk(model, model.default_base))
        self.visits = {visit.link: visit for visit in visits}
        self.child_of = {visit.joint.name: visit.link for visit in visits if visit.joint}
        self.groups: dict[str, Group] = {}
        self._unknown: set[tuple[str, str]] = set()
        self._suggest = {
            "link": Suggestions(model.link_names),
            "joint": Suggestions(model.joint_names),
        }
        self.virtual: dict[str, VirtualJoint] = {}
        self._read_virtual_joints()

    def read(self) -> SRDF:
        """Read the document."""
        robot = self.robot
        self._report_unknown_elements()
        self.groups = {group.name: group for group in self._groups()}
        ignored = [tag for tag in robot.child_tags if tag in OTHERS]
        for tag in ignored:
            count = sum(1 for _ in robot.children(tag))
            robot.note(f"<{tag}> is not part of SRDF and is ignored ({count} times)")
        return SRDF(
            name=robot.attribute("name") or "robot",
            groups=tuple(self.groups.values()),
            configurations=tuple(self._configurations()),
            virtual_joints=tuple(self.virtual.values()),
            disabled_collisions=tuple(self._disabled_collisions()),
            ignored=tuple(ignored),
        )

    def _parts(self, tag: str, what: str, attributes: Sequence[str]) -> Iterator[Part]:
        """Yield top-level elements, named by `what` and their first attribute."""
        for part in self.robot.children(tag):
            name = part.attribute(attributes[0]) or ""
            owner = f"{what} {shown(name)}" if name else what
            yield Part(part.element, owner, self.robot.report)

    def _report_unknown_elements(self) -> None:
        robot = self.robot
        for tag in robot.child_tags:
            if tag not in (*ELEMENTS, *OTHERS) and ":" not in tag:
                hint = nearest(tag, ELEMENTS)
                hint = f"; {hint}" if hint.startswith("did") else ""
                for part in robot.children(tag):
                    part.warning(f"unknown element <{tag}> is ignored{hint}")

    def _read_virtual_joints(self) -> None:
        kinds: tuple[VirtualKind, ...] = get_args(VirtualKind)
        attributes = ("name", "type", "parent_frame", "child_link")
        for part in self._parts("virtual_joint", "virtual joint", attributes):
            part.warn_unknown((), attributes)
            name, kind, frame, link = (part.required_attribute(a) for a in attributes)
            if kind and kind not in kinds:
                part.error(f"unknown type {shown(kind)}; {nearest(kind, kinds)}")
            elif kind and self._has("link", link, part):
                joint = VirtualJoint(
                    name=name,
                    kind=next(known for known in kinds if known == kind),
                    parent_frame=frame,
                    child_link=link,
                )
                if self.virtual.setdefault(name, joint) != joint:
                    part.error("this name is taken by another virtual joint")

    def _has(self, what: str, name: str, part: Part) -> bool:
        """Return whether the model has a link or joint; if not, warn about it the first time."""
        names = self.model.link_names if what == "link" else self.model.joint_names
        if not name or name in names:
            return bool(name)
        if (what, name) not in self._unknown:
            self._unknown.add((what, name))
            hint = self._suggest[what](name)
            hint = hint if "did you mean" in hint else ""
            text = f"the model has no {what} named {shown(name)}, so what refers to it is left out"
            part.warning(f"{text}{hint}")
        return False

    def _virtual_joint(self, name: str) -> VirtualJoint | None:
        """Return a virtual joint; `root_joint` need not be declared."""
        if name == ROOT_JOINT and name not in self.model.joint_names and name not in self.virtual:
            base = self.model.default_base
            return VirtualJoint(name=name, kind="floating", parent_frame="world", child_link=base)
        return self.virtual.get(name)

    # Groups

    def _groups(self) -> Iterator[Group]:
        read: dict[str, _GroupParts] = {}
        for part in self._parts("group", "group", ("name",)):
            name = part.required_attribute("name")
            if name in read:
                first = read[name].part.location.short
                part.error(f"this name is taken; first used at {first}")
            else:
                read[name] = self._group(part)
        for group in read.values():
            for nested in group.groups:
                if nested not in read:
                    hint = nearest(nested, read)
                    group.part.warning(f"no group named {shown(nested)}, so it is left out; {hint}")
            group.groups = [nested for nested in group.groups if nested in read]
        for cycle in _group_cycles(read):
            read[cycle[0]].part.error(f"contains itself: {' -> '.join([*cycle, cycle[0]])}")
            return
        for name in read:
            yield self._expanded(name, read)

    def _group(self, part: Part) -> _GroupParts:
        part.warn_unknown(("link", "joint", "chain", "group"), ("name",))
        group = _GroupParts(part)
        for child in part.children("link"):
            name = child.required_attribute("name")
            if self._has("link", name, child):
                group.links.add(name)
                carrier = self.visits[name].joint
                group.joints |= {carrier.name} if carrier else set()
        for child in part.children("joint"):
            name = child.required_attribute("name")
            if self._virtual_joint(name) is None and self._has("joint", name, child):
                group.joints.add(name)
                group.links |= {self.child_of.get(name, self.model.joint(name).second)}
        for child in part.children("chain"):
            ends = [child.required_attribute(name) for name in ("base_link", "tip_link")]
            if all([self._has("link", name, child) for name in ends]):  # noqa: C419 - warn about both
                links, joints = self._chain(ends[0], ends[1])
                group.links |= links
                group.joints |= joints
                group.chains.append((ends[0], ends[1]))
        group.groups = [child.required_attribute("name") for child in part.children("group")]
        return group

    def _chain(self, base: str, tip: str) -> tuple[set[str], set[str]]:
        """Return the links between two links, with these, and the joints between them."""
        up, down = self._path_to_root(base), self._path_to_root(tip)
        top = next(link for link in up if link in down)  # the nearest shared link
        moved = [visit for link, visit in (up | down).items() if link not in up or link not in down]
        return (
            {top, *(visit.link for visit in moved)},
            {visit.joint.name for visit in moved if visit.joint},
        )

    def _path_to_root(self, link: str | None) -> dict[str, Visit]:
        path: dict[str, Visit] = {}
        while link is not None:
            path[link] = self.visits[link]
            link = path[link].parent
        return path

    def _expanded(self, name: str, read: dict[str, _GroupParts]) -> Group:
        members, waiting = {name: read[name]}, [name]
        while waiting:
            for nested in read[waiting.pop()].groups:
                if nested not in members:
                    members[nested] = read[nested]
                    waiting.append(nested)
        links = {link for group in members.values() for link in group.links}
        joints = {joint for group in members.values() for joint in group.joints}
        return Group(
            name=name,
            links=tuple(link for link in self.model.link_names if link in links),
            joints=tuple(joint for joint in self.model.joint_names if joint in joints),
            chains=tuple(read[name].chains),
            groups=tuple(read[name].groups),
        )

    def _warn_unknown_group(self, name: str | None, part: Part) -> None:
        if name and name not in self.groups:
            part.warning(f"no group named {shown(name)}; {nearest(name, self.groups)}")

    # Group states

    def _configurations(self) -> Iterator[Configuration]:
        states = list(self._parts("group_state", "group state", ("name",)))
        names = [part.required_attribute("name") for part in states]
        seen: dict[str, Part] = {}
        for part, name in zip(states, names, strict=True):
            part.warn_unknown(("joint",), ("name", "group"))
            group = part.attribute("group")
            self._warn_unknown_group(group, part)
            full_name = f"{group}/{name}" if names.count(name) > 1 and group else name
            if full_name in seen:
                part.error(f"this name is taken; first used at {seen[full_name].location.short}")
            elif name.strip():
                seen[full_name] = part
                yield self._configuration(full_name, part)

    def _configuration(self, name: str, part: Part) -> Configuration:
        positions: dict[str, tuple[float, ...]] = {}
        dependent: list[tuple[Part, Joint, tuple[float, ...]]] = []
        link, pose = None, IDENTITY
        for child in part.children("joint"):
            child.warn_unknown((), ("name", "value"))
            joint_name = child.required_attribute("name")
            virtual = self._virtual_joint(joint_name)
            if virtual:
                link, pose = virtual.child_link, _virtual_pose(child, virtual)
            elif self._has("joint", joint_name, child):
                joint = self.model.joint(joint_name)
                theta = _theta(child, joint)
                if joint_name in positions:
                    child.error(f"joint {joint_name!r} has two positions")
                elif joint.mimic:
                    dependent.append((child, joint, theta))
                elif joint.is_fixed:
                    child.warning(f"joint {joint_name!r} is fixed, so its position is ignored")
                else:
                    positions[joint_name] = theta
        for child, joint, theta in dependent:
            _check_dependent(child, joint, theta, positions)
        return Configuration(
            name=name,
            positions=tuple(positions.items()),
            link=link,
            world_H_link=pose,
            location=part.location,
        )

    # Everything else

    def _pairs(self, tag: str) -> Iterator[DisabledCollision]:
        for part in self.robot.children(tag):
            part.warn_unknown((), ("link1", "link2", "reason"))
            first, second = (part.required_attribute(name) for name in ("link1", "link2"))
            if first and first == second:
                part.warning(f"<{tag}> names link {shown(first)} twice")
            elif all([self._has("link", name, part) for name in (first, second)]):  # noqa: C419 - warn about both
                reason = part.attribute("reason") or ""
                yield DisabledCollision(first=first, second=second, reason=reason)

    def _disabled_collisions(self) -> Iterable[DisabledCollision]:
        """Return disabled pairs, each once; they count more than enabled ones, as in MoveIt."""
        pairs = {frozenset((one.first, one.second)): one for one in self._default_pairs()}
        for one in self._pairs("enable_collisions"):
            pairs.pop(frozenset((one.first, one.second)), None)
        for one in self._pairs("disable_collisions"):
            pairs[frozenset((one.first, one.second))] = one
        return pairs.values()

    def _default_pairs(self) -> Iterator[DisabledCollision]:
        for part in self.robot.children("disable_default_collisions"):
            part.warn_unknown((), ("link",))
            link = part.required_attribute("link")
            if self._has("link", link, part):
                for other in self.model.link_names:
                    if other != link:
                        yield DisabledCollision(first=link, second=other, reason=part.tag)


def _group_cycles(groups: dict[str, _GroupParts]) -> Iterator[list[str]]:
    """Yield a cycle of nested groups, if there is one."""
    left = {name: set(group.groups) for name, group in groups.items()}
    while True:
        leaves = {name for name, nested in left.items() if not nested}
        if not leaves:
            break
        left = {name: nested - leaves for name, nested in left.items() if name not in leaves}
    yield from cycles({name: min(nested) for name, nested in left.items()})


def _words(part: Part) -> int:
    return len((part.attribute("value") or "").split())


def _theta(part: Part, joint: Joint) -> tuple[float, ...]:
    """Return the coordinates of a joint; neutral after an error."""
    kind = joint.motion_kind
    if joint.kind == "revolute_cos_sin":
        angle = part.number("value")
        return (cos(angle), sin(angle))
    count = kind.nq or _words(part)  # a fixed joint may have any number
    theta = part.numbers("value", count, None)
    if joint.kind == "spherical":
        theta = (theta[3], *theta[:3])
    elif joint.kind == "floating":
        theta = (*theta[:3], theta[6], *theta[3:6])
    problem = position_problem(replace(joint, mimic=None), theta) if kind.nq else ""
    if problem and part.attribute("value") is not None:
        part.error(f"joint {joint.name!r}: {problem}")
        return kind.neutral
    limits = joint.limits
    if kind.nq == 1 and not limits.lower - AGREES <= theta[0] <= limits.upper + AGREES:
        bounds = f"{limits.lower:g} to {limits.upper:g}"
        part.warning(f"joint {joint.name!r}: {theta[0]:g} is outside its limits {bounds}")
    return theta


def _virtual_pose(part: Part, joint: VirtualJoint) -> Pose:
    """Return the pose of the child link of a virtual joint in the world."""
    if joint.kind == "fixed":
        part.warning(f"virtual joint {joint.name!r} is fixed, so its position is ignored")
        return IDENTITY
    if joint.kind == "planar":
        x, y, angle = part.triple("value")
        return Pose(xyz=(x, y, 0.0), rpy=(0.0, 0.0, angle))
    errors = part.report.n_errors
    x, y, z, qx, qy, qz, qw = part.numbers("value", 7)
    if part.report.n_errors > errors:
        return IDENTITY
    try:
        return Pose.from_wxyz((qw, qx, qy, qz), (x, y, z))
    except ModelError as error:
        part.error(f"joint {joint.name!r}: {error.findings[0].text}; expected x y z qx qy qz qw")
        return IDENTITY


def _check_dependent(
    part: Part, joint: Joint, theta: tuple[float, ...], positions: dict[str, tuple[float, ...]]
) -> None:
    """Warn if a dependent joint is not where the joint that it mimics puts it."""
    mimic = joint.mimic
    assert mimic
    leader = positions.get(mimic.joint)
    text = f"joint {joint.name!r} mimics {mimic.joint!r}, so its position is ignored"
    if leader is None:
        part.warning(f"{text}, and the state has no position of {mimic.joint!r}")
    elif abs(mimic.multiplier * leader[0] + mimic.offset - theta[0]) > AGREES:
        expected = mimic.multiplier * leader[0] + mimic.offset
        part.warning(f"{text}: {theta[0]:g} is not {expected:g}, which follows from it")
