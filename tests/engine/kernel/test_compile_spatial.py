"""Spatial algebra traced and compiled: the same results, and derivatives at every angle."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.engine.kernel.compile import compile_function
from linkwork.spatial import inertia, motion, quat, se3, so3

SPATIAL = {
    "so3.exp": (so3.exp, {"phi": (3,)}),
    "so3.log exp": (lambda phi: so3.log(so3.exp(phi)), {"phi": (3,)}),
    "so3.left_jacobian": (so3.left_jacobian, {"phi": (3,)}),
    "so3.left_jacobian_inverse": (so3.left_jacobian_inverse, {"phi": (3,)}),
    "so3.to_rpy": (lambda rpy: so3.to_rpy(so3.from_rpy(rpy)), {"rpy": (3,)}),
    "so3.about": (so3.about, {"axis": (3,), "angle": ()}),
    "so3.rot_x": (so3.rot_x, {"angle": ()}),
    "quat.multiply": (quat.multiply, {"a_wxyz": (4,), "b_wxyz": (4,)}),
    "quat.log exp": (lambda phi: quat.log(quat.exp(phi)), {"phi": (3,)}),
    "quat.rotate": (quat.rotate, {"wxyz": (4,), "vector": (3,)}),
    "quat.from_rotation": (lambda phi: quat.from_rotation(so3.exp(phi)), {"phi": (3,)}),
    "quat.rate_matrix": (quat.rate_matrix, {"wxyz": (4,)}),
    "se3.exp": (se3.exp, {"xi": (6,)}),
    "se3.log exp": (lambda xi: se3.log(se3.exp(xi)), {"xi": (6,)}),
    "se3.inverse": (lambda xi: se3.inverse(se3.exp(xi)), {"xi": (6,)}),
    "se3.left_jacobian": (se3.left_jacobian, {"xi": (6,)}),
    "se3.left_jacobian_inverse": (se3.left_jacobian_inverse, {"xi": (6,)}),
    "motion.transform": (
        lambda xi, v: motion.transform_motion(se3.exp(xi), v),
        {"xi": (6,), "v": (6,)},
    ),
    "motion.cross": (motion.motion_cross, {"v": (6,), "m": (6,)}),
    "inertia.to_com": (inertia.to_com, {"params": (10,)}),
    "inertia.apply": (inertia.apply, {"params": (10,), "v": (6,)}),
    "inertia.transform": (
        lambda xi, p: inertia.transform(se3.exp(xi), p),
        {"xi": (6,), "p": (10,)},
    ),
}


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e-9, 0.0])
@pytest.mark.parametrize("name", SPATIAL)
def test_spatial_functions_agree_with_numeric_calls(name, scale, rng):
    function, shapes = SPATIAL[name]
    f = compile_function(**shapes)(function)
    arrays = [rng.normal(size=(6, *shape)) * scale for shape in shapes.values()]

    for got, expected in zip(as_tuple(f(*arrays)), as_tuple(function(*arrays)), strict=True):
        assert got.shape == expected.shape
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13 * (scale or 1.0))


@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e-9, 0.0])
@pytest.mark.parametrize("name", ["so3.exp", "so3.log exp", "quat.log exp", "se3.log exp"])
def test_spatial_functions_have_derivatives_at_every_angle(name, scale, rng):
    """Also around zero, where a branch that is not selected divides by zero."""
    function, shapes = SPATIAL[name]
    f = compile_function(**shapes)(function)
    (wrt, shape), *_ = shapes.items()
    x = rng.normal(size=(6, *shape)) * scale
    got = f.jacobian(wrt)(x)
    if "log" in name:  # the derivative of the identity
        np.testing.assert_allclose(got, np.broadcast_to(np.eye(*2 * shape), got.shape), atol=1e-9)
    h = 1e-6
    for k in range(shape[0]):
        step = h * np.eye(shape[0])[k]
        slope = (function(x + step) - function(x - step)) / (2 * h)
        np.testing.assert_allclose(got[..., k], slope, rtol=0, atol=1e-8)
