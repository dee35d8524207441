"""Names of iDynTree that are not supported, and their replacements."""

from __future__ import annotations

from typing import TYPE_CHECKING

_NAMES_BY_REPLACEMENT = {
    # Steps and buffers of single algorithms.
    "KinDynComputations or linkwork.KinDyn": """
        ForwardPosVelKinematics ForwardPosVelAccKinematics ForwardVelAccKinematics
        ForwardAccKinematics ForwardBiasAccKinematics RNEADynamicPhase
        CompositeRigidBodyAlgorithm ArticulatedBodyAlgorithm ArticulatedBodyInertia
        LinkVelArray LinkAccArray LinkInertias FreeFloatingPos FreeFloatingVel FreeFloatingAcc
        computeChildAcc computeChildBiasAcc computeChildPosVelAcc computeChildVel
        computeChildVelAcc computeJointTorque getTransformDerivative setJointPosCoordsToRest
        normalizeJointPosCoords""",
    "linkwork.KinDyn.regressor": """
        momentumRegressor momentumDerivativeRegressor momentumDerivativeSlotineLiRegressor
        biasWrenchDerivative""",
    # Containers.
    "MatrixDynSize, which is resized to its result": """
        FreeFloatingMassMatrix FrameFreeFloatingJacobian""",
    "a NumPy array": "DynamicSpan DynamicMatrixView",
    "a dictionary": "StringToDoubleUnorderedMap",
    "a list": "IntVector LinksSolidShapesVector",
    "methods of Python lists": "assign erase swap front back pop_back resize",
    "len() or the shape": "isConsistent",
    # Vectors, rotations, poses and inertias.
    "SpatialMotionVector": "SpatialMotionVectorBase",
    "SpatialForceVector": "SpatialForceVectorBase",
    "-a": "inverse",
    "a.inverse()": "inverse2",
    "a + b for vectors, a * b for rotations and poses": "compose",
    "a + b": "combine",
    "a * b": "changeOrientFrame changeRefOrientFrame multiply",
    "rotation * a": "changeCoordFrame changeCoordFrameOf changeCoordinateFrame",
    "position * a for spatial vectors, a + b for points": """
        changePoint changeRefPoint changePointOf""",
    "Direction()": "Default",
    "NumPy: np.allclose, @ and np.cross": "isParallel isPerpendicular toSpatial fromSpatial",
    "cross": "asCrossProductMatrix asCrossProductMatrixWrench",
    "np.linalg.solve or np.linalg.inv": "applyInverse getInverse",
    "asQuaternion": "getQuaternion",
    "the Jacobians of linkwork.spatial": """
        TransformDerivative RotAxisDerivative leftJacobian leftJacobianInverse
        RPYRightTrivializedDerivative RPYRightTrivializedDerivativeInverse
        RPYRightTrivializedDerivativeRateOfChange RPYRightTrivializedDerivativeInverseRateOfChange
        QuaternionRightTrivializedDerivative QuaternionRightTrivializedDerivativeInverse""",
    "getDirection and getOrigin, with linkwork.spatial": """
        getRotationTransform getRotationTransformDerivative getRotationTwist getRotationSpatialAcc
        getTranslationTransform getTranslationTransformDerivative getTranslationTwist
        getTranslationSpatialAcc getPointOnAxisClosestToGivenPoint
        getDistanceBetweenAxisAndPoint""",
    # Robots and shapes.
    "additional frames, which represent the sensors of a file": "sensors SensorsList",
    "addLink and addJoint": """
        setIndex setDOFsOffset setPosCoordsOffset
        insertLinkToExistingJointAndAddJointForDisplacedLink""",
    "a file with a spherical joint": """
        convertThreeRevoluteJointsToSphericalJoint sphericalJointIntersectionTolerance
        sphericalJointOrthogonalityTolerance sphericalJointZeroMassTolerance""",
    "computeFullTreeTraversal and getParentLinkFromLinkIndex": """
        addTraversalBase addTraversalElement reset toString""",
    "Model.visualSolidShapes or collisionSolidShapes": "ModelSolidShapes",
    "clearSingleLinkSolidShapes": "clear",
    "record.texture": "hasTexture texture setTexture",
    "getName": "isNameValid",
    "Model.getPackageDirs": "getPackageDirs",
    "Model.setPackageDirs": "setPackageDirs",
    # Inverse kinematics and the exporter.
    "setCOMTarget": """
        addCenterOfMassProjectionConstraint getCenterOfMassProjectConstraintConvexHull
        getCenterOfMassProjectionMargin setCOMConstraintProjectionDirection""",
    "the value that was set": """
        maxIterations maxCPUTime costTolerance constraintsTolerance linearSolverName
        rotationParametrization isCOMAConstraint defaultTargetResolutionMode targetResolutionMode
        exportingOptions""",
    "the model that init was called with": "model",
    # Estimation.
    "iDynTree itself; linkwork has no counterpart": """
        ExtWrenchesAndJointTorquesEstimator BerdyHelper SimpleLeggedOdometry AttitudeMahonyFilter
        AttitudeQuaternionEKF SubModelDecomposition""",
}
INSTEAD = {name: hint for hint, names in _NAMES_BY_REPLACEMENT.items() for name in names.split()}


def no_attribute(owner: str, name: str) -> AttributeError:
    """Return the error for a name of iDynTree that is not supported."""
    hint = f"; use {INSTEAD[name]}" if name in INSTEAD else ""
    return AttributeError(f"{owner} has no attribute {name!r}{hint}", name=name)


class PartialType(type):
    """The class of `Partial`, which raises the same errors for static methods."""

    if not TYPE_CHECKING:  # so that type checkers report misspelled names

        def __getattr__(cls, name: str) -> object:
            raise no_attribute(cls.__name__, name)


class Partial(metaclass=PartialType):
    """A class of iDynTree that is partially supported; errors name the replacement."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            raise no_attribute(type(self).__name__, name)
