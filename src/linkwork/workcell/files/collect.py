"""The contents of a workcell file while it is read, and the resolution of names.

Elements may refer to frames that are defined later, so references are resolved at the end. A name
refers to the frame in the innermost scope that has it: chain, device, workcell.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from linkwork.errors import MOST_FINDINGS, nearest, shown
from linkwork.model.graph import cycles, joined
from linkwork.model.pose import IDENTITY
from linkwork.workcell.cell.devices import DeviceSpec
from linkwork.workcell.cell.frames import ROOT, WORLD, CellFrame
from linkwork.workcell.files.elements import (
    IGNORED_ELEMENTS,
    CellPart,
    CellReport,
    Scope,
    full_name,
    is_linkwork_property,
    lookup,
)
from linkwork.workcell.files.extensions import (
    PlacedRobot,
    read_linkwork_property,
    with_shapes,
)
from linkwork.workcell.files.geometry import SETUPS, CellMeshes, read_setup, read_shapes
from linkwork.workcell.files.joints import (
    DH_TYPES,
    MODELS,
    Limit,
    is_motion_property,
    read_frame,
)


@dataclass(slots=True)
class Pending:
    """A frame or robot before its parent is resolved."""

    content: CellFrame | PlacedRobot
    part: CellPart
    scope: Scope
    ref: str | None  # name of the parent in the file
    default: str  # full name of the parent without a `ref`


@dataclass(slots=True)
class DeferredChange:
    """A change to a frame that an element refers to by name."""

    part: CellPart
    scope: Scope
    ref: str
    apply: Callable[[CellFrame], CellFrame]

    def applied(self, frame: CellFrame) -> CellFrame:
        """Return the changed frame; the original frame after an error, which is reported."""
        return self.part.build(frame, self.apply, frame)


@dataclass(slots=True)
class Collected:
    """All elements read so far."""

    report: CellReport
    meshes: CellMeshes
    world: CellFrame = ROOT
    pending: dict[str, Pending] = field(default_factory=dict)  # by full name, in the file's order
    deferred: list[DeferredChange] = field(default_factory=list)
    devices: dict[str, DeviceSpec | None] = field(default_factory=dict)  # None for a <Robot>
    device_parts: dict[str, CellPart] = field(default_factory=dict)
    homes: dict[str, tuple[float, ...]] = field(default_factory=dict)  # q by device
    # pairs of frames that are not checked: elements, and their scopes
    setups: list[tuple[CellPart, Scope]] = field(default_factory=list)
    n_hints: int = 0  # number of searches for the nearest name
    first: CellPart | None = None  # the first <Frame> directly in the workcell
    dh_type: str = ""  # of the last DHJoint that has one

    def add_frame(self, part: CellPart, scope: Scope, ref: str | None, default: str) -> str | None:
        """Read a frame or joint; return its full name, or None if it is invalid."""
        part = part.name("joint" if "Joint" in part.tag else "frame")
        local_name = part.required_attribute("name")
        if not local_name.strip():
            return None
        name = full_name(local_name, scope)
        if name == WORLD and part.tag == "Frame" and ref in (None, WORLD):
            self._add_world(part)
            return name
        if part.tag == "DHJoint":
            self._check_dh_type(part)
        frames = part.build(None, read_frame, part, name)
        if frames is None:
            return None
        for frame in frames:
            self.add(Pending(frame, part, scope, ref, default))
            ref, default = None, frame.name
        self._add_inner(part, scope, local_name)
        return name

    def add_other(self, part: CellPart, scope: Scope) -> None:
        """Read an element of a workcell, device or chain that is neither frame nor device."""
        if part.tag in MODELS:
            self.add_model(part, scope, None)
        elif part.tag == "Property":
            self.add_property(part, scope, None)
        elif part.tag in SETUPS:
            setup = read_setup(part, self.meshes)
            self.setups += [(setup, scope)] if setup else []
        elif part.tag in IGNORED_ELEMENTS:
            part.ignore()

    def note_first(self, part: CellPart) -> None:
        """Store the first <Frame> that is directly in the workcell."""
        if self.first is None and part.tag == "Frame":
            self.first = part.name("frame")

    def _check_dh_type(self, part: CellPart) -> None:
        """Warn about DHJoints that RobWork reads in the convention of an earlier one."""
        kind = part.attribute("type")
        if kind is None and self.dh_type not in ("", DH_TYPES[0]):
            text = f"<DHJoint> without 'type' is read as {DH_TYPES[0]!r}; RobWork reads it as"
            text += f" {self.dh_type!r}, the type of an earlier <DHJoint>; add the type"
            self.report.doubt(part.element, part.attribute("name") or "", text)
        self.dh_type = kind or self.dh_type

    def _add_world(self, part: CellPart) -> None:
        """Read a frame for the root, which older files have."""
        (frame,) = read_frame(part, WORLD)
        if (frame.parent_H_frame, frame.movable, frame.attachable) != (IDENTITY, False, False):
            part.error(f"{WORLD} is the root of every cell, so it is fixed and has no pose")
        self._add_inner(part, (), WORLD)

    def _add_inner(self, part: CellPart, scope: Scope, local_name: str) -> None:
        """Read the shapes and properties inside a frame."""
        # The motion of a joint comes first, because other properties depend on its kind.
        for child in sorted(part.parts(), key=is_motion_property, reverse=True):
            if child.tag in MODELS:
                self.add_model(child, scope, local_name)
            elif is_linkwork_property(child):
                change = read_linkwork_property(child, self.meshes)
                self.deferred.append(DeferredChange(child, scope, local_name, change))
            elif child.tag == "Property":
                self.add_property(child, scope, local_name)

    def add(self, pending: Pending) -> None:
        """Add a frame or robot; it is an error if its name is in use."""
        name = pending.content.name
        if isinstance(pending.content, PlacedRobot):
            self.pending[f"<Robot> {name}"] = pending
            return
        existing = self.pending.get(name)
        if name == WORLD:
            pending.part.error(f"{WORLD} is the root of every cell, and has no parent")
        elif existing:
            where = existing.part.location
            pending.part.error(f"the name {name!r} is already used by the frame of {where.short}")
        else:
            self.pending[name] = pending

    def add_device(self, name: str, device: DeviceSpec | None, part: CellPart) -> bool:
        """Add a device, or None for a robot; it is an error if its name is in use."""
        if name in self.device_parts:
            where = self.device_parts[name].location
            part.error(f"the name {name!r} is already used by the device of {where.short}")
            return False
        self.device_parts[name] = part
        self.devices[name] = device
        return True

    def add_model(self, part: CellPart, scope: Scope, around: str | None) -> None:
        """Read a `<Drawable>` or `<CollisionModel>` of the enclosing frame, or of another."""
        visuals, collisions = read_shapes(part, self.meshes)
        ref = self._owner(part, scope, around)
        if ref is None:
            part.error(f"<{part.tag}> has no 'refframe', and is not inside a frame")
            return

        apply = partial(with_shapes, visuals=visuals, collisions=collisions)
        self.deferred.append(DeferredChange(part, scope, ref, apply))

    def add_property(self, part: CellPart, scope: Scope, around: str | None) -> None:
        """Read a `<Property>` of the enclosing frame, or of another."""
        value = part.content("name", "type", "refframe", "desc").strip()
        name = part.required_attribute("name")
        ref = self._owner(part, scope, around)
        if ref is None or not name:
            self.report.ignore(part.element, "<Property> without a frame")
            return
        if part.attribute("desc") is not None or part.attribute("type") not in (None, "string"):
            self.report.ignore(part.element, "'type' or 'desc' of a <Property>")

        def apply(frame: CellFrame) -> CellFrame:
            return replace(frame, properties=(*frame.properties, (name, value)))

        self.deferred.append(DeferredChange(part, scope, ref, apply))

    def _owner(self, part: CellPart, scope: Scope, around: str | None) -> str | None:
        """Return the frame of an element: the enclosing frame, or the frame it refers to."""
        ref = part.attribute("refframe") or None
        if around is not None and ref not in (None, around, full_name(around, scope)):
            part.warning(f"refframe {shown(ref)} is ignored: <{part.tag}> is inside {around!r}")
        return ref if around is None else around

    def add_limit(self, limit: Limit, scope: Scope) -> None:
        """Read a limit that is outside of its joint."""
        if limit.joint is None:
            limit.part.error(f"<{limit.part.tag}> has no 'refjoint', and is not inside a joint")
            return

        def apply(frame: CellFrame) -> CellFrame:
            if frame.motion is None:
                limit.part.error(f"{shown(limit.joint)} is not a joint")
                return frame
            return replace(frame, motion=limit.applied(frame.motion))

        self.deferred.append(DeferredChange(limit.part, scope, limit.joint, apply))

    def parent_of(self, pending: Pending) -> str | None:
        """Return the full name of the parent of a frame; None if there is no such frame so far."""
        return self.lookup(pending.ref, pending.scope) if pending.ref else pending.default

    def lookup(self, ref: str, scope: Scope) -> str | None:
        """Return the full name of the frame that a name refers to in a scope."""
        return lookup(ref, scope, self.pending) or (WORLD if ref == WORLD else None)


def resolve(cell: Collected) -> tuple[CellFrame | PlacedRobot, ...]:
    """Resolve all names; return frames and robots, parents before children."""
    robots = robot_frames(cell)
    frame_names = {*cell.pending, *robots, WORLD}
    for name in robots.keys() & cell.pending.keys():
        message = f"the name {name!r} is already used by a frame of a <Robot>"
        cell.pending[name].part.error(message)
    _report_first(cell)
    parents = {
        name: _parent(cell, pending, frame_names, robots) for name, pending in cell.pending.items()
    }
    _apply_deferred(cell, frame_names, robots)
    joints = {
        name
        for name, other in cell.pending.items()
        if isinstance(other.content, CellFrame) and other.content.motion
    }
    for pending in cell.pending.values():
        _resolve_dependence(cell, pending, joints)
    return _in_order(cell, parents, robots)


def _parent(
    cell: Collected, pending: Pending, frame_names: Collection[str], robots: Collection[str]
) -> str:
    """Return the full name of the parent of a frame; WORLD after an error."""
    parent = cell.parent_of(pending)
    if parent is None and pending.ref in robots:
        parent = pending.ref
    if parent is not None and parent in frame_names:
        return parent
    reference = "frame", pending.ref or pending.default
    _report_missing(cell, pending.part, reference, frame_names, pending.scope)
    return WORLD


def report_missing_parents(
    cell: Collected, names: Collection[str], robots: Collection[str]
) -> None:
    """Report parents that do not exist in a file with other errors, which is not resolved.

    Args:
        cell: the frames that could be read.
        names: names of all elements of the file; frames that could not be read exist, too.
        robots: names of <Robot> elements, whose frames are not checked.
    """
    for pending in cell.pending.values():
        scopes = (pending.ref or WORLD).split(".")
        if scopes[-1] not in names and scopes[0] not in robots:
            reference = ("frame", str(pending.ref))
            frame_names = {*cell.pending, WORLD}
            _report_missing(cell, pending.part, reference, frame_names, pending.scope)


def robot_frames(cell: Collected) -> dict[str, str]:
    """Return the frames of `<Robot>` elements, and the robot of each."""
    return {
        pending.content.placement.frame(name): key
        for key, pending in cell.pending.items()
        if isinstance(pending.content, PlacedRobot)
        for name in pending.content.model.frame_names
    }


def _report_missing(
    cell: Collected,
    part: CellPart,
    reference: tuple[str, str],
    frame_names: Collection[str],
    scope: Scope,
) -> None:
    kind, name = reference
    cell.n_hints += 1
    if cell.n_hints > MOST_FINDINGS:  # the search for a hint is slow
        part.error(f"no {kind} named {shown(name)}")
        return
    candidates = (
        [*frame_names, *(full.removeprefix(full_name("", scope)) for full in frame_names)]
        if scope
        else frame_names
    )
    part.error(f"no {kind} named {shown(name)}; {nearest(name, set(candidates))}")


def _resolve_dependence(cell: Collected, pending: Pending, joints: Collection[str]) -> None:
    frame = pending.content
    if not isinstance(frame, CellFrame) or frame.motion is None or frame.motion.depends is None:
        return
    depends = frame.motion.depends
    leader = cell.lookup(depends.joint, pending.scope)
    if leader is None or leader not in joints:
        _report_missing(cell, pending.part, ("joint", depends.joint), joints, pending.scope)
        return
    motion = replace(frame.motion, depends=replace(depends, joint=leader))
    pending.content = replace(frame, motion=motion)


def _apply_deferred(cell: Collected, frame_names: Collection[str], robots: Collection[str]) -> None:
    for item in cell.deferred:
        name = cell.lookup(item.ref, item.scope)
        pending = cell.pending.get(name) if name else None
        if name == WORLD:
            cell.world = item.applied(cell.world)
        elif pending is not None and isinstance(pending.content, CellFrame):
            pending.content = item.applied(pending.content)
        elif item.ref in robots:
            message = f"frame {item.ref!r} belongs to a <Robot>"
            item.part.error(f"{message}; move this element to the file of the robot")
        elif item.part.tag in MODELS and item.scope:
            hint = nearest(item.ref, {name.split(".")[-1] for name in frame_names})
            text = f"<{item.part.tag}> is ignored: there is no frame named {item.ref!r}"
            item.part.warning(f"{text}; {hint}")
        else:
            kind = "joint" if item.part.tag.endswith("Limit") else "frame"
            _report_missing(cell, item.part, (kind, item.ref), frame_names, item.scope)


def _report_first(cell: Collected) -> None:
    """Warn if RobWork ignores the parent of the first frame of a workcell that it can read."""
    ref = cell.first.attribute("refframe") if cell.first is not None else None
    has_robots = any(isinstance(one.content, PlacedRobot) for one in cell.pending.values())
    if cell.first is not None and ref not in (None, "", WORLD) and not has_robots:
        text = f"has the parent {shown(ref)}, but RobWork ignores the 'refframe' of the first"
        text += f" <Frame> of a workcell and uses {WORLD}; write another <Frame> on {WORLD} before"
        cell.first.warning(f"{text} it")


def _in_order(
    cell: Collected, parents: Mapping[str, str], robots: Mapping[str, str]
) -> tuple[CellFrame | PlacedRobot, ...]:
    """Sort parents before children, otherwise in the order of the file; cycles are errors."""
    above = {name: robots.get(parent, parent) for name, parent in parents.items()}
    for cycle in cycles({name: parent for name, parent in above.items() if parent != WORLD}):
        text = f"cycle of parents: {joined([*cycle, cycle[0]], ' -> ')}"
        cell.pending[cycle[0]].part.error(text)
    done: dict[str, None] = {WORLD: None}
    for name in above if not cell.report.n_errors else ():
        chain: list[str] = []
        current = name
        while current not in done:
            chain.append(current)
            current = above[current]
        done.update(dict.fromkeys(reversed(chain)))
    return tuple(
        _with_parent(cell.pending[name].content, parents[name]) for name in done if name != WORLD
    )


def _with_parent(content: CellFrame | PlacedRobot, parent: str) -> CellFrame | PlacedRobot:
    if isinstance(content, CellFrame):
        return replace(content, parent=parent)
    return content._replace(placement=replace(content.placement, parent=parent))
