"""Conversion of robots to iDynTree's order of parts and its frames, and reduced robots.

iDynTree stores the joints of a file in a hash table and visits the robot in the order of that
table, an implementation detail of its C++ library. The order here is that of iDynTree built with
GCC, as its Linux packages are: the same hash, the same growth, the same bucket for each new name.
With other C++ libraries the order of siblings may differ in iDynTree itself; then the order can be
passed.

Steps     moving joints in the order of their table, then fixed ones;
          links without mass that are connected by only one fixed joint become frames, including
          the root; their shapes are moved to the link they are fixed to;
          a traversal from the base orders the links; joints follow it, moving ones first
Sensors   each becomes a frame: force-torque sensors, then accelerometers, then gyroscopes, each in
          the order of the file. That of a force-torque sensor is on the outer link of its joint, at
          `child`, `parent` or `sensor`. Names that a link or another frame has are skipped
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import NamedTuple

from numpy.typing import ArrayLike

from linkwork.errors import ArgumentError, ParseError, shown
from linkwork.io.xml.documents import parse_xml, read_source
from linkwork.io.xml.elements import Part, Report
from linkwork.model.geometry import Shape
from linkwork.model.graph import require_tree
from linkwork.model.joints.motion import neutral_transform
from linkwork.model.model import Model
from linkwork.model.parts import Frame, Joint, Link
from linkwork.model.pose import IDENTITY, Pose, as_pose, composed, inverted
from linkwork.model.reduce import lumped_link, reduced, remounted

_FORCE_TORQUE = "force_torque"
_SENSORS = (_FORCE_TORQUE, "accelerometer", "gyroscope")  # in the order of their frames
_WORD = (1 << 64) - 1
_MULTIPLIER = 0xC6A4A7935BD1E995  # of MurmurHash64A
_SEED = 0xC70F6907
_BUCKETS = (13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10273, 20753, 42043, 84551, 170341)


class Visit(NamedTuple):
    """A link of a traversal, its parent, and the joint between them; None for the base."""

    link: str
    parent: str | None
    joint: Joint | None


def traversal(model: Model, base: str) -> tuple[Visit, ...]:
    """Return the links from a base: all neighbors of a link, then the neighbors of the last one."""
    visits = [Visit(base, None, None)]
    waiting = visits[:]
    while waiting:
        visit = waiting.pop()
        for other, joint in model.neighbors(visit.link):
            if other != visit.parent:
                visits.append(Visit(other, visit.link, model.joint(joint)))
                waiting.append(visits[-1])
    return tuple(visits)


def as_in_idyntree(model: Model, order: Sequence[str] | None = None) -> Model:
    """Return the robot with the links, joints and frames that iDynTree derives from its file.

    Args:
        model: the robot, as in its file.
        order: names of joints in the order of iDynTree; others come after them. If not given, the
            order of GCC's hash table is used.

    Raises:
        NameNotFoundError: no joint has such a name.
    """
    require_tree(model, "models of iDynTree are trees")
    fixed = {joint.name for joint in model.joints if joint.kind == "fixed"}
    names = [joint.name for joint in model.joints]
    passed = [model.joint(name).name for name in order or ()]
    guess = (
        *table_order(name for name in names if name not in fixed),
        *table_order(name for name in names if name in fixed),
    )
    table = sorted(guess, key=lambda name: passed.index(name) if name in passed else len(passed))
    hashed = replace(model, joints=tuple(model.joint(name) for name in table))
    mounts = _fake_links(hashed)
    fakes = [_as_frame(name, mount) for name, mount in mounts.items()]
    kept = Model(
        name=model.name,
        links=tuple(
            _with_shapes(hashed, link, fakes) for link in hashed.links if link.name not in mounts
        ),
        joints=tuple(joint for joint in hashed.joints if joint not in mounts.values()),
        frames=(*model.frames, *fakes),
    )
    return numbered(kept, kept.default_base)


def numbered(model: Model, base: str) -> Model:
    """Return the robot with its parts in the order of a traversal, moving joints first."""
    visits = traversal(model, base)
    joints = [visit.joint for visit in visits if visit.joint]
    order = {visit.link: index for index, visit in enumerate(visits)}
    return Model(
        name=model.name,
        links=tuple(model.link(visit.link) for visit in visits),
        joints=tuple(sorted(joints, key=lambda joint: joint.kind == "fixed")),
        frames=tuple(sorted(model.frames, key=lambda frame: order[frame.link])),
    )


def table_order(names: Iterable[str]) -> list[str]:
    """Return names in the order of GCC's unordered_map after inserting them one by one."""
    order: list[str] = []
    buckets = 0
    hashes: dict[str, int] = {}
    for name in names:
        hashes[name] = _hash(name.encode())
        waiting = [name]
        if len(order) == buckets:  # the table grows: every name is inserted again
            buckets = next(size for size in _BUCKETS if size > buckets)
            waiting, order = [*order, name], []
        for new in waiting:  # before the names in the same bucket, or before all
            buckets_of = [hashes[other] % buckets for other in order]
            bucket = hashes[new] % buckets
            order.insert(buckets_of.index(bucket) if bucket in buckets_of else 0, new)
    return order


def _hash(data: bytes) -> int:
    """Return MurmurHash64A, with little-endian 8-byte words."""
    value = _SEED ^ (len(data) * _MULTIPLIER & _WORD)
    words = len(data) - len(data) % 8  # bytes in complete words
    for start in range(0, words, 8):
        word = int.from_bytes(data[start : start + 8], "little")
        word = _mixed(word * _MULTIPLIER & _WORD) * _MULTIPLIER & _WORD
        value = (value ^ word) * _MULTIPLIER & _WORD
    if data[words:]:
        value = (value ^ int.from_bytes(data[words:], "little")) * _MULTIPLIER & _WORD
    return _mixed(_mixed(value) * _MULTIPLIER & _WORD)


def _mixed(word: int) -> int:
    return word ^ (word >> 47)


def _fake_links(model: Model) -> dict[str, Joint]:
    """Return links without mass whose only joint is fixed, with that joint.

    Where two such links are fixed to each other, iDynTree does not convert them to frames.
    """
    fakes: dict[str, Joint] = {}
    carrying = {frame.link for frame in model.frames}
    for link in model.links:
        neighbors = model.neighbors(link.name)
        if link.inertia.mass > 0 or len(neighbors) != 1 or link.name in carrying:
            continue
        joint = model.joint(neighbors[0][1])
        if joint.kind == "fixed":
            fakes[link.name] = joint
    return {} if len(fakes) == len(model.links) else fakes


def _as_frame(name: str, mount: Joint) -> Frame:
    first_H_second = composed(mount.first_H_joint, mount.joint_H_second)
    if mount.second == name:
        return Frame(name=name, link=mount.first, link_H_frame=first_H_second)
    return Frame(name=name, link=mount.second, link_H_frame=inverted(first_H_second))


def _with_shapes(model: Model, link: Link, fakes: Iterable[Frame]) -> Link:
    """Return the link with the shapes of the links that have become frames on it."""
    poses = {fake.name: fake.link_H_frame for fake in fakes if fake.link == link.name}
    if not poses:
        return link
    poses[link.name] = IDENTITY
    return replace(
        link,
        visuals=_moved_shapes(poses, {part.name: part.visuals for part in model.links}),
        collisions=_moved_shapes(poses, {part.name: part.collisions for part in model.links}),
    )


def _moved_shapes(
    poses: dict[str, Pose], shapes: dict[str, tuple[Shape, ...]]
) -> tuple[Shape, ...]:
    """Return the shapes of some links, moved to one of them, in the order of iDynTree's table."""
    order = table_order(name for name in shapes if shapes[name])
    return tuple(
        replace(shape, link_H_shape=composed(poses[name], shape.link_H_shape))
        for name in order
        if name in poses
        for shape in shapes[name]
    )


def reduced_model(
    robot: Model, base: str, joints: Sequence[str], positions: Mapping[str, ArrayLike]
) -> Model:
    """Keep some joints; links that are connected by other joints are merged.

    Args:
        robot: the robot.
        base: link where the traversal that orders the links starts.
        joints: the joints to keep, in their new order, including fixed ones.
        positions: positions of the locked joints; 0 if not given. Positions of joints that are
            kept, fixed or unknown are ignored.

    Returns:
        The robot. A group of merged links has the name and the frame of the link nearest to the
        base; the others are frames on it.
    """
    if isinstance(joints, str):
        raise ArgumentError(f"consideredJoints: expected a list of names, got {shown(joints)}")
    kept = list(joints)
    free = [name for name in kept if robot.joint(name).nq]
    locks = {
        joint.name: positions[joint.name]
        for joint in robot.joints
        if joint.nq and joint.name in positions and joint.name not in free
    }
    locked = reduced(robot, free, locks)
    visits = traversal(robot, base)  # of the original robot: locking reorders the joints
    heads, poses = _groups(locked, visits, set(kept))
    groups = {head: [name for name in heads if heads[name] == head] for head in heads.values()}
    return Model(
        name=robot.name,
        links=tuple(lumped_link(locked, members, poses) for members in groups.values()),
        joints=tuple(remounted(locked.joint(name), heads, poses) for name in kept),
        frames=tuple(
            frame for members in groups.values() for frame in _frames_on(locked, members, poses)
        ),
    )


def _groups(
    locked: Model, visits: Iterable[Visit], kept: set[str]
) -> tuple[dict[str, str], dict[str, Pose]]:
    """Return the first link of each link's group, and the pose in it, in the order of visits."""
    heads: dict[str, str] = {}
    poses: dict[str, Pose] = {}
    for link, parent, reached_by in visits:
        if parent is None or reached_by is None or reached_by.name in kept:
            heads[link], poses[link] = link, IDENTITY
            continue
        joint = locked.joint(reached_by.name)
        mount = composed(joint.first_H_joint, joint.joint_H_second)
        parent_H_link = mount if joint.second == link else inverted(mount)
        heads[link], poses[link] = heads[parent], composed(poses[parent], parent_H_link)
    return heads, poses


def _frames_on(robot: Model, members: Sequence[str], poses: Mapping[str, Pose]) -> Iterator[Frame]:
    """Yield all links of a group except the first as frames, each with its additional frames."""
    head = members[0]
    for name in members:
        if name != head:
            yield Frame(name=name, link=head, link_H_frame=poses[name])
        for frame in robot.frames:
            if frame.link == name:
                pose = composed(poses[name], frame.link_H_frame)
                yield replace(frame, link=head, link_H_frame=pose)


def with_sensor_frames(model: Model, source: str | bytes | PathLike[str]) -> Model:
    """Return the robot with a frame for each sensor in its file.

    Args:
        model: the robot, in the order of iDynTree.
        source: the file it was loaded from, or its contents.

    Raises:
        ParseError: a sensor has invalid values, or its joint or link does not exist.
    """
    contents = read_source(source)
    document = parse_xml(contents)
    report = Report(contents.name, document.lines)
    robot = Part(document.root, "", report)
    if robot.tag != "robot":
        return model
    outer = {
        visit.joint.name: visit.link
        for visit in traversal(model, model.default_base)
        if visit.joint
    }
    sensors = [
        Part(part.element, f"sensor {part.attribute('name')!r}", report)
        for part in robot.children("sensor")
    ]
    frames = [
        (sensor.required_attribute("name"), *_sensor_mount(sensor, kind, model, outer))
        for kind in _SENSORS
        for sensor in sensors
        if sensor.attribute("type") == kind and (kind != _FORCE_TORQUE or sensor.child(kind))
    ]
    if report.n_errors:
        raise ParseError(report.findings)
    for name, link, pose in frames:
        if name not in model.frame_names:
            model = model.with_frame(name, link, pose)
    return model


def _sensor_mount(
    sensor: Part, kind: str, model: Model, outer: Mapping[str, str]
) -> tuple[str, Pose]:
    """Return link and pose of a sensor; report an error if its joint or link does not exist."""
    kind_of_parent = "joint" if kind == _FORCE_TORQUE else "link"
    parent = sensor.required_child("parent")
    name = parent.required_attribute(kind_of_parent) if parent else ""
    if name not in (outer if kind_of_parent == "joint" else model.frame_names):
        sensor.error(f"there is no {kind_of_parent} {name!r}")
        return "", IDENTITY
    if kind_of_parent == "link":
        return name, _origin(sensor)
    link, details = outer[name], sensor.child(_FORCE_TORQUE)
    frame = details.child("frame") if details else None
    location = (frame.element.text or "").strip() if frame else ""
    if location == "parent":
        return link, as_pose(neutral_transform(model.joint(name), child=link))
    return link, _origin(sensor) if location == "sensor" else IDENTITY


def _origin(sensor: Part) -> Pose:
    origin = sensor.child("origin")
    if origin is None:
        return IDENTITY
    zero = (0.0, 0.0, 0.0)
    return Pose(xyz=origin.triple("xyz", zero), rpy=origin.triple("rpy", zero))
