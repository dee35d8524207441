"""What is wrong with a call is said, and what to write instead."""

import numpy as np
import pytest
import torch
from tests.support.tensors import inputs_of, robot

import linkwork as lw
import linkwork.torch


def said(error, function, *args, **named):
    with pytest.raises(error) as caught:
        function(*args, **named)
    return str(caught.value)


def test_types_of_tensors():
    q, nu = inputs_of("bias_force", (2,))
    h = robot().bias_force
    mixed = "nu is torch.float32, q is torch.float64; give all in one type, such as nu.to(q)"
    assert said(lw.ArgumentError, h, q, nu.float()) == mixed
    for given in (nu.half(), nu.to(torch.bfloat16), nu.int(), nu.to(torch.complex128)):
        text = f"nu: expected a tensor of float64 or float32, got {given.dtype}"
        assert said(lw.ArgumentError, h, q, given) == f"{text}; use nu.double() or nu.float()"
    assert said(lw.ArgumentError, h, q, "fast") == "nu: expected a tensor or numbers, got 'fast'"
    ragged = "nu: expected a tensor or numbers, got [[1.0], [1.0, 2.0]]"
    assert said(lw.ArgumentError, h, q, [[1.0], [1.0, 2.0]]) == ragged


@pytest.mark.parametrize("recorded", [False, True])
def test_shapes(recorded):
    q, nu = inputs_of("bias_force", (2,))
    q.requires_grad_(recorded)
    h = robot().bias_force
    assert said(lw.ShapeError, h, q[:, :8], nu).startswith("q: expected (..., 9), got (2, 8); q is")
    assert said(lw.ShapeError, h, q, nu[0, :3]).startswith("nu: expected (..., 8), got (3,); nu is")
    apart = "batch axes do not fit each other: q (2,), nu (5,)"
    assert said(lw.ShapeError, h, q, nu.repeat(3, 1)[:5]) == apart
    with pytest.raises(lw.ShapeError, match=r"q: .*\(..., 9\)"):
        torch.func.vmap(h)(q[:, :8], nu)
    text = "q: expected 1 axes for a row, got 0 besides the one of vmap, in (9,)"
    assert said(lw.ShapeError, torch.func.vmap(robot().com), q[0]) == text


def test_devices():
    q, nu = inputs_of("bias_force", (2,))
    text = "nu is on cpu, q is on meta; move all to one device"
    assert said(lw.ArgumentError, robot().bias_force, q.to("meta"), nu) == text
    sparse = "nu: expected a dense tensor, got torch.sparse_coo; use nu.to_dense()"
    assert said(lw.ArgumentError, robot().bias_force, q, nu.to_sparse()) == sparse


def test_names_and_numbers_of_arguments():
    q, nu = inputs_of("bias_force")
    kd = robot()
    h = kd.bias_force
    assert said(lw.ArgumentError, h, q) == "bias_force takes q, nu; nu missing"
    assert said(lw.ArgumentError, h, q, nu, nu) == "bias_force takes 2 arguments (q, nu), got 3"
    assert said(lw.ArgumentError, h, q, nu, q=q) == "bias_force: argument 'q' is given twice"
    assert said(lw.ArgumentError, h, q, nu, q=q, gravity=nu[:3]) == (
        "bias_force: argument 'q' is given twice"
    )
    assert said(lw.ArgumentError, h, q, mu=nu) == (
        "bias_force: argument 'mu' is unknown; known: q, nu"
    )
    assert said(lw.ArgumentError, kd.mass_matrix, q, gravity=nu[:3]) == (
        "mass_matrix: argument 'gravity' is unknown; known: q"
    )
    assert said(lw.ArgumentError, kd.inverse_dynamics, q, nu, nu, wrenches=nu[:6]).startswith(
        "wrenches: expected arrays by frame, got tensor("
    )
    assert said(lw.NameNotFoundError, kd.jacobian, "tipp", q) == (
        "no frame named 'tipp'; did you mean 'tip'?"
    )
    assert said(lw.NameNotFoundError, kd.function, "mass_matrx") == (
        "no quantity named 'mass_matrx'; did you mean 'mass_matrix' or 'mass_matrix_dot'?"
    )


@pytest.mark.parametrize("option", ["out", "threads"])
def test_options_of_calls_with_numpy(option):
    q = inputs_of("com")[0]
    text = f"com: {option}= is for calls with NumPy arrays; use the function of linkwork.KinDyn"
    assert said(lw.ArgumentError, robot().com, q, **{option: 1}) == text


def test_what_is_no_kernel_is_not_wrapped():
    text = "wrap: expected a kernel, got 3"
    wanted = f"{text}; such as kd.mass_matrix, or a function of @linkwork.compile"
    assert said(lw.ArgumentError, linkwork.torch.wrap, 3) == wanted


def test_options_of_kindyn():
    model = robot().model
    assert said(lw.ArgumentError, linkwork.torch.KinDyn, model, dtype=torch.float16) == (
        "dtype: expected float64 or float32, got torch.float16"
    )
    assert "no option 'flaoting'; did you mean 'floating'?" in said(
        lw.ArgumentError, linkwork.torch.KinDyn, model, flaoting=True
    )


def test_numbers_are_checked_as_in_numpy():
    q, nu = inputs_of("bias_force")
    q[3:7] *= 1.1
    text = "q: the base quaternion has norm 1.1, not 1"
    assert said(lw.ValueRangeError, robot().bias_force, q, nu) == text
    nu[0] = np.nan
    q = robot().neutral()
    assert said(lw.ValueRangeError, robot(check=True).bias_force, q, nu) == "nu: the base is nan"


def test_kernels_for_numpy_say_how_to_call_them_with_tensors():
    q = inputs_of("com")[0]
    assert said(lw.ArgumentError, robot().numpy.com, q) == (
        "q: a torch tensor; linkwork takes NumPy arrays, so give q.detach().cpu().numpy(),"
        " or use linkwork.torch"
    )
