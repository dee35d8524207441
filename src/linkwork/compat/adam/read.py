"""What adam takes as a description of a robot, read as adam reads it.

Joints   those listed move, in the order of the list; others that could move are locked at 0
Root     the link that no joint holds; of a MuJoCo model its one top-level body
Mimic    is ignored: such joints move freely
Names    of what has none in a MuJoCo model are adam's: body_4, joint_2, site_0, a_to_b_fixed
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import inf
from os import PathLike
from typing import Any

from linkwork.compat.adam.model.model import AdamModel, unknown_name
from linkwork.compat.adam.parts import AdamLimits
from linkwork.compat.mujoco.read import read_and_warn
from linkwork.errors import model_error, shown
from linkwork.io.load import load
from linkwork.io.mjcf.names import Names, names_of
from linkwork.io.mjcf.package import given_name, import_mujoco
from linkwork.io.mjcf.reader import is_mjcf
from linkwork.io.xml.parse import parse_xml
from linkwork.io.xml.source import read_source
from linkwork.model.inertia import NO_INERTIA
from linkwork.model.model import Model


def read_adam_model(description: Any, joints_name_list: Sequence[str] | None = None) -> AdamModel:
    """Read what adam takes: path or text of a URDF, a `mujoco.MjModel`; or a linkwork model.

    Args:
        description: the robot.
        joints_name_list: the joints that move, in their order; all that can if not given.

    Raises:
        ValueError: it is no robot, or has no such joints.
    """
    return with_joints(read_description(description), joints_name_list)


def with_joints(found: AdamModel, joints_name_list: Sequence[str] | None = None) -> AdamModel:
    """A robot in which the listed joints move, or all that can if there is no list."""
    if isinstance(joints_name_list, str):
        raise model_error(f"joints_name_list: expected names, got the text {joints_name_list!r}")
    movable = [j.name for j in found.source.joints if j.nq and j.name not in found.outside]
    names = movable if joints_name_list is None else list(joints_name_list)
    for name in names:
        if name not in found.joints:
            raise unknown_name("joint", name, movable)
        if found.joints[name].part.nq > 1:
            joint = found.joints[name].part
            why = f"a {joint.kind} joint has several coordinates, of which adam knows none"
            hint = "leave it out of joints_name_list to lock it"
            raise model_error(f"{why}; {hint}", f"joint {name!r}", joint.place)
    listed = replace(found, actuated_joints=names)
    _ = listed.moving  # what does not fit is said now
    return listed


def actuated_joints_of(mj_model: Any) -> list[str]:
    """Names of the joints that the actuators of a `mujoco.MjModel` drive, in their order."""
    kinds = import_mujoco().mjtTrn
    joints = adam_names_of(mj_model).joints
    driving = (int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT))
    found = [
        joints[int(joint)]
        for kind, (joint, _) in zip(mj_model.actuator_trntype, mj_model.actuator_trnid, strict=True)
        if int(kind) in driving
    ]
    return list(dict.fromkeys(found))


def adam_names_of(mj_model: Any) -> Names:
    """The names that adam gives the parts of a `mujoco.MjModel`."""
    names = names_of(mj_model)

    def named(kind: str, count: int) -> tuple[str, ...]:
        return tuple(given_name(mj_model, kind, i) or f"{kind}_{i}" for i in range(count))

    bodies = named("body", mj_model.nbody)
    above = [bodies[parent] for parent in mj_model.body_parentid.tolist()]
    sites = named("site", mj_model.nsite)
    return replace(
        names,
        model="mujoco_model",
        bodies=bodies,
        joints=named("joint", mj_model.njnt),
        fixed={body: f"{above[body]}_to_{bodies[body]}_fixed" for body in names.fixed},
        sites=tuple(
            taken if own in bodies else own for own, taken in zip(sites, names.sites, strict=True)
        ),
    )


def is_mujoco_model(description: Any) -> bool:
    """Whether it is a `mujoco.MjModel`; MuJoCo need not be there to know."""
    kind = type(description)
    return kind.__name__ == "MjModel" and kind.__module__.partition(".")[0] == "mujoco"


def read_description(description: Any) -> AdamModel:
    """The robot, before it is known which of its joints move."""
    if is_mujoco_model(description):
        return _from_mujoco(description)
    if isinstance(description, Model):
        return _from_model(description)
    if isinstance(description, (str, bytes, PathLike)):
        return _from_file(description)
    wanted = "the path or text of a URDF, or a mujoco.MjModel"
    raise model_error(f"urdfstring: expected {wanted}, got {shown(description)}")


def _from_model(source: Model) -> AdamModel:
    massless = [link.name for link in source.links if link.inertia == NO_INERTIA]
    return AdamModel(source, source.default_base, [], _ends(source, massless))


def _from_file(description: str | bytes | PathLike[str]) -> AdamModel:
    source = load(description, mimic=False)
    text = read_source(description)
    if is_mjcf(text):
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
        limits={name: _limits(one) for name, one in limits.items() if one is not None},
    )


def _limits(limit: Any) -> AdamLimits:
    """What a `<limit>` says; bounds that it leaves out are 0, as the format has it."""
    lower, upper = (float(limit.get(name, 0)) for name in ("lower", "upper"))
    effort, velocity = (float(limit.get(name, inf)) for name in ("effort", "velocity"))
    return AdamLimits(lower, upper, effort, velocity)


def _from_mujoco(mj_model: Any) -> AdamModel:
    names = adam_names_of(mj_model)
    source = read_and_warn(mj_model, mimic=False, names=names)
    parents = enumerate(mj_model.body_parentid.tolist())
    tops = [names.bodies[body] for body, parent in parents if body and not parent]
    if len(tops) != 1:
        raise model_error(f"expected one top-level body as the root, found {', '.join(tops)}")
    above = {joint.second: joint for joint in source.joints}
    outside = [  # sites of the world, and those that have the name of a body
        name
        for site, (name, body) in enumerate(zip(names.sites, mj_model.site_bodyid, strict=True))
        if not body or name != (given_name(mj_model, "site", site) or f"site_{site}")
    ]
    here = tops[0]
    while here in above:
        outside += [above[here].name, above[here].first]
        here = above[here].first
    bare = _ends(source, [link.name for link in source.links if not link.inertia.mass])
    types = {joint.name: joint.kind for joint in source.joints}
    return AdamModel(source, tops[0], [], bare - set(outside), frozenset(outside), types)


def _ends(model: Model, links: Iterable[str]) -> frozenset[str]:
    """Those of some links that end the tree, on a fixed joint."""
    fixed = {joint.second for joint in model.joints if joint.kind == "fixed"}
    inner = {joint.first for joint in model.joints}
    return frozenset(links) & fixed - inner
