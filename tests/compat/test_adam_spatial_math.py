"""The functions of adam's SpatialMath that its users make poses with."""

from __future__ import annotations

import numpy as np
import pytest
from adam.numpy.numpy_like import SpatialMath as Adam

from linkwork.compat.adam.numpy.numpy_like import SpatialMath

rng = np.random.default_rng(0)
X, RPY, P = rng.normal(), rng.normal(size=3), rng.normal(size=3)
H = SpatialMath().H_from_Pos_RPY(P, RPY).array
ARGUMENTS = {
    "Rx": (np.array(X),),
    "Ry": (np.array(X),),
    "Rz": (np.array(X),),
    "R_from_RPY": (RPY,),
    "R_from_axis_angle": (np.array([0.6, 0.0, 0.8]), np.array(X)),
    "H_from_Pos_RPY": (P, RPY),
    "adjoint": (H,),
    "adjoint_inverse": (H,),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_functions_are_adams(name):
    found = getattr(SpatialMath(), name)(*ARGUMENTS[name])
    wrapped = [Adam().factory.asarray(value) for value in ARGUMENTS[name]]
    expected = getattr(Adam(), name)(*wrapped)
    np.testing.assert_allclose(found.array, expected.array, atol=1e-14)


def test_results_are_computed_with():
    math = SpatialMath()
    R = math.Rx(0.3) @ math.Rz(0.2)
    np.testing.assert_allclose((R @ R.T).array, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(np.asarray(-R + R * 2.0 - R), np.zeros((3, 3)), atol=1e-15)
    assert (len(R), R.shape, R[0].shape) == (3, (3, 3), (3,))
    np.testing.assert_allclose((math.skew(P) @ P).array, np.zeros(3), atol=1e-15)
    np.testing.assert_array_equal(math.homogeneous(R, P)[:3, 3].array, P)
