"""Writes a simulation as MJCF: the robot, and everything of its scene.

MuJoCo then simulates the same physics, except that its solver stops at a tolerance. Each contact is
a `<pair>` with its own parameters; no other geoms touch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.io.mjcf.writer import MjcfWriter
from linkwork.io.mjcf.writer_parts import UNBOUNDED, mujoco_position, pose_attributes
from linkwork.io.writing import (
    add,
    document_text,
    format_numbers,
    unique_name,
    write_text,
)
from linkwork.model.geometry import Box, Capsule, Cylinder, Sphere
from linkwork.model.layout import Layout
from linkwork.model.model import Model
from linkwork.model.parts import NO_LIMITS
from linkwork.model.pose import Pose
from linkwork.simulation.scene import (
    ANY,
    ActuatorModel,
    ContactPair,
    Ellipsoid,
    Equality,
    FixedShape,
    Hull,
    Keyframe,
    MovingShape,
    Plane,
    Range,
    Scene,
    Sensor,
    Softness,
)
from linkwork.spatial.source import quat

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

# Names of sensors in MJCF that differ from those of MuJoCo's enumeration.
SENSORS = {"jointactfrc": "jointactuatorfrc"}


def write_simulation(model: Model, scene: Scene, path: str | PathLike[str] | None = None) -> str:
    """Write a simulation as MJCF.

    Args:
        model: the robot.
        scene: everything else.
        path: the file to write; None to only return its content.

    Raises:
        ModelError: MuJoCo has no such joint, or rejects an inertia or a name.
    """
    base = None if scene.base is None else scene.base
    bare = replace(
        model,
        links=tuple(replace(link, collisions=()) for link in model.links),
        joints=tuple(
            replace(joint, limits=NO_LIMITS, damping=0.0, friction=0.0, armature=0.0, actuated=None)
            for joint in model.joints
        ),
        configurations=(),
        actuators=(),
    )
    if base is not None and base != bare.default_base:
        bare = replace(bare, links=tuple(sorted(bare.links, key=lambda link: link.name != base)))
    writer = MjcfWriter(bare, scene.floating or None, meshes=True)
    writer.write()
    _SceneWriter(bare, scene, writer).write()
    return write_text(document_text(writer.top), path)


@dataclass(slots=True)
class _SceneWriter:
    model: Model
    scene: Scene
    writer: MjcfWriter
    geoms: dict[tuple[str | None, Pose, object], str] = field(default_factory=dict)
    joints: dict[str, Element] = field(default_factory=dict)  # "" is the base
    names: set[str] = field(default_factory=set)  # of geoms and sites

    def write(self) -> None:
        """Add the scene to the file."""
        top = self.writer.top
        world = self.writer.bodies[None]
        for element in world.iter("joint", "freejoint"):
            self.joints[str(element.get("name"))] = element
        free = next(world.iter("freejoint"), None)
        if free is not None:
            free.tag = "joint"
            free.set("type", "free")
            self.joints[""] = free
        self.names = {str(e.get("name")) for e in world.iter("geom", "site") if e.get("name")}
        self._write_options()
        self._write_joints()
        contact = add(top, "contact")
        for pair in self.scene.contacts:
            self._write_contact(contact, pair)
        for link, fraction in self.scene.gravity_compensation:
            self._body(link).set("gravcomp", format_numbers(fraction))
        equality = add(top, "equality")
        for one in self.scene.equalities:
            self._write_equality(equality, one)
        actuator = add(top, "actuator")
        for motor in self.scene.actuators:
            self._write_actuator(actuator, motor)
        sensor = add(top, "sensor")
        for one in self.scene.sensors:
            self._write_sensor(sensor, one)
        keyframe = add(top, "keyframe")
        for key in self.scene.keyframes:
            self._write_keyframe(keyframe, key)

    def _body(self, link: str) -> Element:
        return self.writer.bodies[link or None]

    def _joint(self, joint: str) -> str:
        return self.writer.joints.names_in_file.get(joint, joint)

    def _reference(self, joint: str) -> float:
        return dict(self.scene.references).get(joint, 0.0)

    def _write_options(self) -> None:
        options = self.scene.options
        element = next(self.writer.top.iter("option"))
        element.set("timestep", format_numbers(options.timestep))
        element.set("gravity", format_numbers(*options.gravity))
        element.set("integrator", options.integrator)
        element.set("cone", options.cone)
        element.set("impratio", format_numbers(options.impratio))
        states = {True: "enable", False: "disable"}
        add(element, "flag", eulerdamp=states[options.eulerdamp], refsafe=states[options.refsafe])

    def _write_joints(self) -> None:
        for name, reference in self.scene.references:
            self.joints[self._joint(name)].set("ref", format_numbers(reference))
        for limit in self.scene.limits:
            element, reference = self.joints[self._joint(limit.joint)], self._reference(limit.joint)
            lower, upper = max(limit.lower, -UNBOUNDED), min(limit.upper, UNBOUNDED)
            if element.get("type") == "ball":
                lower = 0.0
            element.set("limited", "true")
            element.set("range", format_numbers(lower + reference, upper + reference))
            element.set("margin", format_numbers(limit.margin))
            _set_softness(element, limit.softness, "limit")
        for friction in self.scene.frictions:
            element = self.joints[self._joint(friction.joint)]
            element.set("frictionloss", format_numbers(friction.loss))
            _set_softness(element, friction.softness, "friction")
        for forces in self.scene.joints:
            element = self.joints[self._joint(forces.joint)]
            for name, number in (
                ("stiffness", forces.stiffness),
                ("damping", forces.damping),
                ("armature", forces.armature),
            ):
                if number:
                    element.set(name, format_numbers(number))
            if len(forces.spring_reference) == 1 and forces.stiffness:
                spring = forces.spring_reference[0] + self._reference(forces.joint)
                element.set("springref", format_numbers(spring))
            if forces.force_range != ANY:
                element.set("actuatorfrclimited", "true")
                element.set("actuatorfrcrange", format_numbers(*_bounded(forces.force_range)))
            if forces.gravity_by_actuators:
                element.set("actuatorgravcomp", "true")

    def _write_contact(self, contact: Element, pair: ContactPair) -> None:
        moving = self._geom(pair.link, pair.link_H_shape, pair.shape, pair.shape_name)
        fixed = self._geom(None, pair.world_H_fixed, pair.fixed, pair.fixed_name)
        attributes = {
            "name": pair.name,
            "geom1": fixed,
            "geom2": moving,
            "condim": str(pair.condim),
            "friction": format_numbers(*pair.friction),
            "margin": format_numbers(pair.margin),
            "gap": format_numbers(pair.gap),
        }
        element = add(contact, "pair", **attributes)
        _set_softness(element, pair.softness)
        if any(pair.solref_friction):
            element.set("solreffriction", format_numbers(*pair.solref_friction))

    def _geom(
        self, link: str | None, pose: Pose, shape: MovingShape | FixedShape, name: str
    ) -> str:
        """Return the name of the geom of a shape, which is added once."""
        key = (link, pose, shape)
        if key not in self.geoms:
            unique = unique_name(name or f"{link or 'floor'}_contact", self.names)
            self.geoms[key] = unique
            attributes = {**self._shape(shape, unique), **pose_attributes(pose)}
            group = "3" if link else "0"
            body = self.writer.bodies[link]
            add(body, "geom", name=unique, contype="0", conaffinity="0", group=group, **attributes)
        return self.geoms[key]

    def _shape(self, shape: MovingShape | FixedShape, name: str) -> dict[str, str | None]:
        if isinstance(shape, Hull):
            points = [number for point in shape.points for number in point]
            assets = next(self.writer.top.iter("asset"))
            add(assets, "mesh", name=name, vertex=format_numbers(*points))
            return {"type": "mesh", "mesh": name}
        return _size_attributes(shape)

    def _write_equality(self, section: Element, one: Equality) -> None:
        if one.kind == "joint":
            second = None if one.second is None else self._joint(one.second)
            polynomial = (*one.coefficients, 0.0, 0.0, 0.0, 0.0, 0.0)[:5]
            joints = {"joint1": self._joint(one.first), "joint2": second}
            text = format_numbers(*polynomial)
            element = add(section, "joint", name=one.name, polycoef=text, **joints)
        else:
            sites = {
                "site1": self._site(one.first, one.first_H_anchor, f"{one.name}_first"),
                "site2": self._site(one.second, one.second_H_anchor, f"{one.name}_second"),
            }
            element = add(section, one.kind, name=one.name, **sites)
            if one.kind == "weld":
                element.set("torquescale", format_numbers(one.torque_scale))
        _set_softness(element, one.softness)

    def _site(
        self, link: str | None, pose: Pose, name: str, shape: MovingShape | None = None
    ) -> str:
        name = unique_name(name, self.names)
        attributes = {**pose_attributes(pose), **(_size_attributes(shape) if shape else {})}
        add(self.writer.bodies[link or None], "site", name=name, **attributes)
        return name

    def _write_actuator(self, section: Element, one: ActuatorModel) -> None:
        length = one.gear * self._reference(one.joint)
        element = add(
            section,
            "general",
            name=one.name,
            joint=self._joint(one.joint),
            gear=format_numbers(one.gear),
            gaintype="affine",
            biastype="affine",
            gainprm=format_numbers(*_unshifted(one.gain, length)),
            biasprm=format_numbers(*_unshifted(one.bias, length)),
        )
        if one.dynamics != "none":
            element.set("dyntype", one.dynamics)
            element.set("dynprm", format_numbers(one.time_constant))
            element.set("actearly", "true" if one.early else "false")
        ranges = {
            "ctrl": one.control_range,
            "force": one.force_range,
            "act": one.activation_range,
        }
        for what, limits in ranges.items():
            if limits != ANY:
                element.set(f"{what}limited", "true")
                element.set(f"{what}range", format_numbers(*_bounded(limits)))

    def _write_sensor(self, section: Element, one: Sensor) -> None:
        attributes: dict[str, str | None] = {"name": one.name}
        attributes["cutoff"] = format_numbers(one.cutoff) if one.cutoff else None
        if one.object_kind in ("joint", "actuator"):
            name = self._joint(one.object) if one.object_kind == "joint" else one.object
            attributes[one.object_kind] = name
        elif one.kind.startswith("subtree"):
            attributes["body"] = self._body(one.object).get("name", "world")
        else:
            site = self._site(one.link, one.link_H_object, f"{one.name}_site", one.shape)
            is_frame = one.kind.startswith("frame")
            attributes |= {"objtype": "site", "objname": site} if is_frame else {"site": site}
        if one.reference:
            site = self._site(one.reference_link, one.link_H_reference, f"{one.name}_reference")
            attributes |= {"reftype": "site", "refname": site}
        add(section, SENSORS.get(one.kind, one.kind), **attributes)

    def _write_keyframe(self, section: Element, key: Keyframe) -> None:
        layout = Layout(self.model, self.scene.floating)
        q = np.array(key.q) if key.q else layout.zero()
        nu = np.array(key.nu) if key.nu else np.zeros(layout.nv)
        R = quat.to_rotation(q[layout.base_wxyz]) if self.scene.floating else np.eye(3)
        qpos = [*q[layout.base_position], *q[layout.base_wxyz]]
        base = nu[layout.base_velocity]
        qvel = [*base[:3], *(R.T @ base[3:])] if self.scene.floating else []
        for name in self.writer.joints.order:
            joint, theta = self.model.joint(name), layout.theta(q, name)
            qpos += (np.array(mujoco_position(joint, theta)) + self._reference(name)).tolist()
            qvel += _velocity(joint.kind, theta, nu[layout.nu[name]])
        add(
            section,
            "key",
            name=key.name,
            qpos=format_numbers(*qpos),
            qvel=format_numbers(*qvel) if key.nu else None,
            act=format_numbers(*key.activation) if key.activation else None,
            ctrl=format_numbers(*key.control) if key.control else None,
        )


def _velocity(kind: str, theta: Array, rate: Array) -> list[float]:
    """Return the velocity of a joint as MuJoCo has it: linear ones of free bodies in the world."""
    if kind != "floating":
        return rate.tolist()
    return [*(quat.to_rotation(theta[3:]) @ rate[:3]), *rate[3:]]


def _size_attributes(shape: MovingShape | FixedShape) -> dict[str, str | None]:
    """Return type and size of a geom or a site."""
    match shape:
        case Plane():
            return {"type": "plane", "size": "0 0 1"}
        case Sphere(radius):
            sizes = ("sphere", radius)
        case Capsule(radius, length):
            sizes = ("capsule", radius, length / 2)
        case Cylinder(radius, length):
            sizes = ("cylinder", radius, length / 2)
        case Box(size):
            sizes = ("box", *(edge / 2 for edge in size))
        case Ellipsoid(radii):
            sizes = ("ellipsoid", *radii)
        case _:
            raise TypeError(shape)
    kind, *numbers = sizes
    return {"type": str(kind), "size": format_numbers(*map(float, numbers))}


def _set_softness(element: Element, softness: Softness, suffix: str = "") -> None:
    element.set(f"solref{suffix}", format_numbers(*softness.solref))
    element.set(f"solimp{suffix}", format_numbers(*softness.solimp))


def _bounded(limits: Range) -> Range:
    lower, upper = (one if isfinite(one) else np.sign(one) * UNBOUNDED for one in limits)
    return float(lower), float(upper)


def _unshifted(numbers: Sequence[float], length: float) -> tuple[float, float, float]:
    """Return an affine function of MuJoCo's length, which is `length` at theta = 0."""
    constant, slope, rate = numbers
    return constant - slope * length, slope, rate
