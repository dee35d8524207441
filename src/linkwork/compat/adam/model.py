"""The robot as described by adam: links, frames and joints by name, and their tree.

Links    all links of a file except the frames
Frames   links without `<inertial>` (in MuJoCo: without mass) that end the tree on a fixed joint;
         and sites
Joints   those of the file, and a fixed one for each site. Listed joints move, in the order of the
         list; other movable joints are locked at 0. Mimic is ignored: such joints move freely.
         Equality constraints of MuJoCo are left out with a warning
Root     the link that is the child of no joint; in a MuJoCo model its one top-level body
Tree     from the current root; joints between it and the root of the file are reversed
Names    unnamed parts of a MuJoCo model have adam's names: body_4, joint_2, site_0, a_to_b_fixed

    factory = URDFModelFactory("robot.urdf", SpatialMath())
    model = Model.build(factory, joints_name_list=["hip", "knee"])
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from math import inf, isinf, pi
from operator import attrgetter
from os import PathLike
from pathlib import Path
from typing import Any

from linkwork.compat.adam.parts import (
    AdamInertia,
    AdamInertial,
    AdamJoint,
    AdamLimits,
    AdamLink,
    AdamPose,
    Tree,
    tree_of,
)
from linkwork.compat.adam.parts import Node as Node  # noqa: PLC0414 - a name of adam.model
from linkwork.compat.mujoco.read import read_and_warn
from linkwork.engine.cached_property import cached_property
from linkwork.errors import (
    Finding,
    MissingPackageError,
    NameNotFoundError,
    listed,
    model_error,
    name_not_found,
    shown,
    warn_of,
)
from linkwork.io.load import load
from linkwork.io.mjcf.package import Names, import_mujoco, name_in_file, names_of
from linkwork.io.urdf.writer import dump_urdf
from linkwork.io.usd.joints import WORLD
from linkwork.io.usd.reader import load_usd
from linkwork.io.usd.writer import dump_usd
from linkwork.io.xml.documents import format_of, parse_xml, read_source
from linkwork.model import parts
from linkwork.model.graph import require_tree
from linkwork.model.inertia import NO_INERTIA
from linkwork.model.model import Model as SourceModel
from linkwork.model.reduce import reduced
from linkwork.model.table import Table, as_text


class UnknownNameError(NameNotFoundError, ValueError):
    """A name that the robot does not have; a ValueError too, as in adam."""


def unknown_name(kind: str, name: object, names: Iterable[str]) -> UnknownNameError:
    """Build the error for a name that the robot does not have."""
    return UnknownNameError(str(name_not_found(kind, name, names)))


@dataclass(frozen=True)
class AdamModel:
    """A robot with the attributes of adam's `Model`."""

    source: SourceModel  # all joints as in the file, including locked ones
    root: str
    actuated_joints: list[str]
    bare: frozenset[str]  # links that are frames
    outside: frozenset[str] = frozenset()  # links, joints and frames that adam omits
    types: Mapping[str, str] = field(default_factory=dict[str, str])  # of joints, from the file
    limits: Mapping[str, AdamLimits] = field(default_factory=dict[str, AdamLimits])

    @staticmethod
    def build(
        factory: ModelFactory,
        joints_name_list: list[str] | None = None,
        root_link: str | None = None,
    ) -> AdamModel:
        """Build the model of a factory.

        Args:
            factory: the robot.
            joints_name_list: the moving joints, in this order; by default all movable joints.
            root_link: the root of the tree; by default the root of the file.

        Raises:
            ValueError: there are no such joints, or there is no such link.
        """
        model = factory.robot.with_joints(joints_name_list)
        return model if root_link is None else model.with_root(root_link)

    def with_joints(self, joints_name_list: Sequence[str] | None = None) -> AdamModel:
        """Return the robot with the listed joints actuated, by default all movable joints.

        Raises:
            ValueError: a joint does not exist, is listed twice, or has several coordinates.
        """
        if isinstance(joints_name_list, str):
            message = f"expected a list of names, got the string {joints_name_list!r}"
            raise model_error(f"joints_name_list: {message}")
        movable = [j.name for j in self.source.joints if j.nq and j.name not in self.outside]
        names = movable if joints_name_list is None else list(joints_name_list)
        for name in names:
            if name not in self.joints:
                raise unknown_name("joint", name, movable)
            joint = self.joints[name].part
            if joint.nq > 1:
                reason = (
                    f"a {joint.kind} joint has several coordinates, which adam does not support"
                )
                hint = "omit it from joints_name_list to lock it"
                raise model_error(f"{reason}; {hint}", f"joint {name!r}", joint.location)
        if twice := [name for name in names if names.count(name) > 1]:
            raise model_error("listed twice in joints_name_list", f"joint {twice[0]!r}")
        model = replace(self, actuated_joints=names)
        _ = model.moving  # raises here if the list is invalid
        return model

    def with_root(self, root_link: str) -> AdamModel:
        """Return the robot with another root; order and meaning of the joints are unchanged.

        Raises:
            ValueError: there is no such link, or it is a frame.
        """
        if root_link in self.frames:
            (link,) = (j.parent for j in self.joints.values() if j.child == root_link)
            raise model_error(f"root_link: {root_link!r} is a frame, fixed to link {link!r}")
        if root_link not in self.links:
            raise unknown_name("link", root_link, self.links)
        return replace(self, root=root_link)

    def to_usd(
        self, usd_output_path: str | PathLike[str], *, robot_prim_path: str = "/Robot"
    ) -> Path:
        """Write the robot to a USD file, as `linkwork.dump_usd` does; return its path."""
        dump_usd(self.source, usd_output_path, prim_path=robot_prim_path)
        return Path(usd_output_path)

    name = property(attrgetter("source.name"), doc="Name of the robot.")

    @property
    def NDoF(self) -> int:
        """Number of actuated joints."""
        return len(self.actuated_joints)

    @property
    def N(self) -> int:
        """Number of links."""
        return len(self.links)

    @cached_property
    def links(self) -> Mapping[str, AdamLink]:
        """Links by name."""
        others = self.bare | self.outside
        return {link.name: AdamLink(link) for link in self.source.links if link.name not in others}

    @cached_property
    def frames(self) -> Mapping[str, AdamLink]:
        """Frames by name."""
        bare = [link for link in self.source.links if link.name in self.bare]
        sites = [parts.Link(name=frame.name) for frame in self._sites]
        return {link.name: AdamLink(link) for link in (*bare, *sites)}

    @cached_property
    def joints(self) -> Mapping[str, AdamJoint]:
        """Joints by name, including those of frames."""
        inner = [joint for joint in self.source.joints if joint.name not in self.outside]
        site_joints = [_joint_of(frame) for frame in self._sites]
        return {joint.name: self._joint(joint) for joint in (*inner, *site_joints)}

    @cached_property
    def tree(self) -> Tree:
        """Links and the joints between them, from the root."""
        return tree_of(self.links, self.joints.values(), self.root)

    @cached_property
    def moving(self) -> SourceModel:
        """The robot in which only the actuated joints move."""
        return reduced(self.source, [name for name in self.actuated_joints if self.is_moving(name)])

    def is_moving(self, joint: str) -> bool:
        """Return whether a joint can move; fixed ones may be listed as actuated, without effect."""
        return not self.joints[joint].part.is_fixed

    def get_total_mass(self) -> float:
        """Return the mass of the robot [kg]."""
        return self.source.total_mass

    def get_joints_chain(self, root: str, target: str) -> list[AdamJoint]:
        """Return the joints from a link outward to a link or frame.

        Raises:
            ValueError: there is no such link, or the target is not below the root.
        """
        for name in (root, target):
            if name not in self.links and name not in self.frames:
                raise unknown_name("link or frame", name, (*self.links, *self.frames))
        above = {joint.child: joint for joint in self.joints.values() if joint.child in self.frames}
        above |= {node.name: node.parent_arc for node in self.tree if node.parent_arc}
        chain: list[AdamJoint] = []
        link = target
        while link != root:
            if link not in above:
                raise model_error(f"is not below link {root!r}", f"link {target!r}")
            chain.insert(0, above[link])
            link = above[link].parent
        return chain

    def print_table(self) -> None:
        """Print a table of joints and the links they connect."""
        columns = ("Idx", "Parent Link", "Joint name", "Child Link", "Type")
        arcs = [arc for node in self.tree.graph.values() for arc in node.arcs]
        rows = [(arc.parent, arc.name, arc.child, arc.type) for arc in arcs]
        table = Table(self.name, columns, tuple((str(k), *r) for k, r in enumerate(rows, start=1)))
        print(as_text(table))  # noqa: T201 - adam prints it

    @cached_property
    def _sites(self) -> list[parts.Frame]:
        return [frame for frame in self.source.frames if frame.name not in self.outside]

    def _joint(self, joint: parts.Joint) -> AdamJoint:
        moving = joint.name in self.actuated_joints
        return AdamJoint(
            joint,
            parent=joint.first,
            child=joint.second,
            type=self.types.get(joint.name) or _type_of(joint),
            limit=self.limits.get(joint.name) or _limits_of(joint),
            idx=self.actuated_joints.index(joint.name) if moving else None,
        )


# The names in adam.
Model = AdamModel
Joint = StdJoint = AdamJoint
Link = StdLink = AdamLink
Pose, Inertia, Inertial, Limits = AdamPose, AdamInertia, AdamInertial, AdamLimits


def _joint_of(frame: parts.Frame) -> parts.Joint:
    """Return the fixed joint of a frame, with its name in adam."""
    return parts.Joint(
        name=f"{frame.link}_to_{frame.name}_fixed",
        kind="fixed",
        first=frame.link,
        second=frame.name,
        first_H_joint=frame.link_H_frame,
    )


def _type_of(joint: parts.Joint) -> str:
    """Return the type of a joint in a URDF."""
    unbounded = isinf(joint.limits.lower) and isinf(joint.limits.upper)
    return "continuous" if joint.kind == "revolute" and unbounded else joint.kind


def _limits_of(joint: parts.Joint) -> AdamLimits:
    """Return the limits of a joint; without bounds they are +-2 pi, or infinite if prismatic."""
    limits, bound = joint.limits, inf if joint.kind == "prismatic" else 2 * pi
    lower = -bound if isinf(limits.lower) else limits.lower
    upper = bound if isinf(limits.upper) else limits.upper
    return AdamLimits(lower, upper, limits.effort, limits.velocity)


# Reading.


def read_adam_model(description: Any, joints_name_list: Sequence[str] | None = None) -> AdamModel:
    """Read the path or contents of a URDF, a `mujoco.MjModel`, or a linkwork model.

    Args:
        description: the robot.
        joints_name_list: the moving joints, in this order; by default all movable joints.

    Raises:
        ValueError: the description is invalid, or has no such joints.
    """
    return read_description(description).with_joints(joints_name_list)


def read_description(description: Any) -> AdamModel:
    """Read a robot, without choosing the moving joints."""
    if is_mujoco_model(description):
        return _from_mujoco(description)
    if isinstance(description, AdamModel):
        return description
    if isinstance(description, SourceModel):
        require_tree(description, "adam has trees of links only")
        return _from_model(description)
    if isinstance(description, Mapping) and {*description} & {"usd_path", "usd_stage"}:
        source = description.get("usd_path", description.get("usd_stage"))
        return _from_usd(source, description.get("robot_prim_path"))
    if isinstance(description, (str, bytes, PathLike)):
        return _from_file(description)
    if type(description).__module__.startswith("pxr."):
        return _from_usd(description, None)
    expected = "the path or contents of a URDF, or a mujoco.MjModel"
    raise model_error(f"urdfstring: expected {expected}, got {shown(description)}")


def is_mujoco_model(description: Any) -> bool:
    """Return whether an object is a `mujoco.MjModel`; does not import MuJoCo."""
    kind = type(description)
    return kind.__name__ == "MjModel" and kind.__module__.partition(".")[0] == "mujoco"


def actuated_joints_of(mj_model: Any) -> list[str]:
    """Return the names of the joints that actuators of a `mujoco.MjModel` drive, in their order."""
    kinds = import_mujoco().mjtTrn
    joints = _adam_names_of(mj_model).joints
    drives_joint = (int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT))
    driven = [
        joints[int(joint)]
        for kind, (joint, _) in zip(mj_model.actuator_trntype, mj_model.actuator_trnid, strict=True)
        if int(kind) in drives_joint
    ]
    return list(dict.fromkeys(driven))


def _adam_names_of(mj_model: Any) -> Names:
    """Return adam's names for the parts of a `mujoco.MjModel`."""
    names = names_of(mj_model)

    def named(kind: str, count: int) -> tuple[str, ...]:
        return tuple(name_in_file(mj_model, kind, i) or f"{kind}_{i}" for i in range(count))

    bodies = named("body", mj_model.nbody)
    parents = [bodies[parent] for parent in mj_model.body_parentid.tolist()]
    sites = zip(named("site", mj_model.nsite), names.sites, strict=True)
    return replace(
        names,
        model="mujoco_model",
        bodies=bodies,
        joints=named("joint", mj_model.njnt),
        fixed={body: f"{parents[body]}_to_{bodies[body]}_fixed" for body in names.fixed},
        sites=tuple(unique if name in bodies else name for name, unique in sites),
    )


def _from_model(source: SourceModel) -> AdamModel:
    massless = [link.name for link in source.links if link.inertia == NO_INERTIA]
    return AdamModel(source, source.default_base, [], _ends(source, massless))


def _from_usd(description: Any, robot_prim_path: str | None) -> AdamModel:
    """Read the path of a USD file, or a stage.

    As in adam, the world is not a link, and a length without a unit is in meters.
    """
    source = load_usd(description, articulation=robot_prim_path, meters=1.0)
    require_tree(source, "adam has trees of links only")
    tops = [joint for joint in source.joints if joint.first == WORLD]
    if len(tops) != 1:
        return _from_model(source)
    outside = frozenset((WORLD, tops[0].name))
    massless = [link.name for link in source.links if link.inertia == NO_INERTIA]
    return AdamModel(source, tops[0].second, [], _ends(source, massless) - outside, outside)


def _from_file(description: str | bytes | PathLike[str]) -> AdamModel:
    text = read_source(description)
    if format_of(text) == "usd":
        return _from_usd(description, None)
    source = _without_constraints(load(description, mimic=False))
    if format_of(text) == "mjcf":
        return _from_model(source)
    robot = parse_xml(text).root
    bare = [link.get("name", "") for link in robot.findall("link") if link.find("inertial") is None]
    joints = {joint.get("name", ""): joint for joint in robot.findall("joint")}
    limits = {name: joint.find("limit") for name, joint in joints.items()}
    return AdamModel(
        source,
        source.default_base,
        [],
        _ends(source, bare),
        types={name: joint.get("type", "") for name, joint in joints.items()},
        limits={name: _limits_in(limit) for name, limit in limits.items() if limit is not None},
    )


def _limits_in(limit: Any) -> AdamLimits:
    """Return the values of a `<limit>`; missing bounds are 0, as the format defines."""
    lower, upper = (float(limit.get(name, 0)) for name in ("lower", "upper"))
    effort, velocity = (float(limit.get(name, inf)) for name in ("effort", "velocity"))
    return AdamLimits(lower, upper, effort, velocity)


def _from_mujoco(mj_model: Any) -> AdamModel:
    names = _adam_names_of(mj_model)
    source = _without_constraints(read_and_warn(mj_model, mimic=False, names=names))
    parents = enumerate(mj_model.body_parentid.tolist())
    tops = [names.bodies[body] for body, parent in parents if body and not parent]
    if len(tops) != 1:
        raise model_error(f"expected one top-level body as the root, found {', '.join(tops)}")
    above = {joint.second: joint for joint in source.joints}
    outside = [  # sites of the world, and sites with the name of a body
        name
        for site, (name, body) in enumerate(zip(names.sites, mj_model.site_bodyid, strict=True))
        if not body or name != (name_in_file(mj_model, "site", site) or f"site_{site}")
    ]
    link = tops[0]
    while link in above:
        outside += [above[link].name, above[link].first]
        link = above[link].first
    bare = _ends(source, [link.name for link in source.links if not link.inertia.mass])
    types = {joint.name: joint.kind for joint in source.joints}
    return AdamModel(source, tops[0], [], bare - set(outside), frozenset(outside), types)


def _without_constraints(model: SourceModel) -> SourceModel:
    """A robot of MJCF as adam reads it, without equality constraints; a warning lists them."""
    if not model.constraints:
        return model
    names = listed([constraint.name for constraint in model.constraints])
    warn_of([Finding("warning", "", f"left out: equality constraints, as in adam: {names}")])
    return replace(model, constraints=())


def _ends(model: SourceModel, links: Iterable[str]) -> frozenset[str]:
    """Return the links, among some, that end the tree on a fixed joint."""
    fixed = {joint.second for joint in model.joints if joint.kind == "fixed"}
    inner = {joint.first for joint in model.joints}
    return frozenset(links) & fixed - inner


# Factories and conversions.


class ModelFactory:
    """A robot whose actuated joints are not chosen yet.

    Args:
        description: the robot.
        math: stored and not used: a model has plain floats.
    """

    def __init__(self, description: Any, math: Any) -> None:
        self.math = math
        self.robot = read_description(description)

    name = property(attrgetter("robot.name"), doc="Name of the robot.")

    def get_joints(self) -> list[AdamJoint]:
        """Return all joints."""
        return list(self.robot.joints.values())

    def get_links(self) -> list[AdamLink]:
        """Return all links except the frames."""
        return list(self.robot.links.values())

    def get_frames(self) -> list[AdamLink]:
        """Return all frames."""
        return list(self.robot.frames.values())


class URDFModelFactory(ModelFactory):
    """A robot from the path or contents of a URDF."""

    def __init__(self, path: Any, math: Any) -> None:
        super().__init__(path, math)


class MujocoModelFactory(ModelFactory):
    """A robot from a `mujoco.MjModel`."""

    def __init__(self, mj_model: Any, math: Any) -> None:
        super().__init__(mj_model, math)


def build_model_factory(description: Any, math: Any) -> ModelFactory:
    """Return the factory for the path or contents of a URDF, or for a `mujoco.MjModel`."""
    kind = MujocoModelFactory if is_mujoco_model(description) else URDFModelFactory
    return kind(description, math)


def to_idyntree_model(model: AdamModel) -> Any:
    """Convert to an `idyntree.bindings.Model` whose actuated joints move, in their order.

    Raises:
        MissingPackageError: iDynTree is not installed.
        ModelError: iDynTree rejects the robot.
    """
    try:
        bindings = import_module("idyntree.bindings")
    except ImportError as error:
        message = "to_idyntree_model needs the package idyntree: pip install idyntree"
        raise MissingPackageError(f"{message} ({error})") from error
    loader = bindings.ModelLoader()
    if not loader.loadReducedModelFromString(dump_urdf(model.source), model.actuated_joints):
        raise model_error(f"iDynTree rejects robot {model.name!r}")
    return loader.model().copy()
