"""Frames of an SDF model: their poses, and the links that they are attached to.

Every link, joint, frame and nested model has a frame. Its pose is relative to another frame of the
same model, by default to

    links, frames, nested models   the frame of the model, `__model__`; a frame that is attached to
                                   another: that one
    joints                         the child link

Frames of a nested model `arm` are `arm::frame`. Files before version 1.7 have the same defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import nearest, shown
from linkwork.io.sdf.elements import RelativePose, SdfFile, SdfPart
from linkwork.model.graph import joined
from linkwork.model.pose import IDENTITY
from linkwork.spatial.source import se3

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
