"""Load a robot as iDynTree does: in its order, its frames, and with joints that mimic none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike

from numpy.typing import ArrayLike

import linkwork.model.model as described
from linkwork.compat.idyntree.model import Model
from linkwork.compat.idyntree.order import as_in_idyntree
from linkwork.compat.idyntree.reduction import reduced_model
from linkwork.compat.idyntree.sensors import with_sensor_frames
from linkwork.errors import ArgumentError, shown
from linkwork.io.load import load

Positions = Mapping[str, ArrayLike]


@dataclass
class ModelParserOptions:
    """How to read a robot.

    `addSensorFramesAsAdditionalFrames` is iDynTree's. `jointOrder` is linkwork's: names of joints
    in the order that iDynTree gives them where the hash table of its C++ library is not GCC's.
    """

    addSensorFramesAsAdditionalFrames: bool = True
    jointOrder: Sequence[str] = ()
    originalFilename: str = ""


class ModelLoader:
    """Loads robots, and holds the one loaded last.

    `filetype` is taken and not used: the text says itself what it is, URDF or MJCF.
    """

    def __init__(self) -> None:
        self._model = Model()
        self._options = ModelParserOptions()

    def parsingOptions(self) -> ModelParserOptions:
        """The options."""
        return replace(self._options)

    def setParsingOptions(self, options: ModelParserOptions) -> None:
        """Set the options."""
        if not isinstance(options, ModelParserOptions):
            raise ArgumentError(f"options: expected ModelParserOptions, got {shown(options)}")
        self._options = replace(options)

    def isValid(self) -> bool:
        """Whether there is a robot."""
        return self._model.getNrOfLinks() > 0

    def model(self) -> Model:
        """The robot loaded last; always the same object, empty before the first robot is loaded."""
        return self._model

    def loadModelFromFile(
        self, filename: str | PathLike[str], filetype: str = "", packageDirs: Iterable[str] = ()
    ) -> bool:
        """Load the robot of a file.

        Raises:
            LinkworkError: it cannot be read, or holds no robot.
        """
        del filetype
        return self._take(self._loaded(filename, packageDirs))

    def loadModelFromString(
        self, modelString: str, filetype: str = "", packageDirs: Iterable[str] = ()
    ) -> bool:
        """Load the robot of a text."""
        del filetype
        return self._take(self._loaded(modelString.encode(), packageDirs))

    def loadReducedModelFromFile(
        self,
        filename: str | PathLike[str],
        consideredJoints: Sequence[str],
        removedJointPositions: Positions | str | None = None,
        filetype: str | Iterable[str] = "",
        packageDirs: Iterable[str] = (),
    ) -> bool:
        """Load the robot of a file, with some of its joints only; see `reduced_model`.

        The positions of the other joints may be left out, so that the file type comes in their
        place.
        """
        positions, packages = _sorted_out(removedJointPositions, filetype, packageDirs)
        return self._reduce(self._loaded(filename, packages), consideredJoints, positions)

    def loadReducedModelFromString(
        self,
        modelString: str,
        consideredJoints: Sequence[str],
        removedJointPositions: Positions | str | None = None,
        filetype: str | Iterable[str] = "",
        packageDirs: Iterable[str] = (),
    ) -> bool:
        """Load the robot of a text, with some of its joints only; see `reduced_model`."""
        positions, packages = _sorted_out(removedJointPositions, filetype, packageDirs)
        return self._reduce(
            self._loaded(modelString.encode(), packages), consideredJoints, positions
        )

    def loadReducedModelFromFullModel(
        self,
        fullModel: Model,
        consideredJoints: Sequence[str],
        removedJointPositions: Positions | str | None = None,
        filetype: str = "",
    ) -> bool:
        """Take a robot, with some of its joints only; see `reduced_model`."""
        if not isinstance(fullModel, Model):
            raise ArgumentError(f"fullModel: expected a Model, got {shown(fullModel)}")
        positions, _ = _sorted_out(removedJointPositions, filetype, ())
        base = fullModel.getLinkName(fullModel.getDefaultBaseLink())
        return self._reduce(fullModel.robot, consideredJoints, positions, base)

    def _reduce(
        self,
        robot: described.Model,
        joints: Sequence[str],
        positions: Positions,
        base: str | None = None,
    ) -> bool:
        base = base or robot.default_base
        return self._take(reduced_model(robot, base, joints, positions), base)

    def _take(self, robot: described.Model, base: str | None = None) -> bool:
        self._model.take(robot, base or robot.default_base)
        return True

    def _loaded(
        self, source: str | bytes | PathLike[str], packages: Iterable[str]
    ) -> described.Model:
        robot = load(source, mimic=False, package_dirs=packages)
        robot = as_in_idyntree(robot, self._options.jointOrder)
        if not self._options.addSensorFramesAsAdditionalFrames:
            return robot
        return with_sensor_frames(robot, source)


def createReducedModel(
    fullModel: Model,
    jointsInReducedModel: Sequence[str],
    reducedModel: Model,
    removedJointPositions: Positions | None = None,
) -> bool:
    """Make `reducedModel` a robot with some of the joints of another; see `reduced_model`."""
    base = fullModel.getLinkName(fullModel.getDefaultBaseLink())
    positions = removedJointPositions or {}
    robot = reduced_model(fullModel.robot, base, jointsInReducedModel, positions)
    reducedModel.take(robot, base)
    return True


def dofsListFromURDF(urdf_filename: str | PathLike[str], dofs: list[str]) -> bool:
    """Write the names of the joints that move to a list, in iDynTree's order."""
    loader = ModelLoader()
    loader.loadModelFromFile(urdf_filename)
    dofs[:] = _dofs(loader.model())
    return True


def dofsListFromURDFString(urdf_string: str, dofs: list[str]) -> bool:
    """The same for the text of a URDF file."""
    loader = ModelLoader()
    loader.loadModelFromString(urdf_string)
    dofs[:] = _dofs(loader.model())
    return True


def _dofs(model: Model) -> list[str]:
    return [joint.name for joint in model.robot.joints if joint.nv]


def _sorted_out(
    positions: Positions | str | None, filetype: str | Iterable[str], packages: Iterable[str]
) -> tuple[Positions, Iterable[str]]:
    """The positions and folders, also where the positions were left out."""
    if positions is None or isinstance(positions, str):
        return {}, packages if isinstance(filetype, str) else filetype
    if not isinstance(positions, Mapping):
        text = f"removedJointPositions: expected positions by name, got {shown(positions)}"
        raise ArgumentError(text)
    return positions, packages
