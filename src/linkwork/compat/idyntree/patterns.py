"""Where Jacobians may be other than zero, as coarsely as iDynTree says it.

A joint between the two frames that turns may move every number of a velocity; one that only slides
moves the linear ones. The linear velocity of the base moves linear ones, the angular all. So the
pattern holds for every configuration, every robot of this shape and every representation;
`linkwork.KinDyn.jacobian_sparsity` knows more zeros.
"""

from __future__ import annotations

import numpy as np

from linkwork.compat.idyntree.order import walk
from linkwork.engine.symbolic.arrays import Array
from linkwork.model.joint_motion import motion_subspace
from linkwork.model.model import Model
from linkwork.model.parts import Joint


def relative_pattern(robot: Model, reference: str, frame: str) -> Array:
    """(6, n) of 0 and 1 for the velocity of a frame relative to another."""
    between = _path(robot, robot.frame(reference).link, robot.frame(frame).link)
    columns = [_columns(joint, moves=joint.name in between) for joint in robot.joints]
    return np.concatenate([np.zeros((6, 0)), *columns], axis=1)


def floating_pattern(robot: Model, base: str, frame: str) -> Array:
    """(6, 6 + n) of 0 and 1 for the velocity of a frame."""
    of_base = np.ones((6, 6))
    of_base[3:, :3] = 0.0
    return np.concatenate([of_base, relative_pattern(robot, base, frame)], axis=1)


def _columns(joint: Joint, *, moves: bool) -> Array:
    """(6, nv) of a joint, which may lie on the way or not."""
    found = np.zeros((6, joint.nv))
    if moves and joint.nv:
        neutral = joint.motion_kind.neutral
        turns = motion_subspace(joint, neutral, child=joint.second)[3:].any(axis=0)
        found[:3], found[3:] = 1.0, turns
    return found


def _path(robot: Model, start: str, end: str) -> set[str]:
    """Names of the joints between two links."""
    reached = {visit.link: visit for visit in walk(robot, start)}
    names: set[str] = set()
    here = reached[end]
    while here.parent is not None and here.joint is not None:
        names.add(here.joint.name)
        here = reached[here.parent]
    return names
