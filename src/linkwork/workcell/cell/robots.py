"""Conversion of a Model to frames of a workcell, and of such frames to joints of a Model.

Link `x` of a robot named `arm` becomes the frame `arm.x`. It is a joint frame, or a fixed frame if
the joint is fixed; its parent is the adjacent link nearer to the base. If that is the `second` link
of the joint, the frame moves by the inverse motion.

A robot may have closed loops. Its frames form its spanning tree, so every configuration of the
tree is a state of the cell. The joints that close loops and the constraints of the model are
not frames: the `RobotDevice` keeps them, and `device_model` adds them to the dynamics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from linkwork.errors import ArgumentError, shown
from linkwork.model.graph import Visit, closing_joints, opened, walk
from linkwork.model.model import Model
from linkwork.model.parts import Joint, Mimic
from linkwork.model.pose import Pose, composed, inverted
from linkwork.workcell.cell.devices import RobotDevice
from linkwork.workcell.cell.frames import CellFrame, Motion


@dataclass(frozen=True)
class Placement:
    """The options of `with_robot`."""

    name: str
    parent: str
    parent_H_base: Pose
    base: str | None = None  # link or frame of the model; its default base if None
    floating: bool = False
    attachable: bool = False
    end: str | None = None  # link or frame of the model; the last link if None
    cut: tuple[str, ...] = ()  # joints that close loops, as in `KinDyn`

    def frame(self, name: str) -> str:
        """Name of a link or frame of the robot in the cell."""
        return f"{self.name}.{name}"


def place_robot(model: Model, placement: Placement) -> tuple[list[CellFrame], RobotDevice]:
    """Return the frames of a robot in a cell, and its device; `with_robot` documents them."""
    if not isinstance(model, Model):
        raise ArgumentError(f"model: expected a Model, as lw.load returns, got {shown(model)}")
    base = model.default_base if placement.base is None else placement.base
    root = model.frame(base)
    end = None if placement.end is None else model.frame(placement.end).name
    tree = opened(model, closing_joints(model, base, placement.cut))
    visits = list(walk(tree, root.link))
    moves = {visit.joint.name: visit.link for visit in visits if visit.joint}
    frames = [
        *_link_frames(model, placement, base, visits, moves),
        *_more_frames(model, placement, base),
    ]
    frames[0] = replace(frames[0], movable=placement.floating, attachable=placement.attachable)
    first = frames[0].name
    driven = [placement.frame(moves[joint.name]) for joint in tree.joints if joint.nq]
    device = RobotDevice(
        name=placement.name,
        base=placement.parent if placement.floating else first,
        end=placement.frame(visits[-1].link if end is None else end),
        model=model,
        base_link=base,
        floating=placement.floating,
        joints=tuple([first, *driven] if placement.floating else driven),
        cut=placement.cut,
    )
    return frames, device


def _link_frames(
    model: Model, placement: Placement, base: str, visits: list[Visit], moves: Mapping[str, str]
) -> Iterator[CellFrame]:
    """Return the frame of the base if it is not a link, and a frame for each link."""
    root = model.frame(base)
    parent, pose = placement.parent, placement.parent_H_base
    if root.name != root.link:  # the base is an additional frame, which carries its link
        yield CellFrame(name=placement.frame(base), parent=parent, parent_H_frame=pose)
        parent, pose = placement.frame(base), inverted(root.link_H_frame)
    for visit in visits:
        link, motion = model.link(visit.link), None
        if visit.joint is not None:
            parent = placement.frame(str(visit.parent))
            pose, motion = _joint_frame(visit.joint, visit.link, placement, moves)
        home: tuple[float, ...] = ()
        if motion and motion.motion_kind.nq == 1:  # within its limits, as `KinDyn.neutral`
            home = (min(max(0.0, motion.limits.lower), motion.limits.upper),)
        yield CellFrame(
            name=placement.frame(visit.link),
            parent=parent,
            parent_H_frame=pose,
            motion=motion,
            home=home,
            inertia=link.inertia,
            visuals=link.visuals,
            collisions=link.collisions,
            location=link.location,
        )


def _more_frames(model: Model, placement: Placement, base: str) -> Iterator[CellFrame]:
    for frame in model.frames:
        if frame.name != base:
            yield CellFrame(
                name=placement.frame(frame.name),
                parent=placement.frame(frame.link),
                parent_H_frame=frame.link_H_frame,
                location=frame.location,
            )


def _joint_frame(
    joint: Joint, beyond: str, placement: Placement, moves: Mapping[str, str]
) -> tuple[Pose, Motion | None]:
    """Return the pose of a joint in the link before it, and how it moves the link after it."""
    before, after = joint.first_H_joint, joint.joint_H_second
    backwards = joint.first == beyond
    if backwards:
        before, after = inverted(after), inverted(before)
    if joint.is_fixed:
        return composed(before, after), None
    mimic = joint.mimic
    depends = mimic and Mimic(
        joint=placement.frame(moves[mimic.joint]), multiplier=mimic.multiplier, offset=mimic.offset
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


def joint_of(frame: CellFrame, name: str, parent: str, link: str, **more: Any) -> Joint:
    """Return the joint of a model that moves a frame on its parent.

    Args:
        frame: the frame.
        name: name of the joint.
        parent: link of the parent.
        link: link of the frame.
        more: other fields of a joint that is not fixed.
    """
    before, motion = frame.parent_H_frame, frame.motion
    if motion is None:
        return Joint(name=name, kind="fixed", first=parent, second=link, first_H_joint=before)
    ends, after = (parent, link), motion.joint_H_frame
    if motion.backwards:
        ends, (before, after) = ends[::-1], (inverted(after), inverted(before))
    return Joint(
        name=name,
        kind=motion.kind,
        first=ends[0],
        second=ends[1],
        axis=motion.axis,
        pitch=motion.pitch,
        first_H_joint=before,
        joint_H_second=after,
        limits=motion.limits,
        **more,
    )
