"""The robot as adam describes it: which links are frames, which joints move, where the root is.

Links    all links of a file but the frames
Frames   links without `<inertial>` (of MuJoCo: without mass) that end the tree on a fixed joint;
         and sites
Joints   those listed move, in the order of the list; others that could move are locked at 0
Root     the link that no joint holds; of a MuJoCo model its one top-level body
Mimic    is ignored: such joints move freely
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, pi
from os import PathLike
from typing import Any

from linkwork.errors import NameNotFoundError, model_error, name_not_found, shown
from linkwork.io.load import load
from linkwork.lazy import cached_property
from linkwork.model.inertia import NO_INERTIA
from linkwork.model.model import Model
from linkwork.model.parts import NO_LIMITS, Frame, Joint, Limits, Link
from linkwork.model.pose import Pose, Triple
from linkwork.model.reduce import reduced


class UnknownNameError(NameNotFoundError, ValueError):
    """A name the robot does not have; a ValueError too, as in adam."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """Build the error for a name that the robot does not have."""
    return UnknownNameError(str(name_not_found(kind, name, known)))


@dataclass(frozen=True, slots=True)
class AdamJoint:
    """A joint with the names that adam gives its facts."""

    name: str
    parent: str
    child: str
    type: str  # revolute, continuous, prismatic or fixed, or a kind that only linkwork knows
    axis: Triple | None  # unit vector in the joint frame; None of a fixed joint
    origin: Pose  # xyz and rpy of the joint on its parent
    limit: Limits  # lower, upper, velocity, effort
    idx: int | None  # place in the joint vector; None if it does not move


@dataclass(frozen=True)
class AdamModel:
    """What adam's users read of a model. All of it is about the file, whatever the root is."""

    source: Model  # all joints as in the file, locked ones too
    root: str
    actuated_joints: list[str]
    bare: frozenset[str]  # links that are frames
    outside: frozenset[str] = frozenset()  # links and joints that hold the root of a MuJoCo model

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.source.name

    @property
    def NDoF(self) -> int:
        """How many joints move."""
        return len(self.actuated_joints)

    @property
    def N(self) -> int:
        """How many links there are."""
        return len(self.links)

    @cached_property
    def links(self) -> Mapping[str, Link]:
        """Links by name."""
        others = self.bare | self.outside
        return {link.name: link for link in self.source.links if link.name not in others}

    @cached_property
    def frames(self) -> Mapping[str, Link | Frame]:
        """Frames by name."""
        bare = [link for link in self.source.links if link.name in self.bare]
        return {part.name: part for part in (*bare, *self.source.frames)}

    @cached_property
    def joints(self) -> Mapping[str, AdamJoint]:
        """Joints by name, those of frames too."""
        places = {name: place for place, name in enumerate(self.actuated_joints)}
        inner = [joint for joint in self.source.joints if joint.name not in self.outside]
        return {joint.name: _adam_joint(joint, places.get(joint.name)) for joint in inner}

    @cached_property
    def moving(self) -> Model:
        """The robot in which just the actuated joints move."""
        return reduced(self.source, self.actuated_joints)

    def get_total_mass(self) -> float:
        """Mass of the robot [kg]."""
        return self.source.total_mass

    def get_joints_chain(self, root: str, target: str) -> list[AdamJoint]:
        """The joints on the way out from a link to a link or frame.

        Raises:
            ValueError: there is no such link, or the way does not lead out from the root.
        """
        for name in (root, target):
            if name not in self.source.link_names:
                raise unknown_name("link", name, self.source.link_names)
        above = {joint.child: joint for joint in self.joints.values()}
        chain: list[AdamJoint] = []
        here = target
        while here != root:
            if here not in above:
                raise model_error(f"does not hang on link {root!r}", f"link {target!r}")
            chain.insert(0, above[here])
            here = above[here].parent
        return chain


def read_adam_model(description: Any, joints_name_list: Sequence[str] | None = None) -> AdamModel:
    """Read what adam takes: path or text of a URDF, a `mujoco.MjModel`; or a linkwork model.

    Args:
        description: the robot.
        joints_name_list: the joints that move, in their order; all that can if not given.

    Raises:
        ValueError: it is no robot, or has no such joints.
    """
    found = _read(description)
    if isinstance(joints_name_list, str):
        raise model_error(f"joints_name_list: expected names, got the text {joints_name_list!r}")
    movable = [j.name for j in found.source.joints if j.nq and j.name not in found.outside]
    names = movable if joints_name_list is None else list(joints_name_list)
    for name in names:
        if name not in found.joints:
            raise unknown_name("joint", name, movable)
        joint = found.source.joint(name)
        if joint.nq > 1:
            why = f"a {joint.kind} joint has several coordinates, which adam has no place for"
            hint = "leave it out of joints_name_list to lock it"
            raise model_error(f"{why}; {hint}", f"joint {name!r}", joint.place)
    listed = replace(found, actuated_joints=names)
    _ = listed.moving  # what does not fit is said now
    return listed


def is_mjmodel(description: Any) -> bool:
    """Whether it is a `mujoco.MjModel`; MuJoCo need not be there to know."""
    kind = type(description)
    return kind.__name__ == "MjModel" and kind.__module__.partition(".")[0] == "mujoco"


def actuated_joints_of(mj_model: Any) -> list[str]:
    """Names of the joints that the actuators of a `mujoco.MjModel` drive, in their order."""
    from linkwork.io.mjcf_names import names_of
    from linkwork.io.mjcf_package import import_mujoco

    kinds = import_mujoco().mjtTrn
    joints = names_of(mj_model).joints
    driving = (kinds.mjTRN_JOINT, kinds.mjTRN_JOINTINPARENT)
    found = [
        joints[int(joint)]
        for kind, (joint, _) in zip(mj_model.actuator_trntype, mj_model.actuator_trnid, strict=True)
        if int(kind) in tuple(map(int, driving))
    ]
    return list(dict.fromkeys(found))


def _read(description: Any) -> AdamModel:
    """The robot, before it is known which of its joints move."""
    if is_mjmodel(description):
        return _from_mujoco(description)
    if isinstance(description, Model):
        source = description
    elif isinstance(description, (str, bytes, PathLike)):
        source = load(description, mimic=False)
    else:
        wanted = "the path or text of a URDF, or a mujoco.MjModel"
        raise model_error(f"urdfstring: expected {wanted}, got {shown(description)}")
    # the reader gives this very object to links without <inertial>, also if others equal it
    bare = _ends(source, [link for link in source.links if link.inertia is NO_INERTIA])
    return AdamModel(source, source.default_base, [], bare)


def _from_mujoco(mj_model: Any) -> AdamModel:
    from linkwork.compat.mujoco import model_from_mjmodel
    from linkwork.io.mjcf_names import names_of

    source, names = model_from_mjmodel(mj_model, mimic=False), names_of(mj_model)
    bodies = enumerate(mj_model.body_parentid.tolist())
    tops = [names.bodies[body] for body, parent in bodies if body and not parent]
    if len(tops) != 1:
        raise model_error(f"expected one top-level body as the root, found {', '.join(tops)}")
    above = {joint.second: joint for joint in source.joints}
    outside: list[str] = []
    here = tops[0]
    while here in above:
        outside += [above[here].name, above[here].first]
        here = above[here].first
    bare = _ends(source, [link for link in source.links if not link.inertia.mass])
    return AdamModel(source, tops[0], [], bare - set(outside), frozenset(outside))


def _ends(model: Model, links: Iterable[Link]) -> frozenset[str]:
    """Those of some links that end the tree, on a fixed joint."""
    fixed = {joint.second for joint in model.joints if joint.kind == "fixed"}
    inner = {joint.first for joint in model.joints}
    return frozenset(link.name for link in links) & fixed - inner


def _adam_joint(joint: Joint, place: int | None) -> AdamJoint:
    free = joint.kind == "revolute" and joint.limits == NO_LIMITS
    limits = joint.limits
    if limits.lower == -inf and limits.upper == inf and joint.kind == "revolute":
        limits = replace(limits, lower=-2 * pi, upper=2 * pi)
    return AdamJoint(
        name=joint.name,
        parent=joint.first,
        child=joint.second,
        type="continuous" if free else joint.kind,
        axis=None if joint.kind == "fixed" else joint.axis,
        origin=joint.first_H_joint,
        limit=limits,
        idx=place,
    )
