"""Placing a Model in a workcell: links and frames become frames of the cell.

Link `x` of a robot that is placed as `arm` becomes the frame `arm.x`. It is a joint frame on the link
that carries it, seen from the base, or a fixed one where the joint is fixed. A joint that is read
from `second` to `first` moves its frame by the inverse motion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from linkwork.errors import ArgumentError, shown
from linkwork.model.model import Model
from linkwork.model.parts import Joint, Mimic
from linkwork.model.pose import IDENTITY, Pose, composed, inverted
from linkwork.model.walk import walk
from linkwork.workcell.devices import RobotDevice
from linkwork.workcell.parts import CellFrame, Motion


def placed(
    name: str,
    model: Model,
    *,
    parent: str,
    parent_H_base: Pose,
    base: str | None,
    floating: bool,
    attachable: bool,
    end: str | None,
) -> tuple[list[CellFrame], RobotDevice]:
    """The frames of a robot in a cell, and its device; `WorkCell.with_robot` says what they mean."""
    if not isinstance(model, Model):
        raise ArgumentError(f"model: expected a Model, got {shown(model)}")
    base = model.default_base if base is None else base
    root = model.frame(base)
    frames: list[CellFrame] = []
    carrier: dict[str, str] = {}  # joint: the link that it moves

    def prefixed(own: str) -> str:
        return f"{name}.{own}"

    order = list(walk(model, root.link))
    for visit in order:
        if visit.joint is not None:
            carrier[visit.joint.name] = visit.link
    if root.name != root.link:  # the base is a further frame, and carries its link
        frames.append(CellFrame(name=prefixed(base), parent=parent, parent_H_frame=parent_H_base))
    for visit in order:
        link = model.link(visit.link)
        about = {
            "inertia": link.inertia,
            "visuals": link.visuals,
            "collisions": link.collisions,
            "place": link.place,
        }
        own = prefixed(visit.link)
        if visit.joint is None:
            if root.name == root.link:
                on, mount = parent, parent_H_base
            else:
                on, mount = prefixed(base), inverted(root.link_H_frame)
            frames.append(CellFrame(name=own, parent=on, parent_H_frame=mount, **about))
        else:
            mount, motion = _joint_frame(visit.joint, visit.link, prefixed, carrier)
            frames.append(
                CellFrame(
                    name=own,
                    parent=prefixed(str(visit.parent)),
                    parent_H_frame=mount,
                    motion=motion,
                    **about,
                )
            )
    frames += [
        CellFrame(
            name=prefixed(frame.name),
            parent=prefixed(frame.link),
            parent_H_frame=frame.link_H_frame,
            place=frame.place,
        )
        for frame in model.frames
        if frame.name != base
    ]
    first = frames[0]
    frames[0] = replace(first, movable=floating, attachable=attachable)
    driven = [prefixed(carrier[joint.name]) for joint in model.joints if joint.nq]
    device = RobotDevice(
        name=name,
        base=parent if floating else first.name,
        end=prefixed(order[-1].link if end is None else model.frame(end).name),
        model=model,
        base_link=base,
        floating=floating,
        joints=tuple([first.name, *driven] if floating else driven),
    )
    return frames, device


def _joint_frame(
    joint: Joint, beyond: str, prefixed: Callable[[str], str], carrier: dict[str, str]
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
        joint=prefixed(carrier[mimic.joint]), multiplier=mimic.multiplier, offset=mimic.offset
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
