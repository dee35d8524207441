"""Forward kinematics: where every frame of a robot is.

Positions enter as q (see `Layout`), poses leave as (..., 4, 4) matrices world_H_frame.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arrays import Array, as_array, stack
from linkwork.errors import ShapeError
from linkwork.model.layout import Layout
from linkwork.model.parts import Joint
from linkwork.model.tree import Tree
from linkwork.spatial.source import quat, se3


def frame_poses(tree: Tree, layout: Layout, q: ArrayLike) -> Array:
    """Pose of every frame in the world.

    Args:
        tree: the robot seen from its base.
        layout: what the entries of `q` mean.
        q: (..., nq) configuration.

    Returns:
        (..., frames, 4, 4) world_H_frame, in the order of `tree.model.frame_names`.
    """
    bodies = body_poses(tree, layout, q)
    return bodies[..., list(tree.frame_bodies), :, :] @ tree.body_H_frame


def body_poses(tree: Tree, layout: Layout, q: ArrayLike) -> Array:
    """(..., bodies, 4, 4) pose of every body of the tree in the world."""
    q = as_array(q)
    if q.ndim == 0 or q.shape[-1] != layout.nq:
        raise ShapeError(f"q: expected (..., {layout.nq}), got {q.shape}")
    world_H = {0: _base_pose(layout, q)}
    for body, parent, joint in tree.outward():  # world_H_body = world_H_parent parent_H_body
        moved = joint_motion(joint, layout.theta(q, joint.name), backwards=tree.backwards[body])
        near, far = tree.parent_H_joint[body], tree.joint_H_body[body]
        world_H[body] = world_H[parent] @ near @ moved @ far
    return stack([world_H[body] for body in range(len(tree.parents))], axis=-3)


def joint_motion(joint: Joint, theta: Array, *, backwards: bool) -> Array:
    """(..., 4, 4) pose of the far side of a joint in its near side, read in either direction."""
    moved = se3.pose(*joint.motion.motion(np.array(joint.axis), joint.pitch, theta))
    return se3.inverse(moved) if backwards else moved


def _base_pose(layout: Layout, q: Array) -> Array:
    if not layout.floating:
        return np.broadcast_to(np.eye(4), (*q.shape[:-1], 4, 4))
    return se3.pose(quat.to_rotation(q[..., layout.base_wxyz]), q[..., layout.base_position])
