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
from linkwork.mechanics.inertia import RigidInertia
from linkwork.mechanics.skeleton import Skeleton
from linkwork.model.model import Model
from linkwork.model.spanning import walk
from linkwork.spatial.blocks import (
    Sym,
    Twist,
    Vec,
    add,
    apply,
    apply_t,
    cross,
    sub,
    twist_add,
    twist_rotate,
    twist_sub,
)


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
    through: dict[int, Twist] = {}
    for link in range(len(model.links)):
        body, R, p = skeleton.frames[link]
        inertia = skeleton.links.get(link) or _inertia(model, link)
        force, moment = twist_rotate(R, body_wrench(inertia, at_frame(moving[body], R, p)))
        through[link] = force, add(moment, cross(p, force))
    for frame, wrench in external_wrenches(skeleton, base, joints, wrenches).items():
        link = model.link_index(model.frame(model.frame_names[frame]).link)
        through[link] = twist_sub(through[link], wrench)
    edges = _outward(model, base_link)
    for edge in reversed(edges):
        wrench = through[edge.child]
        child, parent = skeleton.frames[edge.child][0], skeleton.frames[edge.parent][0]
        if child != parent:
            wrench = joints[child].inward(*wrench)
        through[edge.parent] = twist_add(through[edge.parent], wrench)
    rows: Matrix = [[0.0] * 6 for _ in model.joints]
    for edge in edges:
        body, R_link, p = skeleton.frames[edge.child]
        force, moment = through[edge.child]
        about_link = sub(moment, cross(p, force))
        if velocity == "body":
            rows[edge.joint] = [*apply_t(R_link, force), *apply_t(R_link, about_link)]
            continue
        R, o = body_pose(skeleton, base, joints, body)
        force = apply(R, force)
        if velocity == "mixed":
            rows[edge.joint] = [*force, *apply(R, about_link)]
        else:
            rows[edge.joint] = [*force, *add(apply(R, moment), cross(o, force))]
    return rows


def _inertia(model: Model, link: int) -> RigidInertia:
    """Inertia of a link by itself, about its own origin."""
    mass, x, y, z, xx, xy, xz, yy, yz, zz = model.links[link].inertia.parameters().tolist()
    first_moment: Vec = (x, y, z)
    tensor: Sym = (xx, xy, xz, yy, yz, zz)
    return RigidInertia(mass, first_moment, tensor)


def _outward(model: Model, base_link: str) -> list[_Edge]:
    """Every joint once, as it is met on the way from the base."""
    return [
        _Edge(
            model.joint_index(visit.joint.name),
            model.link_index(str(visit.parent)),
            model.link_index(visit.link),
        )
        for visit in walk(model, base_link)
        if visit.joint
    ]
