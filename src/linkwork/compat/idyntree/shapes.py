"""Visual and collision shapes of links with iDynTree's names, read-only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from linkwork.compat.idyntree.arrays import Vector3, Vector4, array_of
from linkwork.compat.idyntree.containers import StdVector
from linkwork.compat.idyntree.geometry import Transform
from linkwork.compat.idyntree.records import ModelRecords
from linkwork.compat.idyntree.statuses import Partial, casts
from linkwork.errors import ArgumentError
from linkwork.model import geometry

if TYPE_CHECKING:
    from typing_extensions import Self


Kind = Literal["visuals", "collisions"]
NO_COLOR = (0.0, 0.0, 0.0, 0.0)


class Material(Partial):
    """Color of a shape."""

    def __init__(self, record: geometry.Material | None = None) -> None:
        self.record = record or geometry.Material()

    def name(self) -> str:
        """Return the name of the material."""
        return self.record.name

    def color(self) -> Vector4:
        """Return the red, green, blue and opacity, each 0 to 1; zeros if there is no color."""
        return Vector4(self.record.rgba or NO_COLOR)


class SolidShape(Partial):
    """A shape: a `Sphere`, `Box`, `Cylinder` or `ExternalMesh`; `record` is a `linkwork` shape."""

    INITIAL: ClassVar[geometry.Geometry | None] = None

    def __init__(self) -> None:
        if self.INITIAL is None:
            raise ArgumentError("SolidShape is abstract; use Sphere, Box, Cylinder, ExternalMesh")
        self.record = geometry.Shape(self.INITIAL)

    @staticmethod
    def of(record: geometry.Shape) -> SolidShape:
        """Return the shape of iDynTree for a shape of a `linkwork.Link`."""
        kind = CLASSES.get(type(record.geometry), SolidShape)
        self = kind.__new__(kind)
        self.record = record
        return self

    @property
    def _geometry(self) -> Any:
        return self.record.geometry

    def clone(self) -> Self:
        """Return a copy."""
        return SolidShape.of(self.record)  # pyright: ignore[reportReturnType] - of the same class

    def getName(self) -> str:
        """Return the name of the shape; may be empty."""
        return self.record.name

    def getLink_H_geometry(self) -> Transform:
        """Return the pose of the shape in its link."""
        return array_of(Transform, self.record.link_H_shape.matrix())

    def getMaterial(self) -> Material:
        """Return the material; without a color if there is none."""
        return Material(self.record.material)

    isSphere, asSphere = casts("Sphere")
    isBox, asBox = casts("Box")
    isCylinder, asCylinder = casts("Cylinder")
    isExternalMesh, asExternalMesh = casts("ExternalMesh")


class Sphere(SolidShape):
    """A sphere centered at the origin of its frame."""

    INITIAL = geometry.Sphere(0.0)

    def getRadius(self: SolidShape) -> float:
        """Return the radius [m]."""
        return self._geometry.radius  # pyright: ignore[reportPrivateUsage]


class Box(SolidShape):
    """A box centered at the origin of its frame."""

    INITIAL = geometry.Box((0.0, 0.0, 0.0))

    def getX(self) -> float:
        """Return the edge along x [m]."""
        return self._geometry.size[0]

    def getY(self) -> float:
        """Return the edge along y [m]."""
        return self._geometry.size[1]

    def getZ(self) -> float:
        """Return the edge along z [m]."""
        return self._geometry.size[2]


class Cylinder(SolidShape):
    """A cylinder along z, centered at the origin of its frame."""

    INITIAL = geometry.Cylinder(0.0, 0.0)
    getRadius = Sphere.getRadius

    def getLength(self) -> float:
        """Return the length [m]."""
        return self._geometry.length


class ExternalMesh(SolidShape):
    """A mesh in a file."""

    INITIAL = geometry.Mesh("")

    def getFilename(self) -> str:
        """Return the file name in the robot's file."""
        return self._geometry.filename

    def getFileLocationOnLocalFileSystem(self) -> str:
        """Return the path on this machine; the file name if it was not found."""
        return self._geometry.path or self._geometry.filename

    def getScale(self) -> Vector3:
        """Return factors along x, y and z."""
        return Vector3(self._geometry.scale)


CLASSES: dict[type, type[SolidShape]] = {
    geometry.Sphere: Sphere,
    geometry.Box: Box,
    geometry.Cylinder: Cylinder,
    geometry.Mesh: ExternalMesh,
}  # a capsule, which iDynTree does not have, is a SolidShape


class ModelSolidShapes(Partial):
    """The visual or the collision shapes of a model."""

    def __init__(self, model: ModelRecords, kind: Kind) -> None:
        self._model = model
        self._kind: Kind = kind

    def getLinkSolidShapes(self) -> StdVector[tuple[SolidShape, ...]]:
        """Return the shapes of each link."""
        links = self._model.link_records
        return StdVector(tuple(map(SolidShape.of, getattr(link, self._kind))) for link in links)
