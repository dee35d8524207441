"""Make a model in code, part by part; each part is checked when it is added.

builder = ModelBuilder("door")
builder.add_link("frame")
builder.add_link("leaf", inertia=solid_box(20.0, (0.9, 0.04, 2.0), com=(0.45, 0.0, 0.0)))
builder.add_joint("hinge", "revolute", "frame", "leaf", axis=(0, 0, 1), lower=0.0, upper=1.6)
door = builder.build()
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import concerning, model_error, name_not_found
from linkwork.model.geometry import Shape
from linkwork.model.inertia import NO_INERTIA, Inertia
from linkwork.model.model import Model
from linkwork.model.parts import (
    Frame,
    Joint,
    Limits,
    Link,
    Mimic,
    check_name,
    unit_vector,
)
from linkwork.model.pose import IDENTITY, Pose, as_pose


class ModelBuilder:
    """Collects links, joints and frames, and builds a `Model` of them."""

    def __init__(self, name: str) -> None:
        check_name("model", name)
        self.name = name
        self._links: dict[str, Link] = {}
        self._joints: dict[str, Joint] = {}
        self._frames: dict[str, Frame] = {}

    def add_link(
        self,
        name: str,
        *,
        inertia: Inertia = NO_INERTIA,
        visuals: Iterable[Shape] = (),
        collisions: Iterable[Shape] = (),
    ) -> Link:
        """Add a link.

        Args:
            name: used by no other link or frame.
            inertia: in the link's own axes.
            visuals, collisions: shapes fixed to the link.

        Raises:
            ModelError: the name is empty or taken.
        """
        link = Link(
            name=name, inertia=inertia, visuals=tuple(visuals), collisions=tuple(collisions)
        )
        self._refuse_taken_frame_name("link", name)
        self._links[name] = link
        return link

    def add_joint(
        self,
        name: str,
        kind: str,
        first: str,
        second: str,
        *,
        axis: Iterable[float] = (0.0, 0.0, 1.0),
        pitch: float = 0.0,
        first_H_joint: Pose | Array = IDENTITY,
        joint_H_second: Pose | Array = IDENTITY,
        lower: float = -inf,
        upper: float = inf,
        velocity: float = inf,
        effort: float = inf,
        mimic: Mimic | None = None,
        damping: float = 0.0,
        friction: float = 0.0,
        armature: float = 0.0,
        actuated: bool | None = None,
    ) -> Joint:
        """Join two links that were added before.

        Args:
            name: used by no other joint.
            kind: one of linkwork.model.joints.KINDS, such as revolute, prismatic or fixed.
            first, second: the two links; the joint's position is that of `second` seen by `first`.
            axis: in the joint frame, of any length but zero.
            pitch: of a helical joint, its advance per radian [m/rad].
            first_H_joint, joint_H_second: the two mounts, as `Pose` or (4, 4) matrix.
            lower, upper: bounds of the position [rad] or [m].
            velocity, effort: largest speed and torque or force, either way.
            mimic: the joint this one depends on, if any; it may be added later.
            damping, friction, armature, actuated: see `Joint`.

        Raises:
            NameNotFoundError: there is no such link.
            ModelError: the name is taken or the joint makes no sense.
        """
        check_name("joint", name)
        self._need_links(first, second)
        with concerning(f"joint {name!r}"):
            joint = Joint(
                name=name,
                kind=kind,
                first=first,
                second=second,
                axis=unit_vector(axis),
                pitch=pitch,
                first_H_joint=as_pose(first_H_joint, "first_H_joint"),
                joint_H_second=as_pose(joint_H_second, "joint_H_second"),
                limits=Limits(lower=lower, upper=upper, velocity=velocity, effort=effort),
                mimic=mimic,
                damping=damping,
                friction=friction,
                armature=armature,
                actuated=actuated,
            )
        if name in self._joints:
            raise model_error("this name is taken", f"joint {name!r}")
        self._joints[name] = joint
        return joint

    def add_frame(self, name: str, link: str, link_H_frame: Pose | Array = IDENTITY) -> Frame:
        """Fix a further frame to a link that was added before.

        Raises:
            NameNotFoundError: there is no such link.
            ModelError: the name is empty or taken by a link or another frame.
        """
        check_name("frame", name)
        self._need_links(link)
        with concerning(f"frame {name!r}"):
            frame = Frame(name=name, link=link, link_H_frame=as_pose(link_H_frame))
        self._refuse_taken_frame_name("frame", name)
        self._frames[name] = frame
        return frame

    def build(self) -> Model:
        """Return the model of what was added so far; more can be added afterwards.

        Raises:
            ModelError: there are no links, or some are not joined to the rest, or a joint mimics
                one that was never added.
        """
        return Model(
            name=self.name,
            links=tuple(self._links.values()),
            joints=tuple(self._joints.values()),
            frames=tuple(self._frames.values()),
        )

    def _need_links(self, *names: str) -> None:
        for name in names:
            if not isinstance(name, str) or name not in self._links:
                raise name_not_found("link", name, self._links)

    def _refuse_taken_frame_name(self, what: str, name: str) -> None:
        for owner, names in (("link", self._links), ("frame", self._frames)):
            if name in names:
                raise model_error(f"this name is taken by a {owner}", f"{what} {name!r}")
