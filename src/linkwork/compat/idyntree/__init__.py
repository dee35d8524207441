"""iDynTree's names on top of linkwork.

    import linkwork.compat.idyntree as iDynTree  # instead of idyntree.bindings

Meaning, order of links and joints, and numbers of the enums are iDynTree's. What it prints and
returns as false or as an invalid index is raised here as a `LinkworkError`.
"""

from linkwork.compat.idyntree.arrays import Matrix3x3 as Matrix3x3
from linkwork.compat.idyntree.arrays import Matrix4x4 as Matrix4x4
from linkwork.compat.idyntree.arrays import Matrix6x6 as Matrix6x6
from linkwork.compat.idyntree.arrays import MatrixDynSize as MatrixDynSize
from linkwork.compat.idyntree.arrays import Position as Position
from linkwork.compat.idyntree.arrays import Rotation as Rotation
from linkwork.compat.idyntree.arrays import SpatialAcc as SpatialAcc
from linkwork.compat.idyntree.arrays import SpatialInertia as SpatialInertia
from linkwork.compat.idyntree.arrays import SpatialMomentum as SpatialMomentum
from linkwork.compat.idyntree.arrays import Transform as Transform
from linkwork.compat.idyntree.arrays import Twist as Twist
from linkwork.compat.idyntree.arrays import Vector3 as Vector3
from linkwork.compat.idyntree.arrays import Vector6 as Vector6
from linkwork.compat.idyntree.arrays import VectorDynSize as VectorDynSize
from linkwork.compat.idyntree.arrays import Wrench as Wrench
from linkwork.compat.idyntree.forces import (
    FreeFloatingGeneralizedTorques as FreeFloatingGeneralizedTorques,
)
from linkwork.compat.idyntree.forces import LinkWrenches as LinkWrenches
from linkwork.compat.idyntree.kindyn import KinDynComputations as KinDynComputations
from linkwork.compat.idyntree.lists import FRAME_INVALID_INDEX as FRAME_INVALID_INDEX
from linkwork.compat.idyntree.lists import JOINT_INVALID_INDEX as JOINT_INVALID_INDEX
from linkwork.compat.idyntree.lists import LINK_INVALID_INDEX as LINK_INVALID_INDEX
from linkwork.compat.idyntree.lists import IndexVector as IndexVector
from linkwork.compat.idyntree.lists import StringVector as StringVector
from linkwork.compat.idyntree.lists import cvar as cvar
from linkwork.compat.idyntree.loader import ModelLoader as ModelLoader
from linkwork.compat.idyntree.model import Model as Model
from linkwork.compat.idyntree.parts import Neighbor as Neighbor
from linkwork.compat.idyntree.parts import Traversal as Traversal
from linkwork.compat.idyntree.state import BODY_FIXED_REPRESENTATION as BODY_FIXED_REPRESENTATION
from linkwork.compat.idyntree.state import (
    INERTIAL_FIXED_REPRESENTATION as INERTIAL_FIXED_REPRESENTATION,
)
from linkwork.compat.idyntree.state import MIXED_REPRESENTATION as MIXED_REPRESENTATION
