"""Placing a Model in a workcell: links and frames become frames of the cell.

Link `x` of a robot that is placed as `arm` becomes the frame `arm.x`. It is a joint frame on the
link that carries it, seen from the base, or a fixed one where the joint is fixed. A joint that is
read from `second` to `first` moves its frame by the inverse motion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from linkwork.errors import ArgumentError, shown
from linkwork.model.model import Model
from linkwork.model.parts import Joint, Mimic
from linkwork.model.pose import Pose, composed, inverted
from linkwork.model.tree import Visit, walk
from linkwork.workcell.devices import RobotDevice
from linkwork.workcell.parts import CellFrame, Motion


@dataclass(frozen=True)
class Placement:
    """Where a robot is put, and how."""

    name: str
    parent: str
    parent_H_base: Pose
    base: str | None  # link or frame of the model; its default base if None
    floating: bool
    attachable: bool
    end: str | None  # link or frame of the model; the last link if None

    def frame(self, own: str) -> str:
        """Name in the cell of a link or frame of the robot."""
        return f"{self.name}.{own}"


def placed(model: Model, place: Placement) -> tuple[list[CellFrame], RobotDevice]:
    """The frames of a robot in a cell, and its device; `with_robot` says what they mean."""
    if not isinstance(model, Model):
        raise ArgumentError(f"model: expected a Model, got {shown(model)}")
    base = model.default_base if place.base is None else place.base
    root = model.frame(base)
    end = None if place.end is None else model.frame(place.end).name
    visits = list(walk(model, root.link))
    moves = {visit.joint.name: visit.link for visit in visits if visit.joint}
    frames = [*_link_frames(model, place, base, visits, moves), *_more_frames(model, place, base)]
    frames[0] = replace(frames[0], movable=place.floating, attachable=place.attachable)
    first = frames[0].name
    driven = [place.frame(moves[joint.name]) for joint in model.joints if joint.nq]
    device = RobotDevice(
        name=place.name,
        base=place.parent if place.floating else first,
        end=place.frame(visits[-1].link if end is None else end),
        model=model,
        base_link=base,
        floating=place.floating,
        joints=tuple([first, *driven] if place.floating else driven),
    )
    return frames, device


def _link_frames(
    model: Model, place: Placement, base: str, visits: list[Visit], moves: Mapping[str, str]
) -> Iterator[CellFrame]:
    """The base, and a frame for each link."""
    root = model.frame(base)
    parent, pose = place.parent, place.parent_H_base
    if root.name != root.link:  # the base is a further frame, and carries its link
        yield CellFrame(name=place.frame(base), parent=parent, parent_H_frame=pose)
        parent, pose = place.frame(base), inverted(root.link_H_frame)
    for visit in visits:
        link, motion = model.link(visit.link), None
        if visit.joint is not None:
            parent = place.frame(str(visit.parent))
            pose, motion = _joint_frame(visit.joint, visit.link, place, moves)
        yield CellFrame(
            name=place.frame(visit.link),
            parent=parent,
            parent_H_frame=pose,
            motion=motion,
            inertia=link.inertia,
            visuals=link.visuals,
            collisions=link.collisions,
            location=link.location,
        )


def _more_frames(model: Model, place: Placement, base: str) -> Iterator[CellFrame]:
    for frame in model.frames:
        if frame.name != base:
            yield CellFrame(
                name=place.frame(frame.name),
                parent=place.frame(frame.link),
                parent_H_frame=frame.link_H_frame,
                location=frame.location,
            )


def _joint_frame(
    joint: Joint, beyond: str, place: Placement, moves: Mapping[str, str]
) -> tuple[Pose, Motion | None]:
    """Where a joint sits on the link before it, and how it moves the link beyond it."""
    before, after = joint.first_H_joint, joint.joint_H_second
    backwards = joint.first == beyond
    if backwards:
        before, after = inverted(after), inverted(before)
    if joint.is_fixed:
        return composed(before, after), None
    mimic = joint.mimic
    depends = mimic and Mimic(
        joint=place.frame(moves[mimic.joint]), multiplier=mimic.multiplier, offset=mimic.offset
    )
    return before, Motion(
        kind=joint.kind,
        axis=joint.axis,
        pitch=joint.pitch,
        joint_H_frame=after,
        backwards=backwards,
        limits=joint.limits,
        depends=depends,
        joint=joint.name,
    )
