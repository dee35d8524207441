"""Gradients of tensors: backward, forward mode, and the derivatives of both."""

import numpy as np
import pytest
import torch
from tests.support.tensors import all_joints, frames_of, inputs_of, random_like, robot

import linkwork as lw
import linkwork.torch
from linkwork.bridges.methods import METHODS

# raised by PyTorch when forward mode is first used
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
FRAMES = {"frame": "ball", "reference": "slider", "frames": ["ball", "trunk"]}


def recorded(tensors):
    return [tensor.detach().clone().requires_grad_() for tensor in tensors]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_first_and_second_derivatives(name):
    """PyTorch compares them with finite differences, also along quaternions and (cos, sin)."""
    frames, named = frames_of(name, FRAMES)

    def function(*tensors):
        return getattr(all_joints(), name)(*frames, *tensors, **named)

    tensors = recorded(inputs_of(name, seed=2, bridged=all_joints()))
    assert torch.autograd.gradcheck(function, tensors, fast_mode=True, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, tensors, fast_mode=True)


def test_all_derivatives_of_forward_dynamics_agree_with_differences():
    """In a batch, with broadcast inputs, wrenches and gravity, element by element."""

    def function(q, nu, tau, wrench, gravity):
        return robot().forward_dynamics(q, nu, tau, wrenches={"tip": wrench}, gravity=gravity)

    q, nu, tau = inputs_of("forward_dynamics", (2,))
    gravity = torch.tensor([0.3, 0.1, -9.0], dtype=torch.float64)
    tensors = recorded([q, nu[0], tau[:1], nu[1, :6], gravity])
    assert torch.autograd.gradcheck(function, tensors)


def test_gradients_have_the_bits_of_the_vjp_kernel():
    """Except for quaternions, whose norms are 1 only up to rounding."""
    q, nu = recorded(inputs_of("bias_force", (3,)))
    h = robot().bias_force(q, nu)
    cotangent = random_like(h)
    result = torch.autograd.grad(h, (q, nu), cotangent)
    kernel = robot().numpy.bias_force.vjp("q", "nu")
    expected = kernel(q.detach().numpy(), nu.detach().numpy(), cotangent.numpy())
    assert np.array_equal(result[1], expected[1])
    assert np.array_equal(result[0][:, :3], expected[0][:, :3])
    assert np.array_equal(result[0][:, 7:], expected[0][:, 7:])
    np.testing.assert_allclose(result[0], expected[0], rtol=1e-13, atol=1e-13)


def test_values_in_a_forward_pass_have_the_bits_of_the_method():
    q, nu = inputs_of("bias_force", (3,))
    expected = robot().numpy.bias_force(q.numpy(), nu.numpy())
    found = robot().bias_force(*recorded([q, nu]))
    assert found.requires_grad
    assert np.array_equal(found.detach(), expected)


def test_sums_over_a_batch_do_not_depend_on_threads():
    """Also those to a single number, which PyTorch computes in an order of its own."""

    @lw.compile(x=(), y=2)
    def product(x, y):
        return x * np.sin(y[0] * 1e3) + y[1]

    rows = torch.randn(100_000, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

    def gradients(threads):
        torch.set_num_threads(threads)
        x, y = recorded([torch.tensor(0.3, dtype=torch.float64), torch.zeros(2).double()])
        function = linkwork.torch.wrap(product)
        for_x = torch.autograd.grad(function(x, rows), x, rows[:, 0])[0]
        return for_x.item(), torch.autograd.grad(function(rows[:, 0], y), y, rows[:, 1])[0].tolist()

    before = torch.get_num_threads()
    try:
        alone, together = gradients(1), gradients(2)
    finally:
        torch.set_num_threads(before)
    assert alone == together
    expected = (np.sin(rows[:, 0].numpy() * 1e3) * rows[:, 0].numpy()).sum()
    np.testing.assert_allclose(alone[0], expected, rtol=1e-9)


def test_only_inputs_that_need_a_gradient_are_differentiated():
    kd = linkwork.torch.KinDyn(robot().model)
    q, nu, tau = inputs_of("forward_dynamics")
    tau.requires_grad_()
    kd.forward_dynamics(q, nu, tau).sum().backward()
    assert list(kd.numpy.forward_dynamics._derivatives) == [("vjp", ("tau",))]
    assert torch.allclose(tau.grad, kd.inverse_mass_matrix(q).sum(0))
    assert not kd.forward_dynamics(q, nu, tau.detach()).requires_grad
    with torch.no_grad():
        assert not kd.forward_dynamics(q, nu, tau).requires_grad
    with torch.inference_mode():
        assert kd.forward_dynamics(q, nu, tau).is_inference()


def test_gradients_of_broadcast_inputs_are_summed():
    q, nu = inputs_of("kinetic_energy", (2, 3))
    shared = nu[0, 0].clone().requires_grad_()
    rows = nu[:, :1].clone().requires_grad_()
    robot().kinetic_energy(q, shared).sum().backward()
    robot().kinetic_energy(q, rows).sum().backward()
    M = robot().mass_matrix(q)
    assert torch.allclose(shared.grad, (M @ shared).sum((0, 1)))
    assert torch.allclose(rows.grad, (M @ rows[..., None])[..., 0].sum(1, keepdim=True))


def test_gradients_of_float32_are_float32():
    q, nu = recorded([tensor.float() for tensor in inputs_of("kinetic_energy", (3,))])
    robot().kinetic_energy(q, nu).sum().backward()
    assert q.grad.dtype is nu.grad.dtype is torch.float32
    expected = robot().mass_matrix(q.double()) @ nu.double()[..., None]
    assert torch.allclose(nu.grad.double(), expected[..., 0], rtol=1e-4, atol=1e-5)


def test_second_derivatives_of_a_quaternion_are_those_of_the_normalized_one():
    """They are symmetric and agree with the kernel's `hessian`."""
    q, nu = inputs_of("kinetic_energy")
    H = torch.func.hessian(robot().kinetic_energy)(q, nu)
    expected = robot().numpy.kinetic_energy.hessian("q")(q.numpy(), nu.numpy())
    assert np.allclose(H, expected, rtol=1e-10, atol=1e-10)
    assert torch.allclose(H, H.T, rtol=1e-10, atol=1e-10)
    derivative = torch.func.grad(robot().kinetic_energy)(q, nu)
    assert torch.allclose(
        H[:, 3:7] @ q[3:7], torch.cat([H.new_zeros(3), -derivative[3:7], H.new_zeros(2)])
    )


def test_gradients_at_a_drifted_quaternion_agree_with_differences():
    """First derivatives, which scale with the inverse of the norm, and second derivatives."""
    q, nu = recorded(inputs_of("bias_force", (2,)))
    unit = torch.autograd.grad(robot().bias_force(q, nu).sum(), q)[0]
    with torch.no_grad():
        q[..., 3:7] *= 1 + 5e-4
    longer = torch.autograd.grad(robot().bias_force(q, nu).sum(), q)[0]
    assert torch.allclose(longer[..., 3:7] * (1 + 5e-4), unit[..., 3:7], rtol=1e-12, atol=1e-12)
    assert torch.autograd.gradcheck(robot().bias_force, (q, nu), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(robot().bias_force, (q, nu), fast_mode=True)


def test_an_unused_result_does_not_affect_the_gradient():
    q, nu, tau = recorded(inputs_of("inverse_dynamics_derivatives"))
    by = robot().inverse_dynamics_derivatives(q, nu, tau)
    by.nu_dot.sum().backward()
    expected = torch.autograd.grad(robot().mass_matrix(q).sum(), q)[0]
    assert torch.allclose(q.grad, expected)
    assert not nu.grad.any()


def test_replayed_programs_have_the_same_derivatives():
    q, nu = inputs_of("kinetic_energy")
    replayed = robot(replay=True).kinetic_energy
    for transform in (torch.func.grad, torch.func.hessian):
        actual, expected = transform(replayed)(q, nu), transform(robot().kinetic_energy)(q, nu)
        assert torch.allclose(actual, expected, rtol=1e-10, atol=1e-10)


def test_dual_numbers_carry_tangents():
    q, nu = inputs_of("velocity")
    direction = random_like(nu)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(nu, direction)
        result = torch.autograd.forward_ad.unpack_dual(robot().velocity("tip", q, dual))
    assert torch.allclose(result.tangent, robot().jacobian("tip", q) @ direction)


def test_gradients_of_wrapped_derivatives_and_fused_functions():
    q, nu = recorded(inputs_of("kinetic_energy"))
    momentum = robot().kinetic_energy.gradient("nu")
    result = torch.autograd.grad(momentum(q, nu).sum(), nu)[0]
    assert torch.allclose(result, robot().mass_matrix(q).sum(0))
    both = robot().function("com", "mass_matrix")
    derivatives = [torch.autograd.grad(part.sum(), q, retain_graph=True)[0] for part in both(q)]
    alone = [torch.autograd.grad(f(q).sum(), q)[0] for f in (robot().com, robot().mass_matrix)]
    for actual, expected in zip(derivatives, alone, strict=True):
        assert torch.allclose(actual, expected)


def test_many_cotangents_at_once():
    """PyTorch computes them with an older vmap than `torch.func`."""
    q, nu = recorded(inputs_of("bias_force", (3,)))
    h = robot().bias_force(q, nu)
    cotangents = torch.stack([random_like(h, seed) for seed in range(4)])
    result = torch.autograd.grad(h, (q, nu), cotangents, retain_graph=True, is_grads_batched=True)
    for k, cotangent in enumerate(cotangents):
        expected = torch.autograd.grad(h, (q, nu), cotangent, retain_graph=True)
        assert all(torch.equal(a[k], b) for a, b in zip(result, expected, strict=True))
    rows = torch.autograd.functional.jacobian(
        lambda nu: robot().bias_force(q[0].detach(), nu), nu[0].detach(), vectorize=True
    )
    jacobian = robot().bias_force.jacobian("nu")(q[0].detach(), nu[0].detach())
    assert torch.allclose(rows, jacobian, rtol=1e-12, atol=1e-12)
