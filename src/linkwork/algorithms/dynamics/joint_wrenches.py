"""The wrench that each joint transmits: from its side nearer to the base to the other side.

Every link counts by itself, also links that fixed joints hold together, so that the wrench in a
force sensor between them is computed too. The wrench of a joint is what moves all links beyond it,
less the external wrenches on them; it is written as a wrench on the link beyond.
"""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.algorithms.dynamics.rnea import (
    Wrenches,
    at_frame,
    body_wrench,
    external_wrenches,
    robot_motion,
)
from linkwork.algorithms.kinematics.frames import Matrix, Scalars, body_pose, joint_poses
from linkwork.mechanics.base import Representation, base_of
from linkwork.mechanics.skeleton import Skeleton
from linkwork.model.graph import walk
from linkwork.model.model import Model
from linkwork.spatial.blocks import Force, Vec


@dataclass(frozen=True, slots=True)
class _Edge:
    """A joint as it is crossed outward: indices of itself and its links in the model."""

    joint: int
    parent: int
    child: int


def joint_wrenches(
    skeleton: Skeleton,
    q: Scalars,
    nu: Scalars,
    nu_dot: Scalars,
    *,
    base_link: str,
    gravity: Vec,
    velocity: Representation,
    wrenches: Wrenches,
) -> Matrix:
    """(joints, 6) in the order of the model's joints, fixed ones too."""
    model = skeleton.layout.model
    base = base_of(skeleton.layout, q, velocity)
    joints = joint_poses(skeleton, q)
    moving = robot_motion(skeleton, base, joints, nu, nu_dot, gravity=gravity)
    # of each link, in its body's axes about its body's origin
    through: dict[int, Force] = {}
    for link in range(len(model.links)):
        body, R, p = skeleton.frames[link]
        wrench = body_wrench(skeleton.link_inertia(link), at_frame(moving[body], R, p))
        through[link] = (R @ wrench).shifted(p)
    for frame, wrench in external_wrenches(skeleton, base, joints, wrenches).items():
        link = model.link_index(model.frame(model.frame_names[frame]).link)
        through[link] = through[link] - wrench
    edges = _outward(model, base_link)
    for edge in reversed(edges):
        wrench = through[edge.child]
        child, parent = skeleton.frames[edge.child][0], skeleton.frames[edge.parent][0]
        if child != parent:
            wrench = joints[child].inward(wrench)
        through[edge.parent] = through[edge.parent] + wrench
    rows: Matrix = [[0.0] * 6 for _ in model.joints]
    for edge in edges:
        body, R_link, p = skeleton.frames[edge.child]
        wrench = force, moment = through[edge.child]
        about_link = Force(force, moment - p.cross(force))
        if velocity == "body":
            force, moment = R_link.T @ about_link
        else:
            R, o = body_pose(skeleton, base, joints, body)
            force, moment = R @ about_link if velocity == "mixed" else (R @ wrench).shifted(o)
        rows[edge.joint] = [*force, *moment]
    return rows


def _outward(model: Model, base_link: str) -> list[_Edge]:
    """Return every joint once, as it is met on the way from the base."""
    return [
        _Edge(
            model.joint_index(visit.joint.name),
            model.link_index(str(visit.parent)),
            model.link_index(visit.link),
        )
        for visit in walk(model, base_link)
        if visit.joint
    ]
