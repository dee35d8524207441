"""iDynTree's names on top of linkwork.

    import linkwork.compat.idyntree as iDynTree  # instead of idyntree.bindings

Meaning, order of links and joints, and numbers of the enums are iDynTree's. What it prints and
returns as false or as an invalid index is raised here as a `LinkworkError`.
"""

from __future__ import annotations

import linkwork.compat.idyntree.products as _products  # fills the table of products
from linkwork.compat.idyntree.arrays import (
    Matrix3x3,
    Matrix4x4,
    Matrix6x6,
    MatrixDynSize,
    Vector3,
    Vector4,
    Vector6,
    Vector10,
    VectorDynSize,
)
from linkwork.compat.idyntree.axis import Axis
from linkwork.compat.idyntree.containers import (
    ForwardPositionKinematics,
    FrameFreeFloatingJacobian,
    FreeFloatingGeneralizedTorques,
    FreeFloatingMassMatrix,
    JointDOFsDoubleArray,
    JointPosDoubleArray,
    LinkPositions,
    LinkWrenches,
)
from linkwork.compat.idyntree.exporter import ModelExporter, ModelExporterOptions
from linkwork.compat.idyntree.inertias import (
    RotationalInertia,
    SpatialInertia,
)
from linkwork.compat.idyntree.inverse_kinematics import (
    InverseKinematics,
    InverseKinematicsRotationParametrizationQuaternion,
    InverseKinematicsRotationParametrizationRollPitchYaw,
    InverseKinematicsTreatTargetAsConstraintFull,
    InverseKinematicsTreatTargetAsConstraintNone,
    InverseKinematicsTreatTargetAsConstraintPositionOnly,
    InverseKinematicsTreatTargetAsConstraintRotationOnly,
)
from linkwork.compat.idyntree.joint_classes import (
    FixedJoint,
    PrismaticJoint,
    RevoluteJoint,
    SphericalJoint,
)
from linkwork.compat.idyntree.joints import IJoint
from linkwork.compat.idyntree.kindyn import KinDynComputations
from linkwork.compat.idyntree.lists import (
    FRAME_INVALID_INDEX,
    JOINT_INVALID_INDEX,
    LINK_INVALID_INDEX,
    TRAVERSAL_INVALID_INDEX,
    IndexVector,
    IntVector,
    StringVector,
    cvar,
)
from linkwork.compat.idyntree.loader import (
    ModelLoader,
    ModelParserOptions,
    createReducedModel,
    dofsListFromURDF,
    dofsListFromURDFString,
)
from linkwork.compat.idyntree.model import Model
from linkwork.compat.idyntree.parts import Link, Neighbor
from linkwork.compat.idyntree.poses import Rotation, Transform
from linkwork.compat.idyntree.records import NoJointDynamics, URDFJointDynamics
from linkwork.compat.idyntree.shapes import (
    Box,
    Cylinder,
    ExternalMesh,
    LinksSolidShapesVector,
    Material,
    ModelSolidShapes,
    SolidShape,
    Sphere,
)
from linkwork.compat.idyntree.state import (
    BODY_FIXED_REPRESENTATION,
    INERTIAL_FIXED_REPRESENTATION,
    MIXED_REPRESENTATION,
)
from linkwork.compat.idyntree.traversal import Traversal
from linkwork.compat.idyntree.vectors import (
    ClassicalAcc,
    Direction,
    GeomVector3,
    Position,
    SpatialAcc,
    SpatialForceVector,
    SpatialForceVectorBase,
    SpatialMomentum,
    SpatialMotionVector,
    SpatialMotionVectorBase,
    Twist,
    Wrench,
)

__all__ = [
    "BODY_FIXED_REPRESENTATION",
    "FRAME_INVALID_INDEX",
    "INERTIAL_FIXED_REPRESENTATION",
    "JOINT_INVALID_INDEX",
    "LINK_INVALID_INDEX",
    "MIXED_REPRESENTATION",
    "TRAVERSAL_INVALID_INDEX",
    "Axis",
    "Box",
    "ClassicalAcc",
    "Cylinder",
    "Direction",
    "ExternalMesh",
    "FixedJoint",
    "ForwardPositionKinematics",
    "FrameFreeFloatingJacobian",
    "FreeFloatingGeneralizedTorques",
    "FreeFloatingMassMatrix",
    "GeomVector3",
    "IJoint",
    "IndexVector",
    "IntVector",
    "InverseKinematics",
    "InverseKinematicsRotationParametrizationQuaternion",
    "InverseKinematicsRotationParametrizationRollPitchYaw",
    "InverseKinematicsTreatTargetAsConstraintFull",
    "InverseKinematicsTreatTargetAsConstraintNone",
    "InverseKinematicsTreatTargetAsConstraintPositionOnly",
    "InverseKinematicsTreatTargetAsConstraintRotationOnly",
    "JointDOFsDoubleArray",
    "JointPosDoubleArray",
    "KinDynComputations",
    "Link",
    "LinkPositions",
    "LinkWrenches",
    "LinksSolidShapesVector",
    "Material",
    "Matrix3x3",
    "Matrix4x4",
    "Matrix6x6",
    "MatrixDynSize",
    "Model",
    "ModelExporter",
    "ModelExporterOptions",
    "ModelLoader",
    "ModelParserOptions",
    "ModelSolidShapes",
    "Neighbor",
    "NoJointDynamics",
    "Position",
    "PrismaticJoint",
    "RevoluteJoint",
    "Rotation",
    "RotationalInertia",
    "SolidShape",
    "SpatialAcc",
    "SpatialForceVector",
    "SpatialForceVectorBase",
    "SpatialInertia",
    "SpatialMomentum",
    "SpatialMotionVector",
    "SpatialMotionVectorBase",
    "Sphere",
    "SphericalJoint",
    "StringVector",
    "Transform",
    "Traversal",
    "Twist",
    "URDFJointDynamics",
    "Vector3",
    "Vector4",
    "Vector6",
    "Vector10",
    "VectorDynSize",
    "Wrench",
    "createReducedModel",
    "cvar",
    "dofsListFromURDF",
    "dofsListFromURDFString",
]

del _products


_ON_PAGES = ("ColorViz", "Visualizer", "VisualizerOptions")  # loading the viewer takes time


def __getattr__(name: str) -> object:
    """The visualizer; and `VectorDynSize_FromPython`, as older releases name static methods."""
    if name in _ON_PAGES:
        from linkwork.compat.idyntree import visualize

        return getattr(visualize, name)
    kind, _, method = name.partition("_")
    if kind in __all__ and method and not method.startswith("_"):
        return getattr(globals()[kind], method)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
