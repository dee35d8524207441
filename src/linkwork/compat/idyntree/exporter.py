"""Write a robot as URDF under iDynTree's names."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from linkwork.compat.idyntree.lists import StringVector
from linkwork.compat.idyntree.model import Model
from linkwork.errors import ArgumentError, LinkworkError, shown
from linkwork.io.urdf.writer import dump_urdf
from linkwork.model.reduce import rerooted


@dataclass
class ModelExporterOptions:
    """How to write a robot. Only `baseLink` and `robotExportedName` are used."""

    baseLink: str = ""
    robotExportedName: str = "iDynTreeURDFModelExportModelName"
    exportFirstBaseLinkAdditionalFrameAsFakeURDFBase: bool = True
    xmlBlobs: StringVector = field(default_factory=StringVector)
    exportSphericalJointsAsThreeRevoluteJoints: bool = True
    sphericalJointFakeLinkPrefix: str = "spherical_fake_"
    sphericalJointRevoluteJointPrefix: str = "spherical_rev_"
    numericalPrecision: int = 0


class ModelExporter:
    """Writes a robot as URDF; every number is written with all its digits.

    Links whose frame is not on the joint that holds them get one that is, as URDF wants it, where
    iDynTree gives up.
    """

    def __init__(self) -> None:
        self._model: Model | None = None
        self._options = ModelExporterOptions()

    def init(self, model: Model, options: ModelExporterOptions | None = None) -> bool:
        """Take a robot, and options if there are any."""
        if not isinstance(model, Model):
            raise ArgumentError(f"model: expected a Model, got {shown(model)}")
        if options is not None and not isinstance(options, ModelExporterOptions):
            raise ArgumentError(f"options: expected ModelExporterOptions, got {shown(options)}")
        self._model = model.copy()
        self._options = replace(options) if options else self._options
        return True

    def exportingOptions(self) -> ModelExporterOptions:
        """The options."""
        return replace(self._options)

    def setExportingOptions(self, options: ModelExporterOptions) -> None:
        """Set the options."""
        self._options = replace(options)

    def isValid(self) -> bool:
        """Whether there is a robot."""
        return self._model is not None and self._model.isValid()

    def model(self) -> Model:
        """The robot."""
        if self._model is None:
            raise LinkworkError("no robot yet; init takes one")
        return self._model

    def exportModelToString(self, filetype: str = "urdf") -> str:
        """The robot as a text, which iDynTree cannot give to Python.

        Raises:
            ModelError: URDF cannot express the robot.
        """
        if filetype not in ("", "urdf"):
            raise ArgumentError(f"filetype: expected 'urdf', got {shown(filetype)}")
        model = self.model()
        base = self._options.baseLink or model.getLinkName(model.getDefaultBaseLink())
        robot = replace(model.robot, name=self._options.robotExportedName)
        return dump_urdf(rerooted(robot, base))

    def exportModelToFile(self, filename: str, filetype: str = "urdf") -> bool:
        """Write the robot to a file."""
        Path(filename).write_text(self.exportModelToString(filetype), encoding="utf-8")
        return True
