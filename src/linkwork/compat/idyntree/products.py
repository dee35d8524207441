"""What `left * right` means between iDynTree's classes: one table, and nothing beside it.

Rotation        in the axes of another frame: rotations, points, directions, axes, spatial
                vectors, classical accelerations, tensors
Transform       in another frame: poses, points, directions, axes, spatial vectors, inertias
Position        spatial vectors about another point
SpatialInertia  momentum of a velocity, wrench of an acceleration, force of a motion
Twist           cross products with velocities, accelerations and momenta
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.compat.idyntree.arrays import PRODUCTS, made
from linkwork.compat.idyntree.axis import Axis
from linkwork.compat.idyntree.inertias import (
    RotationalInertia,
    SpatialInertia,
)
from linkwork.compat.idyntree.poses import Rotation, Transform
from linkwork.compat.idyntree.vectors import (
    ClassicalAcc,
    Direction,
    Position,
    SpatialAcc,
    SpatialForceVector,
    SpatialMomentum,
    SpatialMotionVector,
    Twist,
    Wrench,
)
from linkwork.engine.symbolic.arrays import Array
from linkwork.spatial import motion, se3


def _keeping(rule: Callable[[Array, Array], Array]) -> Callable[[Any, Any], Any]:
    """A product that has the class of its right side."""
    return lambda left, right: made(type(right), rule(left.toNumPy(), right.toNumPy()))


def _giving(kind: Any, rule: Callable[[Array, Array], Array]) -> Callable[[Any, Any], Any]:
    """A product that has a class of its own."""
    return lambda left, right: made(kind, rule(left.toNumPy(), right.toNumPy()))


def _axis(left: Any, right: Axis) -> Axis:
    return Axis(left * right.getDirection(), left * right.getOrigin())


def _turned(R: Array, vector: Array) -> Array:
    return np.concatenate([R @ vector[:3], R @ vector[3:]])


def _times(left: Array, right: Array) -> Array:
    return left @ right


def _moved_inertia(H: Array, M: Array) -> Array:
    return motion.force_transform(H) @ M @ motion.motion_transform(se3.inverse(H))


def _at(rule: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """A rule for poses, used with a position alone."""
    return lambda p, vector: rule(se3.pose(np.eye(3), p), vector)


PRODUCTS.update(
    {
        (Rotation, Rotation): _keeping(_times),
        (Rotation, Position): _keeping(_times),
        (Rotation, Direction): _keeping(_times),
        (Rotation, Axis): _axis,
        (Rotation, SpatialMotionVector): _keeping(_turned),
        (Rotation, SpatialForceVector): _keeping(_turned),
        (Rotation, ClassicalAcc): _keeping(_turned),
        (Rotation, RotationalInertia): _keeping(lambda R, tensor: R @ tensor @ R.T),
        (Transform, Transform): _keeping(_times),
        (Transform, Position): _keeping(se3.transform_point),
        (Transform, Direction): _keeping(lambda H, direction: H[:3, :3] @ direction),
        (Transform, Axis): _axis,
        (Transform, SpatialMotionVector): _keeping(motion.transform_motion),
        (Transform, SpatialForceVector): _keeping(motion.transform_force),
        (Transform, SpatialInertia): _keeping(_moved_inertia),
        (Position, SpatialMotionVector): _keeping(_at(motion.transform_motion)),
        (Position, SpatialForceVector): _keeping(_at(motion.transform_force)),
        (SpatialInertia, Twist): _giving(SpatialMomentum, _times),
        (SpatialInertia, SpatialAcc): _giving(Wrench, _times),
        (SpatialInertia, SpatialMotionVector): _giving(SpatialForceVector, _times),
        (Twist, Twist): _giving(SpatialAcc, motion.motion_cross),
        (Twist, SpatialAcc): _giving(SpatialAcc, motion.motion_cross),
        (Twist, SpatialMomentum): _giving(Wrench, motion.force_cross),
    }
)
