"""Names of iDynTree's classes, methods and arguments against the installed package."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from tests.support.idyntree import compat, idyn

SHARED = sorted(
    name for name in compat.__all__ if inspect.isclass(getattr(idyn, name, None))
)  # classes that both have
ITERATORS = {"begin", "end", "cbegin", "cend", "rbegin", "rend", "iterator", "key_iterator"} | {
    "value_iterator",
    "iterkeys",
    "itervalues",
    "iteritems",
    "get_allocator",
}
POINTERS = {"this", "thisown", "data"}
MEMORY = {"reserve", "capacity", "shrink_to_fit"} | {
    "fillBuffer",
    "fillRowMajorBuffer",
    "fillColMajorBuffer",
}
# What is not here, by class; docs/idyntree.md lists the same under "Not here".
LISTS = {"assign", "erase", "swap"}
STEPS = {  # of iDynTree's own recursions
    "computeChildAcc",
    "computeChildBiasAcc",
    "computeChildPosVelAcc",
    "computeChildVel",
    "computeChildVelAcc",
    "computeJointTorque",
    "getTransformDerivative",
    "normalizeJointPosCoords",
    "setDOFsOffset",
    "setIndex",
    "setJointPosCoordsToRest",
    "setPosCoordsOffset",
}
JOINTS = ("IJoint", "FixedJoint", "RevoluteJoint", "PrismaticJoint", "SphericalJoint")
CROSS = "asCrossProductMatrix", "asCrossProductMatrixWrench"
RATES = {
    *(
        f"RPYRightTrivializedDerivative{what}"
        for what in ("", "Inverse", "RateOfChange", "InverseRateOfChange")
    ),
    *(f"QuaternionRightTrivializedDerivative{what}" for what in ("", "Inverse")),
}
ABSENT = {
    **dict.fromkeys(JOINTS, STEPS),
    **dict.fromkeys(("IndexVector", "IntVector", "StringVector", "LinksSolidShapesVector"), LISTS),
    **dict.fromkeys(("SpatialMotionVector", "Twist", "SpatialAcc"), CROSS),
    **dict.fromkeys(("SpatialForceVector", "Wrench", "SpatialMomentum"), CROSS[:1]),
    "Axis": {"isParallel", "getPointOnAxisClosestToGivenPoint", "getDistanceBetweenAxisAndPoint"}
    | {
        f"get{kind}{what}"
        for kind in ("Rotation", "Translation")
        for what in ("Transform", "TransformDerivative", "Twist", "SpatialAcc")
    },
    "ExternalMesh": {"setPackageDirs"},
    "InverseKinematics": {
        "addCenterOfMassProjectionConstraint",
        "getCenterOfMassProjectConstraintConvexHull",
        "getCenterOfMassProjectionMargin",
        "setCOMConstraintProjectionDirection",
    },
    "Model": {"sensors", "insertLinkToExistingJointAndAddJointForDisplacedLink"},
    "ModelExporter": {"sensors"},
    "ModelLoader": {"sensors"},
    "ModelParserOptions": {
        "convertThreeRevoluteJointsToSphericalJoint",
        "sphericalJointIntersectionTolerance",
        "sphericalJointOrthogonalityTolerance",
        "sphericalJointZeroMassTolerance",
    },
    "ModelSolidShapes": {"resize"},
    "Rotation": RATES | {"RotAxisDerivative", "leftJacobian", "leftJacobianInverse"},
    "SpatialInertia": {
        "biasWrenchDerivative",
        "momentumDerivativeRegressor",
        "momentumDerivativeSlotineLiRegressor",
        "momentumRegressor",
    },
    "Traversal": {
        "addTraversalBase",
        "addTraversalElement",
        "getChildLinkIndexFromJointIndex",
        "getParentLinkIndexFromJointIndex",
        "isParentOf",
        "reset",
        "toString",
    },
}


def methods_of(name):
    """Public names of a class of iDynTree."""
    found = {method for method in dir(getattr(idyn, name)) if not method.startswith("_")}
    return found - ITERATORS - POINTERS - MEMORY


@pytest.mark.parametrize("name", SHARED)
def test_a_class_has_the_methods_of_idyntree_but_for_those_that_are_listed(name):
    mine = getattr(compat, name)
    here = set(dir(mine)) if name in {"IJoint", "SolidShape"} else set(dir(mine)) | set(dir(mine()))

    assert methods_of(name) - here == set(ABSENT.get(name, ()))


@pytest.mark.parametrize("name", SHARED)
def test_arguments_have_the_names_of_idyntree(name):
    """Methods that C++ overloads take no keywords in iDynTree, so they may have any names here."""
    different = {}
    for method in methods_of(name) - set(ABSENT.get(name, ())):
        theirs = inspect.getattr_static(getattr(idyn, name), method)
        theirs = theirs.__func__ if isinstance(theirs, staticmethod) else theirs
        if not inspect.isfunction(theirs):
            continue
        parameters = inspect.signature(theirs).parameters.values()
        if any(parameter.kind == parameter.VAR_POSITIONAL for parameter in parameters):
            continue
        wanted = [parameter.name for parameter in parameters if parameter.name != "self"]
        if not wanted:
            continue
        mine = inspect.signature(getattr(getattr(compat, name), method)).parameters
        found = [parameter for parameter in mine if parameter != "self"]
        if found[: len(wanted)] != wanted:
            different[method] = (wanted, found)

    assert not different


def test_most_of_the_names_are_compared():
    assert len(SHARED) > 50
    assert sum(len(methods_of(name)) for name in SHARED) > 900


def test_numbers_of_enums_are_those_of_idyntree():
    for name in compat.__all__:
        value = getattr(compat, name)
        if isinstance(value, int):
            theirs = getattr(idyn, name) if hasattr(idyn, name) else getattr(idyn.cvar, name)
            assert value == theirs, name


def test_what_is_not_here_is_an_attribute_error_that_names_it():
    for name in ("AttitudeMahonyFilter", "VectorDynSize__x", "nonsense_FromPython"):
        with pytest.raises(AttributeError, match=name):
            getattr(compat, name)


def test_static_methods_have_the_flat_names_of_older_releases():
    vector = compat.VectorDynSize_FromPython(np.arange(3.0))

    assert type(vector) is compat.VectorDynSize
    assert (
        compat.Rotation_RPY(0.1, 0.2, 0.3).tolist() == compat.Rotation.RPY(0.1, 0.2, 0.3).tolist()
    )
    with pytest.raises(AttributeError, match="FromNothing"):
        compat.VectorDynSize_FromNothing  # noqa: B018 - the attribute is what is asked for
