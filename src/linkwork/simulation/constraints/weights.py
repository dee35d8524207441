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
from linkwork.errors import listed, model_error
from linkwork.mechanics.joint_dynamics import DynamicsByIndex
from linkwork.mechanics.skeleton import Skeleton
from linkwork.model.layout import BASE_NV, Layout
from linkwork.simulation.scene import Scene
from linkwork.simulation.world import world_of
from linkwork.spatial.blocks import IDENTITY, ZERO, Force, Scalar, Vec

TINY = 1e-15  # the least mass that has a center


@dataclass(frozen=True)
class Weights:
    """Inverse weights by name."""

    links: Mapping[str, Sequence[Scalar]]  # translation, rotation
    joints: Mapping[str, Sequence[Scalar]]  # of each velocity coordinate


def weights_of(
    skeleton: Skeleton, scene: Scene, armature: DynamicsByIndex, zero: Sequence[float]
) -> Weights:
    """Return the weights of a scene, or those of the robot with all joints at zero."""
    if scene.link_weights is not None and scene.joint_weights is not None:
        return Weights(dict(scene.link_weights), dict(scene.joint_weights))
    return unpacked(computed(skeleton, scene, armature, zero).tolist(), scene, skeleton.layout)


def packed(weights: Weights, scene: Scene, layout: Layout) -> list[Scalar]:
    """Return the weights that rows need, one after the other."""
    of_links = [x for name in _links(scene) for x in weights.links[name]]
    return [*of_links, *(weights.joints[name][0] for name in layout.nu)]


def unpacked(numbers: Sequence[Scalar], scene: Scene, layout: Layout) -> Weights:
    """Return weights by name."""
    links, n = _links(scene), 2 * len(_links(scene))
    of_joints = zip(layout.nu.items(), numbers[n:], strict=True)
    return Weights(
        {name: numbers[2 * k : 2 * k + 2] for k, name in enumerate(links)},
        {name: [weight] * (span.stop - span.start) for (name, span), weight in of_joints},
    )


def computed(
    skeleton: Skeleton,
    scene: Scene,
    armature: DynamicsByIndex,
    zero: Sequence[float],
    batch: tuple[int, ...] = (),
) -> Array:
    """Return the weights (*batch, n) that rows need, with all joints at zero.

    Args:
        skeleton: the robot; its masses and poses may be columns of a batch.
        scene: determines which links are needed.
        armature: of the joints.
        zero: the configuration.
        batch: shape of the columns.
    """
    layout, model = skeleton.layout, skeleton.layout.model
    rows = mass_matrix(skeleton, zero, velocity="mixed", joint_dynamics=armature)
    M = _stacked({(i, j): x for i, row in enumerate(rows) for j, x in enumerate(row)}, batch, rows)
    inverse = _inverse(M, layout)
    indices = [model.frame_index(name) for name in _links(scene)]
    world = world_of(skeleton, zero, [skeleton.frames[index][0] for index in indices])
    weights: list[Array] = []
    for index in indices:
        body, R, r = world.frame(index)
        inertia = skeleton.link_inertia(
            model.link_index(model.frame(model.frame_names[index]).link)
        )
        scale = 1.0 / np.maximum(inertia.mass, TINY)
        arm: Vec = r + scale * (R @ inertia.first_moment)
        wrenches = [Force(axis, arm.cross(axis)) for axis in IDENTITY]
        wrenches += [Force(ZERO, axis) for axis in IDENTITY]
        entries = {
            (i, k): x
            for i, wrench in enumerate(wrenches)
            for k, x in world.forces({body: wrench}).items()
        }
        J = _stacked(entries, batch, [[0.0] * layout.nv] * 6)
        diagonal = ((J @ inverse) * J).sum(axis=-1)
        weights += [diagonal[..., :3].mean(-1), diagonal[..., 3:].mean(-1)]
    diagonal = np.diagonal(inverse, axis1=-2, axis2=-1)
    weights += [diagonal[..., span].mean(-1) for span in layout.nu.values()]
    return np.stack(weights, axis=-1) if weights else np.zeros((*batch, 0))


def _inverse(M: Array, layout: Layout) -> Array:
    try:
        return np.linalg.inv(M)
    except np.linalg.LinAlgError:
        diagonals = np.diagonal(M, axis1=-2, axis2=-1)
        still = [bool((diagonals[..., k] <= 0.0).any()) for k in range(layout.nv)]
        names = [name for name, span in layout.nu.items() if any(still[span])]
        names += ["the base"] if layout.floating and any(still[:BASE_NV]) else []
        text = f"no mass or inertia moves with {listed(names)}" if names else "M is singular"
        raise model_error(f"{layout.model.name}: {text}, so no force accelerates it") from None


def _links(scene: Scene) -> list[str]:
    """Return the links of contacts and equations."""
    links = {one.link for one in scene.contacts}
    for one in scene.equalities:
        if one.kind != "joint":
            links |= {name for name in (one.first, one.second) if name is not None}
    return sorted(links)


def _stacked(
    entries: Mapping[tuple[int, int], Scalar],
    batch: tuple[int, ...],
    like: Sequence[Sequence[Scalar]],
) -> Array:
    """Return matrices with these entries, and zeros elsewhere."""
    matrices = np.zeros((*batch, len(like), len(like[0]) if like else 0))
    for (i, j), value in entries.items():
        matrices[..., i, j] = value
    return matrices
