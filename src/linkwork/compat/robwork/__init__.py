"""RobWork's interface to linkwork's workcells: the same classes, methods and conventions.

    from linkwork.compat.robwork import *

    wc = WorkCellLoaderFactory.load("scene.wc.xml")
    state = wc.getDefaultState()
    device = wc.findSerialDevice("arm")
    device.setQ(Q(device.getDOF(), 0.0), state)
    Kinematics.gripFrame(wc.findMovableFrame("box"), device.getEnd(), state)

States are mutable here, as in RobWork: `setQ`, `gripFrame`, `attachTo` and `setTransform` modify
the state passed to them. Internally each state has an immutable value, so states share nothing.

Transforms   `aTb` is the pose of frame b in frame a
RPY          RPY(a, b, c) = Rz(a) Ry(b) Rx(c)
Quaternion   qx, qy, qz, qw
Jacobians    rows [linear; angular], in the axes of the base, at the origin of the frame

RobWork itself is not needed. docs/from_robwork.md lists the differences.
"""

from linkwork.compat.robwork.collisions import CollisionDetector as CollisionDetector
from linkwork.compat.robwork.collisions import (
    CollisionDetectorQueryResult as CollisionDetectorQueryResult,
)
from linkwork.compat.robwork.collisions import (
    CollisionDetectorQueryType as CollisionDetectorQueryType,
)
from linkwork.compat.robwork.collisions import CollisionStrategy as CollisionStrategy
from linkwork.compat.robwork.collisions import ProximityData as ProximityData
from linkwork.compat.robwork.collisions import ProximityStrategyFactory as ProximityStrategyFactory
from linkwork.compat.robwork.containers import FramePairVector as FramePairVector
from linkwork.compat.robwork.containers import FrameVector as FrameVector
from linkwork.compat.robwork.containers import ParallelLegs as ParallelLegs
from linkwork.compat.robwork.containers import PathQ as PathQ
from linkwork.compat.robwork.containers import PathTimedState as PathTimedState
from linkwork.compat.robwork.containers import Property as Property
from linkwork.compat.robwork.containers import PropertyMap as PropertyMap
from linkwork.compat.robwork.containers import PropertyType as PropertyType
from linkwork.compat.robwork.containers import QVector as QVector
from linkwork.compat.robwork.containers import StateVector as StateVector
from linkwork.compat.robwork.containers import TimedState as TimedState
from linkwork.compat.robwork.containers import TimedStateVector as TimedStateVector
from linkwork.compat.robwork.containers import Transform3DdVector as Transform3DdVector
from linkwork.compat.robwork.devices import CompositeDevice as CompositeDevice
from linkwork.compat.robwork.devices import Device as Device
from linkwork.compat.robwork.devices import JointDevice as JointDevice
from linkwork.compat.robwork.devices import MobileDevice as MobileDevice
from linkwork.compat.robwork.devices import ParallelLeg as ParallelLeg
from linkwork.compat.robwork.devices import SE3Device as SE3Device
from linkwork.compat.robwork.devices import SerialDevice as SerialDevice
from linkwork.compat.robwork.devices import Stateless as Stateless
from linkwork.compat.robwork.devices import TreeDevice as TreeDevice
from linkwork.compat.robwork.frames import FixedFrame as FixedFrame
from linkwork.compat.robwork.frames import Frame as Frame
from linkwork.compat.robwork.frames import MovableFrame as MovableFrame
from linkwork.compat.robwork.frames import State as State
from linkwork.compat.robwork.frames import StateStructure as StateStructure
from linkwork.compat.robwork.frames import ownedPtr as ownedPtr
from linkwork.compat.robwork.joints import DependentJoint as DependentJoint
from linkwork.compat.robwork.joints import DependentPrismaticJoint as DependentPrismaticJoint
from linkwork.compat.robwork.joints import DependentRevoluteJoint as DependentRevoluteJoint
from linkwork.compat.robwork.joints import Joint as Joint
from linkwork.compat.robwork.joints import PrismaticJoint as PrismaticJoint
from linkwork.compat.robwork.joints import PrismaticSphericalJoint as PrismaticSphericalJoint
from linkwork.compat.robwork.joints import PrismaticUniversalJoint as PrismaticUniversalJoint
from linkwork.compat.robwork.joints import QBox as QBox
from linkwork.compat.robwork.joints import RevoluteJoint as RevoluteJoint
from linkwork.compat.robwork.joints import SphericalJoint as SphericalJoint
from linkwork.compat.robwork.joints import UniversalJoint as UniversalJoint
from linkwork.compat.robwork.kinematics import FKRange as FKRange
from linkwork.compat.robwork.kinematics import FKTable as FKTable
from linkwork.compat.robwork.kinematics import Kinematics as Kinematics
from linkwork.compat.robwork.mathematics import METRICS as _METRICS
from linkwork.compat.robwork.mathematics import LinearAlgebra as LinearAlgebra
from linkwork.compat.robwork.mathematics import Math as Math
from linkwork.compat.robwork.mathematics import MetricFactory as MetricFactory
from linkwork.compat.robwork.mathematics import MetricUtil as MetricUtil
from linkwork.compat.robwork.mathematics import Rotation3DAngleMetric as Rotation3DAngleMetric
from linkwork.compat.robwork.mathematics import Statistics as Statistics
from linkwork.compat.robwork.mathematics import Statistics_f as Statistics_f
from linkwork.compat.robwork.mathematics import Transform3DAngleMetric as Transform3DAngleMetric
from linkwork.compat.robwork.rotations import EAA as EAA
from linkwork.compat.robwork.rotations import RPY as RPY
from linkwork.compat.robwork.rotations import InertiaMatrix as InertiaMatrix
from linkwork.compat.robwork.rotations import Quaternion as Quaternion
from linkwork.compat.robwork.rotations import Rotation2D as Rotation2D
from linkwork.compat.robwork.rotations import Rotation3D as Rotation3D
from linkwork.compat.robwork.transforms import Jacobian as Jacobian
from linkwork.compat.robwork.transforms import Pose6D as Pose6D
from linkwork.compat.robwork.transforms import Transform3D as Transform3D
from linkwork.compat.robwork.transforms import VelocityScrew6D as VelocityScrew6D
from linkwork.compat.robwork.transforms import Wrench6D as Wrench6D
from linkwork.compat.robwork.transforms import inverse as inverse
from linkwork.compat.robwork.vectors import PRECISIONS as _PRECISIONS
from linkwork.compat.robwork.vectors import Deg2Rad as Deg2Rad
from linkwork.compat.robwork.vectors import Pi as Pi
from linkwork.compat.robwork.vectors import Q as Q
from linkwork.compat.robwork.vectors import Rad2Deg as Rad2Deg
from linkwork.compat.robwork.vectors import Vector2D as Vector2D
from linkwork.compat.robwork.vectors import Vector3D as Vector3D
from linkwork.compat.robwork.vectors import castToFloat as castToFloat
from linkwork.compat.robwork.vectors import concat as concat
from linkwork.compat.robwork.vectors import cross as cross
from linkwork.compat.robwork.vectors import dot as dot
from linkwork.compat.robwork.vectors import norm1 as norm1
from linkwork.compat.robwork.vectors import norm2 as norm2
from linkwork.compat.robwork.vectors import normalize as normalize
from linkwork.compat.robwork.vectors import normInf as normInf
from linkwork.compat.robwork.workcell import Object as Object
from linkwork.compat.robwork.workcell import WorkCell as WorkCell
from linkwork.compat.robwork.workcell import WorkCellLoader as WorkCellLoader
from linkwork.compat.robwork.workcell import WorkCellLoaderFactory as WorkCellLoaderFactory

globals().update(  # `Vector3Dd`, `EuclideanMetricQ`, `Kinematics_frameTframe` and similar names
    _PRECISIONS
    | _METRICS
    | {
        f"{kind.__name__}_{name}": getattr(kind, name)
        for kind in (Kinematics, WorkCellLoaderFactory)
        for name, member in vars(kind).items()
        if isinstance(member, staticmethod)
    }
)
