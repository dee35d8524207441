"""Parallel devices of a workcell file: robots whose chains meet in junctions.

A `<ParallelDevice>` has several legs, each a `<SerialChain>` and the frames before and after it. A
`<Junction>` lists, in two or more `<Chains>`, the chains whose legs lead to frames that coincide;
without a junction, the last frames of all legs coincide. The device becomes a robot: its frames are
the links, the junctions pose constraints, and the active joints those with motors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from linkwork.errors import SourceLocation, model_error, nearest, shown
from linkwork.model.model import Model
from linkwork.model.parts import Constraint, Joint, Link
from linkwork.workcell.cell.devices import RobotDevice
from linkwork.workcell.cell.frames import CellFrame
from linkwork.workcell.cell.robots import Placement, joint_of, place_robot
from linkwork.workcell.files.elements import CellPart

Junction: TypeAlias = tuple[str, str, SourceLocation]  # two frames that coincide


@dataclass(frozen=True, slots=True)
class ParallelDevice:
    """A parallel device as it is in the file."""

    part: CellPart
    name: str
    frames: tuple[str, ...]  # full names; the first is the base
    end: str
    junctions: tuple[Junction, ...]


def read_junctions(part: CellPart, chains: Mapping[str, str]) -> tuple[Junction, ...]:
    """Return the pairs of frames that the junctions of a device join.

    Args:
        part: the device.
        chains: the last frame of the leg of each chain, by the name of the chain.
    """
    junctions = [child for child in part.parts() if child.tag == "Junction"]
    if not junctions and len(chains) < 2:
        text = "expected two or more <SerialChain>, which form closed loops"
        part.error(f"{text}; a device without loops is a <TreeDevice>")
        return ()
    if not junctions:
        return tuple(_pairs(list(chains.values()), part.location))
    pairs: list[Junction] = []
    for junction in junctions:
        junction.warn_unknown(("Chains",), (), strict=True)
        lists = [child for child in junction.parts() if child.tag == "Chains"]
        ends = [end for one in lists if (end := _end(one, chains))]
        if len(lists) < 2:
            junction.error("expected two or more <Chains>")
        pairs += _pairs(ends, junction.location)
    return tuple(pairs)


def _pairs(ends: Sequence[str], location: SourceLocation) -> Iterable[Junction]:
    return ((ends[0], other, location) for other in ends[1:])


def _end(part: CellPart, chains: Mapping[str, str]) -> str | None:
    """Return the last frame of the leg of the last chain of a list."""
    names = part.content().split()
    for name in names:
        if name not in chains:
            part.error(f"no <SerialChain> named {shown(name)}; {nearest(name, chains)}")
            return None
    if not names:
        part.error("expected names of <SerialChain>")
        return None
    return chains[names[-1]]


def place_parallel(
    device: ParallelDevice, frames: Mapping[str, CellFrame]
) -> tuple[list[CellFrame], RobotDevice]:
    """Return the frames of a parallel device, each joint with its name in the robot, and the robot.

    Raises:
        ModelError: they do not form a robot.
    """
    own = [frames[name] for name in device.frames if name in frames]
    base = own[0]
    model = _model(device, own)
    _, robot = place_robot(
        model,
        Placement(
            name=device.name,
            parent=str(base.parent),
            parent_H_base=base.parent_H_frame,
            base=_link(device, base.name),
            end=_link(device, device.end),
        ),
    )
    named = [
        replace(frame, motion=replace(frame.motion, joint=_link(device, frame.name)))
        if frame.motion
        else frame
        for frame in own
    ]
    return named, robot


def _model(device: ParallelDevice, frames: Sequence[CellFrame]) -> Model:
    return Model(
        name=device.name,
        links=tuple(
            Link(
                name=_link(device, frame.name),
                inertia=frame.inertia,
                visuals=frame.visuals,
                collisions=frame.collisions,
                location=frame.location,
            )
            for frame in frames
        ),
        joints=tuple(_joint(device, frame) for frame in frames[1:]),
        constraints=tuple(
            Constraint(
                name=f"{_link(device, first)}_to_{_link(device, second)}",
                kind="pose",
                first=_link(device, first),
                second=_link(device, second),
                location=location,
            )
            for first, second, location in device.junctions
        ),
    )


def _joint(device: ParallelDevice, frame: CellFrame) -> Joint:
    """Return the joint between a frame and its parent.

    Raises:
        ModelError: the frame is movable, or not on a frame of the device.
    """
    name, location = _link(device, frame.name), frame.location
    problem = ""
    if frame.movable or frame.attachable:
        problem = "is movable; the frames of a ParallelDevice are joints or fixed"
    elif frame.parent not in device.frames:
        problem = f"is on {frame.parent!r}, which is not a frame of its ParallelDevice"
    if problem:
        raise model_error(problem, f"frame {frame.name!r}", location)
    depends = frame.motion and frame.motion.depends
    more: dict[str, Any] = {"location": location}
    if depends:
        more["mimic"] = replace(depends, joint=_link(device, depends.joint))
    elif frame.motion:
        more["actuated"] = frame.motion.active
    return joint_of(frame, name, _link(device, str(frame.parent)), name, **more)


def _link(device: ParallelDevice, frame: str) -> str:
    """Return the name of a frame of the device as a link: without the name of the device."""
    return frame.removeprefix(f"{device.name}.")
