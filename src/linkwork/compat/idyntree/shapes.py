"""Visual and collision shapes of links with iDynTree's names.

A shape from `model.visualSolidShapes()` or `collisionSolidShapes()` belongs to the model: setters
change the model. A shape created by a constructor belongs to no model until it is added.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.idyntree.absent import Partial, casts
from linkwork.compat.idyntree.arrays import Vector3, Vector4, array_of
from linkwork.compat.idyntree.containers import StdVector
from linkwork.compat.idyntree.geometry import Transform
from linkwork.compat.idyntree.robot.records import ModelRecords
from linkwork.errors import ArgumentError, shown
from linkwork.model import geometry
from linkwork.model.pose import as_pose

if TYPE_CHECKING:
    from typing_extensions import Self


Kind = Literal["visuals", "collisions"]
NO_LOCATION: tuple[Kind, int, int] = ("visuals", -1, -1)
NO_COLOR = (0.0, 0.0, 0.0, 0.0)


class Material(Partial):
    """Color of a shape: a name, or another material."""

    def __init__(self, name: str | Material | geometry.Material = "") -> None:
        if isinstance(name, Material):
            name = name.record
        self.record = name if isinstance(name, geometry.Material) else geometry.Material(name)

    def name(self) -> str:
        """Return the name of the material."""
        return self.record.name

    def hasColor(self) -> bool:
        """Return whether it has a color."""
        return self.record.rgba is not None

    def color(self) -> Vector4:
        """Return the red, green, blue and opacity, each 0 to 1; zeros if there is no color."""
        return Vector4(self.record.rgba or NO_COLOR)

    def setColor(self, color: ArrayLike) -> None:
        """Set red, green, blue and opacity."""
        red, green, blue, opacity = Vector4(color).tolist()
        self.record = replace(self.record, rgba=(red, green, blue, opacity))


class SolidShape(Partial):
    """A shape: a `Sphere`, `Box`, `Cylinder` or `ExternalMesh`."""

    INITIAL: ClassVar[geometry.Geometry | None] = None

    def __init__(self) -> None:
        if self.INITIAL is None:
            raise ArgumentError("SolidShape is abstract; use Sphere, Box, Cylinder, ExternalMesh")
        self._stored = geometry.Shape(self.INITIAL)
        self._model: ModelRecords | None = None
        self._location = NO_LOCATION  # kind, link and index of the shape in the model

    @staticmethod
    def of(shape: geometry.Shape) -> SolidShape:
        """Return a shape that belongs to no model, from a shape of a `linkwork.Link`."""
        kind = CLASSES.get(type(shape.geometry), SolidShape)
        self = kind.__new__(kind)
        self._stored, self._model, self._location = shape, None, NO_LOCATION
        return self

    @staticmethod
    def in_model(model: ModelRecords, kind: Kind, link: int, index: int) -> SolidShape:
        """Return a shape of a link of a model."""
        self = SolidShape.of(getattr(model.link_records[link], kind)[index])
        self._model, self._location = model, (kind, link, index)
        return self

    @property
    def record(self) -> geometry.Shape:
        """The shape as a `linkwork` object."""
        if self._model is None:
            return self._stored
        kind, link, index = self._location
        return getattr(self._model.link_records[link], kind)[index]

    def _change(self, **changes: Any) -> None:
        if self._model is None:
            self._stored = replace(self._stored, **changes)
            return
        kind, link, index = self._location
        shapes = [*getattr(self._model.link_records[link], kind)]
        shapes[index] = replace(shapes[index], **changes)
        _set_shapes(self._model, kind, link, tuple(shapes))

    def _resize(self, **sizes: Any) -> None:
        shape: Any = self.record.geometry  # every geometry is a dataclass
        self._change(geometry=replace(shape, **sizes))

    def clone(self) -> Self:
        """Return a copy that belongs to no model."""
        return SolidShape.of(self.record)  # pyright: ignore[reportReturnType] - of the same class

    def getName(self) -> str:
        """Return the name of the shape; may be empty."""
        return self.record.name

    def setName(self, name: str) -> None:
        """Set the name."""
        self._change(name=name)

    def getLink_H_geometry(self) -> Transform:
        """Return the pose of the shape in its link."""
        return array_of(Transform, self.record.link_H_shape.matrix())

    def setLink_H_geometry(self, newTransform: ArrayLike) -> None:
        """Set the pose of the shape in its link."""
        pose = as_pose(np.array(newTransform, subok=False), "newTransform")
        self._change(link_H_shape=pose)

    def isMaterialSet(self) -> bool:
        """Return whether there is a material."""
        return self.record.material is not None

    def getMaterial(self) -> Material:
        """Return a copy of the material; without a color if there is none."""
        return Material(self.record.material or "")

    def setMaterial(self, material: Material) -> None:
        """Set the material."""
        self._change(material=material.record)

    isSphere, asSphere = casts("Sphere")
    isBox, asBox = casts("Box")
    isCylinder, asCylinder = casts("Cylinder")
    isExternalMesh, asExternalMesh = casts("ExternalMesh")


class Sphere(SolidShape):
    """A sphere centered at the origin of its frame."""

    INITIAL = geometry.Sphere(0.0)

    def getRadius(self) -> float:
        """Return the radius [m]."""
        return self.record.geometry.radius  # pyright: ignore[reportAttributeAccessIssue] - a sphere

    def setRadius(self, radius: float) -> None:
        """Set the radius."""
        self._resize(radius=radius)


class Box(SolidShape):
    """A box centered at the origin of its frame."""

    INITIAL = geometry.Box((0.0, 0.0, 0.0))

    def getX(self) -> float:
        """Return the edge along x [m]."""
        return self._size[0]

    def getY(self) -> float:
        """Return the edge along y [m]."""
        return self._size[1]

    def getZ(self) -> float:
        """Return the edge along z [m]."""
        return self._size[2]

    def setX(self, x: float) -> None:
        """Set the edge along x."""
        self._resize(size=(x, self.getY(), self.getZ()))

    def setY(self, y: float) -> None:
        """Set the edge along y."""
        self._resize(size=(self.getX(), y, self.getZ()))

    def setZ(self, z: float) -> None:
        """Set the edge along z."""
        self._resize(size=(self.getX(), self.getY(), z))

    @property
    def _size(self) -> tuple[float, float, float]:
        return self.record.geometry.size  # pyright: ignore[reportAttributeAccessIssue] - a box


class Cylinder(SolidShape):
    """A cylinder along z, centered at the origin of its frame."""

    INITIAL = geometry.Cylinder(0.0, 0.0)

    def getLength(self) -> float:
        """Return the length [m]."""
        return self.record.geometry.length  # pyright: ignore[reportAttributeAccessIssue] - a cylinder

    def setLength(self, length: float) -> None:
        """Set the length."""
        self._resize(length=length)

    def getRadius(self) -> float:
        """Return the radius [m]."""
        return self.record.geometry.radius  # pyright: ignore[reportAttributeAccessIssue] - a cylinder

    def setRadius(self, radius: float) -> None:
        """Set the radius."""
        self._resize(radius=radius)


class ExternalMesh(SolidShape):
    """A mesh in a file."""

    INITIAL = geometry.Mesh("")

    def getFilename(self) -> str:
        """Return the file name in the robot's file."""
        return self._mesh.filename

    def setFilename(self, filename: str) -> None:
        """Set another file; a path on this machine is used unchanged."""
        self._change(geometry=geometry.Mesh(filename, self._mesh.scale))

    def getFileLocationOnLocalFileSystem(self) -> str:
        """Return the path on this machine; the file name if it was not found."""
        return self._mesh.path or self._mesh.filename

    def getScale(self) -> Vector3:
        """Return factors along x, y and z."""
        return Vector3(self._mesh.scale)

    def setScale(self, scale: ArrayLike) -> None:
        """Set the factors along x, y and z."""
        self._resize(scale=tuple(Vector3(scale).tolist()))

    @property
    def _mesh(self) -> geometry.Mesh:
        return self.record.geometry  # pyright: ignore[reportReturnType] - a mesh


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
        """Return the shapes of each link; changes to a shape change the model."""
        return StdVector(
            tuple(
                SolidShape.in_model(self._model, self._kind, link, index)
                for index in range(len(getattr(record, self._kind)))
            )
            for link, record in enumerate(self._model.link_records)
        )

    def addSingleLinkSolidShape(self, linkIndex: int, shape: SolidShape) -> None:
        """Add a copy of a shape to a link."""
        if not isinstance(shape, SolidShape):
            raise ArgumentError(f"shape: expected a SolidShape, got {shown(shape)}")
        self._model.link_name(linkIndex)  # raises if there is no such link
        shapes = getattr(self._model.link_records[linkIndex], self._kind)
        _set_shapes(self._model, self._kind, linkIndex, (*shapes, shape.record))

    def clearSingleLinkSolidShapes(self, linkIndex: int) -> None:
        """Remove the shapes of a link."""
        self._model.link_name(linkIndex)  # raises if there is no such link
        _set_shapes(self._model, self._kind, linkIndex, ())


def _set_shapes(
    model: ModelRecords, kind: Kind, link: int, shapes: tuple[geometry.Shape, ...]
) -> None:
    changes: dict[str, Any] = {kind: shapes}
    model.set_link_record(link, replace(model.link_records[link], **changes))
