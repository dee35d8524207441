"""Writing of URDF as iDynTree does: frames, spherical joints, additional elements and precision.

Frames      additional frames become links without mass on fixed joints `NAME_fixed_joint`. The
            first frame of the base may become the root of the file, the parent of the base
Spherical   three revolute joints about x, y and z, with two links without mass between them
Precision   the number of significant digits; 0 for all
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

import linkwork.compat.idyntree.robot.model as view
from linkwork.compat.idyntree.absent import Partial
from linkwork.compat.idyntree.containers import StringVector
from linkwork.compat.idyntree.statuses import success
from linkwork.engine.runtime.atomic_files import write_file
from linkwork.errors import (
    ArgumentError,
    Finding,
    LinkworkError,
    ValueRangeError,
    listed,
    model_error,
    shown,
    warn_of,
)
from linkwork.io.urdf.writer import extension_findings, robot_element
from linkwork.io.writing import document_text, expressible
from linkwork.model.graph import walk
from linkwork.model.model import Model
from linkwork.model.parts import Frame, Joint, Link, unit_vector
from linkwork.model.pose import IDENTITY, Pose, composed, inverted
from linkwork.model.reduce import rerooted

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]


ON_AXIS = 1e-9  # [m] distance below which a point counts as being on an axis
REVOLUTE = {"revolute", "revolute_cos_sin"}
_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


@dataclass
class ModelExporterOptions:
    """Options for writing a robot."""

    baseLink: str = ""  # the root of the file; by default the default base
    robotExportedName: str = "iDynTreeURDFModelExportModelName"
    # Whether the first additional frame of the base becomes the root of the file.
    exportFirstBaseLinkAdditionalFrameAsFakeURDFBase: bool = True
    xmlBlobs: Sequence[str] = field(default_factory=StringVector)  # added at the end of the file
    exportSphericalJointsAsThreeRevoluteJoints: bool = True
    sphericalJointFakeLinkPrefix: str = "spherical_fake_"
    sphericalJointRevoluteJointPrefix: str = "spherical_rev_"
    numericalPrecision: int = 0  # number of significant digits; 0 for all


class ModelExporter(Partial):
    """Writes a robot as URDF.

    URDF requires the frame of a link to be on the axis of its joint. The frames of other links are
    moved there, with a warning, where iDynTree fails.
    """

    def __init__(self) -> None:
        self._model: view.Model | None = None
        self._options = ModelExporterOptions()

    def init(self, model: view.Model, options: ModelExporterOptions | None = None) -> bool:
        """Set a robot, and optionally options."""
        if not isinstance(model, view.Model):
            raise ArgumentError(f"model: expected a Model, got {shown(model)}")
        self._model = model.copy()
        if options is not None:
            self.setExportingOptions(options)
        return True

    def exportingOptions(self) -> ModelExporterOptions:
        """Return the options."""
        return replace(self._options)

    def setExportingOptions(self, options: ModelExporterOptions) -> None:
        """Set the options."""
        if not isinstance(options, ModelExporterOptions):
            raise ArgumentError(f"options: expected ModelExporterOptions, got {shown(options)}")
        self._options = replace(options)

    def isValid(self) -> bool:
        """Return whether there is a robot."""
        return self._model is not None and self._model.isValid()

    def exportModelToString(self, filetype: str = "urdf") -> str:
        """Return the robot as a URDF string, which iDynTree's Python bindings cannot do.

        Raises:
            ModelError: URDF cannot express the robot.
        """
        if filetype not in ("", "urdf"):
            raise ValueRangeError(f"filetype: expected 'urdf', got {shown(filetype)}")
        if self._model is None:
            raise LinkworkError("no robot yet; call init first")
        return exported_urdf(self._model, self._options)

    @success
    def exportModelToFile(self, filename: str, filetype: str = "urdf") -> None:
        """Write the robot to a file; False if that is not possible."""
        write_file(filename, self.exportModelToString(filetype))


def exported_urdf(model: view.Model, options: ModelExporterOptions) -> str:
    """Return the URDF of a model of iDynTree.

    Raises:
        ModelError: URDF cannot express the robot, or an additional element is not XML.
    """
    base = options.baseLink or model.link_name(model.getDefaultBaseLink())
    robot = _with_joints_at_links(replace(model.robot, name=options.robotExportedName), base)
    robot = rerooted(robot, base)
    if options.exportSphericalJointsAsThreeRevoluteJoints:
        robot = _with_revolute_joints(
            robot, options.sphericalJointFakeLinkPrefix, options.sphericalJointRevoluteJointPrefix
        )
    fake_base = next((frame for frame in robot.frames if frame.link == base), None)
    if not options.exportFirstBaseLinkAdditionalFrameAsFakeURDFBase:
        fake_base = None
    robot, findings = expressible(_with_links_of_frames(robot, fake_base))
    warn_of([*extension_findings(robot), *findings])
    element = robot_element(robot)
    if options.numericalPrecision:
        _round(element, options.numericalPrecision)
    for blob in options.xmlBlobs:
        element.extend(_elements(blob))
    return document_text(element)


def _with_joints_at_links(robot: Model, base: str) -> Model:
    """Return the same robot with the frame of each joint at the link that it carries.

    In URDF both are the same frame. Where the axis of a joint does not pass through the origin of
    its link, `rerooted` has to move the link; a warning lists these links.
    """
    joints = {joint.name: joint for joint in robot.joints}
    moved: list[str] = []
    for visit in walk(robot, base):
        if visit.joint is None:
            continue
        joint = joints[visit.joint.name] = _at_link(visit.joint, visit.link)
        mount = joint.joint_H_second if joint.second == visit.link else joint.first_H_joint
        if not np.allclose(mount.matrix(), np.eye(4), rtol=0.0, atol=ON_AXIS):
            moved.append(visit.link)
    if moved:
        reason = "the frames of links are moved to their joints, as URDF requires"
        warn_of([Finding("warning", "", f"{reason}: {listed(moved)}")])
    return replace(robot, joints=tuple(joints.values()))


def _at_link(joint: Joint, link: str) -> Joint:
    """Return the same joint with its frame at the frame of a link, where its motion allows it."""
    is_second = joint.second == link
    joint_H_link = (joint.joint_H_second if is_second else inverted(joint.first_H_joint)).matrix()
    axis, offset = np.array(joint.axis), joint_H_link[:3, 3]
    is_on_axis = np.linalg.norm(np.cross(axis, offset)) <= ON_AXIS
    if joint.kind not in {"fixed", "prismatic"} and not (joint.kind in REVOLUTE and is_on_axis):
        return joint
    first_H_second = composed(joint.first_H_joint, joint.joint_H_second)
    return replace(
        joint,
        axis=unit_vector((joint_H_link[:3, :3].T @ axis).tolist()),
        first_H_joint=first_H_second if is_second else IDENTITY,
        joint_H_second=IDENTITY if is_second else first_H_second,
    )


def _with_revolute_joints(robot: Model, link_prefix: str, joint_prefix: str) -> Model:
    """Return the robot with three revolute joints in place of each spherical one."""
    links, joints = [*robot.links], list[Joint]()
    for joint in robot.joints:
        if joint.kind != "spherical":
            joints.append(joint)
            continue
        between = [f"{link_prefix}{joint.name}_link{k}" for k in (1, 2)]
        links += [Link(name=name) for name in between]
        ends = [joint.first, *between, joint.second]
        poses = [joint.first_H_joint, IDENTITY, IDENTITY]
        for k, (letter, axis) in enumerate(_AXES.items()):
            joints.append(
                Joint(
                    name=f"{joint_prefix}{joint.name}_{letter}",
                    kind="revolute",
                    first=ends[k],
                    second=ends[k + 1],
                    axis=axis,
                    first_H_joint=poses[k],
                )
            )
    return replace(robot, links=tuple(links), joints=tuple(joints))


def _with_links_of_frames(robot: Model, fake_base: Frame | None) -> Model:
    """Return the robot with links in place of its frames; one of them may carry the base."""
    frames = [frame for frame in robot.frames if frame is not fake_base]
    links = [*robot.links, *(Link(name=frame.name) for frame in frames)]
    joints = [_mount(frame.name, frame.link, frame.name, frame.link_H_frame) for frame in frames]
    if fake_base is not None:
        name = fake_base.name
        links.insert(0, Link(name=name))
        joints.append(_mount(name, name, fake_base.link, inverted(fake_base.link_H_frame)))
    return replace(robot, links=tuple(links), joints=(*robot.joints, *joints), frames=())


def _mount(frame: str, first: str, second: str, first_H_second: Pose) -> Joint:
    name = f"{frame}_fixed_joint"
    return Joint(name=name, kind="fixed", first=first, second=second, first_H_joint=first_H_second)


def _round(element: Element, digits: int) -> None:
    """Round all numbers of the attributes of a document."""
    if digits < 0:
        raise ValueRangeError(f"numericalPrecision: expected 0 or more, got {shown(digits)}")
    for part in element.iter():
        for name, value in part.items():
            if name in {"name", "link", "joint", "filename", "type", "version"}:
                continue
            part.set(name, " ".join(f"{float(number):.{digits}g}" for number in value.split()))


def _elements(blob: str) -> Iterable[Element]:
    """Parse the elements of a text."""
    from lxml import etree

    try:
        parsed = etree.fromstring(f"<blob>{blob}</blob>")
    except etree.XMLSyntaxError as error:
        raise model_error(f"not XML: {error}", f"xmlBlobs {shown(blob)}") from None
    if not len(parsed):
        raise model_error("expected XML elements", f"xmlBlobs {shown(blob)}")
    return list(parsed)
