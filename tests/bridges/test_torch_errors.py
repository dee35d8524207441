"""Errors of wrong calls name what is wrong and what to write instead."""

import numpy as np
import pytest
import torch
from tests.support.messages import assert_facts
from tests.support.tensors import inputs_of, robot

import linkwork as lw
import linkwork.torch


def message_of(error, function, *args, **named):
    with pytest.raises(error) as caught:
        function(*args, **named)
    return str(caught.value)


def test_types_of_tensors():
    q, nu = inputs_of("bias_force", (2,))
    h = robot().bias_force
    mixed = r"nu is torch\.float32.*q is torch\.float64.*nu\.to\(q\)"
    assert_facts(message_of(lw.ArgumentError, h, q, nu.float()), mixed)
    for arguments in (nu.half(), nu.to(torch.bfloat16), nu.int(), nu.to(torch.complex128)):
        facts = rf"nu: .*float64 or float32.*{arguments.dtype}.*nu\.double\(\) or nu\.float\(\)"
        assert_facts(message_of(lw.ArgumentError, h, q, arguments), facts)
    assert_facts(message_of(lw.ArgumentError, h, q, "fast"), "nu: .*tensor.*'fast'")
    ragged = r"nu: .*tensor.*\[\[1\.0\], \[1\.0, 2\.0\]\]"
    assert_facts(message_of(lw.ArgumentError, h, q, [[1.0], [1.0, 2.0]]), ragged)


@pytest.mark.parametrize("recorded", [False, True])
def test_shapes(recorded):
    q, nu = inputs_of("bias_force", (2,))
    q.requires_grad_(recorded)
    h = robot().bias_force
    assert_facts(message_of(lw.ShapeError, h, q[:, :8], nu), r"q: .*\(..., 9\).*\(2, 8\).*q is")
    assert_facts(message_of(lw.ShapeError, h, q, nu[0, :3]), r"nu: .*\(..., 8\).*\(3,\).*nu is")
    apart = r"batch.*q \(2,\).*nu \(5,\)"
    assert_facts(message_of(lw.ShapeError, h, q, nu.repeat(3, 1)[:5]), apart)
    with pytest.raises(lw.ShapeError, match=r"q: .*\(..., 9\)"):
        torch.func.vmap(h)(q[:, :8], nu)
    vmapped = torch.func.vmap(robot().com)
    assert_facts(message_of(lw.ShapeError, vmapped, q[0]), r"q: .*1 axes.*0.*vmap.*\(9,\)")


def test_devices():
    q, nu = inputs_of("bias_force", (2,))
    h = robot().bias_force
    assert_facts(message_of(lw.ArgumentError, h, q.to("meta"), nu), "nu is on cpu.*q is on meta")
    sparse = r"nu: .*torch\.sparse_coo.*nu\.to_dense\(\)"
    assert_facts(message_of(lw.ArgumentError, h, q, nu.to_sparse()), sparse)


def test_names_and_count_of_arguments():
    q, nu = inputs_of("bias_force")
    kd = robot()
    h = kd.bias_force
    assert_facts(message_of(lw.ArgumentError, h, q), "bias_force .*q, nu.*missing: nu")
    assert_facts(message_of(lw.ArgumentError, h, q, nu, nu), r"bias_force .*2.*\(q, nu\).*3")
    twice = "bias_force: .*'q'.*twice"
    assert_facts(message_of(lw.ArgumentError, h, q, nu, q=q), twice)
    assert_facts(message_of(lw.ArgumentError, h, q, nu, q=q, gravity=nu[:3]), twice)
    assert_facts(message_of(lw.ArgumentError, h, q, mu=nu), "bias_force: .*'mu'.*q, nu$")
    message = message_of(lw.ArgumentError, kd.mass_matrix, q, gravity=nu[:3])
    assert_facts(message, "mass_matrix: .*'gravity'.*q$")
    message = message_of(lw.ArgumentError, kd.inverse_dynamics, q, nu, nu, wrenches=nu[:6])
    assert_facts(message, r"wrenches: .*by frame.*tensor\(")
    message = message_of(lw.NameNotFoundError, kd.jacobian, "tipp", q)
    assert_facts(message, ".*frame.*'tipp'.*'tip'")
    message = message_of(lw.NameNotFoundError, kd.function, "mass_matrx")
    assert_facts(message, ".*quantity.*'mass_matrx'.*'mass_matrix'")


@pytest.mark.parametrize("option", ["out", "threads"])
def test_options_of_calls_with_numpy(option):
    q = inputs_of("com")[0]
    message = message_of(lw.ArgumentError, robot().com, q, **{option: 1})
    assert_facts(message, rf"com: {option}=.*NumPy.*linkwork\.KinDyn")


def test_wrap_rejects_other_objects():
    message = message_of(lw.ArgumentError, linkwork.torch.wrap, 3)
    assert_facts(message, r"wrap: .*kernel.*3.*kd\.mass_matrix.*@linkwork\.compile")


def test_options_of_kindyn():
    model = robot().model
    message = message_of(lw.ArgumentError, linkwork.torch.KinDyn, model, dtype=torch.float16)
    assert_facts(message, r"dtype: .*float64 or float32.*torch\.float16")
    message = message_of(lw.ArgumentError, linkwork.torch.KinDyn, model, flaoting=True)
    assert_facts(message, ".*'flaoting'.*'floating'")


def test_values_are_checked_as_in_numpy():
    q, nu = inputs_of("bias_force")
    q[3:7] *= 1.1
    message = message_of(lw.ValueRangeError, robot().bias_force, q, nu)
    assert_facts(message, r"q: .*base quaternion.*1\.1\b")
    nu[0] = np.nan
    q = robot().neutral()
    message = message_of(lw.ValueRangeError, robot(check=True).bias_force, q, nu)
    assert_facts(message, "nu: .*base.*nan")


def test_numpy_kernels_raise_with_a_hint_when_called_with_tensors():
    q = inputs_of("com")[0]
    message = message_of(lw.ArgumentError, robot().numpy.com, q)
    assert_facts(message, r"q: .*torch tensor.*q\.detach\(\)\.cpu\(\)\.numpy\(\).*linkwork\.torch")


def test_training_that_diverges_ends_with_nan_as_in_pytorch():
    """Results that overflow, and their gradients, are infinite or NaN; nothing is raised."""
    kd = robot()
    q, nu, tau = inputs_of("forward_dynamics", (4,))
    scale = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    losses = []
    for _ in range(400):
        loss = (kd.forward_dynamics(q, scale * nu, tau) ** 2).mean()
        (gradient,) = torch.autograd.grad(loss, scale)
        with torch.no_grad():
            scale += 10.0 * gradient  # far too long a step
        losses.append(float(loss.detach()))
    assert np.isfinite(losses[0])
    assert not np.isfinite(losses[-1])
    assert not np.isfinite(float(scale.detach()))


def test_rows_that_overflow_do_not_affect_others():
    q, nu, tau = inputs_of("forward_dynamics", (4,))
    expected = robot().forward_dynamics(q, nu, tau)
    nu[2] = 1e200
    actual = robot().forward_dynamics(q, nu, tau)
    assert not actual[2].isfinite().all()
    rows = [0, 1, 3]
    torch.testing.assert_close(actual[rows], expected[rows])


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_a_quaternion_that_is_not_finite_gives_nan(value):
    (q,) = inputs_of("mass_matrix", (3,))
    q[1, 3] = value
    M = robot().mass_matrix(q)
    assert [bool(row.isfinite().all()) for row in M] == [True, False, True]
    assert robot().mass_matrix(q[1]).isnan().any()
    q[1, 3] = 1e200
    assert "norm" in message_of(lw.ValueRangeError, robot().mass_matrix, q)
