"""A model seen from one base: what hangs on what, in an order that algorithms can follow.

Links that fixed joints hold together are one *body*; its frame is on its link nearest to the
base. Body 0 holds the base. Every other body hangs on its parent by one moving joint:

    parent_H_body(theta) = parent_H_joint @ M(theta) @ joint_H_body

with M the motion of the joint's kind, or its inverse where the joint is read from `second` to
`first`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.model.graph import walk
from linkwork.model.model import Model
from linkwork.model.parts import Joint
from linkwork.model.pose import pose_matrices
from linkwork.spatial.source import inertia, se3


@dataclass(frozen=True, eq=False)
class Tree:
    """A model seen from one base. Bodies are numbered so that parents come before children."""

    model: Model
    base: str  # the frame, of a link or additional, whose pose and velocity are those of the base
    links: tuple[tuple[str, ...], ...]  # names of the links that make up each body
    parents: tuple[int, ...]  # body each body hangs on; -1 for body 0
    joints: tuple[Joint | None, ...]  # joint each body hangs by; None for body 0
    backwards: tuple[bool, ...]  # whether that joint is read from `second` to `first`
    parent_H_joint: Array = field(repr=False)  # (bodies, 4, 4)
    joint_H_body: Array = field(repr=False)  # (bodies, 4, 4)
    inertias: Array = field(repr=False)  # (bodies, 10) parameters about each body's origin
    frame_bodies: tuple[int, ...] = field(repr=False)  # body of each of model.frame_names
    body_H_frame: Array = field(repr=False)  # (frames, 4, 4)

    def __post_init__(self) -> None:
        for array in (self.parent_H_joint, self.joint_H_body, self.inertias, self.body_H_frame):
            array.flags.writeable = False

    def outward(self) -> Iterator[tuple[int, int, Joint]]:
        """Yield (body, parent, joint) of every body except the base, parents before children."""
        for body, (parent, joint) in enumerate(zip(self.parents, self.joints, strict=True)):
            if joint is not None:
                yield body, parent, joint

    def inward(self) -> Iterator[tuple[int, int, Joint]]:
        """Return (body, parent, joint) of every body except the base, children before parents."""
        return reversed(list(self.outward()))

    def path(self, frame: str) -> tuple[int, ...]:
        """Return the bodies from the base to the one that carries a frame, both included."""
        body = self.frame_bodies[self.model.frame_index(frame)]
        path = [body]
        while (body := self.parents[body]) >= 0:
            path.append(body)
        return tuple(reversed(path))


def tree_from(model: Model, base: str | None = None) -> Tree:
    """Build the tree of a model from a base.

    Args:
        model: the robot.
        base: name of a link or of an additional frame; `model.default_base` if not given.

    Raises:
        NameNotFoundError: the model has no such frame.
    """
    base = model.default_base if base is None else base
    bodies = _Bodies(model, base)
    frames = [model.frame(name) for name in model.frame_names]
    link_H_frame = pose_matrices([frame.link_H_frame for frame in frames])
    carriers = [bodies.body_of[frame.link] for frame in frames]
    body_H_frame = np.array([pose for _, pose in carriers]) @ link_H_frame
    return Tree(
        model=model,
        base=base,
        links=tuple(map(tuple, bodies.links)),
        parents=tuple(bodies.parents),
        joints=tuple(bodies.joints),
        backwards=tuple(bodies.backwards),
        parent_H_joint=np.array(bodies.parent_H_joint),
        joint_H_body=np.array(bodies.joint_H_body),
        inertias=_body_inertias(model, bodies),
        frame_bodies=tuple(body for body, _ in carriers),
        body_H_frame=body_H_frame,
    )


class _Bodies:
    """The bodies of a model, in the order in which a walk from the base meets them."""

    def __init__(self, model: Model, base: str) -> None:
        self._model = model
        self._mounts = _mounts(model.joints)
        self.links: list[list[str]] = []
        self.parents: list[int] = []
        self.joints: list[Joint | None] = []
        self.backwards: list[bool] = []
        self.parent_H_joint: list[Array] = []
        self.joint_H_body: list[Array] = []
        self.body_of: dict[str, tuple[int, Array]] = {}  # link: its body, body_H_link
        frame = model.frame(base)
        self._add_body(-1, None, backwards=False, mounts=(np.eye(4), np.eye(4)))
        for visit in walk(model, frame.link):
            if visit.joint is None:
                self._add_link(frame.link, 0, se3.inverse(frame.link_H_frame.matrix()))
            else:
                self._cross(visit.joint, *self.body_of[str(visit.parent)], visit.link)

    def _cross(self, joint: Joint, body: int, body_H_link: Array, beyond: str) -> None:
        """Add the link beyond a joint: to this body if the joint is fixed, else to a new body."""
        backwards = joint.first == beyond
        link_H_joint, joint_H_beyond = self._mounts[backwards][self._model.joint_index(joint.name)]
        body_H_joint = body_H_link @ link_H_joint
        if joint.is_fixed:
            self._add_link(beyond, body, body_H_joint @ joint_H_beyond)
        else:
            mounts = body_H_joint, joint_H_beyond
            new = self._add_body(body, joint, backwards=backwards, mounts=mounts)
            self._add_link(beyond, new, np.eye(4))

    def _add_body(
        self, parent: int, joint: Joint | None, *, backwards: bool, mounts: tuple[Array, Array]
    ) -> int:
        """Add a body on its parent, with mounts (parent_H_joint, joint_H_body)."""
        self.links.append([])
        self.parents.append(parent)
        self.joints.append(joint)
        self.backwards.append(backwards)
        self.parent_H_joint.append(mounts[0])
        self.joint_H_body.append(mounts[1])
        return len(self.links) - 1

    def _add_link(self, link: str, body: int, body_H_link: Array) -> None:
        self.links[body].append(link)
        self.body_of[link] = (body, body_H_link)


def _mounts(joints: Sequence[Joint]) -> tuple[list[tuple[Array, Array]], list[tuple[Array, Array]]]:
    """Return (link_H_joint, joint_H_beyond) of every joint, read forwards and read backwards."""
    first_H_joint = pose_matrices([joint.first_H_joint for joint in joints])
    joint_H_second = pose_matrices([joint.joint_H_second for joint in joints])
    forwards = list(zip(first_H_joint, joint_H_second, strict=True))
    inverses = zip(se3.inverse(joint_H_second), se3.inverse(first_H_joint), strict=True)
    return forwards, list(inverses)


def _body_inertias(model: Model, bodies: _Bodies) -> Array:
    """Return (bodies, 10): the sum of the inertias of the links of each body, in its frame."""
    tensors = np.array([link.inertia.matrix() for link in model.links])
    coms = np.array([link.inertia.com for link in model.links])
    masses = np.array([link.inertia.mass for link in model.links])
    carriers = [bodies.body_of[name] for name in model.link_names]
    parameters = inertia.from_com(masses, coms, tensors)
    moved = inertia.transform(np.array([pose for _, pose in carriers]), parameters)
    total = np.zeros((len(bodies.links), 10))
    np.add.at(total, [body for body, _ in carriers], moved)
    return total
