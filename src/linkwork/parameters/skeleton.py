"""The skeleton of a robot with parameters: some of its constants are inputs.

Frames     body frames are placed as in the skeleton of the model: on the joints that carry the
           bodies. They move with joints whose pose is an input
Inertias   the constant part of an inertia is regrouped as in `mechanics.skeleton`, but not across
           a joint whose pose is an input. The part that is an input stays with its body
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.mechanics.inertia import RigidInertia
from linkwork.mechanics.skeleton import Body, BodyFrames, Mount, Skeleton, body_frames, skeleton_of
from linkwork.model.graph import walk
from linkwork.model.joints import Axis
from linkwork.model.layout import Layout
from linkwork.model.parts import Joint
from linkwork.model.tree import Tree
from linkwork.parameters.variation import (
    Placement,
    Variation,
    composed,
    constant_placement,
    inertia_from_values,
    inverted,
    matrix_placement,
    moved,
)
from linkwork.spatial.blocks import IDENTITY, ZERO, Mat, Scalar, Vec
from linkwork.spatial.source import inertia as spatial_inertia

_AT_ORIGIN: Placement = (IDENTITY, ZERO)
_ROUNDING = 1e-12  # of a product of poses, relative to the size of a robot


@dataclass(frozen=True)
class ParametricSkeleton:
    """Builds skeletons of one robot for different values of its parameters."""

    tree: Tree
    layout: Layout
    cache: dict[Any, Skeleton] = field(default_factory=dict[Any, Skeleton], repr=False)

    @cached_property
    def frames(self) -> BodyFrames:
        """The body frames of the model."""
        return body_frames(self.tree)

    @cached_property
    def constant(self) -> Skeleton:
        """The skeleton of the model."""
        return skeleton_of(self.tree, self.layout)

    def skeleton(self, variation: Variation) -> Skeleton:
        """Return the skeleton with inputs in place of constants."""
        if not (variation.inertias or variation.payloads or _moves(variation)):
            return self.constant
        if not _moves(variation):
            return self._with_inertias(variation, self.constant.frames, frozenset())
        placements = _Placements(self, variation)
        frames = tuple(placements.frames())
        mounts = {k: placements.mount(k) for k in range(1, len(self.tree.parents))}
        moved_joints = {
            k for k, mount in mounts.items() if mount is not self.constant.bodies[k].mount
        }
        skeleton = self._with_inertias(variation, frames, moved_joints)
        bodies = [
            replace(body, mount=mounts[k]) if k in moved_joints else body
            for k, body in enumerate(skeleton.bodies)
        ]
        return replace(skeleton, bodies=tuple(bodies))

    def _with_inertias(
        self,
        variation: Variation,
        frames: tuple[tuple[int, Mat, Vec], ...],
        moved_joints: Iterable[int],
    ) -> Skeleton:
        """Regroup the constant inertias, and add each inertia that is an input to its body."""
        model = self.tree.model
        names = {
            link
            for k, link in enumerate(model.link_names)
            if link in variation.inertias
            or not _is_constant(frames[k][1:], self.constant.frames[k][1:])
        }
        skeleton = self._constant_part(frozenset(names), frozenset(moved_joints))
        added: dict[int, list[RigidInertia]] = {}
        links: dict[int, RigidInertia] = {}
        for k, link in enumerate(model.links):
            if link.name in names:
                inertia = variation.inertias.get(link.name)
                inertia = inertia or inertia_from_values(link.inertia.parameters().tolist())
                links[k] = inertia
                body, R, p = frames[k]
                added.setdefault(body, []).append(moved(inertia, (R, p)))
        for name, load in variation.payloads:
            body, R, p = frames[model.frame_index(name)]
            added.setdefault(body, []).append(moved(load, (R, p)))
            self._carry(links, variation, name, load)
        bodies = [_with(body, added.get(k, ())) for k, body in enumerate(skeleton.bodies)]
        return Skeleton(self.layout, tuple(bodies), frames, links)

    def _constant_part(self, names: frozenset[str], moved_joints: frozenset[int]) -> Skeleton:
        """Return the skeleton without some links, and with no inertia lumped across some joints."""
        key = names, moved_joints
        if key not in self.cache:
            inertias = self._without(names) if names else None
            self.cache[key] = skeleton_of(
                self.tree, self.layout, inertias=inertias, not_lumped=moved_joints
            )
        return self.cache[key]

    def _without(self, names: Iterable[str]) -> Array:
        """Return inertias (bodies, 10) of the bodies without some of their links."""
        tree, model = self.tree, self.tree.model
        total = np.zeros_like(tree.inertias)
        for k, link in enumerate(model.links):
            if link.name not in names:
                pose, body = tree.body_H_frame[k], tree.frame_bodies[k]
                total[body] += spatial_inertia.transform(pose, link.inertia.parameters())
        return total

    def _carry(
        self,
        links: dict[int, RigidInertia],
        variation: Variation,
        frame: str,
        load: RigidInertia,
    ) -> None:
        """Add a payload to the link that carries it."""
        model = self.tree.model
        host = model.frame(frame)
        k = model.link_index(host.link)
        inertia = links.get(k) or inertia_from_values(model.links[k].inertia.parameters().tolist())
        pose = variation.frame_poses.get(frame) or constant_placement(host.link_H_frame)
        links[k] = inertia + moved(load, pose)


def _moves(variation: Variation) -> bool:
    return bool(variation.joint_poses or variation.frame_poses)


def _with(body: Body, loads: Iterable[RigidInertia]) -> Body:
    inertia = body.inertia
    for load in loads:
        inertia = inertia + load
    return replace(body, inertia=inertia)


class _Placements:
    """Poses of links and joints in their bodies, with poses that are inputs.

    `old` is the frame of a body in the tree, `new` its frame in the skeleton.
    """

    def __init__(self, robot: ParametricSkeleton, variation: Variation) -> None:
        self._robot, self._variation = robot, variation
        tree, model = robot.tree, robot.tree.model
        self._link: dict[str, tuple[int, Placement]] = {}  # body, and old_H_link
        # by body: parent's old_H_joint, and joint_H_old
        self._joints: list[tuple[Placement, Placement]] = [(_AT_ORIGIN, _AT_ORIGIN)]
        base = model.frame(tree.base)
        for visit in walk(model, base.link):
            if visit.joint is None:
                self._link[base.link] = 0, inverted(self._frame_pose(tree.base))
            else:
                self._cross(visit.joint, *self._link[str(visit.parent)], visit.link)
        fixed = [matrix_placement(pose) for pose in robot.frames.joint_H_new]
        self._joint_H_new = fixed
        self._old_H_new = [
            composed(inverted(joint_H_body), pose)
            for (_, joint_H_body), pose in zip(self._joints, fixed, strict=True)
        ]

    def _cross(self, joint: Joint, body: int, old_H_link: Placement, beyond: str) -> None:
        first_H_joint = self._variation.joint_poses.get(joint.name)
        first_H_joint = first_H_joint or constant_placement(joint.first_H_joint)
        joint_H_second = constant_placement(joint.joint_H_second)
        if joint.first == beyond:
            first_H_joint, joint_H_second = inverted(joint_H_second), inverted(first_H_joint)
        old_H_joint = composed(old_H_link, first_H_joint)
        if joint.is_fixed:
            self._link[beyond] = body, composed(old_H_joint, joint_H_second)
            return
        self._joints.append((old_H_joint, joint_H_second))
        self._link[beyond] = len(self._joints) - 1, _AT_ORIGIN

    def _frame_pose(self, name: str) -> Placement:
        frame = self._robot.tree.model.frame(name)
        return self._variation.frame_poses.get(name) or constant_placement(frame.link_H_frame)

    def frames(self) -> Iterable[tuple[int, Mat, Vec]]:
        """Return the body of each frame of the model, and its pose in the frame of that body."""
        model = self._robot.tree.model
        for name, constant in zip(model.frame_names, self._robot.constant.frames, strict=True):
            body, old_H_link = self._link[model.frame(name).link]
            pose = composed(old_H_link, self._frame_pose(name))
            R, p = composed(inverted(self._old_H_new[body]), pose)
            yield body, _snapped_rotation(R, constant[1]), _snapped_position(p, constant[2])

    def mount(self, body: int) -> Mount:
        """Return the mount of a body; that of the model if it does not depend on inputs."""
        parent = self._robot.tree.parents[body]
        mount = self._robot.constant.bodies[body].mount
        assert mount is not None
        parent_H_joint, _ = self._joints[body]
        pose = composed(inverted(self._old_H_new[parent]), parent_H_joint)
        R, p = composed(pose, self._joint_H_new[body])
        constant_R, constant_p = matrix_placement(self._robot.frames.mounts[body])
        if _is_constant((R, p), (constant_R, constant_p)):
            return mount
        p = _snapped_position(p, mount.p)
        if _is_constant((R, ZERO), (constant_R, ZERO)):
            return replace(mount, p=p)
        return replace(mount, R=R, p=p, axis=Axis(mount.axis.direction, mount.axis.pitch))


def _is_constant(placement: Placement, constant: Placement) -> bool:
    """Whether a pose is the constant one of the model."""
    (R, p), (constant_R, constant_p) = placement, constant
    pairs = zip((*R, p), (*constant_R, constant_p), strict=True)
    return all(_equals(x, y) for row, other in pairs for x, y in zip(row, other, strict=True))


def _equals(value: Scalar, constant: Scalar) -> bool:
    """Whether a scalar is a constant, and equal to that of the model up to rounding."""
    if not isinstance(value, float):
        return False
    return abs(value - constant) <= _ROUNDING * (1.0 + abs(constant))


def _snapped_rotation(R: Mat, constant: Mat) -> Mat:
    """Replace a constant rotation by that of the model, which is free of rounding errors."""
    return constant if _is_constant((R, ZERO), (constant, ZERO)) else R


def _snapped_position(p: Vec, constant: Vec) -> Vec:
    """Replace constant coordinates by those of the model, which are free of rounding errors."""
    return Vec(*(b if _equals(a, b) else a for a, b in zip(p, constant, strict=True)))
