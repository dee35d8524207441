"""Is a robot plausible? What is legal but doubtful, found at once.

A `Model` is always well formed: nonsense is refused when it is made. What `check` looks for can be
computed with, but is probably a mistake: inertias no body can have, joints that move nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from linkwork.errors import Finding
from linkwork.model.geometry import Mesh
from linkwork.model.model import Model
from linkwork.model.parts import Joint, Link
from linkwork.model.tree import Tree, tree_from
from linkwork.spatial import inertia

RELATIVE_TOLERANCE = 1e-6  # files round their numbers; a triangle this flat is meant to be flat

SMALLEST_RADIUS = 1e-7  # [m]; what is smaller than this is meant to be a point


def check(model: Model) -> list[Finding]:
    """Find what is doubtful about a robot.

    Returns:
        findings of severity `warning` (probably a mistake) and `note` (worth knowing), each with
        the element it concerns and, if the robot came from a file, its line there.
    """
    return [
        *_inertia_findings(model),
        *_singular_joint_findings(tree_from(model)),
        *(finding for joint in model.joints for finding in _joint_findings(joint)),
        *_mesh_findings(model),
    ]


def unphysical_links(model: Model) -> list[Link]:
    """The links whose inertia no body can have, by the triangle inequality."""
    tensors = np.array([link.inertia.matrix() for link in model.links])
    masses = np.array([link.inertia.mass for link in model.links])
    tensors[np.abs(tensors).max(axis=(1, 2)) <= masses * SMALLEST_RADIUS**2] = 0.0
    parameters = inertia.from_com(masses, np.zeros((len(model.links), 3)), tensors)
    physical = inertia.is_physical(parameters, RELATIVE_TOLERANCE)
    return [link for link, good in zip(model.links, physical, strict=True) if not good]


def _inertia_findings(model: Model) -> Iterator[Finding]:
    for link in unphysical_links(model):
        yield Finding("warning", f"link {link.name!r}", _why_unphysical(link), link.place)
    for link in model.links:
        if link.inertia.mass == 0 and any(link.inertia.tensor):
            text = "has rotational inertia but no mass; kept as it is (a pure rotor)"
            yield Finding("warning", f"link {link.name!r}", text, link.place)


def _why_unphysical(link: Link) -> str:
    small, middle, large = inertia.principal_moments(link.inertia.matrix()).tolist()
    moments = f"principal moments {small:.6g}, {middle:.6g}, {large:.6g}"
    if small < -RELATIVE_TOLERANCE * large:
        return f"unphysical inertia: {moments}; none may be negative"
    return f"unphysical inertia: {moments}; the largest exceeds the sum of the others"


def _singular_joint_findings(tree: Tree) -> Iterator[Finding]:
    """Joints with nothing behind them that resists being moved."""
    carries: set[int] = set()  # bodies with something heavy further out
    for body, parent, joint in tree.inward():
        heavy = bool(tree.inertias[body].any())
        if heavy or body in carries:
            carries.add(parent)
        if joint.mimic or body in carries:
            continue
        if not heavy:
            text = "moves links without any mass; forward dynamics is singular here"
            yield Finding("warning", f"joint {joint.name!r}", text, joint.place)
        elif _is_free_of_inertia(tree, body, joint):
            text = "moves a mass that lies on its own axis and has no inertia about it"
            text += "; forward dynamics is singular here"
            yield Finding("warning", f"joint {joint.name!r}", text, joint.place)


def _is_free_of_inertia(tree: Tree, body: int, joint: Joint) -> bool:
    """Whether some motion of the joint costs no energy when only this body moves."""
    seen_by_joint = inertia.transform(tree.joint_H_body[body], tree.inertias[body])
    subspace = joint.motion.subspace(np.array(joint.axis), joint.pitch)
    block = subspace.T @ inertia.matrix(seen_by_joint) @ subspace
    moments = np.linalg.eigvalsh(block)
    scale = np.abs(seen_by_joint).max()
    return bool(moments[0] <= 1e-14 * scale)


def _joint_findings(joint: Joint) -> Iterator[Finding]:
    element = f"joint {joint.name!r}"
    facts = {
        "damping": joint.damping,
        "friction": joint.friction,
        "armature": joint.armature,
        "limit velocity": joint.limits.velocity,
        "limit effort": joint.limits.effort,
    }
    for name, value in facts.items():
        if value < 0:
            yield Finding("warning", element, f"{name} {value:g} is negative", joint.place)
    limits = joint.limits
    if joint.nq == 1 and not limits.lower <= 0 <= limits.upper:
        text = f"rest position 0 is outside the limits {limits.lower:g} to {limits.upper:g}"
        yield Finding("note", element, text, joint.place)


def _mesh_findings(model: Model) -> Iterator[Finding]:
    for link in model.links:
        for shape in (*link.visuals, *link.collisions):
            mesh = shape.geometry
            if isinstance(mesh, Mesh) and mesh.path is None and mesh.searched:
                text = f"mesh {mesh.filename!r} not found; searched {', '.join(mesh.searched)}"
                yield Finding("note", f"link {link.name!r}", text, link.place)
