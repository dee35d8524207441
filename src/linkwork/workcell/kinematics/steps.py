"""The steps of forward kinematics for the C extension (csrc/poses.c).

The pose of a frame in its parent is a product of factors: constant poses, rotations about an axis,
translations, quaternions. Constants are multiplied into their neighbors; the remaining factors
become one step, rarely two or three. Frames that are fixed to WORLD have constant world poses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.model.joints.kind import Factor as KindFactor
from linkwork.spatial.blocks import rotation_about
from linkwork.workcell.cell.data import CellData
from linkwork.workcell.cell.frames import CellFrame
from linkwork.workcell.cell.structure import leader_of

_extension: Any = import_module("linkwork.workcell._poses")  # steps are only for this extension
_LINEAR: int = _extension.LINEAR_POSE
_ROTATION: int = _extension.ROTATION_POSE
_FREE: int = _extension.FREE_POSE
_QUATERNION: int = _extension.QUATERNION_POSE
_ROOTED: int = _extension.ROOTED
_ATTACHED: int = _extension.ATTACHED


class NoFactorsError(Exception):
    """A joint kind without factors, so that NumPy must compute the poses of the cell."""


@dataclass
class Factor:
    """A pose as a function of the state: C0 + sum of values times C1, C2, ...; or a quaternion."""

    op: int
    argument: int = 0  # index of its first value in the state; for a rotation, of the angle
    poses: list[Array] = field(default_factory=list[Any])  # C0, C1, ..., (4, 4) each
    inverse: bool = False

    def multiply_right(self, constant: Array) -> None:
        """Multiply a constant pose from the right."""
        self.poses = [pose @ constant for pose in self.poses]

    def multiply_left(self, constant: Array) -> None:
        """Multiply a constant pose from the left."""
        self.poses = [constant @ pose for pose in self.poses]


class StepBuilder:
    """Collects steps, constants and angles of a cell."""

    def __init__(self, cell: CellData) -> None:
        layout = cell.layout
        self._cell = cell
        self.n_frames = self._slots = len(layout.slots)
        self.steps: list[tuple[int, ...]] = []
        self.starts: list[int] = []
        self.constants: list[Array] = []
        self.angles: dict[tuple[int, float, float], int] = {}
        self._world: dict[int, Array] = {0: np.eye(4)}  # frames whose world pose is constant
        parts: dict[int, list[int]] = {root: [] for root in (0, *layout.attachable)}
        for k, root in enumerate(layout.part_roots.tolist()):
            parts[root].append(k)
        self.part_of = np.zeros(self.n_frames, dtype=np.int32)
        for part, (root, frames) in enumerate(parts.items()):
            self.starts.append(len(self.steps))
            self.part_of[frames] = part
            for k in self._parents_first(root, frames):
                self._add(k, part)
        self.starts.append(len(self.steps))

    def _parents_first(self, root: int, frames: Sequence[int]) -> list[int]:
        """Return the frames of a part, parents before children."""
        slots = self._cell.layout.slots
        below: dict[int, list[int]] = {k: [] for k in frames}
        for k in frames:
            if k != root:
                below[slots[k].parent].append(k)
        order = [root]
        for parent in order:  # breadth first: siblings do not depend on each other
            order += below[parent]
        return order

    def _add(self, k: int, part: int) -> None:
        frame, slot = self._cell.frames[k], self._cell.layout.slots[k]
        if k == 0:
            self._step(Factor(_LINEAR, poses=[np.eye(4)]), _ROOTED, 0)
            return
        parent = _ATTACHED - (part - 1) if slot.attachable else slot.parent
        factors = _merged(self._factors(frame, k))
        if not slot.attachable and slot.parent in self._world:
            world_H_parent, parent = self._world[slot.parent], _ROOTED
            factors = _merged([Factor(_LINEAR, poses=[world_H_parent]), *factors])
            if len(factors) == 1 and _is_constant(factors[0]):
                self._world[k] = factors[0].poses[0]
        for index, factor in enumerate(factors):
            is_last = index == len(factors) - 1
            out = k if is_last else self._slots
            self._slots += not is_last
            self._step(factor, parent, out)
            parent = out

    def _step(self, factor: Factor, parent: int, slot: int) -> None:
        terms = len(factor.poses) - 1 if factor.op == _LINEAR else int(factor.inverse)
        start = 12 * len(self.constants)
        self.constants += [pose[:3].reshape(-1) for pose in factor.poses]
        argument = factor.argument
        if factor.op == _ROTATION:  # in blocks of four cosines and four sines
            argument = 8 * (argument // 4) + argument % 4
        self.steps.append((factor.op, parent, slot, start, argument, terms))

    def _factors(self, frame: CellFrame, k: int) -> list[Factor]:
        """Return the factors of the pose of a frame in its parent."""
        value_index = self._cell.layout.offsets[k]
        if frame.movable:
            return [Factor(_FREE, value_index)]
        mount = Factor(_LINEAR, poses=[frame.parent_H_frame.matrix()])
        if not frame.motion:
            return [mount]
        moved = self._motion(frame)
        if frame.motion.backwards:
            moved = [_inverse(factor) for factor in reversed(moved)]
        return [mount, *moved, Factor(_LINEAR, poses=[frame.motion.joint_H_frame.matrix()])]

    def _motion(self, frame: CellFrame) -> list[Factor]:
        """Return the factors of M(theta) of a joint, each of which has a simple inverse."""
        motion = frame.motion
        assert motion
        leader, factor, offset = leader_of(self._cell, frame)
        value_index = self._cell.layout.offsets[leader]
        parts = motion.motion_kind.factors(motion.constants)
        if parts is None:
            raise NoFactorsError(frame.name, motion.kind)
        return [self._factor(part, value_index + part.start, factor, offset) for part in parts]

    def _factor(self, part: KindFactor, value_index: int, factor: float, offset: float) -> Factor:
        """Convert a factor of a joint kind, with theta = factor * value + offset."""
        axes = [np.array(axis, dtype=np.float64) for axis in part.axes]
        match part.motion:
            case "rotation":
                index = self.angles.setdefault((value_index, factor, offset), len(self.angles))
                return Factor(_ROTATION, index, _about(axes[0]))
            case "cos_sin":
                return Factor(_LINEAR, value_index, _about(axes[0]))
            case "translation":
                start = sum((offset * axis for axis in axes), np.zeros(3))
                return _slide(value_index, [factor * axis for axis in axes], start)
            case "quaternion":
                return Factor(_QUATERNION, value_index)

    def arrays(self) -> tuple[Any, ...]:
        """Return the arguments of the constructor of the C type."""
        layout = self._cell.layout
        padded = -(-len(self.angles) // 4) * 4
        angle_at = np.zeros(padded, dtype=np.int32)
        factors = np.zeros((2, padded))
        for k, (value_index, factor, offset) in enumerate(self.angles):
            angle_at[k], factors[0, k], factors[1, k] = value_index, factor, offset
        constants = np.concatenate(self.constants) if self.constants else np.zeros(0)
        sizes = (self.n_frames, self._slots, layout.n_values, len(layout.attachable))
        return (
            sizes,
            np.array(self.steps, dtype=np.int32),
            np.array(self.starts, dtype=np.int32),
            self.part_of,
            angle_at,
            factors,
            constants,
        )


def _about(axis: Array) -> list[Array]:
    """Return C0, C1, C2 of a rotation C0 + cos C1 + sin C2 about an axis."""
    direction = (float(axis[0]), float(axis[1]), float(axis[2]))
    zero, cosine, sine = (
        np.array(rotation_about(direction, c, s), dtype=np.float64)
        for c, s in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))
    )
    poses = [np.zeros((4, 4)) for _ in range(3)]
    poses[0][:3, :3], poses[1][:3, :3], poses[2][:3, :3] = zero, cosine - zero, sine - zero
    poses[0][3, 3] = 1.0
    return poses


def _slide(value_index: int, axes: Sequence[Array], offset: Array | float = 0.0) -> Factor:
    """Return a translation along axes by values of the state."""
    poses = [np.eye(4), *(np.zeros((4, 4)) for _ in axes)]
    poses[0][:3, 3] = offset
    for pose, axis in zip(poses[1:], axes, strict=True):
        pose[:3, 3] = axis
    return Factor(_LINEAR, value_index, poses)


def _inverse(factor: Factor) -> Factor:
    """Return the inverse of a factor before constants are multiplied into it."""
    if factor.op == _QUATERNION:
        return Factor(_QUATERNION, factor.argument, inverse=True)
    poses = [pose.copy() for pose in factor.poses]
    is_slide = factor.op == _LINEAR and any(pose[:3, 3].any() for pose in poses)
    for pose in poses:
        if is_slide:
            pose[:3, 3] *= -1
        else:
            pose[:3, :3] = pose[:3, :3].T.copy()
    return Factor(factor.op, factor.argument, poses)


def _merged(factors: Sequence[Factor]) -> list[Factor]:
    """Multiply constants into their neighbors, and drop identities."""
    result: list[Factor] = []
    for factor in factors:
        if _is_constant(factor) and result and result[-1].poses:
            result[-1].multiply_right(factor.poses[0])
        elif result and _is_constant(result[-1]) and factor.poses:
            factor.multiply_left(result.pop().poses[0])
            result.append(factor)
        else:
            result.append(factor)
    nontrivial = [
        f for f in result if not (_is_constant(f) and np.array_equal(f.poses[0], np.eye(4)))
    ]
    return nontrivial or result[:1]


def _is_constant(factor: Factor) -> bool:
    return factor.op == _LINEAR and len(factor.poses) == 1
