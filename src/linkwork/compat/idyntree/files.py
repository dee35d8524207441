"""Reading robots in the order of iDynTree, and writing URDF as iDynTree does.

Additional frames become links without mass on fixed joints `NAME_fixed_joint`. The first frame of
the base may become the root of the file, the parent of the base.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import linkwork.model.model as described
from linkwork.compat.idyntree.conversion import as_in_idyntree, reduced_model, with_sensor_frames
from linkwork.compat.idyntree.model import Model
from linkwork.compat.idyntree.statuses import Partial, status, success
from linkwork.engine.runtime.atomic_files import write_file
from linkwork.errors import (
    ArgumentError,
    Finding,
    LinkworkError,
    ValueRangeError,
    listed,
    shown,
    warn_of,
)
from linkwork.io.load import load
from linkwork.io.urdf.writer import extension_findings, robot_element
from linkwork.io.writing import document_text, expressible
from linkwork.model.graph import walk
from linkwork.model.numbers import argument
from linkwork.model.parts import Frame, Joint, Link, unit_vector
from linkwork.model.pose import IDENTITY, Pose, composed, inverted
from linkwork.model.reduce import rerooted

Positions = Mapping[str, ArrayLike]


@dataclass
class ModelParserOptions(Partial):
    """Options for reading a robot.

    `addSensorFramesAsAdditionalFrames` is an option of iDynTree. `jointOrder` is one of linkwork:
    names of joints in the order of iDynTree, for systems whose C++ library is not GCC's.
    """

    addSensorFramesAsAdditionalFrames: bool = True
    jointOrder: Sequence[str] = ()
    originalFilename: str = ""


class ModelLoader(Partial):
    """Loads robots, and stores the one loaded last.

    `filetype` is not used: the format, URDF, SDF or MJCF, is detected from the contents.
    """

    def __init__(self) -> None:
        self._model = Model()
        self._options = ModelParserOptions()

    def parsingOptions(self) -> ModelParserOptions:
        """Return the options."""
        return replace(self._options)

    def setParsingOptions(self, options: ModelParserOptions) -> None:
        """Set the options."""
        self._options = replace(argument(options, ModelParserOptions, "options"))

    def isValid(self) -> bool:
        """Return whether there is a robot."""
        return self._model.getNrOfLinks() > 0

    def model(self) -> Model:
        """Return the robot loaded last; always the same object, empty before a robot is loaded."""
        return self._model

    @success
    def loadModelFromFile(
        self, filename: str | PathLike[str], filetype: str = "", packageDirs: Iterable[str] = ()
    ) -> None:
        """Load the robot of a file; False if it cannot be read, and the previous robot stays."""
        del filetype
        self._model.copy_from(Model(self._loaded(filename, packageDirs)))

    @success
    def loadModelFromString(
        self, modelString: str, filetype: str = "", packageDirs: Iterable[str] = ()
    ) -> None:
        """Load the robot of a string."""
        del filetype
        self._model.copy_from(Model(self._loaded(modelString.encode(), packageDirs)))

    @status(False)
    def loadReducedModelFromFile(
        self,
        filename: str | PathLike[str],
        consideredJoints: Sequence[str],
        removedJointPositions: Positions | str | None = None,
        filetype: str | Iterable[str] = "",
        packageDirs: Iterable[str] = (),
    ) -> bool:
        """Load the robot of a file, with only some of its joints; see `reduced_model`.

        The positions of the other joints may be omitted; the file type is then in their place.
        """
        positions, packages = _positions_and_packages(removedJointPositions, filetype, packageDirs)
        full = Model(self._loaded(filename, packages))
        return createReducedModel(full, consideredJoints, self._model, positions)

    @status(False)
    def loadReducedModelFromString(
        self,
        modelString: str,
        consideredJoints: Sequence[str],
        removedJointPositions: Positions | str | None = None,
        filetype: str | Iterable[str] = "",
        packageDirs: Iterable[str] = (),
    ) -> bool:
        """Load the robot of a string, with only some of its joints; see `reduced_model`."""
        positions, packages = _positions_and_packages(removedJointPositions, filetype, packageDirs)
        full = Model(self._loaded(modelString.encode(), packages))
        return createReducedModel(full, consideredJoints, self._model, positions)

    @status(False)
    def loadReducedModelFromFullModel(
        self,
        fullModel: Model,
        consideredJoints: Sequence[str],
        removedJointPositions: Positions | str | None = None,
        filetype: str = "",
    ) -> bool:
        """Copy a robot, with only some of its joints; see `reduced_model`."""
        full = argument(fullModel, Model, "fullModel")
        positions, _ = _positions_and_packages(removedJointPositions, filetype, ())
        return createReducedModel(full, consideredJoints, self._model, positions)

    def _loaded(
        self, source: str | bytes | PathLike[str], packages: Iterable[str]
    ) -> described.Model:
        robot = load(source, mimic=False, package_dirs=packages)
        robot = as_in_idyntree(robot, self._options.jointOrder)
        if not self._options.addSensorFramesAsAdditionalFrames:
            return robot
        return with_sensor_frames(robot, source)


@success
def createReducedModel(
    fullModel: Model,
    jointsInReducedModel: Sequence[str],
    reducedModel: Model,
    removedJointPositions: Positions | None = None,
) -> None:
    """Set `reducedModel` to a robot with some of the joints of another; see `reduced_model`."""
    base = fullModel.link_name(fullModel.getDefaultBaseLink())
    positions = removedJointPositions or {}
    robot = reduced_model(fullModel.robot, base, jointsInReducedModel, positions)
    reducedModel.copy_from(Model(robot, base))


def dofsListFromURDF(urdf_filename: str | PathLike[str], dofs: list[str]) -> bool:
    """Write the names of the moving joints to a list, in iDynTree's order."""
    loader = ModelLoader()
    return loader.loadModelFromFile(urdf_filename) and _write_dofs(loader, dofs)


def dofsListFromURDFString(urdf_string: str, dofs: list[str]) -> bool:
    """Return the same for the contents of a URDF file."""
    loader = ModelLoader()
    return loader.loadModelFromString(urdf_string) and _write_dofs(loader, dofs)


def _write_dofs(loader: ModelLoader, dofs: list[str]) -> bool:
    dofs[:] = [joint.name for joint in loader.model().robot.joints if joint.nv]
    return True


def _positions_and_packages(
    positions: Positions | str | None, filetype: str | Iterable[str], packages: Iterable[str]
) -> tuple[Positions, Iterable[str]]:
    """Return the positions and folders, also if the positions were omitted."""
    if positions is None or isinstance(positions, str):
        return {}, packages if isinstance(filetype, str) else filetype
    if not isinstance(positions, Mapping):
        message = f"removedJointPositions: expected positions by name, got {shown(positions)}"
        raise ArgumentError(message)
    return positions, packages


# Writing.

ON_AXIS = 1e-9  # [m] distance below which a point counts as being on an axis
REVOLUTE = {"revolute", "revolute_cos_sin"}


@dataclass
class ModelExporterOptions(Partial):
    """Options for writing a robot."""

    baseLink: str = ""  # the root of the file; by default the default base
    robotExportedName: str = "iDynTreeURDFModelExportModelName"
    # Whether the first additional frame of the base becomes the root of the file.
    exportFirstBaseLinkAdditionalFrameAsFakeURDFBase: bool = True

    def __setattr__(self, name: str, value: Any) -> None:
        _ = getattr(type(self), name)  # raises if there is no such option
        super().__setattr__(name, value)


class ModelExporter(Partial):
    """Writes a robot as URDF.

    URDF requires the frame of a link to be on the axis of its joint. The frames of other links are
    moved there, with a warning, where iDynTree fails.
    """

    def __init__(self) -> None:
        self._model: Model | None = None
        self._options = ModelExporterOptions()

    def init(self, model: Model, options: ModelExporterOptions | None = None) -> bool:
        """Set a robot, and optionally options."""
        self._model = argument(model, Model, "model").copy()
        if options is not None:
            self.setExportingOptions(options)
        return True

    def exportingOptions(self) -> ModelExporterOptions:
        """Return the options."""
        return replace(self._options)

    def setExportingOptions(self, options: ModelExporterOptions) -> None:
        """Set the options."""
        self._options = replace(argument(options, ModelExporterOptions, "options"))

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


def exported_urdf(model: Model, options: ModelExporterOptions) -> str:
    """Return the URDF of a model of iDynTree.

    Raises:
        ModelError: URDF cannot express the robot.
    """
    base = options.baseLink or model.link_name(model.getDefaultBaseLink())
    robot = _with_joints_at_links(replace(model.robot, name=options.robotExportedName), base)
    robot = rerooted(robot, base)
    fake_base = next((frame for frame in robot.frames if frame.link == base), None)
    if not options.exportFirstBaseLinkAdditionalFrameAsFakeURDFBase:
        fake_base = None
    robot, findings = expressible(_with_links_of_frames(robot, fake_base))
    warn_of([*extension_findings(robot), *findings])
    return document_text(robot_element(robot))


def _with_joints_at_links(robot: described.Model, base: str) -> described.Model:
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


def _with_links_of_frames(robot: described.Model, fake_base: Frame | None) -> described.Model:
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
