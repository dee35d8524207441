"""Do frames and devices make one workcell? All reasons why they do not, at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from linkwork.errors import Finding, listed, nearest
from linkwork.model.structure import cycles
from linkwork.workcell.parts import WORLD, CellFrame

if TYPE_CHECKING:
    from linkwork.workcell.devices import DeviceSpec


def cell_findings(frames: Sequence[CellFrame], devices: Sequence[DeviceSpec]) -> list[Finding]:
    """All reasons why these are no workcell; empty if they are one."""
    index = {frame.name: frame for frame in frames}
    found = [
        *_root_findings(frames),
        *_duplicates("frame", [frame.name for frame in frames]),
        *_duplicates("device", [device.name for device in devices]),
        *_parent_findings(frames, index),
        *_dependence_findings(frames, index),
    ]
    if found:
        return found
    by_name = {device.name: device for device in devices}
    return [finding for device in devices for finding in device.findings(index, by_name)]


def _root_findings(frames: Sequence[CellFrame]) -> Iterator[Finding]:
    roots = [frame.name for frame in frames if frame.parent is None]
    if not frames or frames[0].name != WORLD or frames[0].parent is not None:
        yield Finding("error", "", f"the first frame must be {WORLD}, without a parent")
    for name in roots[1:]:
        yield Finding("error", f"frame {name!r}", f"has no parent; only {WORLD} has none")
    if frames and (frames[0].attachable or frames[0].kind != "fixed"):
        yield Finding("error", f"frame {WORLD!r}", "must be fixed and not attachable")


def _duplicates(what: str, names: Sequence[str]) -> Iterator[Finding]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield Finding("error", f"{what} {name!r}", "this name is taken")
        seen.add(name)


def _parent_findings(
    frames: Sequence[CellFrame], index: Mapping[str, CellFrame]
) -> Iterator[Finding]:
    known = {None, *index}
    for frame in frames:
        for parent in {frame.parent, frame.default_parent} - known:
            text = f"its parent {parent!r} is not there; {nearest(parent, index)}"
            yield Finding("error", f"frame {frame.name!r}", text, frame.location)
    tree = {frame.name: frame.parent for frame in frames if frame.parent}
    default = {frame.name: frame.default_parent for frame in frames if frame.default_parent}
    loops = [*cycles(tree), *([] if default == tree else cycles(default))]
    for loop in loops:
        text = f"frames that sit on each other: {listed(loop)}"
        yield Finding("error", f"frame {loop[0]!r}", text, index[loop[0]].location)


def leader_findings(frame: CellFrame, index: Mapping[str, CellFrame]) -> Iterator[Finding]:
    """What is wrong with the joint that a frame depends on, if it does."""
    depends = frame.motion.depends if frame.motion else None
    if depends is None:
        return
    leader, element = index.get(depends.joint), f"frame {frame.name!r}"
    if leader is None or leader.motion is None:
        joints = [name for name, other in index.items() if other.motion]
        hint = nearest(depends.joint, joints)
        text = f"depends on {depends.joint!r}, which is no joint; {hint}"
        yield Finding("error", element, text, frame.location)
    elif leader.motion.motion_kind.nq != 1:
        text = f"depends on {depends.joint!r}, which has several coordinates"
        yield Finding("error", element, text, frame.location)


def _dependence_findings(
    frames: Sequence[CellFrame], index: Mapping[str, CellFrame]
) -> Iterator[Finding]:
    leads: dict[str, str] = {}
    for frame in frames:
        if frame.motion and frame.motion.depends:
            leads[frame.name] = frame.motion.depends.joint
            yield from leader_findings(frame, index)
    for loop in cycles(leads):
        text = f"joints that depend on each other: {listed(loop)}"
        yield Finding("error", f"frame {loop[0]!r}", text, index[loop[0]].location)
