"""Rollouts of tensors: states as for NumPy, and gradients through time."""

import pickle

import numpy as np
import pytest
import torch
from tests.support.kernels import floater
from tests.support.rollouts import pendulum, spring, spring_inputs

import linkwork as lw
import linkwork.torch

# raised by PyTorch when forward mode is first used
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")


def tensors(batch, steps, dtype=torch.float64):
    x0, controls, params = spring_inputs(batch, steps)
    as_tensor = torch.as_tensor
    return (
        tuple(as_tensor(x, dtype=dtype) for x in x0),
        tuple(as_tensor(u, dtype=dtype) for u in controls),
        {name: as_tensor(p, dtype=dtype) for name, p in params.items()},
    )


@pytest.mark.parametrize("final", [False, True])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_states_have_the_bits_of_the_rollout_for_numpy(final, dtype):
    sim = linkwork.torch.wrap(lw.Rollout(spring()))
    numpy_type = np.float32 if dtype is torch.float32 else np.float64
    rollout = lw.Rollout(spring(numpy_type))
    x0, controls, params = tensors((3,), 5, dtype)

    result = sim(x0, controls, params=params, final=final)
    expected = rollout(
        tuple(x.numpy() for x in x0),
        tuple(u.numpy() for u in controls),
        params={name: p.numpy() for name, p in params.items()},
        final=final,
    )

    for actual, array in zip(result, expected, strict=True):
        assert actual.dtype is dtype
        assert np.array_equal(actual.numpy(), array)


@pytest.mark.parametrize("final", [False, True])
def test_derivatives_of_first_and_second_order(final):
    sim = linkwork.torch.wrap(lw.Rollout(spring()))

    def function(p, v, force, wind, mass, stiffness):  # noqa: PLR0917 - six kinds of inputs
        params = {"mass": mass, "stiffness": stiffness}
        return sim((p, v), (force, wind), params=params, final=final)

    x0, controls, params = tensors((2,), 3)
    first = [*x0, *controls, params["mass"][0], params["stiffness"]]
    arguments = [x.clone().requires_grad_() for x in first]
    assert torch.autograd.gradcheck(function, arguments, fast_mode=True, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, arguments, fast_mode=True)


def test_transforms_and_hessians_through_time():
    sim = linkwork.torch.wrap(lw.Rollout(pendulum()))
    x0 = torch.tensor([0.3, -0.2], dtype=torch.float64)
    controls = torch.linspace(-1, 1, 4, dtype=torch.float64)[:, None]

    def cost(controls, x0):
        return (sim(x0, controls)[..., 0] ** 2).sum(-1)

    many = torch.stack([controls, 2 * controls, controls - 1])
    assert torch.equal(torch.func.vmap(cost, in_dims=(0, None))(many, x0), cost(many, x0))
    J, forward = torch.func.jacrev(cost)(controls, x0), torch.func.jacfwd(cost)(controls, x0)
    assert torch.allclose(J, forward, rtol=1e-12)
    H = torch.func.hessian(cost)(controls, x0).reshape(4, 4)
    assert torch.allclose(H, H.T, rtol=1e-12)
    other = torch.func.jacrev(torch.func.jacrev(cost))(controls, x0).reshape(4, 4)
    assert torch.allclose(H, other, rtol=1e-10)


def test_rollouts_inside_compiled_functions():
    sim = linkwork.torch.wrap(lw.Rollout(spring()))

    @torch.compile(fullgraph=True, backend="aot_eager")
    def cost(x0, controls, params):
        p, _ = sim(x0, controls, params=params)
        return (p[..., -1, :] ** 2).sum()

    x0, controls, params = tensors((3,), 5)
    x0[0].requires_grad_()
    result = torch.autograd.grad(cost(x0, controls, params), x0[0])[0]
    p, _ = sim(x0, controls, params=params)
    expected = torch.autograd.grad((p[..., -1, :] ** 2).sum(), x0[0])[0]
    torch._dynamo.reset()
    assert torch.allclose(result, expected, rtol=1e-12)


def test_steps_without_controls_and_other_devices():
    @lw.compile(x=2)
    def decay(x):
        return 0.5 * x

    sim = linkwork.torch.wrap(lw.Rollout(decay))
    x0 = torch.ones(3, 2, requires_grad=True)
    result = sim(x0, steps=2)
    assert torch.equal(result[0, :, 0], torch.tensor([1.0, 0.5, 0.25]))
    result[:, -1].sum().backward()
    assert torch.equal(x0.grad, torch.full((3, 2), 0.25))
    assert sim(x0.detach().to("meta"), steps=4).shape == (3, 5, 2)


def test_quaternions_among_the_states():
    """Each step normalizes them; the gradient is that of the normalized quaternions."""
    kd = floater()
    step = kd.function("integrate")
    sim = linkwork.torch.wrap(lw.Rollout(step))
    q = torch.as_tensor(kd.random(seed=3)).requires_grad_()
    nu = torch.linspace(-1, 1, 3 * kd.nv, dtype=torch.float64).reshape(3, -1).requires_grad_()

    def end(q, nu):
        return sim(q, nu, params={"dt": 0.1}, final=True)

    assert torch.autograd.gradcheck(end, (q, nu))


def test_rollouts_can_be_pickled_and_raise_for_wrong_arguments():
    kernel = floater().function("integrate")
    sim = pickle.loads(pickle.dumps(linkwork.torch.wrap(lw.Rollout(kernel))))
    assert repr(sim).startswith("<TorchRollout of <Kernel integrate: q (9,), nu (8,), dt ()")
    q, nu = torch.as_tensor(floater().neutral()), torch.zeros(2, 8, dtype=torch.float64)
    assert sim(q, nu, params={"dt": 0.1}).shape == (3, 9)
    with pytest.raises(lw.ArgumentError, match=r"nu is torch\.float32.*q is torch\.float64"):
        sim(q, nu.float(), params={"dt": 0.1})
    with pytest.raises(lw.ShapeError, match=r"nu: .*\(..., steps, 8\)"):
        sim(q, nu[:, :3], params={"dt": 0.1})
    with pytest.raises(lw.ArgumentError, match=r"input of integrate.*'d'"):
        sim(q, nu, params={"d": 0.1})
