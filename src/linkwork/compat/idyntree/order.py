"""The order of links, joints and frames that iDynTree gives the robot of a URDF.

iDynTree keeps the joints of a file in a hash table, and walks the robot in the order in which the
table of its C++ library lists them: an accident of that library, which no document promises. What
is done here is a guess that holds for iDynTree built with GCC, as its Linux packages are: the same
hash, the same growth, the same bucket for each new name. With other C++ libraries the order of
siblings may differ in iDynTree itself; then the order can be given.

Steps     moving joints in the order of their table, then fixed ones
          links without mass that hang on one fixed joint become frames, the root too; their
          shapes go to the link that holds them
          a walk from the base numbers the links; joints follow it, moving ones first
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from linkwork.model.geometry import Shape
from linkwork.model.model import Model
from linkwork.model.parts import Frame, Joint, Link
from linkwork.model.pose import IDENTITY, Pose, composed, inverted

_WORD = (1 << 64) - 1
_MULTIPLIER = 0xC6A4A7935BD1E995  # of MurmurHash64A
_SEED = 0xC70F6907
_BUCKETS = (13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10273, 20753, 42043, 84551, 170341)


class Visit(NamedTuple):
    """A link of a walk, and how it is reached; no parent and no joint for the base."""

    link: str
    parent: str | None
    joint: Joint | None


def walk(model: Model, base: str) -> tuple[Visit, ...]:
    """The links from a base on: all neighbours of a link at once, then those of the last one."""
    visits = [Visit(base, None, None)]
    waiting = visits[:]
    while waiting:
        here = waiting.pop()
        for other, joint in model.neighbors(here.link):
            if other != here.parent:
                visits.append(Visit(other, here.link, model.joint(joint)))
                waiting.append(visits[-1])
    return tuple(visits)


def as_in_idyntree(model: Model, order: Sequence[str] | None = None) -> Model:
    """The robot with the links, joints and frames that iDynTree makes of its file.

    Args:
        model: the robot, as its file describes it.
        order: names of joints in the order that iDynTree gives them; those left out come after
            them. Without it, the order of GCC's hash table is assumed.

    Raises:
        NameNotFoundError: no joint has such a name.
    """
    fixed = {joint.name for joint in model.joints if joint.kind == "fixed"}
    names = [joint.name for joint in model.joints]
    given = [model.joint(name).name for name in order or ()]
    guess = (
        *table_order(name for name in names if name not in fixed),
        *table_order(name for name in names if name in fixed),
    )
    table = sorted(guess, key=lambda name: given.index(name) if name in given else len(given))
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
    """The robot with its parts in the order of a walk from a base, moving joints first."""
    visits = walk(model, base)
    met = [visit.joint for visit in visits if visit.joint]
    index = {visit.link: number for number, visit in enumerate(visits)}
    return Model(
        name=model.name,
        links=tuple(model.link(visit.link) for visit in visits),
        joints=tuple(sorted(met, key=lambda joint: joint.kind == "fixed")),
        frames=tuple(sorted(model.frames, key=lambda frame: index[frame.link])),
    )


def table_order(names: Iterable[str]) -> list[str]:
    """Names in the order in which GCC's unordered_map lists them after they were put in."""
    order: list[str] = []
    buckets = 0
    hashes: dict[str, int] = {}
    for name in names:
        hashes[name] = _hash(name.encode())
        if len(order) == buckets:
            buckets = next(size for size in _BUCKETS if size > buckets)
            order = _filled(order, hashes, buckets)
        _put(order, name, hashes, buckets)
    return order


def _filled(names: Iterable[str], hashes: dict[str, int], buckets: int) -> list[str]:
    order: list[str] = []
    for name in names:
        _put(order, name, hashes, buckets)
    return order


def _put(order: list[str], name: str, hashes: dict[str, int], buckets: int) -> None:
    """In front of the names in the same bucket, or of all if there are none."""
    mine = hashes[name] % buckets
    same = (index for index, other in enumerate(order) if hashes[other] % buckets == mine)
    order.insert(next(same, 0), name)


def _hash(data: bytes) -> int:
    """MurmurHash64A, in 8-byte words of the lower byte first."""
    found = _SEED ^ (len(data) * _MULTIPLIER & _WORD)
    words = len(data) - len(data) % 8  # bytes in complete words
    for start in range(0, words, 8):
        word = int.from_bytes(data[start : start + 8], "little")
        word = _mixed(word * _MULTIPLIER & _WORD) * _MULTIPLIER & _WORD
        found = (found ^ word) * _MULTIPLIER & _WORD
    if data[words:]:
        found = (found ^ int.from_bytes(data[words:], "little")) * _MULTIPLIER & _WORD
    return _mixed(_mixed(found) * _MULTIPLIER & _WORD)


def _mixed(word: int) -> int:
    return word ^ (word >> 47)


def _fake_links(model: Model) -> dict[str, Joint]:
    """Links without mass whose only joint is fixed, with that joint.

    Where two such links hold each other, iDynTree fails to make frames of them, and keeps both.
    """
    found: dict[str, Joint] = {}
    carrying = {frame.link for frame in model.frames}
    for link in model.links:
        neighbors = model.neighbors(link.name)
        if link.inertia.mass > 0 or len(neighbors) != 1 or link.name in carrying:
            continue
        joint = model.joint(neighbors[0][1])
        if joint.kind == "fixed":
            found[link.name] = joint
    return {} if len(found) == len(model.links) else found


def _as_frame(name: str, mount: Joint) -> Frame:
    first_H_second = composed(mount.first_H_joint, mount.joint_H_second)
    if mount.second == name:
        return Frame(name=name, link=mount.first, link_H_frame=first_H_second)
    return Frame(name=name, link=mount.second, link_H_frame=inverted(first_H_second))


def _with_shapes(model: Model, link: Link, fakes: Iterable[Frame]) -> Link:
    """The link with the shapes of the links that have become frames on it."""
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
    """The shapes of some links, posed on one of them, in the order of the table of shapes."""
    order = table_order(name for name in shapes if shapes[name])
    return tuple(
        replace(shape, link_H_shape=composed(poses[name], shape.link_H_shape))
        for name in order
        if name in poses
        for shape in shapes[name]
    )
