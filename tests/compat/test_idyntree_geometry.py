"""Points, poses, spatial vectors and inertias with iDynTree's names, compared with iDynTree.

The same code creates the same random values with both modules. iDynTree hangs on products that it
does not support if the right side is a vector, so those are only tested with linkwork.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.idyntree import compat, idyn

import linkwork as lw
from linkwork.errors import ValueRangeError

MODULES = (idyn, compat)
VECTORS = ("SpatialMotionVector", "Twist", "SpatialAcc")
FORCES = ("SpatialForceVector", "Wrench", "SpatialMomentum")
PRODUCTS = [
    *(("Rotation", other) for other in ("Rotation", "Position", "Direction", "Axis")),
    *(("Rotation", other) for other in ("Twist", "SpatialAcc", *FORCES)),
    ("Rotation", "RotationalInertia"),
    *(("Transform", other) for other in ("Transform", "Position", "Direction", "Axis")),
    *(("Transform", other) for other in (*VECTORS, *FORCES)),
    ("Transform", "SpatialInertia"),
    *(("Position", other) for other in ("Twist", "SpatialAcc", *FORCES)),
    *(("SpatialInertia", other) for other in VECTORS),
    *(("Twist", other) for other in ("Twist", "SpatialAcc", "SpatialMomentum")),
]
BESIDES = {
    ("Rotation", "SpatialMotionVector"): lambda R, v: R.changeCoordFrameOf(v),
    ("Position", "SpatialMotionVector"): lambda p, v: p.changePointOf(v),
}  # products that iDynTree has under another name, or for a class that includes this one
CLASSES = sorted({name for pair in PRODUCTS for name in pair} | {"Vector3", "Vector6", "Matrix3x3"})


MAKERS = {
    "Rotation": lambda i, n: i.Rotation.RPY(*n[:3].tolist()),
    "Position": lambda i, n: i.Position(*n[3:6].tolist()),
    "Transform": lambda i, n: i.Transform(MAKERS["Rotation"](i, n), MAKERS["Position"](i, n)),
    "Direction": lambda i, n: i.Direction(*n[6:9].tolist()),
    "Axis": lambda i, n: i.Axis(MAKERS["Direction"](i, n), MAKERS["Position"](i, n)),
    "RotationalInertia": lambda i, n: i.RotationalInertia(square(n[:9].reshape(3, 3))),
    "Vector3": lambda i, n: i.Vector3(n[:3]),
    "Vector6": lambda i, n: i.Vector6(n[:6]),
    "Matrix3x3": lambda i, n: i.Matrix3x3(n[:9].reshape(3, 3)),
}


def square(root):
    return root @ root.T


def value(iDynTree, name, seed):
    """Return a random value of a class."""
    values = np.random.default_rng(seed).normal(size=50)
    if name in MAKERS:
        return MAKERS[name](iDynTree, values)
    if name == "SpatialInertia":
        inertia = iDynTree.SpatialInertia()
        parts = (MAKERS[part](iDynTree, values) for part in ("Position", "RotationalInertia"))
        inertia.fromRotationalInertiaWrtCenterOfMass(abs(float(values[9])), *parts)
        return inertia
    vector = getattr(iDynTree, name)()
    for index in range(6):
        vector.setVal(index, float(values[10 + index]))
    return vector


def plain(value):
    """Return the elements of a value of either module as an array."""
    if isinstance(value, (float, int, bool, tuple)):
        return np.array(value, dtype=float)
    for method in ("asHomogeneousTransform", "asMatrix"):
        if hasattr(value, method):
            return getattr(value, method)().toNumPy()
    if hasattr(value, "getOrigin"):
        return np.concatenate([value.getDirection().toNumPy(), value.getOrigin().toNumPy()])
    return value.toNumPy()


def both(ask):
    """Evaluate a function with both modules: return the classes and the elements."""
    theirs, actual = map(ask, MODULES)
    np.testing.assert_allclose(plain(actual), plain(theirs), rtol=1e-11, atol=1e-12)
    return type(actual).__name__, type(theirs).__name__


@pytest.mark.parametrize(("left", "right"), PRODUCTS, ids=lambda name: name)
def test_a_product_agrees_with_idyntree(left, right):
    actual, theirs = both(lambda iDynTree: value(iDynTree, left, 1) * value(iDynTree, right, 2))

    assert actual == theirs


@pytest.mark.parametrize(("left", "right"), BESIDES)
def test_products_that_idyntree_has_under_another_name(left, right):
    actual = value(compat, left, 1) * value(compat, right, 2)
    theirs = BESIDES[left, right](value(idyn, left, 1), value(idyn, right, 2))

    np.testing.assert_allclose(plain(actual), plain(theirs), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("left", CLASSES)
def test_every_other_product_raises(left):
    for right in CLASSES:
        if (left, right) in PRODUCTS or (left, right) in BESIDES:
            continue
        with pytest.raises(TypeError):
            value(compat, left, 1) * value(compat, right, 2)


def test_products_with_ordinary_arrays_are_numpys_only_for_plain_arrays():
    vector = compat.VectorDynSize([1.0, 2.0])

    assert (vector * np.array([3.0, 4.0])).tolist() == [3.0, 8.0]
    assert (np.array([3.0, 4.0]) * vector).tolist() == [3.0, 8.0]
    assert (2 * compat.Twist(np.ones(6))).tolist() == [2.0] * 6
    for product in (
        lambda: compat.Transform() * np.eye(4),
        lambda: np.eye(4) * compat.Transform(),
        lambda: compat.Twist() * np.zeros(6),
    ):
        with pytest.raises(lw.ArgumentError, match=r"np\.multiply"):
            product()


def test_sums_of_motions_and_forces_raise():
    with pytest.raises(lw.ArgumentError, match=r"Twist \+ Wrench"):
        compat.Twist() + compat.Wrench()
    twist = compat.Twist()
    with pytest.raises(lw.ArgumentError, match=r"Twist \+ Wrench"):
        twist += compat.Wrench()
    with pytest.raises(lw.ArgumentError, match="Twist - Wrench"):
        twist -= compat.Wrench()
    with pytest.raises(lw.ArgumentError, match="Position - Direction"):
        compat.Position() - compat.Direction()
    with pytest.raises(lw.ArgumentError, match=r"Twist\.dot.*SpatialAcc"):
        compat.Twist().dot(compat.SpatialAcc())
    assert type(compat.Twist() + compat.SpatialAcc()) is compat.Twist
    assert type(compat.Transform() - compat.Transform()) is np.ndarray


QUESTIONS = {
    "log of a rotation": lambda i: value(i, "Rotation", 3).log(),
    "exp of a vector": lambda i: value(i, "Rotation", 3).log().exp(),
    "log of a pose": lambda i: value(i, "Transform", 3).log(),
    "exp of a twist": lambda i: value(i, "Twist", 3).exp(),
    "rotation about an axis": lambda i: i.Rotation.RotAxis(value(i, "Direction", 3), 0.7),
    "roll, pitch, yaw": lambda i: value(i, "Rotation", 3).asRPY(),
    "quaternion": lambda i: value(i, "Rotation", 5).asQuaternion(),
    "of a quaternion": lambda i: i.Rotation.RotationFromQuaternion(
        value(i, "Rotation", 5).asQuaternion()
    ),
    "rotations about axes": lambda i: (
        i.Rotation.RotX(0.1) * i.Rotation.RotY(0.2) * i.Rotation.RotZ(0.3)
    ),
    "no rotation": lambda i: i.Rotation.Identity(),
    "inverse rotation": lambda i: value(i, "Rotation", 1).inverse(),
    "inverse pose": lambda i: value(i, "Transform", 1).inverse(),
    "identity": lambda i: i.Transform.Identity(),
    "bare vector": lambda i: value(i, "Twist", 1).asVector(),
    "motion cross motion": lambda i: value(i, "Twist", 1).cross(value(i, "SpatialAcc", 2)),
    "motion cross force": lambda i: value(i, "Twist", 1).cross(value(i, "Wrench", 2)),
    "power": lambda i: value(i, "Wrench", 1).dot(value(i, "Twist", 2)),
    "inertia as numbers": lambda i: value(i, "SpatialInertia", 1).asVector(),
    "mass": lambda i: value(i, "SpatialInertia", 1).getMass(),
    "center of mass": lambda i: value(i, "SpatialInertia", 1).getCenterOfMass(),
    "at origin": lambda i: value(i, "SpatialInertia", 1).getRotationalInertiaWrtFrameOrigin(),
    "at center": lambda i: value(i, "SpatialInertia", 1).getRotationalInertiaWrtCenterOfMass(),
    "of m, c, I": lambda i: i.SpatialInertia(
        1.3, value(i, "Position", 1), value(i, "RotationalInertia", 1)
    ),
    "sum of inertias": lambda i: value(i, "SpatialInertia", 1) + value(i, "SpatialInertia", 2),
    "direction": lambda i: i.Direction(3, 0, 4),
    "no direction": lambda i: i.Direction(0, 0, 0),
    "reverse direction": lambda i: value(i, "Direction", 1).reverse(),
    "reverse axis": lambda i: value(i, "Axis", 1).reverse(),
    "adjoint": lambda i: value(i, "Transform", 1).asAdjointTransform(),
    "adjoint of forces": lambda i: value(i, "Transform", 1).asAdjointTransformWrench(),
    "zero position": lambda i: i.Position.Zero(),
    "zero inertia": lambda i: i.SpatialInertia.Zero().asVector(),
    "zero twist": lambda i: i.Twist.Zero(),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_method_agrees_with_idyntree(name):
    both(QUESTIONS[name])


@pytest.mark.parametrize("iDynTree", MODULES, ids=["iDynTree", "linkwork"])
def test_values_are_changed_in_place(iDynTree):
    R = iDynTree.Rotation()
    R.fromQuaternion(value(iDynTree, "Rotation", 3).asQuaternion())
    twist = iDynTree.Twist(np.arange(3.0), np.arange(3.0, 6.0))
    inertia = iDynTree.SpatialInertia()
    inertia.fromVector(value(iDynTree, "SpatialInertia", 1).asVector())

    np.testing.assert_allclose(R.toNumPy(), value(iDynTree, "Rotation", 3).toNumPy(), atol=1e-15)
    assert twist.toNumPy().tolist() == [0, 1, 2, 3, 4, 5]
    mass = value(iDynTree, "SpatialInertia", 1).getMass()
    assert inertia.getMass() == pytest.approx(mass, rel=1e-15)


@pytest.mark.parametrize("iDynTree", MODULES, ids=["iDynTree", "linkwork"])
def test_arrays_are_created_from_lists_arrays_and_copies(iDynTree):
    vector = iDynTree.VectorDynSize([1.0, 2.0])
    matrix = iDynTree.MatrixDynSize([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    copies = iDynTree.VectorDynSize(vector), iDynTree.MatrixDynSize(matrix)
    vector.setVal(index=0, new_el=7.0)
    matrix.setVal(row=0, col=1, new_el=8.0)

    assert copies[0].toNumPy().tolist() == [1.0, 2.0]
    assert copies[1].toNumPy().tolist() == [[1, 2, 3], [4, 5, 6]]
    assert vector.toNumPy().tolist() == [7.0, 2.0]
    assert matrix(0, 1) == matrix[0, 1] == matrix.getVal(row=0, col=1) == 8.0
    assert (len(matrix), len(vector), vector.size()) == (6, 2, 2)
    assert vector(0) == 7.0
    assert iDynTree.VectorDynSize(np.arange(3.0)).toNumPy().tolist() == [0, 1, 2]
    assert iDynTree.MatrixDynSize(np.eye(2)).toNumPy().tolist() == np.eye(2).tolist()
    assert iDynTree.Vector3([1.0, 2.0, 3.0]).toNumPy().tolist() == [1, 2, 3]
    assert iDynTree.Matrix3x3(np.eye(3)).toNumPy().tolist() == np.eye(3).tolist()
    assert iDynTree.JointPosDoubleArray([1.0, 2.0]).toNumPy().tolist() == [1, 2]
    for name, shape in SIZES.items():
        values = np.arange(float(np.prod(shape))).reshape(shape)
        result = getattr(iDynTree, name).FromPython(values).toNumPy()
        np.testing.assert_array_equal(result, values)


SIZES = {f"Vector{n}": (n,) for n in (3, 4, 6, 10)} | {
    f"Matrix{rows}x{cols}": (rows, cols) for rows, cols in ((2, 3), (3, 3), (4, 4), (6, 6))
}


def test_indices_out_of_range_raise_where_idyntree_returns_zero():
    for call in (
        lambda: compat.Vector3().getVal(3),
        lambda: compat.Vector3().setVal(-1, 0.0),
        lambda: compat.MatrixDynSize(2, 3).getVal(2, 0),
        lambda: compat.MatrixDynSize(2, 3)(0),
    ):
        with pytest.raises(ValueRangeError, match=r"Vector3 has 3|MatrixDynSize has 2 x 3"):
            call()
