"""`torch.func`, `torch.compile` and `torch.export`."""

import pytest
import torch
from tests.support.kernels import output_of
from tests.support.messages import assert_facts
from tests.support.tensors import inputs_of, random_like, robot

import linkwork as lw
import linkwork.torch

FUNC = torch.func
# raised by PyTorch when forward mode is first used
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")


def test_vmap_over_any_axes_is_a_batch():
    q, nu = inputs_of("bias_force", (3,))
    h = robot().bias_force
    expected = h(q, nu)
    assert torch.equal(FUNC.vmap(h)(q, nu), expected)
    assert torch.equal(FUNC.vmap(h, in_dims=(1, 0))(q.T, nu), expected)
    assert torch.equal(FUNC.vmap(h, in_dims=(0, None), out_dims=1)(q, nu[0]).T, h(q, nu[0]))
    assert torch.equal(FUNC.vmap(FUNC.vmap(h, (None, 0)), (0, None))(q, nu), h(q[:, None], nu))


def test_vmap_of_functions_with_batch_axes():
    q, nu = inputs_of("bias_force", (3, 2))
    h = robot().bias_force
    assert torch.equal(FUNC.vmap(h, in_dims=(1, None))(q, nu[:, 0]), h(q.transpose(0, 1), nu[:, 0]))
    assert torch.equal(FUNC.vmap(h, in_dims=(0, None))(q[:, 0], nu), h(q[:, None, None, 0], nu))
    derivatives = FUNC.vmap(robot().velocity_derivatives, in_dims=(None, 0, 0))("tip", q, nu)
    assert torch.equal(derivatives[0], robot().velocity_derivatives("tip", q, nu).q)


def test_reverse_and_forward_jacobians_agree_with_the_kernel():
    q, nu, tau = inputs_of("forward_dynamics")
    f = robot().forward_dynamics
    expected = robot().forward_dynamics.jacobian("q", "nu", "tau")(q, nu, tau)
    for transform in (FUNC.jacrev, FUNC.jacfwd):
        for actual, kernel in zip(
            transform(f, argnums=(0, 1, 2))(q, nu, tau), expected, strict=True
        ):
            assert torch.allclose(actual, kernel, rtol=1e-9, atol=1e-9)


def test_gradients_of_each_row_and_products_with_hessians():
    q, nu = inputs_of("kinetic_energy", (3,))
    energy = robot().kinetic_energy
    derivatives = FUNC.vmap(FUNC.grad(energy, argnums=1))(q, nu)
    assert torch.allclose(derivatives, (robot().mass_matrix(q) @ nu[..., None])[..., 0])
    direction = random_like(nu[0])
    derivative = FUNC.grad(energy, argnums=1)
    _, product = FUNC.jvp(lambda x: derivative(q[0], x), (nu[0],), (direction,))
    assert torch.allclose(product, robot().mass_matrix(q[0]) @ direction)
    assert FUNC.vmap(FUNC.hessian(energy))(q, nu).shape == (3, 9, 9)


@pytest.fixture
def compiled():
    """`torch.compile` without code generation: graphs, gradients and shapes are the same."""

    def compiled(function):
        return torch.compile(function, fullgraph=True, backend="aot_eager")

    yield compiled
    torch._dynamo.reset()


def test_compiled_functions_are_one_graph_with_gradients(compiled):
    kd = linkwork.torch.KinDyn(robot().model)  # none of its functions has been used yet

    def cost(q, nu, tau, scale):
        forces = kd.forward_dynamics(
            q, nu, tau, wrenches={"tip": nu[..., :6]}, gravity=[0, 0, -9.0]
        )
        by = kd.velocity_derivatives("tip", q, nu)
        moved = kd.integrate(q, nu * scale, 0.1)
        return forces.sin().sum() + by.q.sum() + kd.com(moved).sum() + kd.transform("tip", q).sum()

    tensors = [t.requires_grad_() for t in inputs_of("forward_dynamics", (3,))]
    scale = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    result, expected = compiled(cost)(*tensors, scale), cost(*tensors, scale)
    assert torch.allclose(result, expected, rtol=1e-12)
    actual = torch.autograd.grad(result, (*tensors, scale))
    for one, other in zip(actual, torch.autograd.grad(expected, (*tensors, scale)), strict=True):
        assert torch.allclose(one, other, rtol=1e-10, atol=1e-10)


def test_compiled_functions_may_contain_transforms(compiled):
    q, nu = inputs_of("kinetic_energy", (3,))
    for transform in (FUNC.grad, FUNC.jacfwd):
        function = FUNC.vmap(transform(robot().kinetic_energy))
        assert torch.allclose(compiled(function)(q, nu), function(q, nu), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda kd, q: kd.com(q.half()),
            r"q: .*float64 or float32.*torch\.float16",
        ),
        (
            lambda kd, q: kd.bias_force(q.float(), q[1:]),
            r"nu is torch\.float64.*q is torch\.float32",
        ),
        (lambda kd, q: kd.com(q, q), r"com .*1.*\(q\).*2"),
        (lambda kd, q: kd.com(q, out=q), "com: out=.*NumPy"),
        (lambda kd, q: kd.com(p=q), "com: .*'p'.*q"),
    ],
    ids=["type", "types", "number", "option", "name"],
)
def test_compiled_functions_raise_the_same_errors(compiled, call, message):
    """PyTorch raises its own error type, with the message of the uncompiled call."""
    q, kd = inputs_of("com")[0], robot()
    with pytest.raises(lw.ArgumentError, match=message):
        call(kd, q)
    with pytest.raises(RuntimeError, match=message):
        compiled(lambda q: call(kd, q))(q)


def test_scalars_are_converted_in_compiled_functions(compiled):
    q, nu = inputs_of("integrate")[:2]
    dt, kd = torch.tensor(0.25), robot()
    result = compiled(lambda q, dt: kd.integrate(q, nu, dt))(q, dt)
    assert torch.equal(result, kd.integrate(q, nu, 0.25))


def test_compiled_functions_take_batches_of_any_size(compiled):
    kd = robot()
    function = compiled(lambda q, nu: kd.bias_force(q, nu) * 2)
    for rows in (2, 3, 5):
        q, nu = inputs_of("bias_force", (rows,))
        assert torch.equal(function(q, nu), robot().bias_force(q, nu) * 2)


def test_exported_programs_call_the_operator():
    kd = robot()

    class Bias(torch.nn.Module):
        def forward(self, q, nu):
            return kd.bias_force(q, nu)

    q, nu = inputs_of("bias_force", (3,))
    program = torch.export.export(Bias(), (q, nu))
    assert "linkwork.call" in program.graph_module.code
    assert torch.equal(program.module()(q, nu), kd.bias_force(q, nu))


def test_an_unknown_token_raises_with_the_name_of_the_function():
    code = """
import torch, linkwork.torch
from linkwork.bridges.torch.autograd import operator_of
try:
    operator_of("mass_matrix 0123\\t[\\"vjp\\", \\"q\\"]")
except linkwork.ArgumentError as error:
    print(error)
"""
    assert_facts(output_of(code), r"linkwork::call: 'mass_matrix'.*linkwork\.torch")


def test_tokens_are_the_same_in_every_process():
    operator = robot().bias_force.operator(torch.float64).derivative("vjp", ("q",))
    code = """
import torch, linkwork as lw, linkwork.torch
kd = linkwork.torch.KinDyn(lw.robots.load("double_pendulum"), floating=True)
print(repr(kd.bias_force.operator(torch.float64).derivative("vjp", ("q",)).token))
"""
    assert output_of(code).strip() == repr(operator.token)
    tokens = {
        robot(**options).bias_force.operator(dtype).token
        for options in ({}, {"replay": True}, {"representation": "body"})
        for dtype in (torch.float32, torch.float64)
    }
    assert len(tokens) == 6
