"""Errors in the frames, devices and pairs of a workcell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from linkwork.errors import Finding, listed, nearest
from linkwork.model.graph import cycles
from linkwork.workcell.cell.devices import DeviceSpec
from linkwork.workcell.cell.frames import WORLD, CellFrame


def cell_findings(
    frames: Sequence[CellFrame],
    devices: Sequence[DeviceSpec],
    excluded_pairs: Sequence[Sequence[str]] = (),
) -> list[Finding]:
    """Return all errors in the frames, devices and pairs; empty if they form a workcell."""
    index = {frame.name: frame for frame in frames}
    findings = [
        *_root_findings(frames),
        *_duplicates("frame", [frame.name for frame in frames]),
        *_duplicates("device", [device.name for device in devices]),
        *_parent_findings(frames, index),
        *_dependence_findings(frames, index),
        *_pair_findings(excluded_pairs, index),
    ]
    if findings:
        return findings
    by_name = {device.name: device for device in devices}
    return [finding for device in devices for finding in device.findings(index, by_name)]


def _root_findings(frames: Sequence[CellFrame]) -> Iterator[Finding]:
    roots = [frame.name for frame in frames if frame.parent is None]
    if not frames or frames[0].name != WORLD or frames[0].parent is not None:
        yield Finding("error", "", f"the first frame must be {WORLD}, and have no parent")
    for name in roots[1:]:
        yield Finding("error", f"frame {name!r}", f"has no parent; only {WORLD} may have none")
    if frames and (frames[0].attachable or frames[0].kind != "fixed"):
        yield Finding("error", f"frame {WORLD!r}", "must be fixed and not attachable")


def _duplicates(kind: str, names: Sequence[str]) -> Iterator[Finding]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield Finding("error", f"{kind} {name!r}", "this name is used twice")
        seen.add(name)


def _parent_findings(
    frames: Sequence[CellFrame], index: Mapping[str, CellFrame]
) -> Iterator[Finding]:
    for frame in frames:
        for parent in {frame.parent, frame.default_parent} - {None, *index}:
            text = f"its parent {parent!r} does not exist; {nearest(parent, index)}"
            yield Finding("error", f"frame {frame.name!r}", text, frame.location)
    tree = {frame.name: frame.parent for frame in frames if frame.parent}
    default = {frame.name: frame.default_parent for frame in frames if frame.default_parent}
    for cycle in [*cycles(tree), *([] if default == tree else cycles(default))]:
        text = f"cycle of parents: {listed(cycle)}"
        yield Finding("error", f"frame {cycle[0]!r}", text, index[cycle[0]].location)


def leader_findings(frame: CellFrame, index: Mapping[str, CellFrame]) -> Iterator[Finding]:
    """Return errors of the joint that a frame depends on, if there is one."""
    depends = frame.motion.depends if frame.motion else None
    if depends is None:
        return
    leader, element = index.get(depends.joint), f"frame {frame.name!r}"
    if leader is None or leader.motion is None:
        joints = [name for name, other in index.items() if other.motion]
        hint = nearest(depends.joint, joints)
        text = f"depends on {depends.joint!r}, which is not a joint; {hint}"
        yield Finding("error", element, text, frame.location)
    elif leader.motion.motion_kind.nq != 1:
        text = f"depends on {depends.joint!r}, which has several coordinates"
        yield Finding("error", element, text, frame.location)


def _dependence_findings(
    frames: Sequence[CellFrame], index: Mapping[str, CellFrame]
) -> Iterator[Finding]:
    leaders: dict[str, str] = {}
    for frame in frames:
        if frame.motion and frame.motion.depends:
            leaders[frame.name] = frame.motion.depends.joint
            yield from leader_findings(frame, index)
    for cycle in cycles(leaders):
        text = f"cycle of dependent joints: {listed(cycle)}"
        yield Finding("error", f"frame {cycle[0]!r}", text, index[cycle[0]].location)


def _pair_findings(
    pairs: Sequence[Sequence[str]], index: Mapping[str, CellFrame]
) -> Iterator[Finding]:
    for pair in pairs:
        if len(pair) != 2:
            text = f"expected two frames, got {listed(list(pair))}"
            yield Finding("error", "excluded_pairs", text)
        for name in pair:
            if name not in index:
                text = f"frame {name!r} does not exist; {nearest(name, index)}"
                yield Finding("error", "excluded_pairs", text)
