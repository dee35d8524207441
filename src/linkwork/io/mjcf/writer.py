"""Writer of MJCF, MuJoCo's format.

World     a base named `world` is MuJoCo's world; any other base floats, unless it is fixed to it
Bodies    one for each link, at the link's frame; sites for additional frames
Inertias  principal moments. MuJoCo rejects moments that violate the triangle inequality by any
          amount: violations by rounding are corrected. It also rejects moving bodies with almost no
          mass or moment of inertia: the smallest accepted values are written
Dependent joints are `<joint polycoef="offset multiplier 0 0 0">`: in MuJoCo they have a separate
          degree of freedom, and a soft constraint couples it to its leader
Coupling  `<joint>` with the polynomial, of degree 4 at most
Point     `<connect>` of two sites. A connect of bodies would require that the points coincide at
          the neutral positions of the joints
Pose      `<weld>` of two sites
Loops     a joint that closes a loop becomes a weld if it is fixed, a connect if it is spherical,
          and two connects at points of its axis if it is revolute. Other kinds cannot be written;
          if possible, another joint of the loop is chosen to close it
Contacts  MuJoCo ignores contacts between bodies with a joint between them; joints that close
          loops become `<exclude>`
Keyframes the named configurations
Motors    the actuators, and one of each joint that is actuated otherwise than by them
Order     MuJoCo orders bodies and joints depth first, which may differ from the model
Gravity   linkwork's default, which differs from MuJoCo's

What MuJoCo cannot express is an error if it would change the motion, else a finding. The module
`writer_parts` writes joints, shapes and inertias.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import isfinite
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from linkwork.errors import Finding, listed, model_error
from linkwork.io.formats import Conversion
from linkwork.io.mjcf.package import rejection
from linkwork.io.mjcf.writer_parts import (
    JointWriter,
    ShapeWriter,
    inertials,
    matrix_attributes,
    mujoco_position,
    pose_attributes,
)
from linkwork.io.writing import (
    WORLD,
    GroupedWarnings,
    add,
    document_text,
    finish,
    format_numbers,
    is_world,
    parent_H_child,
    reject,
    top_element,
    unique_name,
)
from linkwork.io.xml.documents import source_parse_error
from linkwork.model.graph import Visit, closing_edges, closing_joints, opened, walk
from linkwork.model.layout import Layout
from linkwork.model.model import Model
from linkwork.model.numbers import argument
from linkwork.model.parts import Constraint, Joint, resolved_followers
from linkwork.model.pose import IDENTITY, Pose, composed, inverted

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

GRAVITY = (0.0, 0.0, -9.80665)
CLOSING_KINDS = ("fixed", "spherical", "revolute", "revolute_cos_sin")
COEFFICIENTS = 5  # of a polynomial in MuJoCo
LEVER = 0.1  # [m] between the two points on the axis of a revolute joint


def dump_mjcf(
    model: Model,
    path: str | PathLike[str] | None = None,
    *,
    floating: bool | None = None,
    meshes: bool = True,
) -> str:
    """Write a robot as MJCF.

    Args:
        model: the robot; its default base becomes the root.
        path: the file to write; None to only return its content.
        floating: whether the base floats, or is fixed to the world. By default it floats, unless it
            is a link without mass named `world`, which becomes MuJoCo's world.
        meshes: whether to write meshes, which MuJoCo opens when it loads the file.

    Returns:
        The content of the file.

    Raises:
        ModelError: MuJoCo has no such joint or constraint, or rejects an inertia or a name.

    Warns:
        LinkworkWarning: with all differences of the file from the model.
    """
    return finish(write_mjcf(model, floating=floating, meshes=meshes), path)


def convert_mjcf(model: Model, *, floating: bool | None = None, meshes: bool = True) -> Conversion:
    """Convert a robot to MJCF, and load it with MuJoCo, if it is installed.

    Raises:
        ModelError: MJCF cannot express the robot.
        ParseError: MuJoCo rejects the result.
    """
    mjcf = write_mjcf(model, floating=floating, meshes=meshes)
    notes = {
        "<freejoint": "the base floats; --fixed fixes it to the world",
        "<mesh": "meshes are referenced by their absolute paths on this machine",
    }
    added = (Finding("note", "", note) for tag, note in notes.items() if tag in mjcf.text)
    problem = rejection(mjcf.text)
    if problem:
        raise source_parse_error("<MJCF>", f"MuJoCo: {' '.join(problem.split())}")
    checked = "" if problem is None else "MuJoCo loads it"
    return Conversion(mjcf.text, (*mjcf.findings, *added), checked)


def write_mjcf(model: Model, *, floating: bool | None = None, meshes: bool = True) -> Conversion:
    """Write a robot as `dump_mjcf` does, but return the findings instead of warning."""
    writer = MjcfWriter(argument(model, Model, "model"), floating, meshes)
    writer.write()
    return Conversion(document_text(writer.top), tuple(writer.findings))


class MjcfWriter:
    """Writes bodies from the base outward, and collects findings.

    `top` is the root element, `bodies` has the elements of the links by name; that of the world is
    None.
    """

    def __init__(self, model: Model, floating: bool | None, meshes: bool) -> None:
        self.model = model
        self.base = model.default_base
        self.is_world = _is_world(model, floating)
        self.floating = not self.is_world if floating is None else floating
        self.top = top_element("mujoco", model=model.name)
        add(self.top, "compiler", angle="radian", autolimits="true", inertiafromgeom="false")
        add(self.top, "option", gravity=format_numbers(*GRAVITY))
        self.shapes = ShapeWriter(self.top, meshes=meshes)
        self.world = add(self.top, "worldbody")
        self.joints = JointWriter(model, self._on_world)
        self.findings: list[Finding] = []
        self.bodies: dict[str | None, Element] = {None: self.world}

    def write(self) -> None:
        """Write the complete file."""
        closing = closing_in_mujoco(self.model)
        tree = opened(self.model, closing)
        visits = list(walk(tree, self.base))
        self._reject_other_world(visits)
        moving = {v.link for v in visits if v.joint and not v.joint.is_fixed}
        moving |= {self.base} if self.floating else set()
        tensors, findings = inertials(self.model, visits, moving)
        self.findings += findings
        for visit in visits:
            body = self._body(visit, self.bodies)
            self.bodies[visit.link] = body
            if not (self.is_world and visit.link == self.base):
                self._write_mount(body, visit)
                if visit.link in tensors:
                    add(body, "inertial", **tensors[visit.link])
            self.shapes.write(body, self.model.link(visit.link))
            for frame in self.model.frames:
                if frame.link == visit.link:
                    add(body, "site", name=frame.name, **pose_attributes(frame.link_H_frame))
        equalities = EqualityWriter(self.top, self.model, self.bodies, self.joints.names_in_file)
        equalities.write(closing)
        self._write_motors()
        self._write_keyframes(tree)
        for writer in (self.joints, self.shapes, equalities):
            self.findings += writer.warnings.findings
        self.findings += self._order_finding(closing)
        if self.joints.fixed:
            text = "MuJoCo has no fixed joints, so their names are left out"
            self.findings.append(Finding("note", "", f"{text}: {listed(self.joints.fixed)}"))

    def _body(self, visit: Visit, bodies: Mapping[str | None, Element]) -> Element:
        if visit.parent is None and self.is_world:
            return self.world
        parent = bodies[visit.parent]
        joint = visit.joint
        pose = np.eye(4) if joint is None else parent_H_child(joint, visit.link)
        return add(parent, "body", name=visit.link, **matrix_attributes(pose))

    def _write_mount(self, body: Element, visit: Visit) -> None:
        """Write the joint between the body and its parent, or the free joint of the base."""
        if visit.joint is not None:
            self.joints.write(body, visit.joint, visit.link)
        elif self.floating:
            add(body, "freejoint", name=self.joints.base_name())

    def _write_motors(self) -> None:
        """Write actuators, and motors of other actuated joints; controls are forces or torques."""
        followers = resolved_followers(self.model.joints)
        driven = {one.joint for one in self.model.actuators}
        driven |= {followers[name].leader for name in driven & set(followers)}
        motors: list[tuple[str, str | None, tuple[float, ...]]] = [
            (one.joint, one.name, one.gear) for one in self.model.actuators
        ]
        motors += [
            (joint.name, None, ())
            for joint in self.model.joints
            if joint.actuated and joint.name not in driven
        ]
        actuators = add(self.top, "actuator") if motors else self.top
        for joint, name, gear in motors:
            ratios = self.joints.gear(self.model.joint(joint), gear)
            if ratios is None:
                text = "left out: motors of joints with several coordinates, or that close loops"
                self.joints.warnings.add(text, joint)
                continue
            text = format_numbers(*ratios) if ratios != (1.0,) else None
            name_in_file = self.joints.names_in_file[joint]
            add(actuators, "motor", name=name, joint=name_in_file, gear=text)

    def _write_keyframes(self, tree: Model) -> None:
        """Write the named configurations."""
        layout = Layout(tree, self.floating)
        keyframes = add(self.top, "keyframe") if self.model.configurations else self.top
        for one in self.model.configurations:
            q = layout.configured(one, self.base)
            qpos = [*q[layout.base_position], *q[layout.base_wxyz]]
            for name in self.joints.order:
                qpos += mujoco_position(tree.joint(name), layout.theta(q, name))
            add(keyframes, "key", name=one.name, qpos=format_numbers(*qpos))
            for name, _ in one.positions:
                if name not in self.joints.order:
                    text = "positions of joints that close loops are left out of keyframes"
                    self.joints.warnings.add(text, name)

    def _on_world(self, link: str) -> bool:
        return self.is_world and link == self.base

    def _reject_other_world(self, visits: list[Visit]) -> None:
        for visit in visits:
            if visit.link == WORLD and not self._on_world(visit.link):
                message = "MuJoCo reserves this name for the world, which is fixed and massless"
                hint = "rename the link with model.renamed(links=...)"
                raise model_error(f"{message}; {hint}", "link 'world'")

    def _order_finding(self, closing: Collection[Joint]) -> list[Finding]:
        """Return a warning if MuJoCo's order of the joints, depth first, differs from the model."""
        moving = [joint for joint in self.model.joints if joint.motion_kind.nv]
        ours = [joint.name for joint in moving if joint not in closing]
        theirs = self.joints.order
        if ours == theirs:
            return []
        text = f"MuJoCo has another order of joints, depth first: {listed(theirs)}"
        return [Finding("warning", "", text)]


def _is_world(model: Model, floating: bool | None) -> bool:
    if not is_world(model, model.default_base):
        return False
    if floating:
        raise model_error("the world cannot float; omit floating=True", "link 'world'")
    return True


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
