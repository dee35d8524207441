"""Scenes of robots without a simulation in their file: their collision shapes on a plane."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from linkwork.errors import ArgumentError, listed, model_error, name_not_found, shown, warn_once
from linkwork.model.model import Model
from linkwork.model.numbers import as_floats, number
from linkwork.model.parts import Joint, Link
from linkwork.simulation.contacts import SLOTS
from linkwork.simulation.scene import (
    ActuatorModel,
    ContactPair,
    DryFriction,
    Equality,
    JointForces,
    JointLimit,
    Options,
    Scene,
)

DEFAULT_FRICTION = 1.0  # MuJoCo's
TORSION, ROLLING = 0.005, 0.0001  # coefficients of MuJoCo [m]


def scene_on_ground(
    model: Model,
    *,
    ground: bool | Iterable[str] = False,
    dt: float | None = None,
    friction: float | None = None,
    servos: tuple[float, float] | None = None,
    base: str | None = None,
    floating: bool | None = None,
) -> tuple[Model, Scene]:
    """Return the scene of a robot whose collision shapes touch the plane z = 0.

    Joints have the damping, friction, armature and limits of the model, and a motor each, or those
    of `model.actuators`; or position servos of a stiffness and a damping. Meshes are ignored:
    `lw.spherize(model).model` has spheres in their place.

    Returns:
        The model, without joints that depend on others by `mimic`, and the scene.
    """
    step = Options().timestep if dt is None else number(dt, "dt")
    if not 0.0 < step < math.inf:
        raise ArgumentError(f"dt: expected a positive time, got {dt!r}")
    slide = DEFAULT_FRICTION if friction is None else number(friction, "friction")
    if not 0.0 <= slide < math.inf:
        raise ArgumentError(f"friction: expected a number of at least 0, got {friction!r}")
    if model.constraints:
        text = "a simulation takes closed loops from MJCF files only, as soft equalities"
        raise model_error(f"{text}; lw.dump_mjcf writes one")
    couplings = tuple(_couplings(model))
    joints = tuple(replace(joint, mimic=None) for joint in model.joints)
    free = replace(model, joints=joints)
    is_floating = True if floating is None else floating
    own_base = model.default_base if base is None else base
    on_base = {own_base} if not is_floating else set[str]()
    touching = _touching(free, ground) - on_base
    contacts = tuple(_contacts(free, slide, touching))
    _warn_of_meshes(model, touching)
    if ground is False and is_floating:
        text = f"{model.name}: nothing touches a ground, so the robot falls; ground=True lets its"
        text += " collision shapes touch the plane z = 0, and ground=[] states that none do"
        warn_once(f"no ground of {model.name}", text)
    moving = [joint for joint in joints if not joint.is_fixed]
    return free, Scene(
        base=own_base,
        floating=is_floating,
        options=Options(
            timestep=step, cone="elliptic", integrator="implicitfast" if servos else "Euler"
        ),
        contacts=contacts,
        limits=tuple(_limits(moving)),
        frictions=tuple(
            DryFriction(joint=one.name, loss=one.friction) for one in moving if one.friction
        ),
        equalities=couplings,
        joints=tuple(
            JointForces(joint=one.name, damping=one.damping, armature=one.armature)
            for one in moving
            if one.damping or one.armature
        ),
        actuators=tuple(_motors(free, moving) if servos is None else _servos(moving, servos)),
    )


def _couplings(model: Model) -> Iterator[Equality]:
    for joint in model.joints:
        if joint.mimic:
            yield Equality(
                name=f"{joint.name} follows {joint.mimic.joint}",
                kind="joint",
                first=joint.name,
                second=joint.mimic.joint,
                coefficients=(joint.mimic.offset, joint.mimic.multiplier),
            )


def _touching(model: Model, ground: bool | Iterable[str]) -> set[str]:
    """Return the names of the links whose shapes touch the ground."""
    every = {link.name for link in model.links}
    if isinstance(ground, bool):
        return every if ground else set()
    if isinstance(ground, str) or not isinstance(ground, Iterable):
        raise ArgumentError(f"ground: expected True, or a list of links, got {ground!r}")
    names = set(ground)
    for name in sorted(names - every):
        raise name_not_found("link", name, every)
    return names


def _contacts(model: Model, friction: float, touching: set[str]) -> Iterator[ContactPair]:
    coefficients = (friction, friction, TORSION, ROLLING, ROLLING)
    for link in model.links:
        if link.name not in touching:
            continue
        for k, shape in enumerate(link.collisions):
            if type(shape.geometry) not in SLOTS:
                continue
            name = shape.name or (link.name if len(link.collisions) == 1 else f"{link.name}:{k}")
            yield ContactPair(
                name=f"{name} ground",
                link=link.name,
                shape=shape.geometry,  # pyright: ignore[reportArgumentType] - one of SLOTS
                link_H_shape=shape.link_H_shape,
                friction=coefficients,
                shape_name=name,
                fixed_name="ground",
            )


def _limits(joints: list[Joint]) -> Iterator[JointLimit]:
    for joint in joints:
        limits = joint.limits
        if joint.nv == 1 and (limits.lower > -math.inf or limits.upper < math.inf):
            yield JointLimit(joint=joint.name, lower=limits.lower, upper=limits.upper)


def _motors(model: Model, moving: list[Joint]) -> Iterator[ActuatorModel]:
    by_name = {joint.name: joint for joint in moving}
    if model.actuators:
        for one in model.actuators:
            if one.joint in by_name and len(one.gear) == 1:
                yield _motor(one.name, by_name[one.joint], one.gear[0])
        return
    for joint in _actuated(moving):
        yield _motor(joint.name, joint, 1.0)


def _servos(moving: list[Joint], gains: tuple[float, float]) -> Iterator[ActuatorModel]:
    numbers = as_floats(gains, "servos").reshape(-1).tolist()
    if len(numbers) != 2 or not all(0.0 <= gain < math.inf for gain in numbers):
        text = "servos: expected stiffness and damping, two numbers of at least 0"
        raise ArgumentError(f"{text}, got {shown(gains)}")
    kp, kd = numbers
    for joint in _actuated(moving):
        most = joint.limits.effort
        yield ActuatorModel(
            name=joint.name,
            joint=joint.name,
            gain=(kp, 0.0, 0.0),
            bias=(0.0, -kp, -kd),
            force_range=(-most, most),
        )


def _actuated(moving: list[Joint]) -> Iterator[Joint]:
    for joint in moving:
        if joint.nv == 1 and joint.motion_kind.nq == 1 and joint.actuated is not False:
            yield joint


def _motor(name: str, joint: Joint, gear: float) -> ActuatorModel:
    effort = joint.limits.effort / abs(gear) if gear else math.inf
    return ActuatorModel(name=name, joint=joint.name, gear=gear, control_range=(-effort, effort))


def _warn_of_meshes(model: Model, touching: set[str]) -> None:
    def has_mesh(link: Link) -> bool:
        meshes = any(type(shape.geometry) not in SLOTS for shape in link.collisions)
        return meshes and link.name in touching

    names = [link.name for link in model.links if has_mesh(link)]
    if names:
        text = f"{model.name}: the simulation ignores collision meshes of {listed(names)}"
        hint = "lw.spherize(model).model has spheres in their place"
        warn_once(f"meshes of {model.name}: {names}", f"{text}; {hint}")
