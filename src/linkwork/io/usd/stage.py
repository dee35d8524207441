"""USD stages: opened with the package usd-core, in SI units and with z up.

References   files that a stage refers to must be in the allowed folders: those of the file or of
             the package that contains it, and `package_dirs`. They are checked before the stage is
             composed. Value clips and textures are not opened
Units        `metersPerUnit` and `kilogramsPerUnit`; angles are in degrees
Up axis      the world of a stage with y up is turned, so that z is up
Types        usd-core has no type stubs, so its objects are `Any`
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import (
    Finding,
    Severity,
    SourceLocation,
    Topic,
    clipped,
    listed,
    missing_package,
)
from linkwork.io.folders import AllowedFolders, Folders, as_folders
from linkwork.io.xml.documents import Source, source_parse_error
from linkwork.spatial.source import quat

Prim: TypeAlias = Any  # pxr.Usd.Prim

# A matrix whose columns are orthogonal to this is a rotation with a scale, without shear.
ORTHOGONAL = 1e-5  # values in files have single precision
MODULES = ("Ar", "Gf", "Sdf", "Tf", "Usd", "UsdGeom", "UsdPhysics", "UsdShade", "UsdUtils")
# The axes of a world with y up in a world with z up.
Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
MAX_LAYERS = 10_000
MAX_PRIMS = 200_000  # of the composed stage; references can make it grow exponentially
# Meters and kilograms per unit, and their inverses, are at most this: third powers are finite.
LARGEST_UNIT = 1e30
_LINE = re.compile(r":(\d+):\d+: ")
# Schemas whose attributes are read.
APPLIED_SCHEMAS = (
    *("PhysicsRigidBodyAPI", "PhysicsMassAPI", "PhysicsCollisionAPI", "PhysicsMaterialAPI"),
    "PhysicsLimitAPI",
)
PRIM_SCHEMAS = (
    *("PhysicsScene", "PhysicsRevoluteJoint", "PhysicsPrismaticJoint", "PhysicsSphericalJoint"),
    *("Cube", "Sphere", "Cylinder", "Capsule", "Mesh"),
)
_LIMIT_INSTANCE = re.compile(r"^limit:[^:]*:")


@dataclass(slots=True)
class UsdReport:
    """The findings about a file, by prim."""

    file: str
    findings: list[Finding] = field(default_factory=list[Finding])
    n_errors: int = 0

    @property
    def location(self) -> SourceLocation:
        """The file; USD does not know lines."""
        return SourceLocation(self.file, 0)

    def add(
        self, severity: Severity, prim: Prim | None, text: str, topic: Topic | None = None
    ) -> None:
        """Add a finding about a prim, or about the file."""
        element = "" if prim is None else f"prim {prim.GetPath()}"
        self.findings.append(Finding(severity, element, text, self.location, topic))
        self.n_errors += severity == "error"

    def error(self, prim: Prim | None, text: str) -> None:
        """Add an error."""
        self.add("error", prim, text)

    def warning(self, prim: Prim | None, text: str) -> None:
        """Add a warning."""
        self.add("warning", prim, text)

    def extend(self, findings: Iterable[Finding]) -> None:
        """Add findings."""
        for finding in findings:
            self.findings.append(finding)
            self.n_errors += finding.severity == "error"


@dataclass(frozen=True, slots=True)
class UsdFile:
    """An open stage, its units, and the findings about it."""

    pxr: Any  # the modules of usd-core
    stage: Any
    report: UsdReport
    meters: float  # per unit of length
    kilograms: float  # per unit of mass
    world_R_stage: Array  # (3, 3)
    transforms: Any  # a cache of transforms

    def prims(self) -> Iterator[Prim]:
        """Return all active prims, also inside of instances."""
        Usd = self.pxr.Usd
        predicate = Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate)
        return iter(Usd.PrimRange(self.stage.GetPseudoRoot(), predicate))

    def matrix(self, prim: Prim) -> Array:
        """Return the transform (4, 4) of a prim in the stage, with its scale and in its units."""
        return np.array(self.transforms.GetLocalToWorldTransform(prim)).T

    def in_world(self, stage_H_frame: Array) -> Array:
        """Return world_H_frame in meters, with z up."""
        pose = np.eye(4)
        pose[:3, :3] = self.world_R_stage @ stage_H_frame[:3, :3]
        pose[:3, 3] = self.world_R_stage @ stage_H_frame[:3, 3] * self.meters
        return pose


def import_usd() -> Any:
    """Import the modules of usd-core, or raise an error that states how to install it."""
    try:
        modules = {name: import_module(f"pxr.{name}") for name in MODULES}
    except ImportError as error:
        raise missing_package("reading USD", "usd-core") from error
    return SimpleNamespace(**modules)


def open_stage(source: Source, package_dirs: Folders = (), meters: float | None = None) -> UsdFile:
    """Open a USD document.

    Args:
        source: the document. The files that it refers to must be in its `allowed` folders, if it
            has any.
        package_dirs: further folders of files that it may refer to.
        meters: per unit of length, if the document does not state it; by default 0.01, as in USD.

    Raises:
        ParseError: it is not USD, or refers to files outside of the allowed folders.
        MissingPackageError: usd-core is not installed.
    """
    pxr = import_usd()
    allowed = source.allowed or AllowedFolders.of(source.path, as_folders(package_dirs))
    report = UsdReport(source.name)
    collector = pxr.UsdUtils.CoalescingDiagnosticDelegate()  # else warnings go to standard error
    try:
        layer = _root_layer(pxr, source)
        layers = _check_layers(pxr, layer, allowed, report)
        if not report.n_errors and _PrimCount(pxr).is_too_large(layer):
            report.error(None, f"references and inherits create more than {MAX_PRIMS} prims")
        stage = None if report.n_errors else pxr.Usd.Stage.Open(layer)
        del layers  # they stay open until the stage uses them
    except pxr.Tf.ErrorException as error:
        reason = usd_reason(error)
        line = _LINE.search(reason)
        text, where = f"USD: {reason}", int(line[1]) if line else 0
        raise source_parse_error(source.name, text, where) from None
    messages = [str(one.commentary) for one in collector.TakeUncoalescedDiagnostics()]
    for text in dict.fromkeys(messages):
        if "Could not open asset" not in text:  # reported by `_check_layers`
            report.warning(None, f"USD: {clipped(' '.join(text.split()), 300)}")
    scale = (1.0, 1.0) if stage is None else _units(pxr, stage, report, meters)
    is_y_up = stage is not None and pxr.UsdGeom.GetStageUpAxis(stage) == pxr.UsdGeom.Tokens.y
    return UsdFile(
        pxr=pxr,
        stage=stage,
        report=report,
        meters=scale[0],
        kilograms=scale[1],
        world_R_stage=Y_UP if is_y_up else np.eye(3),
        transforms=pxr.UsdGeom.XformCache(),
    )


def _root_layer(pxr: Any, source: Source) -> Any:
    if source.path is not None:
        layer = pxr.Sdf.Layer.FindOrOpen(str(source.path.absolute()))
    else:
        layer = pxr.Sdf.Layer.CreateAnonymous(".usda")
        layer.ImportFromString(source.text)
    if layer is None:
        raise source_parse_error(source.name, "USD cannot open this file", 0)
    return layer


def _units(pxr: Any, stage: Any, report: UsdReport, default: float | None) -> tuple[float, float]:
    """Return meters and kilograms per unit."""
    meters = float(pxr.UsdGeom.GetStageMetersPerUnit(stage))
    kilograms = float(pxr.UsdPhysics.GetStageKilogramsPerUnit(stage))
    is_authored = pxr.UsdGeom.StageHasAuthoredMetersPerUnit(stage)
    if not is_authored and default is not None:
        meters = default
    elif not is_authored:
        report.warning(None, f"no metersPerUnit; the default of USD is {meters:g}")
    for name, value in (("metersPerUnit", meters), ("kilogramsPerUnit", kilograms)):
        if not value > 0:
            report.error(None, f"{name}: {value:g} is not a positive number")
        elif not 1 / LARGEST_UNIT <= value <= LARGEST_UNIT:
            bounds = f"{1 / LARGEST_UNIT:g} to {LARGEST_UNIT:g}"
            report.error(None, f"{name}: {value:g} is not within {bounds}")
    return meters, kilograms


def _check_layers(pxr: Any, root: Any, allowed: AllowedFolders, report: UsdReport) -> list[Any]:
    """Open all files that a layer refers to, and check that they are in the allowed folders."""
    layers, seen = [root], {root.identifier}
    for layer in layers:
        for asset in sorted(layer.GetCompositionAssetDependencies()):
            identifier = asset and pxr.Sdf.ComputeAssetPathRelativeToLayer(layer, asset)
            if not asset or identifier in seen:  # empty: a reference to the same layer
                continue
            seen.add(identifier)
            file, _ = pxr.Sdf.Layer.SplitIdentifier(identifier)  # without arguments of the format
            resolved = str(pxr.Ar.GetResolver().Resolve(file))
            if pxr.Sdf.VariableExpression.IsExpression(asset):
                report.error(None, f"the path {asset!r} is an expression; write the path itself")
            elif not resolved:
                report.warning(None, f"left out: the file {asset!r}, which was not found")
            elif resolved.partition("[")[0] not in allowed:  # a.usdz[b.usd] is in an archive
                folders = listed(allowed.folders) or "all folders"
                text = f"the file {asset!r} is outside of {folders}; package_dirs adds folders"
                report.error(None, text)
            elif len(layers) >= MAX_LAYERS:
                report.error(None, f"more than {MAX_LAYERS} files")
                return layers
            else:
                opened = pxr.Sdf.Layer.FindOrOpen(identifier)
                layers += [opened] if opened else []
    return layers


class _PrimCount:
    """An upper bound of the number of prims of a stage, before it is composed."""

    def __init__(self, pxr: Any) -> None:
        self._pxr = pxr
        self._sizes: dict[tuple[str, str], int] = {}  # by layer and path

    def is_too_large(self, root: Any) -> bool:
        """Return whether a stage may have more prims than allowed, or is nested too deeply."""
        try:
            return self._size(root, self._pxr.Sdf.Path.absoluteRootPath) > MAX_PRIMS
        except RecursionError:
            return True

    def _size(self, layer: Any, path: Any) -> int:
        """Return the number of prims at a path of a layer, with everything that it refers to.

        Where a path exists only in the composed stage, those of the prim around it.
        """
        key = (str(layer.identifier), str(path))
        if key not in self._sizes:
            self._sizes[key] = 0  # USD stops at a cycle
            spec = layer.GetPrimAtPath(path)
            while not spec and not path.IsAbsoluteRootPath():
                path = path.GetParentPath()
                spec = layer.GetPrimAtPath(path)
            inside = [self._opened(layer, file) for file in layer.subLayerPaths]
            total = sum(self._size(one, path) for one in inside if one)
            self._sizes[key] = total + self._size_of_spec(layer, spec)
        return self._sizes[key]

    def _size_of_spec(self, layer: Any, spec: Any) -> int:
        children = spec.nameChildren
        total = 1 + sum(self._size(layer, child.path) for child in children)
        if spec.path.IsAbsoluteRootPath():
            return total
        for arc in (*_items(spec.referenceList), *_items(spec.payloadList)):
            target = self._opened(layer, arc.assetPath) if arc.assetPath else layer
            if target:
                default = self._pxr.Sdf.Path.absoluteRootPath
                total += self._size(target, arc.primPath or default)
        for path in (*_items(spec.inheritPathList), *_items(spec.specializesList)):
            total += self._size(layer, path)
        for variants in spec.variantSets:
            total += sum(self._size_of_spec(layer, one.primSpec) for one in variants.variantList)
        return total

    def _opened(self, layer: Any, asset: str) -> Any:
        """Return a layer that `_check_layers` has opened; None if it does not exist."""
        Sdf = self._pxr.Sdf
        return Sdf.Layer.Find(Sdf.ComputeAssetPathRelativeToLayer(layer, asset))


def _items(edits: Any) -> list[Any]:
    """Return the items that a list of edits may add."""
    return [*edits.explicitItems, *edits.prependedItems, *edits.appendedItems, *edits.addedItems]


def usd_reason(error: Exception) -> str:
    """Return the messages of an exception of USD, without positions in its source code."""
    lines = [line.strip() for line in str(error).splitlines()]
    parts = [line.split(" : ", 1)[-1].strip("'") for line in lines if line.startswith("Error in")]
    return clipped("; ".join(parts) or " ".join(str(error).split()), 400)


# Types and numbers of attributes.


def schema_types(pxr: Any) -> dict[str, Any]:
    """Return the types of the attributes that the reader uses, by name."""
    registry = pxr.Usd.SchemaRegistry()
    definitions = [
        *(registry.FindAppliedAPIPrimDefinition(name) for name in APPLIED_SCHEMAS),
        *(registry.FindConcretePrimDefinition(name) for name in PRIM_SCHEMAS),
    ]
    return {
        name: spec.typeName
        for definition in definitions
        for name in definition.GetPropertyNames()
        if (spec := definition.GetSchemaAttributeSpec(name))
    }


def check_types(prim: Prim, types: dict[str, Any], report: UsdReport) -> None:
    """Report attributes whose values in the file do not have the type of the schema."""
    for attribute in prim.GetAuthoredAttributes():
        name = _LIMIT_INSTANCE.sub("limit:__INSTANCE_NAME__:", attribute.GetName())
        expected, value = types.get(name), attribute.Get()
        if expected is not None and value is not None and not _has_type(value, expected):
            text = f"{attribute.GetName()}: expected a value of type {expected}"
            is_unknown = type(value).__name__ == "UnregisteredValue"
            other = "an unknown type" if is_unknown else clipped(str(value), 60)
            report.error(prim, f"{text}, got {other}")


def _has_type(value: Any, expected: Any) -> bool:
    """Return whether a value can be used as one of this type; the precision may differ."""
    is_array = expected.isArray and hasattr(value, "__len__") and not isinstance(value, str)
    form = _form(expected.scalarType.defaultValue)
    return all(_form(one) == form for one in (value[:1] if is_array else [value]))


def _form(value: Any) -> object:
    """Return what a value is: a number, a vector, a quaternion or a text."""
    if hasattr(value, "GetReal"):
        return "quaternion"
    is_number = isinstance(value, (bool, int, float))
    is_vector = hasattr(value, "__len__") and not isinstance(value, str)
    return np.shape(value) if is_number or is_vector else type(value).__name__


def rotation_and_scale(matrix: Array) -> tuple[Array, Array] | None:
    """Split a transform into a rotation and the scale along its axes; None if it has a shear.

    The scale along x is negative if the transform mirrors.
    """
    scale = np.linalg.norm(matrix[:3, :3], axis=0)
    if not np.isfinite(scale).all() or not scale.all():
        return None
    axes = matrix[:3, :3] / scale
    if np.abs(axes.T @ axes - np.eye(3)).max() > ORTHOGONAL:
        return None
    if np.linalg.det(axes) < 0:
        axes[:, 0] *= -1
        scale = scale * [-1.0, 1.0, 1.0]
    U, _, Vt = np.linalg.svd(axes)  # the nearest rotation
    return U @ Vt, scale


def quaternion_rotation(value: Any) -> Array:
    """Return the rotation (3, 3) of a quaternion; the identity for (0, 0, 0, 0)."""
    wxyz = np.array([value.GetReal(), *value.GetImaginary()], dtype=float)
    return np.asarray(quat.to_rotation(quat.normalize(wxyz))) if wxyz.any() else np.eye(3)
