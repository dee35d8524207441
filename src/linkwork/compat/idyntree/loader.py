"""Loading robots in the order of iDynTree, with iDynTree's names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike

from numpy.typing import ArrayLike

import linkwork.model.model as described
from linkwork.compat.idyntree.absent import Partial
from linkwork.compat.idyntree.robot.conversion import (
    as_in_idyntree,
    reduced_model,
    with_sensor_frames,
)
from linkwork.compat.idyntree.robot.model import Model
from linkwork.compat.idyntree.statuses import status, success
from linkwork.errors import ArgumentError, shown
from linkwork.io.load import load

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
        if not isinstance(options, ModelParserOptions):
            raise ArgumentError(f"options: expected ModelParserOptions, got {shown(options)}")
        self._options = replace(options)

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
        if not isinstance(fullModel, Model):
            raise ArgumentError(f"fullModel: expected a Model, got {shown(fullModel)}")
        positions, _ = _positions_and_packages(removedJointPositions, filetype, ())
        return createReducedModel(fullModel, consideredJoints, self._model, positions)

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
    if not loader.loadModelFromFile(urdf_filename):
        return False
    dofs[:] = [joint.name for joint in loader.model().robot.joints if joint.nv]
    return True


def dofsListFromURDFString(urdf_string: str, dofs: list[str]) -> bool:
    """Return the same for the contents of a URDF file."""
    loader = ModelLoader()
    if not loader.loadModelFromString(urdf_string):
        return False
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
