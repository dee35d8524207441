"""`ConstrainedKinDyn` in PyTorch and CasADi: values and derivatives, with redundant contacts."""

import inspect
import pickle

import casadi as ca
import numpy as np
import pytest
import torch
from tests.support.constrained import STANCE, arguments, by_differences, stance_of
from tests.support.linkages import four_bar, leg
from tests.support.tensors import listed

import linkwork as lw
import linkwork.casadi
import linkwork.torch
from linkwork.bridges.methods import CONSTRAINED_METHODS

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")


@pytest.fixture(scope="module")
def stance():
    return stance_of(linkwork.torch.KinDyn)


@pytest.fixture(scope="module")
def loop():
    """A planar loop, three of whose five equations are redundant."""
    return linkwork.torch.KinDyn(four_bar(), floating=False).constrained()


@pytest.fixture(scope="module")
def symbolic():
    return stance_of(linkwork.casadi.KinDyn)


@pytest.mark.parametrize("name", CONSTRAINED_METHODS)
def test_every_method_returns_what_it_returns_in_numpy(stance, symbolic, name):
    values = arguments(stance, [one.name for one in CONSTRAINED_METHODS[name].inputs], (3,))
    expected = getattr(stance.numpy, name)(*values)
    result = getattr(stance, name)(*map(torch.as_tensor, values))
    assert type(result) is (torch.Tensor if isinstance(expected, np.ndarray) else type(expected))
    for actual, array in zip(listed(result), listed(expected), strict=True):
        assert np.array_equal(actual.numpy(), array)
    in_casadi = listed(getattr(symbolic, name)(*(array[0] for array in values)))
    for actual, array in zip(in_casadi, listed(expected), strict=True):
        matrix = np.array(actual).reshape(array.shape[1:])
        # the pseudo-inverse of redundant constraints amplifies differences in rounding
        np.testing.assert_allclose(matrix, array[0], atol=1e-6 * max(1.0, np.abs(array[0]).max()))


def test_attributes_are_those_of_the_numpy_class(stance, symbolic):
    names = [name for name in dir(lw.ConstrainedKinDyn) if not name.startswith("_")]
    assert set(names) <= {*dir(stance), "cut"}
    assert (stance.m, stance.nv, stance.rows) == (6, 8, stance.numpy.rows)
    assert stance.kindyn == linkwork.torch.KinDyn(leg())
    assert stance.kindyn is stance.kindyn
    assert pickle.loads(pickle.dumps(stance)) == stance
    assert stance.replace(stabilization=3.0) != stance
    assert "forces" in inspect.signature(stance.forces_of).parameters
    q, forces = arguments(stance, ("q", "forces"), (3,))
    expected = stance.numpy.forces_of("toe", q, forces)
    assert np.array_equal(stance.forces_of("toe", torch.as_tensor(q), forces).numpy(), expected)
    columns = symbolic.forces_of("toe", q.T, forces.T)
    np.testing.assert_allclose(np.array(columns).T, expected, atol=1e-12)
    projected = stance.project_configuration(torch.as_tensor(q))
    assert np.array_equal(projected.numpy(), stance.numpy.project_configuration(q))
    differentiable = torch.tensor(q, requires_grad=True)
    assert torch.equal(stance.project_configuration(differentiable), projected)
    columns = symbolic.project_configuration(ca.DM(q.T))
    np.testing.assert_allclose(np.array(columns).T, projected.numpy(), atol=1e-12)
    with pytest.raises(lw.ArgumentError, match="no numeric values"):
        symbolic.project_configuration(ca.SX.sym("q", stance.nq))
    assert repr(symbolic).startswith("linkwork.casadi.ConstrainedKinDyn(")
    with pytest.raises(lw.ArgumentError, match="actuated"):
        linkwork.torch.KinDyn(leg()).constrained(["heel"]).inverse_dynamics(q, q, q)


@pytest.mark.parametrize("bridge", [linkwork.torch, linkwork.casadi])
def test_equal_arguments_return_the_same_robot(bridge):
    kd = bridge.KinDyn(leg())
    assert kd.constrained(["heel"]) is kd.constrained(("heel",))
    assert kd.constrained(["heel"]).kindyn is kd
    assert kd.constrained(["heel"]).numpy is kd.numpy.constrained(["heel"])
    assert kd.constrained(["heel"], stabilization=2.0) is not kd.constrained(["heel"])


def test_gradients_are_right_although_constraints_are_redundant(stance, symbolic):
    values = arguments(stance, ("q", "nu", "tau"))
    numpy = stance.numpy
    weights = np.random.default_rng(0).normal(size=numpy.nv + numpy.m)

    def cost(result, concatenated):
        return (concatenated([result.nu_dot, result.forces]) * torch.as_tensor(weights)).sum()

    tensors = [torch.as_tensor(value).requires_grad_() for value in values]
    cost(stance.forward_dynamics(*tensors), torch.cat).backward()

    def in_numpy(q):
        result = numpy.forward_dynamics(q, *values[1:])
        return np.concatenate([result.nu_dot, result.forces]) @ weights

    q, nu, tau = values
    E = numpy.kindyn.velocity_kinematics(q)
    expected = by_differences(in_numpy, numpy, q)
    np.testing.assert_allclose(
        tensors[0].grad.numpy() @ E, expected, atol=1e-6 * np.abs(expected).max()
    )
    # the derivatives of the accelerations are those of the implicit function theorem
    exact = numpy.forward_dynamics_derivatives(q, nu, tau)
    jacobians = torch.func.jacfwd(stance.forward_dynamics, argnums=(0, 1, 2))(*tensors).nu_dot
    jacobians = [part.detach().numpy() for part in jacobians]
    for actual, one in zip(
        (jacobians[0] @ E, *jacobians[1:]), (exact.q, exact.nu, exact.tau), strict=True
    ):
        np.testing.assert_allclose(actual, one, atol=1e-6 * np.abs(one).max())
    symbol = ca.SX.sym("q", numpy.nq)
    jacobian = ca.jacobian(symbolic.forward_dynamics(symbol, nu, tau).nu_dot, symbol)
    actual = np.array(ca.Function("J", [symbol], [jacobian])(q)) @ E
    np.testing.assert_allclose(actual, exact.q, atol=1e-6 * np.abs(exact.q).max())


def test_transforms_and_compiled_graphs(loop):
    q = torch.as_tensor(loop.numpy.kindyn.random(3, seed=0))
    nu, tau = torch.as_tensor(np.random.default_rng(0).normal(size=(2, 3, 3)))
    expected = loop.forward_dynamics(q, nu, tau).nu_dot
    mapped = torch.func.vmap(loop.forward_dynamics)(q, nu, tau).nu_dot
    assert torch.equal(mapped, expected)

    @torch.compile(fullgraph=True, backend="aot_eager")
    def graph(tau):
        after = loop.impact(q, nu).nu
        return loop.forward_dynamics(q, after, tau).nu_dot.sum()

    tau.requires_grad_()
    graph(tau).backward()
    eager = tau.detach().clone().requires_grad_()
    loop.forward_dynamics(q, loop.impact(q, nu).nu, eager).nu_dot.sum().backward()
    np.testing.assert_allclose(tau.grad.numpy(), eager.grad.numpy(), atol=1e-12)
    single = loop.forward_dynamics(q.float(), nu.float(), eager.detach().float())
    assert single.nu_dot.dtype is torch.float32
    np.testing.assert_allclose(
        single.nu_dot.numpy(), expected.numpy(), atol=1e-4 * float(expected.abs().max())
    )


def test_second_derivatives_of_a_closed_loop(loop):
    """Also of `KinDyn.forward_dynamics`, on the manifold of closed configurations."""
    kd = loop.kindyn
    q = kd.numpy.random(seed=0)
    G = loop.numpy.independent_velocities(q)[:, 0]
    nu, tau = 0.7 * G, np.array([0.3, -0.2, 0.1])

    def moved(t):
        return loop.numpy.project_configuration(kd.numpy.integrate(q, G, t), fixed=["a"])

    def acceleration(q):
        return kd.forward_dynamics(q, torch.as_tensor(nu), torch.as_tensor(tau))[0]

    tensor = torch.as_tensor(q).requires_grad_()
    [gradient] = torch.autograd.grad(acceleration(tensor), tensor)
    h = 1e-5
    values = [kd.numpy.forward_dynamics(moved(t), nu, tau)[0] for t in (h, -h)]
    assert abs(gradient.numpy() @ G - (values[0] - values[1]) / (2 * h)) < 1e-6

    def forces(q):
        return loop.forward_dynamics(q, torch.as_tensor(nu), torch.as_tensor(tau)).forces[0]

    hessian = torch.func.hessian(forces)(tensor.detach()).numpy()
    gradients = [
        torch.func.grad(forces)(torch.as_tensor(q + t * e)).numpy()
        for e in np.eye(3)
        for t in (h, -h)
    ]
    stepped = [(a - b) / (2 * h) for a, b in zip(gradients[::2], gradients[1::2], strict=True)]
    np.testing.assert_allclose(hessian, stepped, atol=1e-5 * np.abs(hessian).max())


def test_machine_code_in_casadi():
    kd = linkwork.casadi.KinDyn(four_bar(), floating=False, compiled=True)
    loop = kd.constrained(stabilization=STANCE["stabilization"])
    q = kd.numpy.random(seed=0)
    nu, tau = np.ones(3), np.array([0.3, -0.2, 0.1])
    symbol = ca.MX.sym("q", 3)
    result = loop.forward_dynamics(symbol, nu, tau)
    function = ca.Function("f", [symbol], [result.nu_dot, ca.jacobian(result.nu_dot, symbol)])
    value, jacobian = map(np.array, function(q))
    np.testing.assert_allclose(
        value[:, 0], loop.numpy.forward_dynamics(q, nu, tau).nu_dot, atol=1e-9
    )
    exact = loop.numpy.forward_dynamics_derivatives(q, nu, tau).q
    np.testing.assert_allclose(jacobian, exact, atol=1e-7 * np.abs(exact).max())


def test_rollouts_with_gradients(loop):
    step, dt = loop.numpy.step, {"dt": 0.01}
    q, nu = loop.numpy.kindyn.random(seed=0), np.zeros(3)
    tau = torch.zeros(20, 3, dtype=torch.float64, requires_grad=True)
    simulate = linkwork.torch.wrap(lw.Rollout(step))
    states, _ = simulate((torch.as_tensor(q), torch.as_tensor(nu)), tau, params=dt)
    states[-1, 0].backward()
    assert np.abs(loop.numpy.error(states.detach().numpy())).max() < 0.01
    h, change = 1e-5, np.zeros((20, 3))
    change[7, 0] = h
    angles = [
        lw.rollout(step, (q, nu), sign * change, params=dt, final=True)[0][0] for sign in (1, -1)
    ]
    assert abs(float(tau.grad[7, 0]) - (angles[0] - angles[1]) / (2 * h)) < 1e-7
