"""The functions of `linkwork.spatial` on PyTorch tensors and CasADi symbols."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
import torch
from tests.spatial.test_contract import FUNCTIONS, name_of
from tests.support.spatial import pin

from linkwork.spatial import quat, se3, so3

COMPILED = [
    function
    for function, (_, is_traceable) in FUNCTIONS.items()
    if is_traceable and function not in (se3.rotation_of, se3.position_of)  # these are slices
]
# Rotation vectors: arbitrary, zero, tiny, and nearly pi.
PHI = [[0.3, -1.2, 0.7], [0.0, 0.0, 0.0], [1e-9, 0.0, -2e-9], [0.0, 3.1, 0.0]]


def arguments(function, batch=(), seed=0):
    rng = np.random.default_rng(seed)
    return [make(rng, batch) for make in FUNCTIONS[function][0]]


@pytest.mark.parametrize("function", COMPILED, ids=name_of)
def test_results_on_tensors_agree_with_arrays_and_have_gradients(function):
    arrays = arguments(function, (2, 3))
    tensors = [torch.from_numpy(np.array(array)).requires_grad_() for array in arrays]
    result, expected = function(*tensors), function(*arrays)
    np.testing.assert_allclose(result.detach(), expected, rtol=1e-12, atol=1e-12)
    single = function(*(tensor.float() for tensor in tensors))
    assert single.dtype == torch.float32
    np.testing.assert_allclose(single.detach(), expected, rtol=1e-3, atol=1e-4)

    weights = np.random.default_rng(1).normal(size=np.shape(expected))
    (result * torch.from_numpy(np.asarray(weights))).sum().backward()
    step, directions = 1e-6, arguments(function, (2, 3), seed=2)
    moved = [
        [
            array + sign * step * direction
            for array, direction in zip(arrays, directions, strict=True)
        ]
        for sign in (1, -1)
    ]
    derivative = np.sum(weights * (function(*moved[0]) - function(*moved[1]))) / (2 * step)
    along = sum(
        float((tensor.grad.numpy() * direction).sum())
        for tensor, direction in zip(tensors, directions, strict=True)
    )
    np.testing.assert_allclose(along, derivative, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", [ca.SX, ca.MX, ca.DM])
@pytest.mark.parametrize("function", COMPILED, ids=name_of)
def test_results_in_casadi_agree_with_arrays(function, kind):
    arrays = arguments(function)
    matrices = [ca.DM(np.atleast_1d(array)) for array in arrays]
    if kind is ca.DM:
        result = function(*matrices)
    else:
        symbols = [kind.sym(f"x{k}", *matrix.shape) for k, matrix in enumerate(matrices)]
        result = ca.Function("f", symbols, [function(*symbols)])(*matrices)
    expected = np.asarray(function(*arrays))
    np.testing.assert_allclose(result.full().reshape(expected.shape), expected, atol=1e-12)


@pytest.mark.parametrize("phi", PHI)
def test_logarithms_and_their_derivatives_agree_with_pinocchio(phi):
    phi = np.array(phi)
    R = pin.exp3(phi)
    by_log = pin.Jlog3(R)  # of log3(R exp(x)) with respect to x

    x = torch.zeros(3, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian
    np.testing.assert_allclose(so3.log(torch.from_numpy(R)), pin.log3(R), atol=1e-12)
    by_torch = jacobian(lambda x: so3.log(torch.from_numpy(R) @ so3.exp(x)), x)
    np.testing.assert_allclose(by_torch, by_log, atol=1e-7)
    wxyz = torch.from_numpy(quat.exp(phi))
    by_torch = jacobian(lambda x: quat.log(quat.multiply(wxyz, quat.exp(x))), x)
    np.testing.assert_allclose(by_torch, by_log, atol=1e-7)

    for kind in (ca.SX, ca.MX):
        symbol = kind.sym("x", 3)
        log = so3.log(ca.mtimes(ca.DM(R), so3.exp(symbol)))
        both = ca.Function("both", [symbol], [log, ca.jacobian(log, symbol)])
        value, derivative = both(np.zeros(3))
        np.testing.assert_allclose(value.full()[:, 0], pin.log3(R), atol=1e-12)
        np.testing.assert_allclose(derivative.full(), by_log, atol=1e-7)


def test_transforms_of_torch_func_apply():
    phi = torch.tensor(PHI[:1] * 4, dtype=torch.float64)
    identity = torch.vmap(lambda x: so3.log(so3.exp(x)))(phi)
    torch.testing.assert_close(identity, phi)
    assert torch.autograd.gradgradcheck(so3.exp, phi[:1].clone().requires_grad_())


def test_keywords_and_lists_are_accepted_as_in_numpy():
    points = torch.zeros(5, 3, dtype=torch.float64)
    result = se3.transform_point(np.eye(4), b_point=points)
    assert result.shape == (5, 3)
    with pytest.raises(ValueError, match=r"phi: .*\(\.\.\., 3\)"):
        so3.exp(torch.zeros(4))
