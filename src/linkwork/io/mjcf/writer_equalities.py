"""Writer of MuJoCo's equality constraints: dependent joints, constraints and closed loops.

Dependent   `<joint polycoef="offset multiplier 0 0 0">`: in MuJoCo the joint has a separate degree
            of freedom, and a soft constraint couples it to its leader
Coupling    `<joint>` with the polynomial, of degree 4 at most
Point       `<connect>` of two sites. A connect of bodies would require that the points coincide at
            the neutral positions of the joints
Pose        `<weld>` of two sites
Loops       a joint that closes a loop becomes a weld if it is fixed, a connect if it is spherical,
            and two connects at points of its axis if it is revolute. Other kinds cannot be written;
            if possible, another joint of the loop is chosen to close it
Contacts    MuJoCo ignores contacts between bodies with a joint between them; joints that close
            loops become `<exclude>`
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING

from linkwork.errors import Finding, model_error
from linkwork.io.mjcf.writer_parts import pose_attributes
from linkwork.io.writing import GroupedWarnings, reject, unique_name
from linkwork.io.xml.write import add, format_numbers
from linkwork.model.constraints import Constraint
from linkwork.model.model import Model
from linkwork.model.parts import Joint
from linkwork.model.pose import IDENTITY, Pose, composed, inverted
from linkwork.model.spanning import closing_edges, closing_joints

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

CLOSING_KINDS = ("fixed", "spherical", "revolute", "revolute_cos_sin")
COEFFICIENTS = 5  # of a polynomial in MuJoCo
LEVER = 0.1  # [m] between the two points on the axis of a revolute joint


def closing_in_mujoco(model: Model) -> tuple[Joint, ...]:
    """Return the joints that equality constraints replace.

    They are the joints of `closing_joints`, except where MuJoCo has no constraint for such a
    joint and has one for another joint of the loop.

    Raises:
        ModelError: there is no such joint.
    """
    default = closing_joints(model)
    used = {joint.mimic.joint for joint in model.joints if joint.mimic}
    used |= {joint.name for joint in model.joints if joint.mimic}
    used |= {name for constraint in model.constraints for name in constraint.joints}

    def can_close(joint: Joint) -> bool:
        return joint.kind in (*CLOSING_KINDS, "floating") and joint.name not in used

    order = sorted(model.joints, key=lambda joint: (can_close(joint), joint in default))
    closing = closing_edges(model.links, order)
    kinds = "revolute, spherical and fixed joints"
    findings = [
        Finding(
            "error",
            f"joint {joint.name!r}",
            f"closes a loop; MuJoCo has constraints for {kinds} only, and no other joint of the "
            "loop is of these kinds and without couplings",
            joint.location,
        )
        for joint in closing
        if not can_close(joint)
    ]
    reject(findings)
    return tuple(joint for joint in model.joints if joint in closing)


class EqualityWriter:
    """Writes `<equality>`, and the sites that its elements refer to.

    Args:
        top: the root element of the file.
        model: the robot.
        bodies: the elements of the links, by name; the world is None.
        joints: names in the file of joints with one coordinate.
    """

    def __init__(
        self,
        top: Element,
        model: Model,
        bodies: Mapping[str | None, Element],
        joints: Mapping[str, str],
    ) -> None:
        self.model = model
        self.warnings = GroupedWarnings()
        self._top = top
        self._bodies = bodies
        self._joints = joints
        self._equality: Element | None = None
        self._contact: Element | None = None
        self._sites = set(model.frame_names)
        self._names = {*model.joint_names, *(one.name for one in model.constraints)}

    def write(self, closing: tuple[Joint, ...]) -> None:
        """Write the dependent joints, the constraints, and the joints that close loops."""
        for joint in self.model.joints:
            if joint.mimic:
                self._write_mimic(joint)
        for constraint in self.model.constraints:
            self._write_constraint(constraint)
        for joint in closing:
            self._write_closing(joint)

    def _write_mimic(self, joint: Joint) -> None:
        mimic = joint.mimic
        assert mimic
        self._add_coupling(None, joint.name, mimic.joint, (mimic.offset, mimic.multiplier))
        text = "in MuJoCo, a soft constraint couples dependent joints to their leaders"
        self.warnings.add(text, joint.name)

    def _write_constraint(self, constraint: Constraint) -> None:
        self.warnings.add("in MuJoCo, constraints are soft", constraint.name)
        if constraint.kind == "coupling":
            coefficients = list(constraint.coefficients)
            while len(coefficients) > 1 and not coefficients[-1]:
                coefficients.pop()
            if len(coefficients) > COEFFICIENTS:
                text = f"polynomials in MuJoCo have a degree of {COEFFICIENTS - 1} at most"
                where = f"constraint {constraint.name!r}"
                raise model_error(
                    f"{text}, this one has {len(coefficients) - 1}", where, constraint.location
                )
            ends = constraint.first, constraint.second
            self._add_coupling(constraint.name, *ends, tuple(coefficients))
            return
        self._add_between(
            "connect" if constraint.kind == "point" else "weld",
            constraint.name,
            (constraint.first, constraint.first_H_anchor),
            (constraint.second, constraint.second_H_anchor),
        )

    def _write_closing(self, joint: Joint) -> None:
        self._warn_about(joint)
        self._exclude_contacts(joint)
        first = joint.first, joint.first_H_joint
        second = joint.second, inverted(joint.joint_H_second)
        if joint.kind == "floating":
            return
        self._add_between("weld" if joint.is_fixed else "connect", joint.name, first, second)
        if joint.kind not in ("fixed", "spherical"):
            x, y, z = joint.axis
            on_axis = Pose(xyz=(LEVER * x, LEVER * y, LEVER * z))
            sides = ((link, composed(pose, on_axis)) for link, pose in (first, second))
            self._add_between("connect", unique_name(f"{joint.name}_axis", self._names), *sides)

    def _warn_about(self, joint: Joint) -> None:
        if joint.kind == "floating":
            text = "left out: floating joints that close a loop, which prevent no motion"
            self.warnings.add(text, joint.name)
            return
        self.warnings.add("in MuJoCo, soft constraints replace joints that close loops", joint.name)
        limits = joint.limits
        numbers = (limits.lower, limits.upper, limits.effort, limits.velocity)
        if any(map(isfinite, numbers)) or joint.damping or joint.friction or joint.armature:
            what = "limits, damping, friction and armature of joints that close loops"
            self.warnings.add(f"left out: {what}", joint.name)

    def _exclude_contacts(self, joint: Joint) -> None:
        ends = joint.first, joint.second
        if all(self.model.link(link).collisions for link in ends):
            if self._contact is None:
                self._contact = add(self._top, "contact")
            first, second = (self._bodies[link].get("name", "world") for link in ends)
            add(self._contact, "exclude", body1=first, body2=second)

    def _add_coupling(
        self, name: str | None, first: str, second: str | None, numbers: tuple[float, ...]
    ) -> None:
        names = [None if joint is None else self._joints[joint] for joint in (first, second)]
        padded = (*numbers, *[0.0] * (COEFFICIENTS - len(numbers)))
        add(
            self._section(),
            "joint",
            name=name,
            joint1=names[0],
            joint2=names[1],
            polycoef=format_numbers(*padded),
        )

    def _add_between(
        self, tag: str, name: str, first: tuple[str | None, Pose], second: tuple[str | None, Pose]
    ) -> None:
        sites = [
            self._site(*side, name=f"{name}_{number}")
            for side, number in ((first, "first"), (second, "second"))
        ]
        add(self._section(), tag, name=name, site1=sites[0], site2=sites[1])

    def _site(self, frame: str | None, pose: Pose, name: str) -> str:
        """Return the name of the site at a pose in a frame; it is added unless the frame is one."""
        link = None
        if frame is not None:
            described = self.model.frame(frame)
            if pose == IDENTITY and frame not in self.model.link_names:
                return frame
            link, pose = described.link, composed(described.link_H_frame, pose)
        name = unique_name(name, self._sites)
        add(self._bodies[link], "site", name=name, **pose_attributes(pose))
        return name

    def _section(self) -> Element:
        if self._equality is None:
            self._equality = add(self._top, "equality")
        return self._equality
