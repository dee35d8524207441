"""Write a robot as MJCF, MuJoCo's format.

World     a base named `world` is MuJoCo's world; any other base floats, unless it is fixed to it
Bodies    one for each link, at the link's frame; sites for additional frames
Joints    hinge, slide, ball and free; a universal joint is two hinges, a planar one two slides and
          a hinge. `mjcf_dump_joints` says what becomes of limits and dependent joints
Order     MuJoCo numbers bodies and joints depth first, which may be another order than the model's
Gravity   linkwork's, which differs from MuJoCo's default

What MuJoCo cannot hold is an error if the motion would change, else a finding.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, Finding, ModelError, listed, model_error, shown, warn_of
from linkwork.io.mjcf.writer_inertia import inertials
from linkwork.io.mjcf.writer_joints import JointWriter
from linkwork.io.mjcf.writer_shapes import ShapeWriter
from linkwork.io.xml.write import add, document_text, number_text, top_element, write_text
from linkwork.model.inertia import NO_INERTIA
from linkwork.model.model import Model
from linkwork.model.parts import Joint
from linkwork.model.pose import IDENTITY, Pose
from linkwork.model.walk import Visit, walk
from linkwork.spatial.source import quat, se3

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

WORLD = "world"
GRAVITY = (0.0, 0.0, -9.80665)


@dataclass(frozen=True, slots=True)
class Written:
    """The text of a file, and what it says differently than the model, or not at all."""

    text: str
    findings: tuple[Finding, ...]


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
        path: the file to write; none if only the text is wanted.
        floating: whether the base moves freely, or is fixed to the world. If not given, it moves,
            unless it is a link without mass named `world`, which becomes MuJoCo's world.
        meshes: whether to write meshes, which MuJoCo opens when it loads the file.

    Returns:
        the text.

    Raises:
        ModelError: MuJoCo has no such joint, or refuses such an inertia or name.

    Warns:
        LinkworkWarning: with everything that the file does not say, or says differently.
    """
    written = write_mjcf(model, floating=floating, meshes=meshes)
    warn_of([finding for finding in written.findings if finding.severity == "warning"])
    return write_text(written.text, path)


def write_mjcf(model: Model, *, floating: bool | None = None, meshes: bool = True) -> Written:
    """`dump_mjcf` with its findings, warnings and notes, as data."""
    if not isinstance(model, Model):
        raise ArgumentError(f"model: expected a Model, got {shown(model)}")
    writer = _Writer(model, floating, meshes)
    writer.write()
    return Written(document_text(writer.top), tuple(writer.findings))


class _Writer:
    """Writes bodies from the base outwards, and collects what is to be said about it."""

    def __init__(self, model: Model, floating: bool | None, meshes: bool) -> None:
        self.model = model
        self.base = model.default_base
        self.is_world = _is_world(model, floating)
        self.floating = not self.is_world if floating is None else floating
        self.top = top_element("mujoco", model=model.name)
        add(self.top, "compiler", angle="radian", autolimits="true", inertiafromgeom="false")
        add(self.top, "option", gravity=number_text(*GRAVITY))
        self.shapes = ShapeWriter(self.top, meshes=meshes)
        self.world = add(self.top, "worldbody")
        self.joints = JointWriter(model, self._on_world)
        self.findings: list[Finding] = []

    def write(self) -> None:
        """Write the whole file."""
        visits = list(walk(self.model, self.base))
        self._refuse_second_world(visits)
        moving = {v.link for v in visits if v.joint and not v.joint.is_fixed}
        moving |= {self.base} if self.floating else set()
        tensors, findings = inertials(self.model, visits, moving)
        self.findings += findings
        bodies: dict[str, Element] = {}
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
        self.joints.write_equalities(self.top)
        doubts = [*self.joints.doubts.findings, *self.shapes.doubts.findings]
        self.findings += [*doubts, *self._order_finding()]

    def _body(self, visit: Visit, bodies: dict[str, Element]) -> Element:
        if visit.parent is None and self.is_world:
            return self.world
        parent = self.world if visit.parent is None else bodies[visit.parent]
        joint = visit.joint
        pose = IDENTITY_MATRIX if joint is None else parent_H_child(joint, visit.link)
        return add(parent, "body", name=visit.link, **matrix_attributes(pose))

    def _write_mount(self, body: Element, visit: Visit) -> None:
        """What lets the body move on its parent."""
        if visit.joint is not None:
            self.joints.write(body, visit.joint, visit.link)
        elif self.floating:
            add(body, "freejoint", name=self.joints.base_name())

    def _on_world(self, link: str) -> bool:
        return self.is_world and link == self.base

    def _refuse_second_world(self, visits: list[Visit]) -> None:
        for visit in visits:
            if visit.link == WORLD and not self._on_world(visit.link):
                text = "MuJoCo keeps this name for the world itself, which is fixed and has no mass"
                raise model_error(f"{text}; model.renamed(links=...) gives another", "link 'world'")

    def _order_finding(self) -> list[Finding]:
        """MuJoCo numbers joints depth first; is that the order of the model?"""
        ours = [joint.name for joint in self.model.joints if joint.motion_kind.nv]
        theirs = self.joints.order
        if ours == theirs:
            return []
        text = f"MuJoCo numbers joints in another order, depth first: {listed(theirs)}"
        return [Finding("warning", "", text)]


IDENTITY_MATRIX = np.eye(4)


def parent_H_child(joint: Joint, child: str) -> Array:
    """Pose of a link in the one before it, the joint between them at its neutral position."""
    pose = joint.first_H_joint.matrix() @ joint.joint_H_second.matrix()
    return pose if joint.second == child else np.asarray(se3.inverse(pose))


def pose_attributes(pose: Pose) -> dict[str, str | None]:
    """`pos` and `quat` of a pose; what is zero is left out."""
    if pose == IDENTITY:
        return {}
    return matrix_attributes(pose.matrix())


def matrix_attributes(pose: Array) -> dict[str, str | None]:
    """`pos` and `quat` of a (4, 4) pose; what is zero is left out."""
    rotation = pose[:3, :3]
    turned = not np.array_equal(rotation, np.eye(3))
    return {
        "pos": number_text(*(pose[:3, 3] + 0.0)) if pose[:3, 3].any() else None,
        "quat": number_text(*quat.from_rotation(rotation)) if turned else None,
    }


def _is_world(model: Model, floating: bool | None) -> bool:
    base = model.link(model.default_base)
    if base.name != WORLD or base.inertia != NO_INERTIA:
        return False
    if floating:
        raise ModelError(
            [Finding("error", "link 'world'", "the world cannot float; leave floating=True out")]
        )
    return True
