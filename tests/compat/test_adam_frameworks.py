"""adam's classes for PyTorch and JAX: values of the NumPy class, gradients, batches."""

from __future__ import annotations

import pickle

import casadi as ca
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from tests.support.jax_robots import enable_x64
from tests.support.parametric import JOINTS, LINKS, solids

import linkwork as lw
from linkwork.compat.adam import KinDynComputations, Representations
from linkwork.compat.adam.casadi import KinDynComputations as OfCasadi
from linkwork.compat.adam.casadi import KinDynComputationsParametric as CasadiParametric
from linkwork.compat.adam.jax import KinDynComputations as OfJax
from linkwork.compat.adam.jax import KinDynComputationsParametric as JaxParametric
from linkwork.compat.adam.parametric import KinDynComputationsParametric as NumpyParametric
from linkwork.compat.adam.pytorch import KinDynComputations as OfTorch
from linkwork.compat.adam.pytorch import KinDynComputationsBatch
from linkwork.compat.adam.pytorch import KinDynComputationsParametric as TorchParametric

ARGUMENTS = {
    "mass_matrix": 2,
    "centroidal_momentum_matrix": 2,
    "CoM_position": 2,
    "CoM_jacobian": 2,
    "bias_force": 4,
    "coriolis_term": 4,
    "gravity_term": 2,
    "aba": 5,
}


@pytest.fixture(autouse=True, scope="module")
def _double():
    with enable_x64(True):
        yield


@pytest.fixture(scope="module")
def robots():
    xml = solids()
    both = KinDynComputations(xml, JOINTS), OfTorch(xml, JOINTS, dtype=torch.float64)
    return (*both, OfJax(xml, JOINTS))


def state(batch=(), seed=0):
    rng = np.random.default_rng(seed)
    H = np.broadcast_to(np.eye(4), (*batch, 4, 4)).copy()
    H[..., :3, :3] = lw.spatial.so3.exp(rng.normal(size=(*batch, 3)))
    H[..., :3, 3] = rng.normal(size=(*batch, 3))
    return [H, *(rng.normal(size=(*batch, n)) for n in (3, 6, 3, 3))]


def close(actual, expected, rtol=1e-12):
    expected = np.asarray(expected)
    scale = max(1.0, np.abs(expected).max())
    assert np.shape(actual) == expected.shape
    np.testing.assert_allclose(np.asarray(actual) / scale, expected / scale, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("representation", Representations)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_quantities_agree_with_numpy(name, representation, robots):
    for robot in robots:
        robot.set_frame_velocity_representation(representation)
    for batch in ((), (3,)):
        arguments = state(batch)[: ARGUMENTS[name]]
        expected = getattr(robots[0], name)(*arguments)
        close(getattr(robots[1], name)(*map(torch.from_numpy, arguments)), expected)
        close(getattr(robots[2], name)(*map(jnp.asarray, arguments)), expected)


@pytest.mark.parametrize("name", ["forward_kinematics", "jacobian", "jacobian_dot"])
def test_quantities_of_frames_agree_with_numpy(name, robots):
    for robot in robots:
        robot.set_frame_velocity_representation(Representations.MIXED_REPRESENTATION)
    arguments = state((2,))[: 4 if name == "jacobian_dot" else 2]
    expected = getattr(robots[0], name)("shank", *arguments)
    close(getattr(robots[1], name)("shank", *map(torch.from_numpy, arguments)), expected)
    close(getattr(robots[2], name)("shank", *map(jnp.asarray, arguments)), expected)
    relative = robots[0].relative_jacobian("shank", arguments[1])
    close(robots[1].relative_jacobian("shank", torch.from_numpy(arguments[1])), relative)
    poses = robots[1].link_poses(*map(torch.from_numpy, arguments[:2]))
    close(poses["shank"], robots[0].forward_kinematics("shank", *arguments[:2]))


@pytest.mark.parametrize("name", ["mass_matrix", "bias_force", "aba"])
def test_gradients_agree_with_those_of_casadi(name, robots):
    """Of the sum of all elements, with respect to every argument; CasADi differentiates itself."""
    arguments = state(seed=2)[: ARGUMENTS[name]]
    _, of_torch, of_jax = robots
    for robot in (of_torch, of_jax):
        robot.set_frame_velocity_representation(Representations.MIXED_REPRESENTATION)
    symbols = [ca.SX.sym("x", *ca.DM(value).shape) for value in arguments]
    total = ca.sum1(ca.sum2(getattr(OfCasadi(solids(), JOINTS), f"{name}_fun")()(*symbols)))
    derivatives = ca.Function("slopes", symbols, [ca.gradient(total, x) for x in symbols])
    expected = [
        np.reshape(g.full(), np.shape(v))
        for g, v in zip(derivatives(*arguments), arguments, strict=True)
    ]

    tensors = [torch.tensor(value, requires_grad=True) for value in arguments]
    getattr(of_torch, name)(*tensors).sum().backward()
    by_jax = jax.grad(lambda *x: getattr(of_jax, name)(*x).sum(), argnums=range(len(arguments)))(
        *map(jnp.asarray, arguments)
    )
    for tensor, derivative, target in zip(tensors, by_jax, expected, strict=True):
        close(tensor.grad, target, 1e-10)
        close(derivative, target, 1e-10)


def test_jax_functions_are_jitted_and_mapped(robots):
    arguments = state((5,))[:2]
    robots[2].set_frame_velocity_representation(Representations.BODY_FIXED_REPRESENTATION)
    robots[0].set_frame_velocity_representation(Representations.BODY_FIXED_REPRESENTATION)
    mapped = jax.jit(jax.vmap(robots[2].mass_matrix))
    close(mapped(*map(jnp.asarray, arguments)), robots[0].mass_matrix(*arguments))


def test_types_and_constants_are_those_of_adam(robots):
    assert KinDynComputationsBatch is OfTorch
    H, s, *_ = state()
    single = OfTorch.from_urdf(solids(), JOINTS)
    assert single.mass_matrix(H, s).dtype == torch.float32  # adam's default
    assert single.g.dtype == torch.float32
    assert robots[1].mass_matrix(H, s).dtype == torch.float64
    single.g = torch.tensor([0.0, 0.0, -1.0, 0.0, 0.0, 0.0])
    weight = single.gravity_term(torch.eye(4), torch.zeros(3))[2]
    assert float(weight) == pytest.approx(float(single.get_total_mass()), rel=1e-6)
    again = pickle.loads(pickle.dumps(single))
    close(again.mass_matrix(H, s), single.mass_matrix(H, s))
    with pytest.raises(lw.ArgumentError, match=r"dtype: expected torch\.float32 or"):
        OfTorch(solids(), JOINTS, dtype=torch.int32)


METHODS_OF_FRAMES = {"forward_kinematics": 2, "jacobian": 2, "jacobian_dot": 4}


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_results_have_the_type_of_the_class(kind):
    """As in adam, all arguments are converted to `dtype=`, and results have its precision."""
    arguments = [np.round(value, 3) for value in state()]
    arguments[0] = np.eye(4)
    exact = KinDynComputations(solids(), JOINTS)
    of_torch = OfTorch(solids(), JOINTS, dtype=getattr(torch, kind))
    of_jax = OfJax(solids(), JOINTS, dtype=getattr(jnp, kind))
    assert of_jax.g.dtype == kind
    assert of_torch.g.dtype == getattr(torch, kind)
    frames = dict.fromkeys(METHODS_OF_FRAMES, ("shank",))
    for name, count in (ARGUMENTS | METHODS_OF_FRAMES).items():
        frame = frames.get(name, ())
        for other in ("float32", "float64"):
            values = [value.astype(other) for value in arguments[:count]]
            expected = getattr(exact, name)(*frame, *values)
            tensor = getattr(of_torch, name)(*frame, *map(torch.from_numpy, values))
            array = getattr(of_jax, name)(*frame, *map(jnp.asarray, values))
            assert (tensor.dtype, array.dtype) == (getattr(torch, kind), kind), name
            close(tensor, expected, 1e-12 if kind == "float64" else 1e-4)
            close(array, expected, 1e-12 if kind == "float64" else 1e-4)
    mixed = of_torch.mass_matrix(torch.eye(4), torch.ones(3, dtype=torch.int64))
    assert mixed.dtype == getattr(torch, kind)


def test_jax_without_64_bits_computes_with_32():
    with enable_x64(False):
        robot = OfJax(solids(), JOINTS)
        assert robot.bias_force(*map(jnp.asarray, state()[:4])).dtype == jnp.float32


def test_arguments_that_are_not_real_numbers_are_rejected(robots):
    for robot in robots[1:]:
        with pytest.raises(TypeError, match="joint_positions"):
            robot.mass_matrix(np.eye(4), np.ones(3, complex))
        with pytest.raises(TypeError, match="joint_positions"):
            robot.mass_matrix(np.eye(4), "abc")
    with pytest.raises(lw.ArgumentError, match="dtype"):
        OfJax(solids(), JOINTS, dtype=jnp.int32)


def test_keyword_arguments_are_accepted(robots, parametric):
    H, s, v, sd, _ = state()
    shape = dict(zip(("length_multiplier", "densities"), shape_of(), strict=True))
    close(
        robots[2].centroidal_momentum_matrix(base_transform=H, joint_positions=s),
        robots[2].centroidal_momentum_matrix(H, s),
    )
    numpy, of_jax, of_torch, _ = parametric
    expected = numpy.bias_force(H, s, v, sd, *shape_of())
    for robot in (of_jax, of_torch):
        rates = {"base_velocity": v, "joint_velocities": sd}
        close(robot.bias_force(base_transform=H, joint_positions=s, **rates, **shape), expected)
    with pytest.raises(TypeError, match="densities"):
        numpy.mass_matrix(H, s, shape_of()[0])


def test_external_wrenches_agree_with_numpy(robots):
    for robot in robots:
        robot.set_frame_velocity_representation(Representations.MIXED_REPRESENTATION)
    arguments, wrench = state((2,)), np.arange(6.0)
    expected = robots[0].aba(*arguments, {"shank": wrench})
    close(robots[1].aba(*map(torch.from_numpy, arguments), {"shank": wrench}), expected)
    close(robots[2].aba(*map(jnp.asarray, arguments), {"shank": wrench}), expected)


# Lengths and densities as inputs.


@pytest.fixture(scope="module")
def parametric():
    kinds = NumpyParametric, JaxParametric, TorchParametric, CasadiParametric
    return [kind(solids(), JOINTS, LINKS) for kind in kinds]


def shape_of(seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.7, 1.4, len(LINKS)), rng.uniform(300.0, 2000.0, len(LINKS))


@pytest.mark.parametrize("name", ["mass_matrix", "CoM_position", "bias_force", "gravity_term"])
def test_parametric_quantities_agree_with_adam(name, parametric):
    from adam.parametric.numpy import KinDynComputationsParametric as Adam

    adam = Adam(solids(), list(JOINTS), list(LINKS), gravity=np.array([0, 0, -9.80665, 0, 0, 0]))
    numpy, of_jax, of_torch, of_casadi = parametric
    arguments = [*state()[: ARGUMENTS[name]], *shape_of()]
    expected = getattr(adam, name)(*arguments)
    close(getattr(numpy, name)(*arguments), expected, 1e-11)
    close(getattr(of_jax, name)(*map(jnp.asarray, arguments)), expected, 1e-11)
    close(getattr(of_torch, name)(*map(torch.from_numpy, arguments)), expected, 1e-11)
    result = getattr(of_casadi, f"{name}_fun")()(*arguments).full()
    close(result.reshape(expected.shape), expected, 1e-11)


def test_parametric_frames_and_masses_agree_with_adam(parametric):
    from adam.parametric.numpy import KinDynComputationsParametric as Adam

    adam = Adam(solids(), list(JOINTS), list(LINKS))
    numpy, of_jax, of_torch, of_casadi = parametric
    (H, s, *_), shape = state(), shape_of()
    expected = adam.forward_kinematics("shank", H, s, *shape)
    close(numpy.forward_kinematics("shank", H, s, *shape), expected, 1e-12)
    close(of_casadi.forward_kinematics_fun("shank")(H, s, *shape).full(), expected, 1e-12)
    close(numpy.jacobian("shank", H, s, *shape), adam.jacobian("shank", H, s, *shape), 1e-11)
    relative = adam.relative_jacobian("shank", s, *shape)
    close(numpy.relative_jacobian("shank", s, *shape), relative, 1e-11)
    mass = adam.get_total_mass(*shape)
    close(numpy.get_total_mass(*shape), mass)
    close(of_jax.get_total_mass(*shape), mass)
    close(of_torch.get_total_mass(*shape), mass)
    assert float(of_casadi.get_total_mass()(*shape)) == pytest.approx(float(mass), rel=1e-12)
    np.testing.assert_allclose(numpy.get_original_densities(), adam.get_original_densities())


def test_parametric_derivatives_with_respect_to_lengths_and_densities(parametric):
    numpy, of_jax, of_torch, _ = parametric
    (H, s, *_), (lengths, densities) = state(), shape_of()
    step = 1e-6
    by_length = [
        (
            numpy.CoM_position(H, s, lengths + step * e, densities)[2]
            - numpy.CoM_position(H, s, lengths - step * e, densities)[2]
        )
        / (2 * step)
        for e in np.eye(len(LINKS))
    ]
    tensor = torch.tensor(lengths, requires_grad=True)
    of_torch.CoM_position(H, s, tensor, densities)[2].backward()
    np.testing.assert_allclose(tensor.grad, by_length, rtol=1e-6, atol=1e-9)
    derivative = jax.grad(lambda x: of_jax.CoM_position(H, s, x, densities)[2])(
        jnp.asarray(lengths)
    )
    close(derivative, tensor.grad)
    by_mass = jax.grad(lambda x: of_jax.get_total_mass(lengths, x))(jnp.asarray(densities))
    np.testing.assert_allclose(by_mass @ densities, numpy.get_total_mass(lengths, densities))


def test_symbols_of_a_parametric_robot_are_those_of_its_functions(parametric):
    """As in adam, the two symbols are attributes, (k, 1) each, for use in expressions."""
    numpy, *_, of_casadi = parametric
    lengths, densities = of_casadi.length_multiplier, of_casadi.densities
    assert isinstance(lengths, ca.SX)
    assert lengths.shape == densities.shape == (len(LINKS), 1)
    assert of_casadi.densities is densities
    (H, s, *_), shape = state(), shape_of()
    total = ca.trace(of_casadi.mass_matrix_fun()(H, s, lengths, densities))
    by_density = ca.Function("by_density", [lengths, densities], [ca.gradient(total, densities)])
    step = 1e-3 * np.eye(len(LINKS))
    expected = [
        np.trace(numpy.mass_matrix(H, s, shape[0], shape[1] + e))
        - np.trace(numpy.mass_matrix(H, s, shape[0], shape[1] - e))
        for e in step
    ]
    np.testing.assert_allclose(by_density(*shape).full()[:, 0], np.array(expected) / 2e-3, 1e-6)
    again = pickle.loads(pickle.dumps(of_casadi))
    assert again.length_multiplier.shape == lengths.shape


def test_parametric_wrong_arguments_raise():
    with pytest.raises(ValueError, match="thig"):
        NumpyParametric(solids(), JOINTS, ["thig"])
    with pytest.raises(ValueError, match=r"^links_name_list: .*'thigh'"):
        NumpyParametric(solids(), JOINTS, "thigh")
