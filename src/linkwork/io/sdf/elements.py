"""Elements and frames of an SDF file: values in the text of elements, flags, poses and versions.

Values     in the text of child elements, such as <mass>2.5</mass>
Booleans   1, 0, true and false
Poses      x y z roll pitch yaw, in meters and radians; from version 1.9 on optionally in degrees,
           or with a quaternion
Frames     every link, joint, frame and nested model has a frame. Its pose is relative to another
           frame of the same model: by default the child link of a joint, and else the frame of the
           model, `__model__`, or the frame that it is attached to. Frames of a nested model `arm`
           are `arm::frame`. Files before version 1.7 have the same defaults
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ModelError, nearest, shown
from linkwork.io.folders import AllowedFolders, Folders
from linkwork.io.meshes import MeshFinder
from linkwork.io.urdf.elements import FINITE, LARGEST_ANGLE
from linkwork.io.writing import radians_from_degrees
from linkwork.io.xml.documents import Document
from linkwork.io.xml.elements import LARGEST, Part, Report, has_xacro, xacro_message
from linkwork.model.graph import joined
from linkwork.model.pose import IDENTITY, Pose
from linkwork.spatial.source import se3

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]


Version: TypeAlias = tuple[int, int]

OLDEST, NEWEST = (1, 4), (1, 12)
# Poses name the frame that they are relative to by `relative_to`, which was `frame` before.
RELATIVE_TO_VERSION = (1, 7)
# Elements with these prefixes affect the motion in Drake; other prefixes are of user interfaces.
_MOTION_PREFIXES = ("drake:",)
_TEXT_WITH_ATTRIBUTES = ("pose", "xyz")  # elements whose text is a value
_TRUE, _FALSE = ("1", "true"), ("0", "false")


@dataclass(frozen=True, slots=True)
class SdfFile:
    """What the elements of one file have in common."""

    version: Version
    path: Path | None  # None if it is not from a file
    meshes: MeshFinder
    allowed: AllowedFolders | None  # folders of the files that it may include; None for default
    package_dirs: Folders
    mimic: bool  # whether joints that depend on others do so
    including: tuple[Path, ...] = ()  # the files from the first one to this one


@dataclass(frozen=True, slots=True)
class RelativePose:
    """A pose, and the name of the frame that it is relative to; empty for the default."""

    pose: Pose = IDENTITY
    relative_to: str = ""


class SdfReport(Report):
    """The findings about a file and the files that it includes."""

    def __init__(self, file: str, document: Document, *, repair: bool) -> None:
        super().__init__(file, document.lines, repair=repair)
        self.documents: dict[Path, Document] = {}  # of included files
        self.n_models = 0
        self.unread_models: set[str] = set()  # included models that could not be read
        self.extend(document.findings)


class SdfPart(Part):
    """An element of an SDF file."""

    report: SdfReport

    container = "model"

    def check(
        self, read: Collection[str], ignored: Collection[str] = (), attributes: Collection[str] = ()
    ) -> None:
        """Warn about unknown children and attributes, and about children that affect the motion."""
        self.warn_unknown(read, attributes, ignored=ignored)
        for tag in self.child_tags:
            if tag.startswith(_MOTION_PREFIXES):
                self.warning(f"left out: <{tag}>")

    def _unknown_child(self, element: Element, tag: str, children: Collection[str]) -> None:
        if not tag.partition(":")[0] or ":" not in tag:  # else custom data, whatever it contains
            super()._unknown_child(element, tag, children)

    def _warn_stray_text(self) -> None:
        if self.tag not in _TEXT_WITH_ATTRIBUTES:
            super()._warn_stray_text()

    def text(self) -> str:
        """Return the text of an element, without white space around it."""
        return (self.element.text or "").strip()

    def required_text(self, tag: str) -> str:
        """Return the text of a child, which must exist and not be empty."""
        part = self.required_child(tag)
        if part is None:
            return ""
        value = part.text()
        if not value:
            part.error(f"<{tag}> is empty")
        elif has_xacro(value):
            part.error(xacro_message(f"{tag}={shown(value)}"))
        return value

    def values(
        self, tag: str, count: int, default: Sequence[float], *, largest: float = LARGEST
    ) -> tuple[float, ...]:
        """Return the numbers in a child; the default if there is none."""
        part = self.child(tag)
        if part is None:
            return tuple(default)
        valid = part.numbers_in(part.text(), "", count, largest=largest)
        return tuple(default) if valid is None else valid

    def value(self, tag: str, default: float) -> float:
        """Return the number in a child; the default if there is none."""
        return self.values(tag, 1, (default,))[0]

    def bound(self, tag: str, default: float, unlimited: float) -> float:
        """Return a limit: a number that is infinite from the magnitude `unlimited` on."""
        part = self.child(tag)
        if part is None:
            return default
        text = part.text()
        if text.lower().lstrip("+-") in ("inf", "infinity"):
            return -inf if text.startswith("-") else inf
        valid = part.numbers_in(text, "", 1, largest=FINITE)
        if valid is None:
            return default
        return math.copysign(inf, valid[0]) if abs(valid[0]) >= unlimited else valid[0]

    def flag(self, tag: str, *, default: bool = False) -> bool:
        """Return the boolean in a child; the default if there is none."""
        part = self.child(tag)
        return default if part is None else part.boolean(part.text(), default=default)

    def boolean(self, value: str | None, *, default: bool = False) -> bool:
        """Return the value of an attribute or a text as a boolean."""
        if value is None:
            return default
        if value.strip().lower() in (*_TRUE, *_FALSE):
            return value.strip().lower() in _TRUE
        self.error(f"{self.tag}: expected 1, 0, true or false, got {shown(value)}")
        return default

    def relative_pose(self, file: SdfFile) -> RelativePose:
        """Return the `<pose>` of an element; the identity if it has none."""
        part = self.child("pose")
        if part is None:
            return RelativePose()
        part.check((), (), ("relative_to", "frame", "degrees", "rotation_format"))
        relative_to, frame = (
            (part.attribute(name) or "").strip() for name in ("relative_to", "frame")
        )
        if frame and not relative_to and file.version >= RELATIVE_TO_VERSION:
            part.error("the attribute 'frame' of <pose> is 'relative_to' since SDF 1.7")
        return RelativePose(part.pose(), relative_to or frame)

    def pose(self) -> Pose:
        """Return the text of a `<pose>` element as a pose."""
        text = self.text()
        if not text:
            return IDENTITY
        in_degrees = self.boolean(self.attribute("degrees"))
        form = (self.attribute("rotation_format") or "euler_rpy").strip()
        if form == "quat_xyzw":
            return self._quaternion_pose(text, in_degrees=in_degrees)
        if form != "euler_rpy":
            self.error(f"unknown rotation_format {shown(form)}; known: euler_rpy, quat_xyzw")
        x, y, z, *angles = self.numbers_in(text, "", 6, largest=FINITE) or (0.0,) * 6
        roll, pitch, yaw = map(radians_from_degrees, angles) if in_degrees else angles
        if any(abs(angle) > LARGEST_ANGLE for angle in (roll, pitch, yaw)):
            self.error(f"pose: an angle exceeds {LARGEST_ANGLE:g} rad")
        elif max(abs(x), abs(y), abs(z)) > LARGEST:
            self.error(f"pose: a position in {shown(text)} is too large")
        else:
            return Pose((x, y, z), (roll, pitch, yaw))
        return IDENTITY

    def _quaternion_pose(self, text: str, *, in_degrees: bool) -> Pose:
        if in_degrees:
            self.error("pose: degrees cannot be combined with the rotation_format quat_xyzw")
        numbers = self.numbers_in(text, "", 7)
        if numbers is None:
            return IDENTITY
        *xyz, x, y, z, w = numbers
        try:
            return Pose.from_wxyz((w, x, y, z), xyz)
        except ModelError as error:
            self.error(f"pose: {error.findings[0].text}")
            return IDENTITY


MODEL = "__model__"
WORLD = "world"
SEPARATOR = "::"
NO_LINK = "the frame {!r} is not attached to a link"


def is_reserved(name: str) -> bool:
    """Return whether SDF reserves a name: `world`, and names like `__model__`."""
    return name == WORLD or (name.startswith("__") and name.endswith("__"))


@dataclass(frozen=True, slots=True)
class Frames:
    """The frames of a model by their names in it, including frames of nested models."""

    poses: Mapping[str, Array]  # model_H_frame
    links: Mapping[str, str]  # the complete name of the link that the frame is attached to
    link_poses: Mapping[str, Array]  # model_H_link, by the complete name of the link

    def pose(self, part: SdfPart, name: str) -> Array:
        """Return the pose of a frame; it is an error of the element if there is no such frame."""
        if name in self.poses:
            return self.poses[name]
        report_unknown(part, name, self.poses)
        return np.eye(4)

    def link(self, part: SdfPart, name: str) -> str:
        """Return the link that a frame is attached to; empty after an error."""
        if name in self.links:
            return self.links[name]
        if name in self.poses:
            part.error(NO_LINK.format(name))
        else:
            report_unknown(part, name, self.poses)
        return ""


@dataclass(frozen=True, slots=True)
class Scope:
    """What the parts of one model have in common."""

    prefix: str  # of their complete names
    frames: Frames
    file: SdfFile


@dataclass(frozen=True, slots=True)
class FrameNode:
    """A frame before its pose is resolved."""

    part: SdfPart
    pose: RelativePose
    default: str  # the frame that the pose is relative to by default
    attached_to: str | None = None  # another frame; None for a link
    link: str = ""  # the complete name of a link
    placement: str = ""  # the frame of a nested model that has this pose; default its model frame


@dataclass(slots=True)
class FrameGraph:
    """The frames of one model, by their names in it, before their poses are resolved."""

    root: str = MODEL
    nodes: dict[str, FrameNode] = field(default_factory=dict)
    nested: dict[str, Frames] = field(default_factory=dict)  # by nested model
    _cyclic: set[str] = field(default_factory=set)  # frames in cycles, which are reported

    def resolve(self, canonical: str | None) -> Frames:
        """Resolve all poses and attachments; errors are reported at their elements.

        Args:
            canonical: the frame that the frame of the model is attached to; None if the model has
                no link.
        """
        poses = {self.root: np.eye(4)}
        for name in self.nodes:
            for inner in self._chain(name, poses, self._reference, "pose relative_to"):
                poses[inner] = self._pose(inner, poses)
        links = {name: node.link for name, node in self.nodes.items() if node.link}
        link_poses = {link: poses[name] for name, link in links.items()}
        for nested, frames in self.nested.items():
            to, prefix = poses[nested], nested + SEPARATOR
            poses |= {prefix + name: to @ pose for name, pose in frames.poses.items()}
            links |= {prefix + name: link for name, link in frames.links.items()}
            link_poses |= {link: to @ pose for link, pose in frames.link_poses.items()}
            if MODEL in frames.links:
                links[nested] = frames.links[MODEL]
        self._attach(links, canonical)
        return Frames(poses, links, link_poses)

    def _attach(self, links: dict[str, str], canonical: str | None) -> None:
        """Add the links of the frames that are attached to others, and of the model."""

        def attached_to(name: str) -> str:
            return self.nodes[name].attached_to or ""

        if canonical in links:
            links[self.root] = links[canonical]
        for name in self.nodes:
            for inner in self._chain(name, links, attached_to, "attached_to"):
                target = attached_to(inner)
                if target in links:
                    links[inner] = links[target]
                elif target not in ("", self.root) and target not in self.nodes:
                    report_unknown(self.nodes[inner].part, target, [self.root, *self.nodes])

    def _chain(
        self, start: str, done: Mapping[str, object], next_of: Callable[[str], str], what: str
    ) -> Iterable[str]:
        """Return the frames that must be resolved before `start`, and itself, in this order."""
        path: dict[str, None] = {}  # an ordered set
        here = start
        while here not in done and here in self.nodes and here not in self._cyclic:
            if here in path:
                cycle = list(path)[list(path).index(here) :]
                text = f"{what} is a cycle: {joined([*cycle, here], ' -> ')}"
                self.nodes[here].part.error(text)
                self._cyclic.update(cycle)
                break
            path[here] = None
            here = next_of(here)
        return reversed(path)

    def _reference(self, name: str) -> str:
        """Return the frame of this model that must be resolved before the pose of another."""
        target = self._target(name)
        return target if target in self.nodes else target.partition(SEPARATOR)[0]

    def _target(self, name: str) -> str:
        node = self.nodes[name]
        return node.pose.relative_to or node.default

    def _pose(self, name: str, poses: Mapping[str, Array]) -> Array:
        node, target = self.nodes[name], self._target(name)
        nested, _, inner = target.partition(SEPARATOR)
        if target in poses:
            reference = poses[target]
        elif nested in poses and nested in self.nested and inner in self.nested[nested].poses:
            reference = poses[nested] @ self.nested[nested].poses[inner]
        else:
            # a frame in a cycle, and the default of joints and frames, are reported elsewhere
            if target not in self.nodes and node.pose.relative_to:
                report_unknown(node.part, target, [self.root, *self.nodes])
            reference = np.eye(4)
        pose = reference if node.pose.pose == IDENTITY else reference @ node.pose.pose.matrix()
        if node.placement:
            pose = pose @ se3.inverse(self.nested[name].pose(node.part, node.placement))
        return pose


def report_unknown(part: SdfPart, name: str, names: Iterable[str]) -> None:
    """Report a frame that does not exist, unless it is in a model that could not be read."""
    if name.partition(SEPARATOR)[0] not in part.report.unread_models:
        part.error(f"no frame named {shown(name)}; {nearest(name, names)}")
