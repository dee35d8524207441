"""What a RobWork workcell file says, as frozen data: frames, devices and robots by full names.

Names of frames and devices are full: `arm.TCP` is the frame TCP of the device arm. The root of all
frames is WORLD, which no file defines. Angles are in radians, whatever the file has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from math import inf
from typing import Literal, TypeAlias

from linkwork.errors import Finding, Place
from linkwork.model.geometry import Shape
from linkwork.model.inertia import NO_INERTIA, Inertia
from linkwork.model.model import Model
from linkwork.model.numbers import Triple
from linkwork.model.parts import NO_LIMITS, Limits, Mimic
from linkwork.model.pose import IDENTITY, Pose

WORLD = "WORLD"
DeviceKind: TypeAlias = Literal["serial", "tree", "joint", "composite", "mobile", "free", "robot"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JointEntry:
    """What makes a joint of a frame: parent_H_frame = pose @ M(theta) @ joint_H_frame."""

    kind: str  # a name in linkwork.model.joints.KINDS
    axis: Triple = (0.0, 0.0, 1.0)
    limits: Limits = NO_LIMITS
    acceleration: float = inf  # largest acceleration, either way [rad/s^2] or [m/s^2]
    depends: Mimic | None = None  # on another joint frame, by its full name
    active: bool = True  # whether devices drive it
    pitch: float = 0.0  # of a helical joint [m/rad]
    joint_H_frame: Pose = IDENTITY  # where the frame sits on the moving side
    backwards: bool = False  # whether the frame is moved by M^-1
    joint: str = ""  # name of the joint in the robot that it comes from, if any


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameEntry:
    """A frame of a workcell."""

    name: str
    parent: str
    pose: Pose = IDENTITY  # parent_H_frame; of a joint at zero; of a movable frame at the start
    movable: bool = False
    attachable: bool = False
    joint: JointEntry | None = None
    inertia: Inertia = NO_INERTIA
    visuals: tuple[Shape, ...] = ()
    collisions: tuple[Shape, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    home: tuple[float, ...] = ()  # its numbers in the default state; empty: neutral, or the pose
    home_parent: str | None = None  # where an attachable frame is by default, if not on `parent`
    helper: bool = False  # whether it stands in the file for RobWork alone
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceEntry:
    """A device: which joint frames its q holds, in order, and between which frames it acts.

    One of kind "robot" stands for the device that a placed robot brings.
    """

    name: str
    kind: DeviceKind
    base: str = ""
    ends: tuple[str, ...] = ()
    joints: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()  # the devices of a composite device
    home: tuple[float, ...] | None = None
    radius: float = 1.0  # of the wheels of a mobile device [m]
    track: float = 1.0  # distance between them [m]
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotEntry:
    """A robot of its own file, placed in the cell: its frames are `name.link`."""

    name: str
    model: Model
    parent: str
    pose: Pose = IDENTITY  # parent_H_base
    base: str | None = None
    floating: bool = False
    attachable: bool = False
    end: str | None = None
    home: tuple[float, ...] | None = None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellDocument:
    """A workcell file. Every frame and robot comes after the one that holds it."""

    name: str
    world: FrameEntry  # geometry and properties of the root
    nodes: tuple[FrameEntry | RobotEntry, ...]
    devices: tuple[DeviceEntry, ...]


@dataclass(frozen=True, slots=True)
class CellReading:
    """What came out of a file: a document unless there were errors, and all findings."""

    document: CellDocument | None
    findings: tuple[Finding, ...]


def mobile_frames(base: str, left: str, right: str, width: float) -> list[FrameEntry]:
    """The frames of a cart: itself, on WORLD, and its wheels, which turn about its y axis."""
    cart = FrameEntry(name=base, parent=WORLD, movable=True, attachable=True)
    wheels = [
        FrameEntry(
            name=name,
            parent=base,
            pose=Pose((0.0, side * width, 0.0), (math.pi / 2, 0.0, 0.0)),
            joint=JointEntry(kind="revolute"),
        )
        for name, side in ((left, 0.5), (right, -0.5))
    ]
    return [cart, *wheels]
