"""Values of functions of JAX arrays: the same bits as those of NumPy arrays."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.spatial.test_contract import FUNCTIONS, name_of
from tests.support.jax_robots import arguments, kindyn, request
from tests.support.rollouts import pendulum, spring
from tests.support.spatial import pin

import linkwork as lw
import linkwork.jax
from linkwork.bridges.methods import METHODS
from linkwork.spatial import se3, so3


@pytest.fixture(scope="module")
def kd():
    return kindyn()


def assert_same_bits(actual, expected):
    """Assert that all results have the same bits."""
    leaves, others = jax.tree.leaves(actual), jax.tree.leaves(expected)
    assert len(leaves) == len(others)
    for one, other in zip(leaves, others, strict=True):
        assert isinstance(one, jax.Array)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def call_method(robot, kd, name, inputs):
    """Call a method with its frames."""
    if name == "transforms":
        return robot.transforms(*inputs, frames=request(kd, name)[1])
    return getattr(robot, name)(*request(kd, name)[1:], *inputs)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_the_same_bits_as_in_numpy(kd, name):
    values = arguments(kd, [one.name for one in METHODS[name].inputs], (3,))
    expected = call_method(kd.numpy, kd, name, values)
    assert_same_bits(jax.jit(lambda *arrays: call_method(kd, kd, name, arrays))(*values), expected)
    result = call_method(kd, kd, name, [array[0] for array in values])
    assert type(result) is type(expected) or isinstance(result, jax.Array)


def test_several_quantities_in_one_function(kd):
    q, nu = arguments(kd, ("q", "nu"))
    both = kd.function("mass_matrix", "bias_force")
    assert_same_bits(both(q, nu), kd.numpy.function("mass_matrix", "bias_force")(q, nu))
    assert_same_bits(both(nu=nu, q=q), both.kernel(q, nu))


def test_optimized_code_on_several_threads_has_the_same_bits_as_in_numpy(kd, monkeypatch):
    q, nu = arguments(kd, ("q", "nu"), (5003,))
    kd.warmup("com_velocity")
    expected = kd.numpy.com_velocity(q, nu)
    assert_same_bits(kd.com_velocity(q, nu), expected)
    monkeypatch.setenv("LINKWORK_THREADS", "1")
    assert_same_bits(kd.com_velocity(q, nu), expected)


def test_batches_broadcast_as_in_numpy(kd):
    q, nu, tau = arguments(kd, ("q", "nu", "tau"), (4, 3))
    for inputs in (
        (q, nu[0, 0], tau),
        (q[:, :1], nu[:1], tau),
        (q[0, 0], nu[0, 0], tau[:1, :1]),
        (q[0], nu, tau[0, 0]),
        (q[:0], nu[:0], tau[:0]),
    ):
        assert_same_bits(kd.forward_dynamics(*inputs), kd.numpy.forward_dynamics(*inputs))


@pytest.mark.parametrize("axes", [(0, None, None), (None, 0, 1), (1, 0, None), (1, 1, 1)])
def test_vmap_is_one_call_of_the_kernel(kd, axes):
    q, nu, tau = arguments(kd, ("q", "nu", "tau"), (4, 4))
    rows = [
        array[0, 0] if axis is None else array[0] if axis == 0 else array[0].T
        for axis, array in zip(axes, (q, nu, tau), strict=True)
    ]
    moved = [
        row if axis is None else np.moveaxis(row, axis, 0)
        for axis, row in zip(axes, rows, strict=True)
    ]
    mapped = jax.vmap(kd.forward_dynamics, axes)
    assert_same_bits(mapped(*rows), kd.numpy.forward_dynamics(*moved))
    assert str(jax.make_jaxpr(mapped)(*rows)).count("= linkwork[") == 1


def test_vmap_of_vmap(kd):
    q, nu, tau = arguments(kd, ("q", "nu", "tau"), (4, 3))
    outer = jax.vmap(jax.vmap(kd.forward_dynamics, (0, None, 0)), (0, 0, None))
    expected = kd.numpy.forward_dynamics(q, nu[:, :1], tau[:1])
    assert_same_bits(outer(q, nu[:, 0], tau[0]), expected)
    crossed = jax.vmap(jax.vmap(kd.forward_dynamics, (0, None, None)), (None, 0, None))
    assert_same_bits(
        crossed(q[0], nu[:, 0], tau[0, 0]),
        kd.numpy.forward_dynamics(q[:1], nu[:, :1], tau[:1, :1].repeat(4, 0)),
    )
    assert_same_bits(jax.vmap(kd.com)(q[:, :1]), kd.numpy.com(q[:, :1]))


def test_single_precision(single_precision):
    kd = kindyn()
    q, nu = (array.astype(np.float32) for array in arguments(kd, ("q", "nu"), (3,)))
    result = kd.bias_force(q, nu)
    assert_same_bits(result, kd.numpy.replace(dtype=np.float32).bias_force(q, nu))
    assert jax.grad(lambda q: jnp.sum(kd.bias_force(q, nu)))(q).dtype == np.float32
    assert kd.neutral().dtype == kd.random(3).dtype == np.float32


def test_the_precision_is_that_of_the_arguments(kd):
    q, nu = arguments(kd, ("q", "nu"))
    narrow = q.astype(np.float32), nu.astype(np.float32)
    assert kd.bias_force(*narrow).dtype == np.float32
    assert kd.bias_force(narrow[0], nu).dtype == np.float64
    assert kindyn(dtype=np.float32).bias_force(q, nu).dtype == np.float32
    assert kd.integrate(*narrow, 0.5).dtype == np.float32
    assert kd.bias_force(q.astype(np.float16), np.zeros(kd.nv, np.int8)).dtype == np.float32


def test_lists_and_integers_are_accepted(kd):
    (q,) = arguments(kd, ("q",))
    assert_same_bits(kd.com(q.tolist()), kd.numpy.com(q))
    complete = np.r_[[1, 2, 3, 1, 0, 0, 0, 2], [1, 0, 0, 0]]
    assert_same_bits(kd.com(complete), kd.numpy.com(complete))


def test_arguments_may_be_concatenations(kd):
    """XLA of jax 0.7.1 and earlier ended the process."""
    (q,) = arguments(kd, ("q",))
    rows = np.stack([q, q])
    joined = jax.jit(lambda *parts: kd.com(jnp.concatenate(parts)))
    assert_same_bits(joined(q[:3], q[3:]), kd.numpy.com(q))
    assert_same_bits(joined(rows, rows), kd.numpy.com(np.r_[rows, rows]))


def test_denormal_numbers_are_not_flushed_to_zero():
    @lw.compile(x=(2,))
    def halved(x):
        return 0.5 * x

    tiny = np.array([3e-310, 5e-320])
    assert_same_bits(linkwork.jax.wrap(halved)(tiny), halved(tiny))
    assert (halved(tiny) > 0).all()


def test_scalar_inputs_and_empty_outputs():
    @lw.compile(x=(), y=(0,))
    def both(x, y):
        return np.sin(x), y

    function = linkwork.jax.wrap(both)
    assert_same_bits(function(0.5, np.zeros(0)), both(0.5, np.zeros(0)))
    assert_same_bits(function(np.ones(3), np.zeros((3, 0))), both(np.ones(3), np.zeros((3, 0))))


def test_operations_of_xla_agree_with_the_kernel(kd):
    q, nu, tau = arguments(kd, ("q", "nu", "tau"), (3,))
    q[:, 3:7] *= 1.0005
    slow = kd.replace(backend="xla")
    expected = kd.numpy.com_velocity(q, nu)
    np.testing.assert_allclose(slow.com_velocity(q, nu), expected, rtol=1e-12, atol=1e-12)

    def gradient(robot):
        return jax.grad(lambda q: jnp.sum(robot.com_velocity(q, nu[0]) * tau[0, :3]))(q[0])

    np.testing.assert_allclose(gradient(slow), gradient(kd), rtol=1e-11, atol=1e-12)


def test_loops_become_loops_of_xla():
    """Also in derivatives, and nested; they are too long to be unrolled."""

    @lw.compile(x=3, a=3)
    def function(x, a):
        def step(y):
            return 0.5 * y + 0.1 * lw.repeat(3, lambda z: np.sin(z) + a, y)

        return np.sum(lw.repeat(20_000, step, x))

    x, a = np.random.default_rng(0).uniform(0.1, 0.9, (2, 4, 3))
    wrapped = linkwork.jax.wrap(function, backend="xla")
    np.testing.assert_allclose(wrapped(x, a), function(x, a), rtol=1e-12)
    result = jax.grad(lambda a: jnp.sum(wrapped(x[0], a)))(a)
    np.testing.assert_allclose(result, function.gradient("a")(x[0], a), rtol=1e-10)


def test_every_operation_is_available_in_xla():
    @lw.compile(x=(), y=())
    def everything(x, y):
        waves = np.sin(x) * np.cos(y) - np.arctan2(x, y) / np.sqrt(y) + np.floor(x)
        powers = np.exp(x) + np.log(y) + np.expm1(x) + np.log1p(y) + np.exp2(x)
        return waves + np.where(x < y, powers, -powers) * np.where(x <= y, 2.0, 3.0)

    x, y = np.random.default_rng(1).uniform(0.1, 3, size=(2, 20))
    result = linkwork.jax.wrap(everything, backend="xla")(x, y)
    np.testing.assert_allclose(result, everything(x, y), rtol=1e-13)


def test_rollouts_have_the_same_bits_as_in_numpy(rng):
    step = pendulum()
    x0, controls = rng.normal(size=(3, 2)), rng.normal(size=(20, 1))
    function = linkwork.jax.wrap(lw.Rollout(step))
    assert_same_bits(function(x0, controls), lw.rollout(step, x0, controls))
    assert_same_bits(function(x0, controls, final=True), lw.rollout(step, x0, controls, final=True))
    assert_same_bits(function(x0[0], controls[:0]), lw.rollout(step, x0[0], controls[:0]))


def test_rollouts_of_several_states_with_parameters_and_their_gradients(rng):
    step = spring()
    p, v, force = rng.normal(size=(3, 4, 2))
    controls = np.broadcast_to(force[:, None], (4, 6, 2)), rng.normal(size=6)
    params = {"mass": rng.uniform(1, 2, size=4), "stiffness": rng.normal(size=(2, 2))}
    sim, function = lw.Rollout(step), linkwork.jax.wrap(lw.Rollout(step))
    expected = sim((p, v), controls, params=params)
    assert_same_bits(function((p, v), controls, params=params), expected)

    def cost(x0, controls, params):
        states = function(x0, controls, params=params)
        return sum(jnp.sum(array**2) for array in states)

    result = jax.jit(jax.grad(cost, argnums=(0, 1, 2)))((p, v), controls, params)
    by_x0, by_controls, by_params = sim.vjp(
        (p, v), controls, tuple(2 * array for array in expected), params=params
    )
    np.testing.assert_allclose(result[0], by_x0, rtol=1e-12)
    np.testing.assert_allclose(result[1][0], by_controls[0], rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(result[1][1], by_controls[1].sum(axis=0), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(result[2]["mass"], by_params["mass"], rtol=1e-11)
    np.testing.assert_allclose(
        result[2]["stiffness"], by_params["stiffness"].sum(axis=0), rtol=1e-11
    )


COMPILED = [
    function
    for function, (_, is_traceable) in FUNCTIONS.items()
    if is_traceable and function not in (se3.rotation_of, se3.position_of)  # these are slices
]


@pytest.mark.parametrize("function", COMPILED, ids=name_of)
def test_functions_of_spatial_algebra_accept_jax_arrays(function):
    rng = np.random.default_rng(0)
    arrays = [make(rng, (3,)) for make in FUNCTIONS[function][0]]
    result = jax.jit(function)(*map(jnp.asarray, arrays))
    np.testing.assert_allclose(result, function(*arrays), rtol=1e-12, atol=1e-12)
    with_vmap = jax.vmap(function)(*map(jnp.asarray, arrays))
    np.testing.assert_allclose(with_vmap, result, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("phi", [[0.3, -1.2, 0.7], [0.0, 0.0, 0.0], [0.0, 3.1, 0.0]])
def test_the_derivative_of_a_logarithm_agrees_with_pinocchio(phi):
    R = pin.exp3(np.array(phi))
    by_jax = jax.jacobian(lambda x: so3.log(jnp.asarray(R) @ so3.exp(x)))(jnp.zeros(3))
    np.testing.assert_allclose(by_jax, pin.Jlog3(R), atol=1e-7)
