"""Inverse weights: how easily bodies and joints move, which scales the softness of their rows.

MuJoCo computes them once, with all joints at zero: of a body, the mean of the diagonal of
J M^-1 J^T for the velocity of its center of mass, and for its angular velocity; of a joint, the
mean of the diagonal of M^-1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.algorithms.dynamics.crba import mass_matrix
from linkwork.engine.symbolic.arrays import Array
from linkwork.mechanics.joint_dynamics import DynamicsByIndex
from linkwork.mechanics.skeleton import Skeleton
from linkwork.model.layout import BASE_NV
from linkwork.model.parts import Link
from linkwork.simulation.scene import Scene
from linkwork.simulation.world import world_of
from linkwork.spatial.blocks import IDENTITY, ZERO, Force, Scalar, as_vec


@dataclass(frozen=True)
class Weights:
    """Inverse weights by name."""

    links: Mapping[str, tuple[Scalar, Scalar]]  # translation, rotation
    joints: Mapping[str, Sequence[Scalar]]  # of each velocity coordinate; "" is the base


def weights_of(
    skeleton: Skeleton, scene: Scene, armature: DynamicsByIndex, zero: Sequence[float]
) -> Weights:
    """Return the weights of a scene, or those of the robot with all joints at zero."""
    if scene.link_weights is not None and scene.joint_weights is not None:
        return Weights(dict(scene.link_weights), dict(scene.joint_weights))
    layout = skeleton.layout
    M = np.array(mass_matrix(skeleton, zero, velocity="mixed", joint_dynamics=armature), float)
    inverse = np.linalg.inv(M) if len(M) else M
    links = {one.link for one in scene.contacts}
    for equality in scene.equalities:
        if equality.kind != "joint":
            links |= {name for name in (equality.first, equality.second) if name is not None}
    by_name = {link.name: link for link in layout.model.links}
    of_links = {
        name: _of_link(skeleton, inverse, by_name[layout.model.frame(name).link], zero)
        for name in sorted(links)
    }
    return Weights(of_links, _of_joints(skeleton, inverse))


def _of_link(
    skeleton: Skeleton, inverse: Array, link: Link, q: Sequence[float]
) -> tuple[float, float]:
    index = skeleton.layout.model.frame_index(link.name)
    world = world_of(skeleton, q, [skeleton.frames[index][0]])
    body, R, r = world.frame(index)
    mass = link.inertia.mass
    com = as_vec(link.inertia.com if mass else (0.0, 0.0, 0.0))
    arm = r + R @ com
    wrenches = [Force(axis, arm.cross(axis)) for axis in IDENTITY]
    wrenches += [Force(ZERO, axis) for axis in IDENTITY]
    J = np.zeros((6, len(inverse)))
    for row, wrench in zip(J, wrenches, strict=True):
        for k, value in world.forces({body: wrench}).items():
            row[k] = value
    diagonal = np.einsum("ij,jk,ik->i", J, inverse, J)
    return float(diagonal[:3].mean()), float(diagonal[3:].mean())


def _of_joints(skeleton: Skeleton, inverse: Array) -> dict[str, tuple[float, ...]]:
    diagonal = np.diag(inverse)
    weights = {
        name: (float(diagonal[span].mean()),) * (span.stop - span.start)
        for name, span in skeleton.layout.nu.items()
    }
    if skeleton.layout.floating:
        halves = diagonal[:3].mean(), diagonal[3:BASE_NV].mean()
        weights[""] = tuple(float(half) for half in halves for _ in range(3))
    return weights
