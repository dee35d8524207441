"""The wrench that goes through each joint: what its side nearer to the base does to the other.

Every link is looked at by itself, also links that fixed joints hold together, so that the wrench in
a sensor between them is found. The wrench of a joint is what moves all links beyond it, less what
acts on them from outside; it is written as a wrench on the link beyond.
"""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.algorithms.dynamics import Wrenches, on_bodies
from linkwork.algorithms.frames import Matrix, Numbers, Twist, body_pose
from linkwork.algorithms.rnea import body_motion, body_wrench, motions, poses
from linkwork.mechanics.base import Representation, base_of
from linkwork.mechanics.blocks import Sym, Vec, add, apply, apply_t, cross, sub
from linkwork.mechanics.skeleton import Body, Skeleton
from linkwork.model.model import Model
from linkwork.model.walk import walk


@dataclass(frozen=True, slots=True)
class _Edge:
    """A joint as it is crossed outward: places of its links in the model."""

    joint: int
    parent: int
    child: int


def joint_wrenches(
    skeleton: Skeleton,
    q: Numbers,
    nu: Numbers,
    nu_dot: Numbers,
    *,
    base_link: str,
    gravity: Vec,
    velocity: Representation,
    wrenches: Wrenches,
) -> Matrix:
    """(joints, 6) in the order of the model's joints, fixed ones too."""
    model = skeleton.layout.model
    base = base_of(skeleton.layout, q, velocity)
    joints = poses(skeleton, q)
    _, w = base.twist(nu)
    a, u = base.acceleration(nu, nu_dot, gravity)
    moving = motions(skeleton, joints, nu, nu_dot, (w, u, a))
    # of each link, in its body's axes about its body's origin
    through: dict[int, Twist] = {}
    for link in range(len(model.links)):
        body, turn, p = skeleton.frames[link]
        here = moving[body]
        a_link = apply_t(turn, add(here.a, apply(here.W, p)))
        motion = body_motion(apply_t(turn, here.w), apply_t(turn, here.u), a_link)
        force, moment = body_wrench(_alone(model, link), motion)
        force, moment = apply(turn, force), apply(turn, moment)
        through[link] = force, add(moment, cross(p, force))
    for frame, (force, moment) in on_bodies(skeleton, base, joints, wrenches, velocity).items():
        link = model.link_index(model.frame(model.frame_names[frame]).link)
        through[link] = sub(through[link][0], force), sub(through[link][1], moment)
    edges = _outward(model, base_link)
    for edge in reversed(edges):
        force, moment = through[edge.child]
        child, parent = skeleton.frames[edge.child][0], skeleton.frames[edge.parent][0]
        if child != parent:
            force, moment = joints[child].inward(force, moment)
        known = through[edge.parent]
        through[edge.parent] = add(known[0], force), add(known[1], moment)
    found: Matrix = [[0.0] * 6 for _ in model.joints]
    for edge in edges:
        body, turn, p = skeleton.frames[edge.child]
        force, moment = through[edge.child]
        about_link = sub(moment, cross(p, force))
        if velocity == "body":
            found[edge.joint] = [*apply_t(turn, force), *apply_t(turn, about_link)]
            continue
        R, o = body_pose(skeleton, base, joints, body)
        force = apply(R, force)
        if velocity == "mixed":
            found[edge.joint] = [*force, *apply(R, about_link)]
        else:
            found[edge.joint] = [*force, *add(apply(R, moment), cross(o, force))]
    return found


def _alone(model: Model, link: int) -> Body:
    """A link by itself, about its own origin."""
    mass, *rest = model.links[link].inertia.parameters().tolist()
    first: Vec = (rest[0], rest[1], rest[2])
    tensor: Sym = (rest[3], rest[4], rest[5], rest[6], rest[7], rest[8])
    return Body(-1, None, mass, first, tensor)


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
