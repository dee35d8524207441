"""Writer of MJCF, MuJoCo's format.

World     a base named `world` is MuJoCo's world; any other base floats, unless it is fixed to it
Bodies    one for each link, at the link's frame; sites for additional frames
Inertias  principal moments. MuJoCo rejects moments that violate the triangle inequality by any
          amount: violations by rounding are corrected. It also rejects moving bodies with almost no
          mass or moment of inertia: the smallest accepted values are written
Loops     equality constraints, as for all constraints
Keyframes the named configurations
Motors    the actuators, and one of each joint that is actuated otherwise than by them
Order     MuJoCo orders bodies and joints depth first, which may differ from the model
Gravity   linkwork's default, which differs from MuJoCo's

What MuJoCo cannot express is an error if it would change the motion, else a finding. The module
`writer_parts` writes joints and shapes, `writer_equalities` constraints.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, Finding, listed, model_error, shown
from linkwork.io.formats import Conversion
from linkwork.io.mjcf.package import rejection
from linkwork.io.mjcf.writer_equalities import EqualityWriter, closing_in_mujoco
from linkwork.io.mjcf.writer_parts import (
    JointWriter,
    ShapeWriter,
    matrix_attributes,
    mujoco_position,
    pose_attributes,
)
from linkwork.io.writing import WORLD, finish, is_world, listed_findings, parent_H_child, reject
from linkwork.io.xml.source import source_parse_error
from linkwork.io.xml.write import add, document_text, format_numbers, top_element
from linkwork.model.check import unphysical_links
from linkwork.model.inertia import NO_INERTIA, Inertia
from linkwork.model.layout import Layout
from linkwork.model.model import Model
from linkwork.model.parts import Joint, resolved_followers
from linkwork.model.spanning import Visit, opened, walk
from linkwork.spatial.source import quat

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]


GRAVITY = (0.0, 0.0, -9.80665)


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
    if not isinstance(model, Model):
        raise ArgumentError(f"model: expected a Model, got {shown(model)}")
    writer = _Writer(model, floating, meshes)
    writer.write()
    return Conversion(document_text(writer.top), tuple(writer.findings))


class _Writer:
    """Writes bodies from the base outward, and collects findings."""

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
        bodies: dict[str | None, Element] = {None: self.world}
        for visit in visits:
            body = self._body(visit, bodies)
            bodies[visit.link] = body
            if not (self.is_world and visit.link == self.base):
                self._write_mount(body, visit)
                if visit.link in tensors:
                    add(body, "inertial", **tensors[visit.link])
            self.shapes.write(body, self.model.link(visit.link))
            for frame in self.model.frames:
                if frame.link == visit.link:
                    add(body, "site", name=frame.name, **pose_attributes(frame.link_H_frame))
        equalities = EqualityWriter(self.top, self.model, bodies, self.joints.names_in_file)
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


MIN_ACCEPTED = 1e-15  # kg and kg m^2: MuJoCo's mjMINVAL
MIN_WRITTEN = 1e-14  # written in place of smaller values
# Moments that violate the triangle inequality by less than this fraction of the largest do so
# because of rounding in this module; their correction is not reported.
ROUNDING = 1e-14


def inertials(
    model: Model, visits: Sequence[Visit], moving: Collection[str]
) -> tuple[dict[str, dict[str, str | None]], list[Finding]]:
    """Return the attributes of `<inertial>` by link, and findings about changes.

    Args:
        model: the robot.
        visits: its links from the base outward.
        moving: the links that move relative to their parents.

    Raises:
        ModelError: an inertia is unphysical, which MuJoCo rejects.
    """
    _reject_unphysical(model)
    massless = _links_without_inertia(model, visits, moving)
    attributes: dict[str, dict[str, str | None]] = {}
    corrected: list[str] = []
    for link in model.links:
        if link.inertia == NO_INERTIA and link.name not in massless:
            continue
        moments, rotation, is_corrected = _principal(link.inertia)
        mass = link.inertia.mass
        if is_corrected:
            corrected.append(link.name)
        if link.name in massless:
            mass, moments = max(mass, MIN_WRITTEN), np.maximum(moments, MIN_WRITTEN)
        attributes[link.name] = {
            "pos": format_numbers(*link.inertia.com),
            "quat": None if rotation is None else format_numbers(*quat.from_rotation(rotation)),
            "mass": format_numbers(mass),
            "diaginertia": format_numbers(*moments),
        }
    reason = "MuJoCo requires that moving bodies have mass and moments of inertia"
    raised = f"{reason}; values below {MIN_WRITTEN:g} kg and kg m^2 were increased to that"
    reduced = "the largest moment of inertia was reduced to the sum of the others, as MuJoCo"
    return attributes, listed_findings({raised: massless, f"{reduced} requires": corrected})


def _principal(inertia: Inertia) -> tuple[Array, Array | None, bool]:
    """Return principal moments, their axes or None, and whether they were corrected."""
    tensor = inertia.matrix()
    rotation = None
    moments = np.diag(tensor).copy()
    if np.abs(tensor - np.diag(moments)).any():
        moments, rotation = np.linalg.eigh(tensor)
        if np.linalg.det(rotation) < 0:
            rotation = rotation * [1.0, 1.0, -1.0]
    moments = np.maximum(moments, 0.0)
    largest = int(moments.argmax())
    others = float(np.delete(moments, largest).sum())
    excess = float(moments[largest]) - others
    if excess > 0:
        moments[largest] = others
    return moments, rotation, excess > ROUNDING * (others + excess)


def _links_without_inertia(
    model: Model, visits: Sequence[Visit], moving: Collection[str]
) -> list[str]:
    """Return moving links without inertia, also of links fixed to them, which MuJoCo rejects."""
    heavy: set[str] = set()  # links with inertia, or with such a link fixed to them
    for visit in reversed(visits):
        inertia = model.link(visit.link).inertia
        moments = _principal(inertia)[0]
        if inertia.mass >= MIN_ACCEPTED and (moments >= MIN_ACCEPTED).all():
            heavy.add(visit.link)
        if visit.link in heavy and visit.parent is not None and visit.link not in moving:
            heavy.add(visit.parent)
    return [visit.link for visit in visits if visit.link in moving and visit.link not in heavy]


def _reject_unphysical(model: Model) -> None:
    findings = [
        Finding(
            "error",
            f"link {link.name!r}",
            "MuJoCo rejects an unphysical inertia; "
            "load the robot with repair=True, or convert it with --repair",
            link.location,
        )
        for link in unphysical_links(model.links)
    ]
    reject(findings)
