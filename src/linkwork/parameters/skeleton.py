"""The skeleton of a robot some of whose numbers are inputs.

Frames of bodies stand where they stand in the skeleton of the model, on the joints that hold the
bodies, and move along with joints whose pose is an input. Constants stay constants, also in what
is partly an input: regrouping (see `mechanics.skeleton`) is for the constant part of an inertia.
What is an input stays with its own body, and is not carried across a joint whose pose is an input.
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
from linkwork.model.joints import Axis
from linkwork.model.layout import Layout
from linkwork.model.parts import Joint
from linkwork.model.tree import Tree, walk
from linkwork.parameters.variation import (
    Placement,
    Variation,
    composed,
    constant_placement,
    inertia_of,
    inverted,
    moved,
)
from linkwork.spatial.blocks import IDENTITY, ZERO, Mat, Scalar, Vec
from linkwork.spatial.source import inertia as spatial_inertia

_AT_ORIGIN: Placement = (IDENTITY, ZERO)
_ROUNDING = 1e-12  # of a product of poses, relative to the size of a robot


@dataclass(frozen=True)
class Stage:
    """A robot seen from its base, and the frames that its bodies have as constants of the model."""

    tree: Tree
    layout: Layout
    known: dict[Any, Skeleton] = field(default_factory=dict[Any, Skeleton], repr=False)

    @cached_property
    def frames(self) -> BodyFrames:
        """Of the bodies."""
        return body_frames(self.tree)

    @cached_property
    def constant(self) -> Skeleton:
        """The skeleton of the model."""
        return skeleton_of(self.tree, self.layout)

    def skeleton(self, variation: Variation) -> Skeleton:
        """The skeleton with numbers in place of constants."""
        if not (variation.inertias or variation.payloads or _moves(variation)):
            return self.constant
        if not _moves(variation):
            return self._with_inertias(variation, self.constant.frames, frozenset())
        walked = _Walk(self, variation)
        frames = tuple(walked.frames())
        mounts = {k: walked.mount(k) for k in range(1, len(self.tree.parents))}
        turned = {k for k, mount in mounts.items() if mount is not self.constant.bodies[k].mount}
        skeleton = self._with_inertias(variation, frames, turned)
        bodies = [
            replace(body, mount=mounts[k]) if k in turned else body
            for k, body in enumerate(skeleton.bodies)
        ]
        return replace(skeleton, bodies=tuple(bodies))

    def _with_inertias(
        self,
        variation: Variation,
        frames: tuple[tuple[int, Mat, Vec], ...],
        turned: Iterable[int],
    ) -> Skeleton:
        """Constant inertias regrouped, and each inertia that is an input added to its body."""
        model = self.tree.model
        names = {
            link
            for k, link in enumerate(model.link_names)
            if link in variation.inertias or not _same(frames[k], self.constant.frames[k])
        }
        skeleton = self._constant_part(frozenset(names), frozenset(turned))
        added: dict[int, list[RigidInertia]] = {}
        links: dict[int, RigidInertia] = {}
        for k, link in enumerate(model.links):
            if link.name in names:
                own = variation.inertias.get(link.name)
                own = own or inertia_of(link.inertia.parameters().tolist())
                links[k] = own
                body, *pose = frames[k]
                added.setdefault(body, []).append(moved(own, (pose[0], pose[1])))
        for name, load in variation.payloads:
            body, R, p = frames[model.frame_index(name)]
            added.setdefault(body, []).append(moved(load, (R, p)))
            self._carry(links, variation, name, load)
        bodies = [_with(body, added.get(k, ())) for k, body in enumerate(skeleton.bodies)]
        return Skeleton(self.layout, tuple(bodies), frames, links)

    def _constant_part(self, names: frozenset[str], turned: frozenset[int]) -> Skeleton:
        """The skeleton without some links, and with no inertia carried across some joints."""
        key = names, turned
        if key not in self.known:
            inertias = self._without(names) if names else None
            made = skeleton_of(self.tree, self.layout, inertias=inertias, not_lumped=turned)
            self.known[key] = made
        return self.known[key]

    def _without(self, names: Iterable[str]) -> Array:
        """(bodies, 10) inertias of the bodies without some of their links."""
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
        own = links.get(k) or inertia_of(model.links[k].inertia.parameters().tolist())
        pose = variation.frame_poses.get(frame) or constant_placement(host.link_H_frame)
        links[k] = own.plus(moved(load, pose))


def _moves(variation: Variation) -> bool:
    return bool(variation.joint_poses or variation.frame_poses)


def _with(body: Body, loads: Iterable[RigidInertia]) -> Body:
    inertia = body.inertia
    for load in loads:
        inertia = inertia.plus(load)
    return replace(body, inertia=inertia)


class _Walk:
    """Where links and joints are in their bodies, as the tree has it, with poses as inputs."""

    def __init__(self, stage: Stage, variation: Variation) -> None:
        self._stage, self._variation = stage, variation
        tree, model = stage.tree, stage.tree.model
        self._link: dict[str, tuple[int, Placement]] = {}  # body, and old_H_link
        self._hung: list[tuple[Placement, Placement]] = [(_AT_ORIGIN, _AT_ORIGIN)]
        base = model.frame(tree.base)
        for visit in walk(model, base.link):
            if visit.joint is None:
                self._link[base.link] = 0, inverted(self._frame_pose(tree.base))
            else:
                self._cross(visit.joint, *self._link[str(visit.parent)], visit.link)
        fixed = [_placement(pose) for pose in stage.frames.joint_H_new]
        self._joint_H_new = fixed
        self._old_H_new = [
            composed(inverted(joint_H_body), pose)
            for (_, joint_H_body), pose in zip(self._hung, fixed, strict=True)
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
        self._hung.append((old_H_joint, joint_H_second))
        self._link[beyond] = len(self._hung) - 1, _AT_ORIGIN

    def _frame_pose(self, name: str) -> Placement:
        frame = self._stage.tree.model.frame(name)
        return self._variation.frame_poses.get(name) or constant_placement(frame.link_H_frame)

    def frames(self) -> Iterable[tuple[int, Mat, Vec]]:
        """Of all frames the body, and the pose in its new frame."""
        model = self._stage.tree.model
        for name, known in zip(model.frame_names, self._stage.constant.frames, strict=True):
            body, old_H_link = self._link[model.frame(name).link]
            pose = composed(old_H_link, self._frame_pose(name))
            R, p = composed(inverted(self._old_H_new[body]), pose)
            yield body, _known_mat(R, known[1]), _known_vec(p, known[2])

    def mount(self, body: int) -> Mount:
        """The mount of a body; that of the model if no input enters."""
        parent = self._stage.tree.parents[body]
        known = self._stage.constant.bodies[body].mount
        assert known is not None
        parent_H_joint, _ = self._hung[body]
        pose = composed(inverted(self._old_H_new[parent]), parent_H_joint)
        R, p = composed(pose, self._joint_H_new[body])
        constant = _placement(self._stage.frames.mounts[body])
        if _same((body, R, p), (body, *constant)):
            return known
        if _same((body, R, ZERO), (body, constant[0], ZERO)):
            return replace(known, p=_known_vec(p, known.p))
        axis = Axis(known.axis.direction, known.axis.pitch)
        return replace(known, R=R, p=_known_vec(p, known.p), axis=axis)


def _same(found: tuple[int, Mat, Vec], known: tuple[int, Mat, Vec]) -> bool:
    """Whether a pose is the constant one of the model."""
    pairs = zip((*found[1], found[2]), (*known[1], known[2]), strict=True)
    return all(_is_known(x, y) for row, other in pairs for x, y in zip(row, other, strict=True))


def _is_known(value: Scalar, known: Scalar) -> bool:
    """Whether a number is that of the model to rounding, not just at the values in the model."""
    return isinstance(value, float) and abs(value - known) <= _ROUNDING * (1.0 + abs(known))


def _known_mat(R: Mat, known: Mat) -> Mat:
    """A rotation; the one of the model, which is free of rounding noise, if it is constant."""
    return known if _same((0, R, ZERO), (0, known, ZERO)) else R


def _known_vec(p: Vec, known: Vec) -> Vec:
    """A position; numbers of the model, which are free of rounding noise, where it is constant."""
    x, y, z = (b if _is_known(a, b) else a for a, b in zip(p, known, strict=True))
    return (x, y, z)


def _placement(pose: Array) -> Placement:
    rows = pose[:3].tolist()
    x, y, z = ((row[0], row[1], row[2]) for row in rows)
    return (x, y, z), (rows[0][3], rows[1][3], rows[2][3])
