"""Frames of a workcell: immutable data, without any state.

The parent of a frame is another frame of the cell; the root is WORLD. By kind:

    fixed      parent_H_frame is constant
    movable    parent_H_frame is in the state: position (3) and quaternion wxyz (4)
    a joint    parent_H_frame(theta) = parent_H_joint @ M(theta) @ joint_H_frame, theta in the state

A frame of any kind may be attachable: then its parent is in the state, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import SourceLocation, concerning, model_error, nearest
from linkwork.model.geometry import Shape
from linkwork.model.inertia import NO_INERTIA, Inertia
from linkwork.model.joints import KINDS, Axis, JointKind
from linkwork.model.numbers import Triple, finite_numbers, instance, number, settle, text, triple
from linkwork.model.parts import NO_LIMITS, Limits, Mimic, check_name, checked_shapes
from linkwork.model.pose import IDENTITY, Pose
from linkwork.spatial.blocks import as_vec
from linkwork.workcell.state.layout import NORM_NOISE, NORM_TOLERANCE

WORLD = "WORLD"
"""Name of the root of every workcell."""

_MOVABLE = KINDS["floating"]  # a movable frame has the coordinates of a floating joint


@dataclass(frozen=True, slots=True, kw_only=True)
class Motion:
    """How a joint frame moves on its parent."""

    kind: str  # one of linkwork.model.joints.KINDS
    axis: Triple = (0.0, 0.0, 1.0)  # unit vector in the joint frame
    pitch: float = 0.0  # of a helical joint: advance along the axis per radian [m/rad]
    joint_H_frame: Pose = IDENTITY  # of the frame on the moving side
    backwards: bool = False  # whether the frame is on the fixed side, moved by M^-1
    limits: Limits = NO_LIMITS
    acceleration: float = inf  # limit of its magnitude [rad/s^2] or [m/s^2]
    depends: Mimic | None = None  # theta = multiplier theta_other + offset; names a joint frame
    active: bool = True  # False of a joint that devices do not drive
    joint: str = ""  # name of the joint in the robot model, if any

    def __post_init__(self) -> None:
        settle(self, kind=text(self.kind, "kind"), axis=triple(self.axis, "axis"))
        if self.kind not in KINDS or self.kind == "fixed":
            kinds = [name for name in KINDS if name != "fixed"]
            raise model_error(f"unknown joint kind {self.kind!r}; {nearest(self.kind, kinds)}")
        settle(self, pitch=number(self.pitch, "pitch"), joint=text(self.joint, "joint"))
        acceleration = number(self.acceleration, "acceleration")
        if math.isnan(acceleration) or acceleration < 0:
            raise model_error(f"acceleration: expected a number >= 0, got {acceleration:g}")
        settle(self, acceleration=acceleration)
        instance(self.joint_H_frame, Pose, "joint_H_frame")
        instance(self.limits, Limits, "limits")
        if self.pitch and not self.motion_kind.has_pitch:
            raise model_error(f"a {self.kind} joint has no pitch, got {self.pitch:g}")
        if self.depends is not None:
            instance(self.depends, Mimic, "depends")
            if self.motion_kind.nq != 1:
                message = f"a {self.kind} joint cannot depend on another"
                raise model_error(f"{message}; only joints with one coordinate can")
        if self.motion_kind.nv != 1 and self.limits != NO_LIMITS:
            raise model_error(f"a {self.kind} joint has no limits, got {self.limits}")

    @property
    def motion_kind(self) -> JointKind:
        """The joint kind object."""
        return KINDS[self.kind]

    @property
    def constants(self) -> Axis:
        """The axis and pitch, as the formulas of the kind need them."""
        return Axis(as_vec(self.axis), self.pitch)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFrame:
    """A frame of a workcell."""

    name: str
    parent: str | None  # None only for WORLD
    parent_H_frame: Pose = IDENTITY  # for a joint: parent_H_joint; for a movable frame: the default
    movable: bool = False
    attachable: bool = False
    motion: Motion | None = None  # for a joint frame
    home: tuple[float, ...] = ()  # its values in the default state
    home_parent: str | None = None  # of an attachable frame in the default state; None: `parent`
    inertia: Inertia = NO_INERTIA  # of the body that is fixed to it, in its axes
    visuals: tuple[Shape, ...] = ()
    collisions: tuple[Shape, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()  # additional (name, value) pairs of a file
    location: SourceLocation | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        settle(self, name=check_name("frame", self.name, self.location))
        with concerning(f"frame {self.name!r}", self.location):
            if self.parent is not None:
                settle(self, parent=text(self.parent, "parent"))
            instance(self.parent_H_frame, Pose, "parent_H_frame")
            instance(self.inertia, Inertia, "inertia")
            for name in ("movable", "attachable"):
                settle(self, **{name: bool(getattr(self, name))})
            for name in ("visuals", "collisions"):
                settle(self, **{name: checked_shapes(getattr(self, name), name)})
            settle(self, properties=tuple(self.properties))
            if self.motion is not None:
                instance(self.motion, Motion, "motion")
            if self.movable and self.motion:
                raise model_error("a joint frame cannot be movable")
            if self.parent == self.name:
                raise model_error("a frame cannot be its parent")
            if self.home_parent is not None and not self.attachable:
                raise model_error("home_parent: only an attachable frame has one")
            settle(self, home=self._checked_home())

    def _checked_home(self) -> tuple[float, ...]:
        if not self.size:
            return ()
        if not self.home:
            if self.movable:
                return pose_to_xyz_wxyz(self.parent_H_frame.matrix())
            return self.coordinate_kind.neutral
        return normalized_coordinates(
            self.coordinate_kind, finite_numbers(self.home, self.size, "home")
        )

    @property
    def kind(self) -> str:
        """`fixed`, `movable`, or the kind of the joint."""
        return self.motion.kind if self.motion else "movable" if self.movable else "fixed"

    @property
    def default_parent(self) -> str | None:
        """The parent in the default state."""
        return self.parent if self.home_parent is None else self.home_parent

    @property
    def coordinate_kind(self) -> JointKind:
        """The joint kind of the frame's coordinates in a state."""
        return self.motion.motion_kind if self.motion else _MOVABLE

    @property
    def size(self) -> int:
        """The number of the frame's values in a state."""
        if self.motion:
            return 0 if self.motion.depends else self.motion.motion_kind.nq
        return _MOVABLE.nq if self.movable else 0

    @property
    def velocity_size(self) -> int:
        """The number of the frame's velocity coordinates."""
        return self.coordinate_kind.nv if self.size else 0


ROOT = CellFrame(name=WORLD, parent=None)


def pose_to_xyz_wxyz(matrix: Array) -> tuple[float, ...]:
    """Return position and quaternion wxyz of one pose (4, 4), faster than `quat.from_rotation`."""
    (xx, xy, xz, px), (yx, yy, yz, py), (zx, zy, zz, pz) = matrix[:3].tolist()
    rows = (
        (1 + xx + yy + zz, zy - yz, xz - zx, yx - xy),
        (zy - yz, 1 + xx - yy - zz, yx + xy, xz + zx),
        (xz - zx, yx + xy, 1 - xx + yy - zz, zy + yz),
        (yx - xy, xz + zx, zy + yz, 1 - xx - yy + zz),
    )
    best = max(range(4), key=lambda k: rows[k][k])
    norm = math.copysign(math.hypot(*rows[best]), rows[best][0])
    return (px, py, pz, *(entry / norm for entry in rows[best]))


def normalized_coordinates(kind: JointKind, theta: Iterable[float]) -> tuple[float, ...]:
    """Normalize the quaternion or (cos, sin) pair in coordinates, or raise an error."""
    coordinates = list(theta)
    for part in kind.unit_norm:
        span = slice(part.start, part.start + part.count)
        norm = math.hypot(*coordinates[span])
        if not abs(norm - 1) <= NORM_TOLERANCE:
            raise model_error(f"the {part.name} has norm {norm:.6g}, not 1")
        if abs(norm - 1) > NORM_NOISE:
            coordinates[span] = [entry / norm for entry in coordinates[span]]
    return tuple(coordinates)
