"""A robot as data, and edited copies of it. No state, no arrays, no base."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import Finding, ModelError, concerning, model_error, name_not_found, shown
from linkwork.model.configurations import Configuration
from linkwork.model.configurations import combined as combined_configurations
from linkwork.model.graph import Graph
from linkwork.model.inertia import Inertia, combined, moved
from linkwork.model.numbers import as_floats
from linkwork.model.parts import Constraint, ConstraintKind, Frame, Joint
from linkwork.model.pose import IDENTITY, Pose, as_pose, composed


@dataclass(frozen=True, kw_only=True, repr=False)
class Model(Graph):
    """Links, joints between them, additional frames, constraints, configurations, actuators.

    Links and joints form a connected graph, in which any link can be the base. Where the graph has
    a cycle, the robot has a closed loop. The world is not a link: a single link without joints is a
    body that floats freely. Each link has a frame of the same name; `frames` are those in addition.
    Order is the order of the file or of adding.
    """

    def _repr_html_(self) -> str:
        """Return a summary and tables of joints, links and frames, for notebooks."""
        from linkwork.model.describe import summary, tables
        from linkwork.model.table import as_html

        return as_html(summary(self), tables(self))

    # Changed copies; the model itself stays what it is.

    def reduced(
        self, joints: Iterable[str], positions: Mapping[str, ArrayLike] | None = None
    ) -> Model:
        """Return a copy in which some joints move and the others are locked.

        Locked joints become fixed ones; all links stay, with their names and inertias.

        Args:
            joints: the joints that keep moving, in the order their coordinates shall have. Joints
                that mimic one of them go on doing so and need not be named.
            positions: where to lock joints, by name: a number, or (nq,) coordinates. Others are
                locked at zero, or without rotation; a locked joint takes the joints that mimic it
                along.

        Raises:
            NameNotFoundError: no moving joint has such a name.
            ModelError: a joint is named twice, or is both kept and given a position, or has no
                coordinate of its own.
        """
        from linkwork.model.reduce import reduced

        return reduced(self, joints, positions)

    def lumped(self) -> Model:
        """Return a copy with one link for each group that fixed joints hold together.

        Each group becomes its link nearest to the default base, with the inertias and shapes of
        all; the others stay as frames of their old names.
        """
        from linkwork.model.reduce import lumped

        return lumped(self)

    def rerooted(self, base: str | None = None) -> Model:
        """Return a copy whose joints point away from a base, with link origins on the joints.

        This is the form that URDF can express. Names, motion and physics stay, and so does the
        meaning of every coordinate; the frames of links whose origin was elsewhere move onto the
        joint that holds the link.

        Args:
            base: the link to start from; `default_base` if not given.

        Raises:
            ModelError: a joint of several coordinates would have to change its direction.
        """
        from linkwork.model.reduce import rerooted

        return rerooted(self, base)

    def with_frame(self, name: str, link: str, link_H_frame: Pose | Array = IDENTITY) -> Model:
        """Return a copy with a further frame on a link, or on another frame.

        Args:
            name: of the new frame.
            link: what the frame is fixed to: a link, or a frame on one.
            link_H_frame: pose of the new frame in it, as `Pose` or (4, 4) matrix.
        """
        host = self.frame(link)
        pose = composed(host.link_H_frame, as_pose(link_H_frame))
        frame = Frame(name=name, link=host.link, link_H_frame=pose)
        return replace(self, frames=(*self.frames, frame))

    def with_constraint(
        self,
        kind: ConstraintKind,
        first: str,
        second: str | None = None,
        *,
        name: str | None = None,
        first_xyz: Iterable[float] = (0.0, 0.0, 0.0),
        first_rpy: Iterable[float] = (0.0, 0.0, 0.0),
        second_xyz: Iterable[float] = (0.0, 0.0, 0.0),
        second_rpy: Iterable[float] = (0.0, 0.0, 0.0),
        coefficients: Iterable[float] = (),
    ) -> Model:
        """Return a copy with one more constraint that is not a joint.

        Args:
            kind: "point" (two points coincide), "pose" (two frames coincide), or "coupling" (the
                position of a joint is a polynomial of that of another).
            first: a link or frame; of a coupling, the joint whose position is prescribed.
            second: a link or frame, or None for the world; of a coupling, the other joint.
            name: of the constraint; made from `first` and `second` if not given.
            first_xyz, first_rpy: pose of the constrained point or frame in `first`.
            second_xyz, second_rpy: the same in `second`, or in the world.
            coefficients: of a coupling, lowest power first: theta_first = c0 + c1 theta_second ...

        Raises:
            ModelError: there is no such frame or joint, or the name is taken.
        """
        constraint = Constraint(
            name=name or f"{first}_to_{'world' if second is None else second}",
            kind=kind,
            first=first,
            second=second,
            first_H_anchor=Pose(xyz=first_xyz, rpy=first_rpy),  # pyright: ignore[reportArgumentType]
            second_H_anchor=Pose(xyz=second_xyz, rpy=second_rpy),  # pyright: ignore[reportArgumentType]
            coefficients=tuple(coefficients),
        )
        return replace(self, constraints=(*self.constraints, constraint))

    def with_configuration(
        self,
        name: str,
        positions: Mapping[str, ArrayLike],
        *,
        link: str | None = None,
        world_H_link: Pose | Array = IDENTITY,
    ) -> Model:
        """Return a copy with a named configuration, for `kd.q(name)`.

        Args:
            name: such as "home".
            positions: of joints by name: a number, or as many as the joint has coordinates. Other
                joints are neutral.
            link: a link whose pose in the world is `world_H_link`; without it, a floating base is
                at the origin of the world.
            world_H_link: as `Pose` or (4, 4) matrix.

        Raises:
            ModelError: a joint has no such position.
        """
        configuration = Configuration(
            name=name,
            positions=positions,  # pyright: ignore[reportArgumentType] - a mapping is accepted
            link=link,
            world_H_link=as_pose(world_H_link, "world_H_link"),
        )
        others = tuple(other for other in self.configurations if other.name != name)
        return replace(self, configurations=(*others, configuration))

    def with_limits(
        self,
        *,
        position: Mapping[str, tuple[float, float]] | None = None,
        velocity: Mapping[str, float] | None = None,
        effort: Mapping[str, float] | None = None,
    ) -> Model:
        """Return a copy with other limits of some joints; infinity removes one.

        Args:
            position: (lower, upper) by joint [rad] or [m].
            velocity: largest speed by joint, in both directions [rad/s] or [m/s].
            effort: largest torque or force by joint, in both directions [N m] or [N].

        Raises:
            NameNotFoundError: there is no such joint.
            ModelError: a joint has not one coordinate, or a lower limit is above the upper one.
        """
        changes: dict[str, dict[str, float]] = {}
        for name, bounds in (position or {}).items():
            numbers = as_floats(bounds, f"joint {name!r}: position").tolist()
            if np.shape(numbers) != (2,):
                text = f"position: expected (lower, upper), got {shown(bounds)}"
                raise model_error(text, f"joint {name!r}")
            changes[name] = dict(zip(("lower", "upper"), numbers, strict=True))
        for kind, values in (("velocity", velocity), ("effort", effort)):
            for name, value in (values or {}).items():
                changes.setdefault(name, {})[kind] = value
        joints = list(self.joints)
        for name, limits in changes.items():
            index = self.joint_index(name)
            joint = joints[index]
            with concerning(f"joint {name!r}"):
                joints[index] = replace(joint, limits=replace(joint.limits, **limits))
        return replace(self, joints=tuple(joints))

    def with_inertia(self, link: str, inertia: Inertia) -> Model:
        """Return a copy with another inertia of a link, in the axes of the link."""
        changed = replace(self.link(link), inertia=inertia)
        links = tuple(changed if other.name == link else other for other in self.links)
        return replace(self, links=links)

    def with_payload(self, frame: str, payload: Inertia) -> Model:
        """Return a copy with a load fixed to a link, whose inertia is added to that link's.

        Args:
            frame: the link, or a frame on it, that carries the load.
            payload: inertia of the load in the axes of `frame`.
        """
        host = self.frame(frame)
        load = moved(payload, host.link_H_frame)
        return self.with_inertia(host.link, combined(self.link(host.link).inertia, load))

    def attached(
        self,
        other: Model,
        *,
        to: str,
        joint: str | None = None,
        kind: str = "fixed",
        pose: Pose | Array = IDENTITY,
        link: str | None = None,
        prefix: str = "",
    ) -> Model:
        """Return a copy with another robot mounted on this one.

        Args:
            other: the robot to mount, such as a gripper on an arm.
            to: link or frame of this robot that carries `other`.
            joint: name of the new joint between the two; `<to>_to_<link>` if not given.
            kind: of that joint; about z where it has an axis.
            pose: of the joint in `to`.
            link: link of `other` that sits on the joint; its default base if not given.
            prefix: put before every name of `other`. Named configurations that then have the same
                name in both robots are combined.

        Raises:
            ModelError: both robots use one name; a prefix helps.
        """
        if link is not None:
            other.link_index(link)
        other = other.renamed(prefix=prefix)
        host = self.frame(to)
        refuse_shared_names(self.frame_names, self.joint_names, other)
        mount = other.default_base if link is None else prefix + link
        bridge = Joint(
            name=f"{to}_to_{mount}" if joint is None else joint,
            kind=kind,
            first=host.link,
            second=mount,
            first_H_joint=composed(host.link_H_frame, as_pose(pose)),
        )
        return replace(
            self,
            links=self.links + other.links,
            joints=(*self.joints, bridge, *other.joints),
            frames=self.frames + other.frames,
            constraints=self.constraints + other.constraints,
            configurations=combined_configurations(self.configurations, other.configurations),
            actuators=self.actuators + other.actuators,
        )

    def renamed(
        self,
        *,
        name: str | None = None,
        links: Mapping[str, str] | None = None,
        joints: Mapping[str, str] | None = None,
        frames: Mapping[str, str] | None = None,
        prefix: str = "",
    ) -> Model:
        """Return a copy with other names of the robot or its parts.

        Args:
            name: of the robot.
            links, joints, frames: new names by old ones; what is not listed keeps its name.
            prefix: put before every name of a part, such as a link, a joint or a frame.
        """
        link = renaming("link", links, self.link_names, prefix)
        joint = renaming("joint", joints, self.joint_names, prefix)
        frame = renaming("frame", frames, [frame.name for frame in self.frames], prefix)
        return Model(
            name=self.name if name is None else name,
            links=tuple(replace(part, name=link[part.name]) for part in self.links),
            joints=tuple(renamed_joint(part, link, joint) for part in self.joints),
            frames=tuple(
                replace(part, name=frame[part.name], link=link[part.link]) for part in self.frames
            ),
            constraints=tuple(
                _renamed_constraint(part, link | frame, joint, prefix) for part in self.constraints
            ),
            configurations=tuple(one.renamed(link, joint, prefix) for one in self.configurations),
            actuators=tuple(one.renamed(joint, prefix) for one in self.actuators),
            source=self.source,
        )


def refuse_shared_names(frames: Collection[str], joints: Collection[str], other: Model) -> None:
    """Raise if a robot to be attached uses names of frames (links too) or joints once more."""
    text = "this name is taken; give the attached robot a prefix, such as prefix='left_'"
    frames, joints = set(frames), set(joints)
    named = [
        *(("link", link.name, frames) for link in other.links),
        *(("joint", joint.name, joints) for joint in other.joints),
        *(("frame", frame.name, frames) for frame in other.frames),
    ]
    shared = [f"{what} {name!r}" for what, name, taken in named if name in taken]
    if shared:
        raise ModelError([Finding("error", element, text) for element in shared])


def renaming(
    what: str, changes: Mapping[str, str] | None, names: Iterable[str], prefix: str
) -> dict[str, str]:
    """Return the new name of each part, by its old name.

    Args:
        what: "link", "joint" or "frame".
        changes: new names by old ones; what is not listed keeps its name.
        names: of all parts.
        prefix: put before every new name.

    Raises:
        NameNotFoundError: there is no part of an old name.
        ModelError: two parts would have one name.
    """
    changes = dict(changes or {})
    new_names = {name: prefix + changes.get(name, name) for name in names}
    for name in changes:
        if name not in new_names:
            raise name_not_found(what, name, new_names)
    seen: set[str] = set()
    for new in new_names.values():
        if new in seen:
            raise model_error("this name is taken", f"{what} {new!r}")
        seen.add(new)
    return new_names


def renamed_joint(joint: Joint, link: Mapping[str, str], names: Mapping[str, str]) -> Joint:
    """Return a joint with the new names of its links, of itself, and of the joint it mimics."""
    mimic = joint.mimic and replace(joint.mimic, joint=names[joint.mimic.joint])
    return replace(
        joint,
        name=names[joint.name],
        first=link[joint.first],
        second=link[joint.second],
        mimic=mimic,
    )


def _renamed_constraint(
    constraint: Constraint, frames: Mapping[str, str], joints: Mapping[str, str], prefix: str
) -> Constraint:
    """Return a constraint with the new names of its frames or joints."""
    names = joints if constraint.kind == "coupling" else frames
    second = constraint.second and names[constraint.second]
    first = names[constraint.first]
    return replace(constraint, name=prefix + constraint.name, first=first, second=second)
