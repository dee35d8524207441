"""Is a robot plausible? All that is legal but doubtful.

A `Model` is always well formed: invalid parts raise when it is created. `check` reports what is
valid but probably an error: inertias that no body can have, joints that move no mass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import Finding
from linkwork.model.geometry import Mesh
from linkwork.model.joints.motion import motion_subspace
from linkwork.model.model import Model
from linkwork.model.parts import Joint, Link, resolved_followers
from linkwork.model.pose import IDENTITY, Pose
from linkwork.model.tree import Tree, tree_from
from linkwork.spatial.source import inertia

# Principal moments may miss the triangle inequality by this fraction of the largest, because files
# round their numbers: the inertia of a flat plate is on the boundary.
RELATIVE_TOLERANCE = 1e-6
# Links whose tensor belongs to a radius of gyration below this are taken as point masses [m]: for
# them, rounding decides whether the triangle inequality holds.
SMALLEST_RADIUS = 1e-7
# A joint is singular if the inertia along it is below this fraction of the largest entry of its
# body's inertia: that is the size of rounding errors.
SINGULAR = 1e-14
# Heavier links are reported: their mass is probably in grams [kg].
HEAVIEST_LINK = 1000.0
# A single chain of at least this many joints on the base is taken for an arm.
ARM_JOINTS = 6
# Shorter chains may fly; these do not, and are known by the names of their robots.
FIXED_ROBOTS = ("pendulum", "cartpole", "acrobot")
# Larger angles in roll, pitch, yaw are reported: they are probably in degrees [rad].
LARGEST_ANGLE = 6.3


def check(model: Model) -> list[Finding]:
    """Find what is doubtful about a robot.

    Returns:
        findings of severity `warning` (probably an error) and `note` (worth knowing), each with
        the element it concerns and, if the robot came from a file, its line there.
    """
    tree = tree_from(model)
    return [
        *doubtful_parts(model.links, model.joints),
        *_singular_joint_findings(tree),
        *_constraint_findings(model, tree),
    ]


def sign_of_fixed_base(model: Model, base: str) -> str:
    """Return the reason to assume that a base is fixed to the world; empty if there is none.

    Args:
        model: the robot.
        base: the link or frame that is its base.
    """
    links, joints = _rigid_group(model, model.frame(base).link, "")
    if "world" in links:
        return "it has a link named 'world'"
    if not any(model.link(link).inertia.mass for link in links):
        return f"the link {links[0]!r} and what is fixed to it have no mass"
    count = 0
    while len(joints) == 1 and joints[0][0].nv == 1:
        joint, link = joints[0]
        count += 1
        _, joints = _rigid_group(model, link, joint.name)
    if count >= ARM_JOINTS:
        return f"it is a chain of {count} joints, like an arm"
    name = model.name.lower().replace("_", "").replace("-", "")
    kind = next((one for one in FIXED_ROBOTS if one in name), "")
    return f"by its name, it is a {kind}" if kind and count and not joints else ""


def _rigid_group(
    model: Model, link: str, came_by: str
) -> tuple[list[str], list[tuple[Joint, str]]]:
    """Return the links that fixed joints hold to a link, and the joints that move others on them.

    Args:
        model: the robot.
        link: the first of the links.
        came_by: the joint that is left out.
    """
    links, joints, crossed = [link], list[tuple[Joint, str]](), {came_by}
    for here in links:  # grows meanwhile
        for there, name in model.neighbors(here):
            joint = model.joint(name)
            if name not in crossed and joint.is_fixed:
                links.append(there)
            elif name not in crossed:
                joints.append((joint, there))
            crossed.add(name)
    return links, joints


def doubtful_parts(links: Sequence[Link], joints: Sequence[Joint]) -> list[Finding]:
    """Find what is doubtful about parts by themselves, which need not make a robot."""
    return [
        *_inertia_findings(links),
        *_unit_findings(links, joints),
        *(finding for joint in joints for finding in _joint_findings(joint)),
        *_mesh_findings(links),
    ]


def unphysical_links(links: Sequence[Link]) -> list[Link]:
    """Return the links whose inertia no body can have, by the triangle inequality."""
    if not links:
        return []
    tensors = np.array([link.inertia.matrix() for link in links])
    masses = np.array([link.inertia.mass for link in links])
    tensors[np.abs(tensors).max(axis=(1, 2)) <= masses * SMALLEST_RADIUS**2] = 0.0
    parameters = inertia.from_com(masses, np.zeros((len(links), 3)), tensors)
    physical = inertia.is_physical(parameters, RELATIVE_TOLERANCE)
    return [link for link, good in zip(links, physical, strict=True) if not good]


def _inertia_findings(links: Sequence[Link]) -> Iterator[Finding]:
    for link in unphysical_links(links):
        yield Finding("warning", f"link {link.name!r}", _why_unphysical(link), link.location)
    for link in links:
        if link.inertia.mass == 0 and any(link.inertia.tensor):
            text = "has rotational inertia but no mass; kept as it is (a pure rotor)"
            yield Finding("warning", f"link {link.name!r}", text, link.location)


def _unit_findings(links: Sequence[Link], joints: Sequence[Joint]) -> Iterator[Finding]:
    """Yield warnings about numbers that are probably grams or degrees."""
    for link in links:
        if link.inertia.mass > HEAVIEST_LINK:
            text = f"mass {link.inertia.mass:g} kg is very large for a link; masses are in kg"
            yield Finding("warning", f"link {link.name!r}", text, link.location)
    posed: list[tuple[str, Link | Joint, Pose]] = []
    for link in links:
        shapes = (*link.visuals, *link.collisions)
        posed += [(f"link {link.name!r}", link, shape.link_H_shape) for shape in shapes]
    for joint in joints:
        poses = (joint.first_H_joint, joint.joint_H_second)
        posed += [(f"joint {joint.name!r}", joint, pose) for pose in poses]
    for element, part, pose in posed:
        if max(map(abs, pose.rpy)) > LARGEST_ANGLE:
            numbers = " ".join(f"{angle:g}" for angle in pose.rpy)
            text = f"rpy {numbers} is more than a full turn; angles are in radians"
            yield Finding("warning", element, text, part.location)


def _why_unphysical(link: Link) -> str:
    small, middle, large = inertia.principal_moments(link.inertia.matrix()).tolist()
    moments = f"principal moments {small:.6g}, {middle:.6g}, {large:.6g}"
    if small < -RELATIVE_TOLERANCE * large:
        return f"unphysical inertia: {moments}; none may be negative"
    return f"unphysical inertia: {moments}; the largest exceeds the sum of the others"


def _singular_joint_findings(tree: Tree) -> Iterator[Finding]:
    """Yield warnings about joints that move no inertia, so that accelerations are infinite."""
    carries: set[int] = set()  # bodies that carry a body with inertia
    reasons: dict[str, str] = {}  # by name of the joint
    leaves: list[tuple[int, Joint]] = []
    for body, parent, joint in tree.inward():
        heavy = bool(tree.inertias[body].any())
        if heavy or body in carries:
            carries.add(parent)
        if body in carries or joint.armature > 0:
            continue
        if not heavy:
            reasons[joint.name] = "moves links without any mass"
        else:
            leaves.append((body, joint))
    for _, joint in _free_of_inertia(tree, leaves):
        reasons[joint.name] = "moves a mass that lies on its own axis and has no inertia about it"
    followers = resolved_followers(tree.model.joints)
    helped = {f.leader for name, f in followers.items() if f.multiplier and name not in reasons}
    for joint in tree.model.joints:
        if joint.name in reasons and joint.name not in followers and joint.name not in helped:
            text = f"{reasons[joint.name]}; forward dynamics is singular here"
            yield Finding("warning", f"joint {joint.name!r}", text, joint.location)


def _free_of_inertia(
    tree: Tree, leaves: Sequence[tuple[int, Joint]]
) -> Iterator[tuple[int, Joint]]:
    """Yield outermost bodies that some motion of their joint moves without any energy."""
    if not leaves:
        return
    bodies = [body for body, _ in leaves]
    params = inertia.transform(tree.joint_H_body[bodies], tree.inertias[bodies])
    matrices, scales = inertia.matrix(params), np.abs(params).max(axis=1)
    for leaf, matrix, scale in zip(leaves, matrices, scales, strict=True):
        subspace = _subspace(leaf[1], backwards=tree.backwards[leaf[0]])
        block = subspace.T @ matrix @ subspace
        least = block[0, 0] if len(block) == 1 else np.linalg.eigvalsh(block)[0]
        if least <= SINGULAR * scale:
            yield leaf


def _subspace(joint: Joint, *, backwards: bool) -> Array:
    """Return S (6, nv) at the joint, at a position at which no two of its axes coincide."""
    bare = replace(joint, first_H_joint=IDENTITY, joint_H_second=IDENTITY)
    kind = joint.motion_kind
    theta = kind.moved(kind.neutral, (1.0,) * kind.nv)
    return motion_subspace(bare, theta, child=joint.first if backwards else joint.second)


def _joint_findings(joint: Joint) -> Iterator[Finding]:
    element = f"joint {joint.name!r}"
    values = {
        "damping": joint.damping,
        "friction": joint.friction,
        "armature": joint.armature,
        "limit velocity": joint.limits.velocity,
        "limit effort": joint.limits.effort,
    }
    for name, value in values.items():
        if value < 0:
            yield Finding("warning", element, f"{name} {value:g} is negative", joint.location)
    limits = joint.limits
    if joint.nv == 1 and not limits.lower <= 0 <= limits.upper:
        text = f"position 0 is outside the limits {limits.lower:g} to {limits.upper:g}"
        yield Finding("note", element, text, joint.location)


def _constraint_findings(model: Model, tree: Tree) -> Iterator[Finding]:
    bodies = dict(zip(tree.model.frame_names, tree.frame_bodies, strict=True))
    for constraint in model.constraints:
        if len(constraint.frames) == 2 and len({bodies[name] for name in constraint.frames}) == 1:
            text = f"{constraint.first!r} and {constraint.second!r} are rigidly connected, so it"
            text += " has no effect, or cannot be satisfied"
            yield Finding("warning", f"constraint {constraint.name!r}", text, constraint.location)


def _mesh_findings(links: Sequence[Link]) -> Iterator[Finding]:
    for link in links:
        for shape in (*link.visuals, *link.collisions):
            mesh = shape.geometry
            if isinstance(mesh, Mesh) and mesh.path is None and mesh.searched:
                text = f"mesh {mesh.filename!r} not found; searched {', '.join(mesh.searched)}"
                yield Finding("note", f"link {link.name!r}", text, link.location)
