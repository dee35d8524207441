"""iDynTree's interface to linkwork.

    import linkwork.compat.idyntree as iDynTree  # instead of idyntree.bindings

Semantics, order of links and joints, and values of enums are iDynTree's. Where iDynTree prints an
error and returns False, -1 or an empty name, so do these functions, with a warning; where it
returns an identity or zeros, a `LinkworkError` is raised.
"""

from types import ModuleType as _ModuleType

from linkwork.compat.idyntree import statuses as _statuses
from linkwork.compat.idyntree.arrays import Matrix2x3 as Matrix2x3
from linkwork.compat.idyntree.arrays import Matrix3x3 as Matrix3x3
from linkwork.compat.idyntree.arrays import Matrix4x4 as Matrix4x4
from linkwork.compat.idyntree.arrays import Matrix6x6 as Matrix6x6
from linkwork.compat.idyntree.arrays import MatrixDynSize as MatrixDynSize
from linkwork.compat.idyntree.arrays import Vector3 as Vector3
from linkwork.compat.idyntree.arrays import Vector4 as Vector4
from linkwork.compat.idyntree.arrays import Vector6 as Vector6
from linkwork.compat.idyntree.arrays import Vector10 as Vector10
from linkwork.compat.idyntree.arrays import VectorDynSize as VectorDynSize
from linkwork.compat.idyntree.containers import FRAME_INVALID_INDEX as FRAME_INVALID_INDEX
from linkwork.compat.idyntree.containers import JOINT_INVALID_INDEX as JOINT_INVALID_INDEX
from linkwork.compat.idyntree.containers import LINK_INVALID_INDEX as LINK_INVALID_INDEX
from linkwork.compat.idyntree.containers import TRAVERSAL_INVALID_INDEX as TRAVERSAL_INVALID_INDEX
from linkwork.compat.idyntree.containers import (
    FreeFloatingGeneralizedTorques as FreeFloatingGeneralizedTorques,
)
from linkwork.compat.idyntree.containers import IndexVector as IndexVector
from linkwork.compat.idyntree.containers import JointDOFsDoubleArray as JointDOFsDoubleArray
from linkwork.compat.idyntree.containers import JointPosDoubleArray as JointPosDoubleArray
from linkwork.compat.idyntree.containers import LinkWrenches as LinkWrenches
from linkwork.compat.idyntree.containers import StringVector as StringVector
from linkwork.compat.idyntree.containers import cvar as cvar
from linkwork.compat.idyntree.files import ModelExporter as ModelExporter
from linkwork.compat.idyntree.files import ModelExporterOptions as ModelExporterOptions
from linkwork.compat.idyntree.files import ModelLoader as ModelLoader
from linkwork.compat.idyntree.files import ModelParserOptions as ModelParserOptions
from linkwork.compat.idyntree.files import createReducedModel as createReducedModel
from linkwork.compat.idyntree.files import dofsListFromURDF as dofsListFromURDF
from linkwork.compat.idyntree.files import dofsListFromURDFString as dofsListFromURDFString
from linkwork.compat.idyntree.geometry import Axis as Axis
from linkwork.compat.idyntree.geometry import Direction as Direction
from linkwork.compat.idyntree.geometry import GeomVector3 as GeomVector3
from linkwork.compat.idyntree.geometry import Position as Position
from linkwork.compat.idyntree.geometry import Rotation as Rotation
from linkwork.compat.idyntree.geometry import RotationalInertia as RotationalInertia
from linkwork.compat.idyntree.geometry import SpatialAcc as SpatialAcc
from linkwork.compat.idyntree.geometry import SpatialForceVector as SpatialForceVector
from linkwork.compat.idyntree.geometry import SpatialInertia as SpatialInertia
from linkwork.compat.idyntree.geometry import SpatialMomentum as SpatialMomentum
from linkwork.compat.idyntree.geometry import SpatialMotionVector as SpatialMotionVector
from linkwork.compat.idyntree.geometry import Transform as Transform
from linkwork.compat.idyntree.geometry import Twist as Twist
from linkwork.compat.idyntree.geometry import Wrench as Wrench
from linkwork.compat.idyntree.inverse_kinematics import InverseKinematics as InverseKinematics
from linkwork.compat.idyntree.inverse_kinematics import (
    InverseKinematicsRotationParametrizationQuaternion as InverseKinematicsRotationParametrizationQuaternion,  # noqa: E501 - the name is long
)
from linkwork.compat.idyntree.inverse_kinematics import (
    InverseKinematicsRotationParametrizationRollPitchYaw as InverseKinematicsRotationParametrizationRollPitchYaw,  # noqa: E501 - the name is long
)
from linkwork.compat.idyntree.inverse_kinematics import (
    InverseKinematicsTreatTargetAsConstraintFull as InverseKinematicsTreatTargetAsConstraintFull,
)
from linkwork.compat.idyntree.inverse_kinematics import (
    InverseKinematicsTreatTargetAsConstraintNone as InverseKinematicsTreatTargetAsConstraintNone,
)
from linkwork.compat.idyntree.inverse_kinematics import (
    InverseKinematicsTreatTargetAsConstraintPositionOnly as InverseKinematicsTreatTargetAsConstraintPositionOnly,  # noqa: E501 - the name is long
)
from linkwork.compat.idyntree.inverse_kinematics import (
    InverseKinematicsTreatTargetAsConstraintRotationOnly as InverseKinematicsTreatTargetAsConstraintRotationOnly,  # noqa: E501 - the name is long
)
from linkwork.compat.idyntree.joints import FixedJoint as FixedJoint
from linkwork.compat.idyntree.joints import IJoint as IJoint
from linkwork.compat.idyntree.joints import PrismaticJoint as PrismaticJoint
from linkwork.compat.idyntree.joints import RevoluteJoint as RevoluteJoint
from linkwork.compat.idyntree.joints import RevoluteSO2Joint as RevoluteSO2Joint
from linkwork.compat.idyntree.joints import SphericalJoint as SphericalJoint
from linkwork.compat.idyntree.kindyn import BODY_FIXED_REPRESENTATION as BODY_FIXED_REPRESENTATION
from linkwork.compat.idyntree.kindyn import (
    INERTIAL_FIXED_REPRESENTATION as INERTIAL_FIXED_REPRESENTATION,
)
from linkwork.compat.idyntree.kindyn import MIXED_REPRESENTATION as MIXED_REPRESENTATION
from linkwork.compat.idyntree.kindyn import KinDynComputations as KinDynComputations
from linkwork.compat.idyntree.links import Link as Link
from linkwork.compat.idyntree.links import Traversal as Traversal
from linkwork.compat.idyntree.model import Model as Model
from linkwork.compat.idyntree.shapes import Box as Box
from linkwork.compat.idyntree.shapes import Cylinder as Cylinder
from linkwork.compat.idyntree.shapes import ExternalMesh as ExternalMesh
from linkwork.compat.idyntree.shapes import Material as Material
from linkwork.compat.idyntree.shapes import SolidShape as SolidShape
from linkwork.compat.idyntree.shapes import Sphere as Sphere

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll] - `import *` leaves out files such as `model`
    name
    for name, value in globals().items()
    if not name.startswith("_") and not isinstance(value, _ModuleType)
]
_IN_VIEWER = ("ColorViz", "Visualizer", "VisualizerOptions")  # loading the viewer takes time


def __getattr__(name: str) -> object:
    """The visualizer; and `VectorDynSize_FromPython`, as older releases name static methods."""
    if name in _IN_VIEWER:
        from linkwork.compat.idyntree import visualize

        return getattr(visualize, name)
    owner, _, method = name.partition("_")
    if method and not method.startswith("_") and isinstance(globals().get(owner), type):
        return getattr(globals()[owner], method)
    raise _statuses.no_attribute(f"module {__name__!r}", name)
