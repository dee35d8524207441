"""What a workcell file holds while it is read: frames, devices, and what refers to frames by name.

Frames may be named before they are defined, so references are resolved at the end. A name that is
used inside a device means a frame of the innermost scope that has it: chain, device, workcell.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from linkwork.errors import MOST_FINDINGS, Finding, ModelError, listed, nearest, shown
from linkwork.model.pose import IDENTITY
from linkwork.model.structure import cycles, joined
from linkwork.workcell.devices import DeviceSpec
from linkwork.workcell.parts import ROOT, WORLD, CellFrame
from linkwork.workcell.robwork.elements import CellPart, CellReport, is_linkwork_property
from linkwork.workcell.robwork.extensions import (
    HELPER_PROPERTY,
    PlacedRobot,
    read_linkwork_property,
)
from linkwork.workcell.robwork.joints import (
    DH_TYPES,
    MODELS,
    Limit,
    is_motion_property,
    read_frame,
)
from linkwork.workcell.robwork.shapes import CellMeshes, Shapes, read_shapes

Scope = tuple[str, ...]  # names of the device and the chains around an element


@dataclass(slots=True)
class Pending:
    """A frame or robot whose parent may still be a name in a scope."""

    content: CellFrame | PlacedRobot
    part: CellPart
    scope: Scope
    ref: str | None  # the parent, by the name that the file gives it
    parent: str  # by its full name: until names are resolved, the parent if the file names none


@dataclass(slots=True)
class Referring:
    """Something that belongs to a frame by the name of the frame."""

    part: CellPart
    scope: Scope
    ref: str
    apply: Callable[[CellFrame], CellFrame]

    def applied(self, frame: CellFrame) -> CellFrame:
        """The frame with it; the frame as it is after an error, which is reported."""
        try:
            return self.apply(frame)
        except ModelError as error:
            self.part.error(error.findings[0].text)
            return frame


@dataclass(slots=True)
class Collected:
    """Everything read so far."""

    report: CellReport
    meshes: CellMeshes
    world: CellFrame = ROOT
    pending: dict[str, Pending] = field(default_factory=dict)  # by full name, in the file's order
    referring: list[Referring] = field(default_factory=list)
    helpers: set[str] = field(default_factory=set)  # frames that are there for RobWork alone
    devices: dict[str, DeviceSpec | None] = field(default_factory=dict)  # None: of a <Robot>
    device_parts: dict[str, CellPart] = field(default_factory=dict)
    homes: dict[str, tuple[float, ...]] = field(default_factory=dict)  # q by device
    n_hints: int = 0  # how often the nearest name was looked for
    on_world: list[Pending] = field(default_factory=list)  # frames that name no parent
    first: CellPart | None = None  # the first <Frame> directly in the workcell
    dh_type: str = ""  # of the last DHJoint that has one
    untyped: list[tuple[CellPart, str]] = field(default_factory=list)  # DHJoints without, and it

    def add_frame(self, part: CellPart, scope: Scope, ref: str | None, default: str) -> str | None:
        """Read a frame or joint; its full name, or None if it has no name."""
        part = part.name("joint" if "Joint" in part.tag else "frame")
        own = part.needed_text("name")
        if not own.strip():
            return None
        name = full_name(own, scope)
        if name == WORLD and part.tag == "Frame" and ref in (None, WORLD):
            self._add_world(part)
            return name
        if part.tag == "DHJoint":
            self._note_dh_type(part)
        try:
            frames = read_frame(part, name)
        except ModelError as error:
            part.error(error.findings[0].text)
            return None
        for frame in frames:
            self.add(Pending(frame, part, scope, ref, default))
            ref, default = None, frame.name
        self._add_inner(part, scope, own)
        return name

    def note_first(self, part: CellPart) -> None:
        """Remember the first <Frame> that stands directly in the workcell."""
        if self.first is None and part.tag == "Frame":
            self.first = part.name("frame")

    def _note_dh_type(self, part: CellPart) -> None:
        """Remember DHJoints whose convention RobWork takes from an earlier one."""
        kind = part.text("type")
        if kind is None and self.dh_type not in ("", DH_TYPES[0]):
            self.untyped.append((part, self.dh_type))
        self.dh_type = kind or self.dh_type

    def _add_world(self, part: CellPart) -> None:
        """Read a frame that repeats the root, as older files have it."""
        (frame,) = read_frame(part, WORLD)
        if (frame.parent_H_frame, frame.movable, frame.attachable) != (IDENTITY, False, False):
            part.error(f"{WORLD} is the root of every cell: it is fixed, and has no pose")
        self._add_inner(part, (), WORLD)

    def _add_inner(self, part: CellPart, scope: Scope, own: str) -> None:
        """Read the shapes and properties inside a frame."""
        # How a joint moves comes first: other properties depend on its kind.
        for child in sorted(part.parts(), key=is_motion_property, reverse=True):
            if child.tag in MODELS:
                self.add_model(child, scope, own)
            elif is_linkwork_property(child):
                read = read_linkwork_property(child, self.meshes)
                self.referring.append(Referring(child, scope, own, read))
                if child.text("name") == HELPER_PROPERTY:
                    self.helpers.add(full_name(own, scope))
            elif child.tag == "Property":
                self.add_property(child, scope, own)

    def add(self, pending: Pending) -> None:
        """Add a frame or robot, unless its name is taken."""
        name = pending.content.name
        if isinstance(pending.content, PlacedRobot):
            self.pending[f"<Robot> {name}"] = pending
            return
        taken = self.pending.get(name)
        if name == WORLD:
            pending.part.error(f"{WORLD} is the root of every cell, and sits on no other frame")
        elif taken:
            where = taken.part.location
            pending.part.error(f"the name {name!r} is taken by the frame of {where.short}")
        else:
            self.pending[name] = pending

    def add_device(self, name: str, device: DeviceSpec | None, part: CellPart) -> bool:
        """Add a device, unless its name is taken; None for that of a robot."""
        if name in self.device_parts:
            where = self.device_parts[name].location
            part.error(f"the name {name!r} is taken by the device of {where.short}")
            return False
        self.device_parts[name] = part
        self.devices[name] = device
        return True

    def add_model(self, part: CellPart, scope: Scope, around: str | None) -> None:
        """Read a `<Drawable>` or `<CollisionModel>` of the frame around it, or of another."""
        shapes = read_shapes(part, self.meshes)
        ref = self._owner(part, scope, around)
        if ref is None:
            part.error(f"<{part.tag}> has no 'refframe', and no frame is around it")
            return

        def apply(frame: CellFrame) -> CellFrame:
            own = Shapes(frame.visuals, frame.collisions) + shapes
            return replace(frame, visuals=own.visuals, collisions=own.collisions)

        self.referring.append(Referring(part, scope, ref, apply))

    def add_property(self, part: CellPart, scope: Scope, around: str | None) -> None:
        """Keep a `<Property>` with the frame it belongs to."""
        value = part.content("name", "type", "refframe", "desc").strip()
        name = part.needed_text("name")
        ref = self._owner(part, scope, around)
        if ref is None or not name:
            self.report.pass_over(part.element, "<Property> of no frame")
            return
        if part.text("desc") is not None or part.text("type") not in (None, "string"):
            self.report.pass_over(part.element, "'type' or 'desc' of a <Property>")

        def apply(frame: CellFrame) -> CellFrame:
            return replace(frame, properties=(*frame.properties, (name, value)))

        self.referring.append(Referring(part, scope, ref, apply))

    def _owner(self, part: CellPart, scope: Scope, around: str | None) -> str | None:
        """The frame that something belongs to: the one around it, or the one that it names."""
        ref = part.text("refframe") or None
        if around is not None and ref not in (None, around, full_name(around, scope)):
            part.warning(f"refframe {shown(ref)} is ignored: <{part.tag}> is inside {around!r}")
        return ref if around is None else around

    def add_limit(self, limit: Limit, scope: Scope) -> None:
        """Keep a limit that stands beside the joints of a device."""
        if limit.joint is None:
            limit.part.error(f"<{limit.part.tag}> has no 'refjoint', and no joint is around it")
            return

        def apply(frame: CellFrame) -> CellFrame:
            if frame.motion is None:
                limit.part.error(f"{shown(limit.joint)} is no joint")
                return frame
            return replace(frame, motion=limit.applied(frame.motion))

        self.referring.append(Referring(limit.part, scope, limit.joint, apply))

    def lookup(self, ref: str, scope: Scope) -> str | None:
        """Full name of the frame that a name means in a scope."""
        for depth in range(len(scope), -1, -1):
            name = full_name(ref, scope[:depth])
            if name in self.pending or name == WORLD:
                return name
        return None


def full_name(name: str, scope: Scope) -> str:
    """Name of a frame with the device and chains around it."""
    return ".".join((*scope, name))


def resolve(cell: Collected) -> tuple[CellFrame | PlacedRobot, ...]:
    """Resolve all names; frames and robots in an order in which parents come first."""
    robots = robot_frames(cell)
    known = {*cell.pending, *robots, WORLD}
    for name in robots.keys() & cell.pending.keys():
        cell.pending[name].part.error(f"the name {name!r} is taken by a frame of a <Robot>")
    _report_world(cell)
    _report_first(cell)
    _report_untyped(cell)
    for pending in cell.pending.values():
        if pending.ref is not None:
            name = cell.lookup(pending.ref, pending.scope)
            pending.parent = name or (pending.ref if pending.ref in robots else "")
        if pending.parent not in known:
            wanted = pending.ref if pending.ref is not None else pending.parent
            _missing(cell, pending.part, ("frame", wanted), known, pending.scope)
            pending.parent = WORLD
    _apply_referring(cell, known, robots)
    _drop_helpers(cell)
    joints = {
        name
        for name, other in cell.pending.items()
        if isinstance(other.content, CellFrame) and other.content.motion
    }
    for pending in cell.pending.values():
        _resolve_dependence(cell, pending, joints)
    return _in_order(cell, robots)


def _drop_helpers(cell: Collected) -> None:
    """Leave out frames that stand in the file for RobWork alone; what is on them sits below."""
    helpers = cell.helpers & cell.pending.keys()
    above = {name: cell.pending.pop(name).parent for name in helpers}
    for pending in cell.pending.values():
        seen = set[str]()
        while pending.parent in above and pending.parent not in seen:
            seen.add(pending.parent)
            pending.parent = above[pending.parent]


def robot_frames(cell: Collected) -> dict[str, str]:
    """The frames that placed robots bring, and the robot of each."""
    return {
        pending.content.placement.frame(name): key
        for key, pending in cell.pending.items()
        if isinstance(pending.content, PlacedRobot)
        for name in pending.content.model.frame_names
    }


def _missing(
    cell: Collected, part: CellPart, what: tuple[str, str], known: Collection[str], scope: Scope
) -> None:
    kind, name = what
    cell.n_hints += 1
    if cell.n_hints > MOST_FINDINGS:  # comparing names takes time
        part.error(f"no {kind} named {shown(name)}")
        return
    near = (
        [*known, *(full.removeprefix(full_name("", scope)) for full in known)] if scope else known
    )
    part.error(f"no {kind} named {shown(name)}; {nearest(name, set(near))}")


def _resolve_dependence(cell: Collected, pending: Pending, joints: Collection[str]) -> None:
    frame = pending.content
    if not isinstance(frame, CellFrame) or frame.motion is None or frame.motion.depends is None:
        return
    depends = frame.motion.depends
    leader = cell.lookup(depends.joint, pending.scope)
    if leader is None or leader not in joints:
        _missing(cell, pending.part, ("joint", depends.joint), joints, pending.scope)
        return
    motion = replace(frame.motion, depends=replace(depends, joint=leader))
    pending.content = replace(frame, motion=motion)


def _apply_referring(cell: Collected, known: Collection[str], robots: Collection[str]) -> None:
    for item in cell.referring:
        name = cell.lookup(item.ref, item.scope)
        pending = cell.pending.get(name) if name else None
        if name == WORLD:
            cell.world = item.applied(cell.world)
        elif pending is not None and isinstance(pending.content, CellFrame):
            pending.content = item.applied(pending.content)
        elif item.ref in robots:
            item.part.error(f"frame {item.ref!r} belongs to a <Robot>; put this into its own file")
        elif item.part.tag in MODELS and item.scope:
            hint = nearest(item.ref, {one.split(".")[-1] for one in known})
            text = f"<{item.part.tag}> belongs to no frame: there is none named {item.ref!r}"
            item.part.warning(f"{text}; {hint}")
        else:
            kind = "joint" if item.part.tag.endswith("Limit") else "frame"
            _missing(cell, item.part, (kind, item.ref), known, item.scope)


def _report_first(cell: Collected) -> None:
    """Warn of a first frame of the workcell that RobWork puts elsewhere."""
    ref = cell.first.text("refframe") if cell.first is not None else None
    if cell.first is not None and ref not in (None, "", WORLD):
        text = f"sits on {shown(ref)}; RobWork puts the first <Frame> of a"
        text += f" workcell on {WORLD}, whatever its 'refframe'; write a <Frame> on {WORLD} before"
        cell.first.warning(f"{text} it")


def _report_untyped(cell: Collected) -> None:
    """Warn of DHJoints that RobWork reads in the convention of an earlier one."""
    if cell.untyped:
        first, kind = cell.untyped[0]
        names = listed([shown(part.text("name")) for part, _ in cell.untyped])
        text = f"<DHJoint> without 'type' is read as {DH_TYPES[0]!r}; RobWork reads it as {kind!r}"
        text += f", the type of an earlier <DHJoint>; write the type: {names}"
        cell.report.extend([Finding("warning", "", text, first.location)])


def _report_world(cell: Collected) -> None:
    """Warn of frames that sit on WORLD because they name no parent; the manual differs."""
    if cell.on_world:
        names = listed([shown(pending.content.name) for pending in cell.on_world])
        text = (
            f"no 'refframe', so on {WORLD}, as in RobWork's loader; its manual says on the frame "
        )
        text += f"before: {names}"
        cell.report.extend([Finding("warning", "", text, cell.on_world[0].part.location)])


def _in_order(cell: Collected, robots: dict[str, str]) -> tuple[CellFrame | PlacedRobot, ...]:
    """Parents before children, otherwise in the order of the file; cycles are errors."""
    above = {
        name: robots.get(pending.parent, pending.parent) for name, pending in cell.pending.items()
    }
    for loop in cycles({name: parent for name, parent in above.items() if parent != WORLD}):
        text = f"frames that sit on each other: {joined([*loop, loop[0]], ' -> ')}"
        cell.pending[loop[0]].part.error(text)
    done: dict[str, None] = {WORLD: None}
    for name in above if not cell.report.n_errors else ():
        chain: list[str] = []
        here = name
        while here not in done:
            chain.append(here)
            here = above[here]
        done.update(dict.fromkeys(reversed(chain)))
    return tuple(_with_parent(cell.pending[name]) for name in done if name != WORLD)


def _with_parent(pending: Pending) -> CellFrame | PlacedRobot:
    content = pending.content
    if isinstance(content, CellFrame):
        return replace(content, parent=pending.parent)
    return content._replace(placement=replace(content.placement, parent=pending.parent))
