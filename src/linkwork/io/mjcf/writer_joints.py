"""Joints as MuJoCo writes them: in the frame of the body that they move.

Kinds       revolute, revolute_cos_sin -> hinge; prismatic -> slide; spherical -> ball;
            floating -> free; universal -> two hinges; planar -> two slides and a hinge
Dependent   `<equality><joint polycoef="offset multiplier 0 0 0">`: in MuJoCo the joint moves by
            itself, and a soft constraint pulls it to where it belongs
Limits      `range`, and `actuatorfrcrange` for the effort; MuJoCo has no limits of velocity
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite, nextafter
from typing import TYPE_CHECKING

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import Finding, ModelError, model_error
from linkwork.io.mjcf.writer_doubts import Doubts
from linkwork.io.xml.write import add, number_text
from linkwork.model.joints import plane_basis
from linkwork.model.model import Model
from linkwork.model.parts import Joint
from linkwork.spatial.source import se3

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

UNBOUNDED = 1e10  # MuJoCo's mjMAXVAL; stands for infinity where the other bound is finite
SMALLEST = 1e-300  # stands for 0 where MuJoCo takes 0 for no limit

_Part = tuple[str, str, Array]  # what is put behind the name, type, axis in the joint's frame


class JointWriter:
    """Writes joints; `order` lists them as MuJoCo numbers them, `doubts` what is to be said."""

    def __init__(self, model: Model, is_world: Callable[[str], bool]) -> None:
        self.model = model
        self.order: list[str] = []
        self._is_world = is_world
        self._taken = set(model.joint_names)
        self._parts: dict[str, str] = {}  # by joint of one coordinate: its name in the file
        self.doubts = Doubts()

    def base_name(self) -> str:
        """A name for the free joint of the floating base, which no other joint has."""
        return self._fresh("floating_base")

    def write(self, body: Element, joint: Joint, child: str) -> None:
        """Add the joints of a body."""
        if joint.is_fixed:
            return
        self.order.append(joint.name)
        if joint.kind == "floating":
            self._write_free(body, joint, child)
            return
        child_H_joint, sign = self._seen_from(joint, child)
        parts = _parts(joint)
        for suffix, kind, axis in parts:
            name = self._fresh(f"{joint.name}{suffix}") if suffix else joint.name
            if len(parts) == 1:
                self._parts[joint.name] = name
            seen = sign * (child_H_joint[:3, :3] @ axis)
            at = child_H_joint[:3, 3] if kind != "slide" else np.zeros(3)
            add(
                body,
                "joint",
                name=name,
                type=kind,
                pos=number_text(*(at + 0.0)) if at.any() else None,
                axis=number_text(*(seen + 0.0)) if kind != "ball" else None,
                **self._limits(joint),
                **_dynamics(joint),
            )
        self._tell_about(joint, child_H_joint)

    def write_equalities(self, top: Element) -> None:
        """Add what makes joints depend on others."""
        dependent = [joint for joint in self.model.joints if joint.mimic]
        if not dependent:
            return
        equality = add(top, "equality")
        for joint in dependent:
            mimic = joint.mimic
            assert mimic
            leader = self._parts[mimic.joint]
            numbers = number_text(mimic.offset, mimic.multiplier, 0.0, 0.0, 0.0)
            name = self._parts[joint.name]
            add(equality, "joint", joint1=name, joint2=leader, polycoef=numbers)
            text = "MuJoCo moves dependent joints freely, and a soft constraint pulls them along"
            self.doubts.add(text, joint.name)

    def _write_free(self, body: Element, joint: Joint, child: str) -> None:
        """A free joint, whose coordinates are those of the body in the world."""
        parent = joint.first if joint.second == child else joint.second
        if not self._is_world(parent) or joint.second != child:
            text = f"MuJoCo lets bodies float in the world only, and this one floats on {parent!r}"
            raise model_error(text, f"joint {joint.name!r}", joint.place)
        mounts = joint.first_H_joint.matrix(), joint.joint_H_second.matrix()
        if any(not np.array_equal(mount, np.eye(4)) for mount in mounts):
            self.doubts.add("its coordinates are the pose of the link in the world", joint.name)
        add(body, "joint", name=joint.name, type="free", **_dynamics(joint))
        if joint.armature:
            self.doubts.add(
                "armature acts along the axes of the world in MuJoCo, not of the body", joint.name
            )

    def _seen_from(self, joint: Joint, child: str) -> tuple[Array, float]:
        """Pose of the joint in the link that it moves, and the sign of its axis seen from there."""
        if joint.second == child:
            return np.asarray(se3.inverse(joint.joint_H_second.matrix())), 1.0
        if not joint.motion_kind.inverse_is_opposite:
            text = f"a {joint.kind} joint cannot be turned around with the same coordinates"
            raise model_error(text, f"joint {joint.name!r}", joint.place)
        return joint.first_H_joint.matrix(), -1.0

    def _limits(self, joint: Joint) -> dict[str, str | None]:
        limits = joint.limits
        given: dict[str, str | None] = {}
        if isfinite(limits.velocity):
            self.doubts.add("left out: limits of velocity, which MuJoCo does not have", joint.name)
        if isfinite(limits.effort):
            effort = max(abs(limits.effort), SMALLEST)
            given["actuatorfrcrange"] = number_text(-effort, effort)
            if effort == SMALLEST:
                self.doubts.add(f"an effort limit of 0 is written as {SMALLEST:g}", joint.name)
        if isfinite(limits.lower) or isfinite(limits.upper):
            lower, upper = max(limits.lower, -UNBOUNDED), min(limits.upper, UNBOUNDED)
            if lower >= upper:
                upper = nextafter(lower, inf)
                self.doubts.add(
                    "limits that leave no room are one step of a float apart", joint.name
                )
            given["range"] = number_text(lower, upper)
            if not (isfinite(limits.lower) and isfinite(limits.upper)):
                text = f"limits of one side only have {UNBOUNDED:g} on the other"
                self.doubts.add(text, joint.name)
        return given

    def _tell_about(self, joint: Joint, child_H_joint: Array) -> None:
        if joint.kind == "revolute_cos_sin":
            self.doubts.add("the position is the angle, not its cosine and sine", joint.name)
        if joint.kind == "universal":
            self.doubts.add("a universal joint is written as two hinges", joint.name)
        if joint.kind == "planar":
            text = "a planar joint is written as two slides and a hinge; velocities are along fixed"
            self.doubts.add(f"{text} axes instead of the moving ones", joint.name)
        if joint.kind == "spherical" and not np.array_equal(child_H_joint[:3, :3], np.eye(3)):
            self.doubts.add(
                "the quaternion is in the axes of the link, not of the joint", joint.name
            )

    def _fresh(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def _parts(joint: Joint) -> list[_Part]:
    """MuJoCo's joints for one of linkwork's, one after the other."""
    axis = np.array(joint.axis)
    across = plane_basis(axis).T
    match joint.kind:
        case "revolute" | "revolute_cos_sin":
            return [("", "hinge", axis)]
        case "prismatic":
            return [("", "slide", axis)]
        case "spherical":
            return [("", "ball", axis)]
        case "universal":
            return [("_first", "hinge", axis), ("_second", "hinge", across[0])]
        case "planar":
            first, second = across
            return [("_x", "slide", first), ("_y", "slide", second), ("_angle", "hinge", axis)]
        case _:
            text = f"MuJoCo has no {joint.kind} joint"
            raise ModelError([Finding("error", f"joint {joint.name!r}", text, joint.place)])


def _dynamics(joint: Joint) -> dict[str, str | None]:
    names = {"damping": "damping", "friction": "frictionloss", "armature": "armature"}
    return {
        theirs: number_text(value)
        for ours, theirs in names.items()
        if (value := getattr(joint, ours))
    }
