"""Write a robot as MJCF, MuJoCo's format.

World     a base named `world` is MuJoCo's world; any other base floats, unless it is fixed to it
Bodies    one for each link, at the link's frame; sites for additional frames
Inertias  principal moments. MuJoCo rejects moments that violate the triangle inequality by any
          amount: those that do so by rounding are corrected. It also rejects moving bodies that
          have next to no mass or moment of inertia: the least that it accepts is written
Order     MuJoCo numbers bodies and joints depth first, which may be another order than the model's
Gravity   linkwork's, which differs from MuJoCo's default

What MuJoCo cannot hold is an error if the motion would change, else a finding. Joints
and shapes are written by `writer_parts`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, Finding, ModelError, listed, model_error, shown, warn_of
from linkwork.io.mjcf.writer_parts import JointWriter, ShapeWriter
from linkwork.io.xml.write import add, document_text, number_text, top_element, write_text
from linkwork.model.check import unphysical_links
from linkwork.model.inertia import NO_INERTIA, Inertia
from linkwork.model.model import Model
from linkwork.model.parts import Joint
from linkwork.model.pose import IDENTITY, Pose
from linkwork.model.tree import Visit, walk
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


LEAST_TAKEN = 1e-15  # kg and kg m^2: MuJoCo's mjMINVAL
LEAST_WRITTEN = 1e-14  # what is written instead of less than that
# Moments that miss the triangle inequality by less than this fraction of the largest do so because
# of rounding here, not in the file; mending them is not worth a word.
ROUNDING = 1e-14


def inertials(
    model: Model, visits: Sequence[Visit], moving: Collection[str]
) -> tuple[dict[str, dict[str, str | None]], list[Finding]]:
    """The attributes of `<inertial>` by link, and what is to be said about them.

    Args:
        model: the robot.
        visits: its links from the base outwards.
        moving: the links that move on their parents.

    Raises:
        ModelError: an inertia that no body can have, which MuJoCo refuses.
    """
    _refuse_unphysical(model)
    needing = _needing_more(model, visits, moving)
    written: dict[str, dict[str, str | None]] = {}
    mended: list[str] = []
    for link in model.links:
        if link.inertia == NO_INERTIA and link.name not in needing:
            continue
        moments, rotation, was_mended = _principal(link.inertia)
        mass = link.inertia.mass
        if was_mended:
            mended.append(link.name)
        if link.name in needing:
            mass, moments = max(mass, LEAST_WRITTEN), np.maximum(moments, LEAST_WRITTEN)
        written[link.name] = {
            "pos": number_text(*link.inertia.com),
            "quat": None if rotation is None else number_text(*quat.from_rotation(rotation)),
            "mass": number_text(mass),
            "diaginertia": number_text(*moments),
        }
    return written, [*_told_least(needing), *_told_mended(mended)]


def _principal(inertia: Inertia) -> tuple[Array, Array | None, bool]:
    """Principal moments, their axes (None: those of the link), and whether they were mended."""
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
    missing = float(moments[largest]) - others
    if missing > 0:
        moments[largest] = others
    return moments, rotation, missing > ROUNDING * (others + missing)


def _needing_more(model: Model, visits: Sequence[Visit], moving: Collection[str]) -> list[str]:
    """Moving links that MuJoCo would refuse: neither they nor what is fixed to them has inertia."""
    heavy: set[str] = set()  # links that have enough, or carry such a link without a joint
    for visit in reversed(visits):
        inertia = model.link(visit.link).inertia
        moments = _principal(inertia)[0]
        if inertia.mass >= LEAST_TAKEN and (moments >= LEAST_TAKEN).all():
            heavy.add(visit.link)
        if visit.link in heavy and visit.parent is not None and visit.link not in moving:
            heavy.add(visit.parent)
    return [visit.link for visit in visits if visit.link in moving and visit.link not in heavy]


def _refuse_unphysical(model: Model) -> None:
    findings = [
        Finding(
            "error",
            f"link {link.name!r}",
            "MuJoCo refuses an inertia that no body can have; "
            "load the robot with repair=True, or convert it with --repair",
            link.location,
        )
        for link in unphysical_links(model.links)
    ]
    if findings:
        raise ModelError(findings)


def _told_least(links: Sequence[str]) -> list[Finding]:
    if not links:
        return []
    text = (
        f"MuJoCo wants mass and moments of inertia of what moves: {LEAST_WRITTEN:g} kg and kg m^2"
    )
    return [Finding("warning", "", f"{text} were written where there was less: {listed(links)}")]


def _told_mended(links: Sequence[str]) -> list[Finding]:
    if not links:
        return []
    text = "the largest moment of inertia was rounded down to the sum of the others, as MuJoCo asks"
    return [Finding("warning", "", f"{text}: {listed(links)}")]
