"""Conversion of a compiled MuJoCo model to links, joints, frames and shapes.

World      the link `world` is the parent of the top-level bodies. If there is only one, with a free
           joint, there is no such link: that body is the robot's floating base
Joints     MuJoCo moves a body by each of its joints, one after the other, about the joint's anchor:

               parent_H_body = body_pos, body_quat, then T(p1) M1 T(-p1) T(p2) M2 T(-p2) ...

           Each M becomes one joint, with a massless link after each but the last
Actuated   hinges and slides that actuators drive, if all drive such joints; if one
           drives a dependent joint, the leader
Actuators  of hinges, slides and balls, with their gears; see `actuators_of`
Position   theta = qpos - qpos0 for hinges and slides, so limits are shifted by qpos0 too
Initial    the poses of several free bodies in the file are the configuration `initial`
Visual     geoms that MuJoCo's viewer draws by default: the groups 0, 1 and 2
Collision  geoms with contacts: contype or conaffinity is not 0
Meshes     MuJoCo transforms the points p of a mesh to scale * refquat^-1 (p - refpos), then to
           their center and principal axes; the shape has the pose of the points in the file
Ignored    planes, height fields, ellipsoids and signed distance fields, for which there is no
           shape, and meshes without a file
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import Finding, concerning, listed, model_error
from linkwork.io.mjcf.elements import (
    actuators_of,
    driven_joints,
    equality_constraints,
    equality_mimics,
    unsupported_findings,
)
from linkwork.io.mjcf.package import (
    MjModel,
    Names,
    is_disabled,
    kind_of,
    matrix_of,
    name_in_enum,
    name_in_file,
    names_of,
    pose_of,
)
from linkwork.model.configurations import Configuration, initial_poses
from linkwork.model.geometry import (
    Box,
    Capsule,
    Cylinder,
    Geometry,
    Material,
    Mesh,
    Shape,
    Sphere,
)
from linkwork.model.inertia import NO_INERTIA, Inertia, six
from linkwork.model.model import Model
from linkwork.model.parts import NO_LIMITS, Frame, Joint, Limits, Link, Mimic, unit_vector
from linkwork.model.pose import IDENTITY, Pose, as_pose
from linkwork.spatial.source import quat, se3

NO_BODIES = "the world has no bodies"
NO_REFERENCES: Mapping[str, Array] = {}


def read_mjmodel(
    mj: MjModel,
    *,
    mimic: bool = True,
    constraints: bool = True,
    name: str | None = None,
    references: Mapping[str, Array] = NO_REFERENCES,
    names: Names | None = None,
) -> tuple[Model, tuple[Finding, ...]]:
    """Convert a compiled model to a robot, with findings about unsupported elements.

    Args:
        mj: a `mujoco.MjModel`.
        mimic: whether linear joint equalities make joints depend on others; if not, these joints
            move independently.
        constraints: whether other equalities become constraints of the robot.
        name: name of the robot; default the name of the model.
        references: poses (4, 4) of `refpos` and `refquat` of the meshes by name, which the compiled
            model lacks; others are assumed to be the identity.
        names: names of all parts; default the result of `names_of`.

    Raises:
        ModelError: there is no body except the world.
    """
    if mj.nbody <= 1:
        raise model_error(NO_BODIES)
    names = names or names_of(mj)
    base = floating_body(mj)
    has_equalities = not is_disabled(mj, "equality")
    followers, mimicking = equality_mimics(mj, names) if has_equalities else ({}, set())
    motors = driven_joints(mj, mimicking if mimic else ())
    shapes = shapes_of(mj, references)
    first = 0 if base is None else base
    present = range(first, mj.nbody)
    model = Model(
        name=name or names.model,
        links=tuple(link for body in present for link in _links(mj, names, shapes, body)),
        joints=tuple(
            joint
            for body in present
            if body != first
            for joint in _joints(mj, names, body, followers if mimic else {}, motors)
        ),
        frames=tuple(
            Frame(
                name=names.sites[site],
                link=names.bodies[body],
                link_H_frame=pose_of(mj.site_pos[site], mj.site_quat[site]),
            )
            for site, body in enumerate(mj.site_bodyid.tolist())
            if body in present
        ),
        constraints=tuple(equality_constraints(mj, names, base, mimicking))
        if constraints and has_equalities
        else (),
    )
    actuators, undriven = actuators_of(mj, names)
    free = {joint: mj.qpos0[start : start + 7] for joint, start in _free_joints(mj, names, base)}
    configurations = initial_poses(free, _keyframes(mj, names, model, base))
    model = replace(model, configurations=configurations, actuators=actuators)
    findings = [*unsupported_findings(mj, names, base), *undriven, *shapes.findings]
    return model, tuple(findings)


def _keyframes(
    mj: MjModel, names: Names, model: Model, base: int | None
) -> tuple[Configuration, ...]:
    """Return the keyframes as named configurations; `key_0` and so on if they have no name.

    Quaternions have the same order of entries in MuJoCo. Dependent joints have no position.
    """
    configurations: list[Configuration] = []
    for key, qpos in enumerate(mj.key_qpos):
        positions: dict[str, Array] = {}
        pose = IDENTITY
        for joint, start in enumerate(mj.jnt_qposadr.tolist()):
            if base is not None and mj.jnt_bodyid[joint] == base:
                pose = pose_of(qpos[start : start + 3], qpos[start + 3 : start + 7])
                continue
            part = model.joint(names.joints[joint])
            if part.nq:
                neutral = mj.qpos0[start] if part.nq == 1 else 0.0
                positions[part.name] = qpos[start : start + part.nq] - neutral
        one = Configuration(
            name=name_in_file(mj, "key", key) or f"key_{key}",
            positions=positions,  # pyright: ignore[reportArgumentType] - a mapping is accepted
            link=None if base is None else names.bodies[base],
            world_H_link=pose,
        )
        configurations.append(one)
    return tuple(configurations)


def _free_joints(mj: MjModel, names: Names, base: int | None) -> Iterator[tuple[str, int]]:
    """Yield names of the joints of free bodies other than the base, and their indices in qpos."""
    for joint, start in enumerate(mj.jnt_qposadr.tolist()):
        if kind_of(mj, joint) == "floating" and mj.jnt_bodyid[joint] != base:
            yield names.joints[joint], start


def floating_body(mj: MjModel) -> int | None:
    """Return the only top-level body if it has a free joint, else None."""
    top = np.flatnonzero(mj.body_parentid[1:] == 0) + 1
    if len(top) != 1 or mj.body_jntnum[top[0]] == 0:
        return None
    free = kind_of(mj, int(mj.body_jntadr[top[0]])) == "floating"
    return int(top[0]) if free else None


def _links(mj: MjModel, names: Names, shapes: Shapes, body: int) -> list[Link]:
    """Return the massless links between the joints of a body, then the body itself."""
    name = names.bodies[body]
    with concerning(f"link {name!r}"):
        body_link = Link(
            name=name,
            inertia=_inertia(mj, body),
            visuals=shapes.visuals.get(body, ()),
            collisions=shapes.collisions.get(body, ()),
        )
    start = int(mj.body_jntadr[body])
    ids = range(start, start + int(mj.body_jntnum[body]))
    between = [Link(name=names.between[joint]) for joint in ids if joint in names.between]
    return [*between, body_link]


def _inertia(mj: MjModel, body: int) -> Inertia:
    """Return the inertia of a body; MuJoCo's center of mass is arbitrary if it has no mass."""
    mass, moments = float(mj.body_mass[body]), mj.body_inertia[body]
    if not mass and not moments.any():
        return NO_INERTIA
    rotation = quat.to_rotation(quat.normalize(mj.body_iquat[body]))
    tensor = (rotation * moments) @ rotation.T
    return Inertia(mass, tuple(mj.body_ipos[body].tolist()), six((tensor + tensor.T) / 2))


def _joints(
    mj: MjModel,
    names: Names,
    body: int,
    followers: dict[int, Mimic],
    motors: Collection[int] | None,
) -> list[Joint]:
    """Return the joints of a body in order, or a fixed joint if it has none."""
    previous = names.bodies[int(mj.body_parentid[body])]
    mount = pose_of(mj.body_pos[body], mj.body_quat[body])
    count = int(mj.body_jntnum[body])
    if count == 0:
        return [
            Joint(
                name=names.fixed[body],
                kind="fixed",
                first=previous,
                second=names.bodies[body],
                first_H_joint=mount,
            )
        ]
    chain: list[Joint] = []
    start = int(mj.body_jntadr[body])
    for joint in range(start, start + count):
        after = names.between.get(joint, names.bodies[body])
        moving = _joint(mj, names, joint, (previous, after), mount)
        depends = followers.get(joint)
        actuated = None if motors is None or depends else joint in motors
        chain.append(replace(moving, mimic=depends, actuated=actuated))
        previous, mount = after, IDENTITY
    return chain


def _joint(
    mj: MjModel,
    names: Names,
    joint: int,
    ends: tuple[str, str],
    mount: Pose,
) -> Joint:
    kind = kind_of(mj, joint)
    first_H_joint, joint_H_second = _mounts(mj, joint, kind, mount)
    dof = int(mj.jnt_dofadr[joint])
    with concerning(f"joint {names.joints[joint]!r}"):
        return Joint(
            name=names.joints[joint],
            kind=kind,
            first=ends[0],
            second=ends[1],
            axis=unit_vector(mj.jnt_axis[joint])
            if kind in ("revolute", "prismatic")
            else (0, 0, 1),
            first_H_joint=first_H_joint,
            joint_H_second=joint_H_second,
            limits=_limits(mj, joint, kind),
            damping=0.0 if is_disabled(mj, "damper") else float(mj.dof_damping[dof]),
            friction=0.0 if is_disabled(mj, "frictionloss") else float(mj.dof_frictionloss[dof]),
            armature=float(mj.dof_armature[dof]),
        )


def _mounts(mj: MjModel, joint: int, kind: str, mount: Pose) -> tuple[Pose, Pose]:
    """Return first_H_joint and joint_H_second.

    The anchor is ignored for two kinds: the pose of a free body is that in the world, and a slide
    moves all points equally.
    """
    if kind == "floating":
        return IDENTITY, IDENTITY
    anchor = mj.jnt_pos[joint]
    if kind == "prismatic" or not anchor.any():
        return mount, IDENTITY
    moved = Pose(xyz=tuple(anchor.tolist()))
    back = Pose(xyz=tuple((0.0 - anchor).tolist()))
    if mount == IDENTITY:
        return moved, back
    pose = mount.matrix()
    xyz = se3.position_of(pose) + se3.rotation_of(pose) @ anchor
    return Pose(xyz=tuple(xyz.tolist()), rpy=mount.rpy), back


def _limits(mj: MjModel, joint: int, kind: str) -> Limits:
    if kind not in ("revolute", "prismatic"):
        return NO_LIMITS
    lower, upper = -inf, inf
    if mj.jnt_limited[joint]:
        neutral = mj.qpos0[mj.jnt_qposadr[joint]]
        lower, upper = (mj.jnt_range[joint] - neutral).tolist()
    effort = np.abs(mj.jnt_actfrcrange[joint]).max() if mj.jnt_actfrclimited[joint] else inf
    return Limits(lower=lower, upper=upper, effort=float(effort))


VISIBLE_GROUPS = 3  # MuJoCo's viewer shows the groups below this one by default
DEFAULT_RGBA = (0.5, 0.5, 0.5, 1.0)  # of a geom; a material overrides it
DIGITS = 6  # MuJoCo stores colors in single precision
ROUNDING = 1e-9  # relative size of entries of a scale that are zero except for rounding


@dataclass(frozen=True, slots=True)
class Shapes:
    """Shapes by the id of their body, and findings about those that are left out."""

    visuals: Mapping[int, tuple[Shape, ...]]
    collisions: Mapping[int, tuple[Shape, ...]]
    findings: tuple[Finding, ...]


def shapes_of(mj: MjModel, references: Mapping[str, Array]) -> Shapes:
    """Read the geoms; `references` as for `read_mjmodel`."""
    visuals: dict[int, tuple[Shape, ...]] = {}
    collisions: dict[int, tuple[Shape, ...]] = {}
    meshes = {
        mesh: _placed_mesh(mj, mesh, references.get(name_in_file(mj, "mesh", mesh), np.eye(4)))
        for mesh in range(mj.nmesh)
        if mj.mesh_pathadr[mesh] >= 0
    }
    for geom, body in enumerate(mj.geom_bodyid.tolist()):
        shape = _shape(mj, geom, meshes)
        if shape is None:
            continue
        if mj.geom_group[geom] < VISIBLE_GROUPS:
            visuals[body] = (*visuals.get(body, ()), shape)
        if mj.geom_contype[geom] or mj.geom_conaffinity[geom]:
            collisions[body] = (*collisions.get(body, ()), shape)
    sheared = [name_in_file(mj, "mesh", mesh) for mesh, placed in meshes.items() if placed is None]
    text = "left out: meshes with refquat and a scale that differs between rotated axes"
    findings = [Finding("warning", "", f"{text}: {listed(sheared)}")] if sheared else []
    return Shapes(visuals, collisions, tuple(findings))


def _shape(mj: MjModel, geom: int, meshes: Mapping[int, tuple[Mesh, Array] | None]) -> Shape | None:
    pose = matrix_of(mj.geom_pos[geom], mj.geom_quat[geom])
    kind = name_in_enum("mjtGeom", mj.geom_type[geom])
    create = _PRIMITIVES.get(kind)
    geometry = create(*mj.geom_size[geom].tolist()) if create else None
    if kind == "mjGEOM_MESH":
        placed = meshes.get(int(mj.geom_dataid[geom]))
        if placed is not None:
            geometry, geom_H_file = placed
            pose = pose @ geom_H_file
    if geometry is None:
        return None
    return Shape(
        geometry=geometry,
        link_H_shape=as_pose(pose),
        name=name_in_file(mj, "geom", geom),
        material=_material(mj, geom),
    )


# The shape of three sizes, by the type of a geom.
_PRIMITIVES: dict[str, Callable[[float, float, float], Geometry]] = {
    "mjGEOM_SPHERE": lambda x, _y, _z: Sphere(x),
    "mjGEOM_CAPSULE": lambda x, y, _: Capsule(x, 2 * y),
    "mjGEOM_CYLINDER": lambda x, y, _: Cylinder(x, 2 * y),
    "mjGEOM_BOX": lambda x, y, z: Box((2 * x, 2 * y, 2 * z)),
}


def _placed_mesh(mj: MjModel, mesh: int, reference: Array) -> tuple[Mesh, Array] | None:
    """Return a mesh, and the pose of its scaled points in a geom; None if there is no such pose.

    MuJoCo scales after it rotates: S R^T (p - refpos). With the scale S' = R S R^T of the points in
    the file, this is R^T S' p - S R^T refpos; S' must be diagonal.
    """
    filename = mj.paths[int(mj.mesh_pathadr[mesh]) :].split(b"\0", 1)[0].decode(errors="replace")
    path = Path(filename).absolute()
    R, scale = se3.rotation_of(reference), np.diag(mj.mesh_scale[mesh])
    file_scale = R @ scale @ R.T
    factors = mj.mesh_scale[mesh].tolist()  # those along the axes of the file are a permutation
    x, y, z = (min(factors, key=lambda f: abs(f - entry)) for entry in np.diag(file_scale))
    if np.abs(file_scale - np.diag((x, y, z))).max() > ROUNDING * np.abs(scale).max():
        return None
    points = se3.pose(R.T, -scale @ R.T @ se3.position_of(reference))
    center = matrix_of(mj.mesh_pos[mesh], mj.mesh_quat[mesh])
    geometry = Mesh(filename, (x, y, z), str(path) if path.is_file() else None, (str(path),))
    return geometry, se3.inverse(center) @ points


def _material(mj: MjModel, geom: int) -> Material:
    material = int(mj.geom_matid[geom])
    name = name_in_file(mj, "material", material) if material >= 0 else ""
    rgba = _rgba(mj.geom_rgba[geom])
    if material >= 0 and rgba == DEFAULT_RGBA:
        rgba = _rgba(mj.mat_rgba[material])
    return Material(name, rgba)


def _rgba(values: Array) -> tuple[float, float, float, float]:
    r, g, b, a = (round(value, DIGITS) for value in values.tolist())
    return (r, g, b, a)
