"""CasADi functions: equal to NumPy's, differentiated by CasADi itself or by kernels."""

from __future__ import annotations

import pickle
import runpy
import subprocess
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from tests.support.kindyn import shared
from tests.support.models import random_model, random_q

import linkwork as lw
import linkwork.casadi as lwc
from linkwork.bridges.casadi.kernels import SLOTS

CLOSE = {"rtol": 1e-12, "atol": 1e-12}


@pytest.fixture(scope="module")
def model():
    """A robot with a quaternion, a (cos, sin) pair and dependent joints."""
    return random_model(np.random.default_rng(5), 4, ("spherical", "revolute", "revolute_cos_sin"))


@pytest.fixture(scope="module")
def robot(model):
    return shared(lw.KinDyn(model))


@pytest.fixture(scope="module")
def arm():
    return lw.robots.load("arm")


def arguments_of(robot, kernel, seed=0):
    """Return one row for each input of a kernel."""
    rng = np.random.default_rng(seed)
    return [
        random_q(robot.layout, rng) if port.name.startswith("q") else rng.normal(size=port.shape)
        for port in kernel.signature.inputs
    ]


def request_of(name, model):
    frames = model.frame_names[-2:] * 2
    quantity = lw.KinDyn.quantities[name]
    if quantity.of_many:
        return name, tuple(model.frame_names[:3])
    return (name, *frames[: len(quantity.frames)])


def as_matrix(array):
    return array.reshape(-1, array.shape[-1] if array.ndim > 1 else 1)


@pytest.mark.parametrize("name", lw.KinDyn.quantities)
def test_every_quantity_agrees_with_numpy(name, robot):
    request = request_of(name, robot.model)
    kernel = robot.function(request)
    arguments = arguments_of(robot, kernel)
    expected = kernel(*arguments)
    expected = expected if isinstance(expected, tuple) else (expected,)
    results = lwc.wrap(kernel).call(arguments)
    assert len(results) == len(expected)
    for result, array in zip(results, expected, strict=True):
        scale = max(1.0, np.abs(array).max(initial=0.0))
        np.testing.assert_allclose(result.full() / scale, as_matrix(array) / scale, **CLOSE)


@pytest.mark.parametrize("name", ["mass_matrix", "forward_dynamics", "transforms", "integrate"])
def test_compiled_functions_have_the_bits_of_numpy(name, robot):
    """Where a division by the norm changes no quaternion or (cos, sin) pair."""
    kernel = robot.function(request_of(name, robot.model))
    kernel.warmup()
    arguments = arguments_of(robot, kernel)
    for unit in kernel.signature.unit_norms:
        arguments[unit.input][unit.offset : unit.offset + unit.count] = np.eye(unit.count)[1]
    result = lwc.wrap(kernel, compiled=True)(*arguments)
    np.testing.assert_array_equal(result.full(), as_matrix(kernel(*arguments)))


@pytest.mark.parametrize("name", ["mass_matrix", "inverse_dynamics", "forward_dynamics"])
def test_derivatives_of_compiled_functions_agree_with_those_of_casadi(name):
    """Also for a quaternion whose norm is not 1, as within an optimization."""
    kernel = lw.KinDyn(lw.robots.load("pendulum"), floating=True).function(name)
    arguments = arguments_of(kernel.robot, kernel)
    arguments[0][3:7] *= 1.3
    symbols = [ca.MX.sym(port.name, port.size) for port in kernel.signature.inputs]
    rng = np.random.default_rng(1)
    weights = ca.DM(rng.normal(size=as_matrix(kernel(*arguments_of(kernel.robot, kernel))).shape))
    actual = []
    for compiled in (False, True):
        function = lwc.wrap(kernel, compiled=compiled)
        result = function(*symbols)
        cost = ca.sum1(ca.sum2(weights * result)) ** 2
        everything = ca.vertcat(*symbols)
        hessian, gradient = ca.hessian(cost, symbols[0])
        along = ca.jtimes(result, symbols[0], ca.DM.ones(symbols[0].shape))
        outputs = [
            *(ca.gradient(cost, symbol) for symbol in symbols),
            *(ca.jacobian(result, symbol) for symbol in symbols),
            *(hessian, gradient, along),
        ]
        derivatives = ca.Function("derivatives", symbols, outputs)
        actual.append([matrix.full() for matrix in derivatives.call(arguments)])
        assert everything.numel() == sum(port.size for port in kernel.signature.inputs)
    for sx, external in zip(*actual, strict=True):
        scale = np.abs(sx).max()
        np.testing.assert_allclose(external / scale, sx / scale, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("slot", SLOTS)
def test_each_derivative_of_a_compiled_function_exists(slot, arm):
    """CasADi looks derivatives up by name, with all arguments and results in its order."""

    @lw.compile(x=2, A=(2, 2))
    def product(x, A):
        return A @ x, np.sin(x) @ x

    function = lwc.wrap(product, compiled=True)
    x, A = ca.MX.sym("x", 2), ca.MX.sym("A", 2, 2)
    arguments = np.array([0.3, -0.7]), np.array([[1.0, 2.0], [3.0, 5.0]])
    values = {}
    for key, candidate in (("compiled", function), ("sx", lwc.wrap(product))):
        first, second = candidate(x, A)
        seed = ca.DM([0.2, 0.9])
        forward = ca.jtimes(first, x, seed)
        adjoint = ca.jtimes(first * second, A, seed, True)
        results = {
            "": first,
            "jac": ca.jacobian(first, A),
            "fwd": forward,
            "adj": adjoint,
            "fwd fwd": ca.jtimes(forward, x, seed),
            "adj fwd": ca.jtimes(forward, A, seed, True),
            "fwd adj": ca.jtimes(adjoint, x, seed),
            "adj adj": ca.jtimes(adjoint, x, ca.DM.ones(2, 2), True),
        }
        values[key] = ca.Function("f", [x, A], [results[slot]])(*arguments).full()
    np.testing.assert_allclose(values["compiled"], values["sx"], **CLOSE)


def test_methods_take_the_arguments_of_numpys_methods(arm):
    robot, numpy = lwc.KinDyn(arm, floating=False), lw.KinDyn(arm, floating=False)
    q, nu = numpy.random(seed=0), np.linspace(-1.0, 1.0, numpy.nv)
    wrench, gravity = np.arange(6.0), (0.0, 1.0, -3.0)
    expected = numpy.inverse_dynamics(q, nu, nu, wrenches={"tool": wrench}, gravity=gravity)
    result = robot.inverse_dynamics(q, nu, nu_dot=nu, wrenches={"tool": wrench}, gravity=gravity)
    np.testing.assert_allclose(result.full()[:, 0], expected, **CLOSE)
    np.testing.assert_allclose(robot.jacobian("tool", q).full(), numpy.jacobian("tool", q), **CLOSE)
    relative = numpy.relative_jacobian("base", "tool", q, axes="tool")
    result = robot.relative_jacobian("base", "tool", q, axes="tool").full()
    np.testing.assert_allclose(result, relative, **CLOSE)
    derivatives = robot.inverse_dynamics_derivatives(q, nu, nu)
    assert derivatives._fields == ("q", "nu", "nu_dot")
    np.testing.assert_allclose(derivatives.nu_dot.full(), numpy.mass_matrix(q), **CLOSE)
    assert robot.nq == numpy.nq
    assert robot.joint_names == numpy.joint_names
    np.testing.assert_array_equal(robot.neutral().full()[:, 0], numpy.neutral())


def test_methods_accept_and_return_symbols(arm):
    robot = lwc.KinDyn(arm, floating=False)
    assert isinstance(robot.mass_matrix(ca.SX.sym("q", robot.nq)), ca.SX)
    assert isinstance(robot.mass_matrix(ca.MX.sym("q", robot.nq)), ca.MX)
    assert isinstance(robot.mass_matrix([0.1] * robot.nq), ca.DM)
    several = robot.mass_matrix(ca.DM.zeros(robot.nq, 3))
    assert several.shape == (robot.nv, 3 * robot.nv)


def test_lists_of_symbols_are_columns(arm):
    robot = lwc.KinDyn(arm, floating=False)
    symbols = [ca.SX.sym(f"q{k}") for k in range(robot.nq)]
    values = np.linspace(-1.0, 1.0, robot.nq)
    expected = robot.com(values).full()
    for arguments in (symbols, tuple(symbols), np.array([*symbols, None], dtype=object)[:-1]):
        result = robot.com(arguments)
        assert isinstance(result, ca.SX)
        value = ca.Function("f", symbols, [result])(*values).full()
        np.testing.assert_allclose(value, expected, **CLOSE)
    some = [*values[:-1], ca.MX.sym("last")]
    assert isinstance(robot.com(some), ca.MX)


def test_entries_that_are_always_zero_are_structural_zeros(arm):
    jacobian = lwc.KinDyn(arm).function(("jacobian", "shoulder"))
    sparsity = lw.KinDyn(arm).jacobian_sparsity("shoulder")
    result = np.array(jacobian.sparsity_out(0).row()), np.array(jacobian.sparsity_out(0).get_col())
    pattern = np.zeros((6, lw.KinDyn(arm).nv), dtype=bool)
    pattern[result] = True
    assert not (pattern & ~np.asarray(sparsity)).any()


def test_a_fused_function_has_named_inputs_and_outputs(arm):
    function = lwc.KinDyn(arm, floating=False).function("mass_matrix", ("jacobian", "tool"))
    assert function.name_in() == ["q"]
    assert function.name_out() == ["mass_matrix", "jacobian_tool"]
    assert function(q=np.zeros(function.size1_in(0)))["jacobian_tool"].shape == (6, 8)


def test_names_invalid_in_casadi_are_changed():
    model = lw.robots.load("pendulum").with_frame("1st tip__é", "rod")
    function = lwc.KinDyn(model).function(
        "inverse_dynamics", ("transform", "1st tip__é"), wrenches=["1st tip__é"]
    )
    assert function.name_in()[-1] == "wrench_1st_tip"


@pytest.mark.parametrize("compiled", [False, True])
def test_a_rollout_agrees_with_linkworks(compiled):
    @lw.compile(x=2, u=1, dt=())
    def step(x, u, dt):
        return np.stack([x[0] + dt * x[1], x[1] + dt * (u[0] - np.sin(x[0]))])

    rollout, start = lw.Rollout(step), np.array([0.1, 0.2])
    controls = np.linspace(-1.0, 1.0, 6)[:, None]
    expected = rollout(start, controls, params={"dt": 0.1})
    function = lwc.wrap(rollout, steps=6, compiled=compiled)
    np.testing.assert_allclose(function(start, controls.T, 0.1).full().T, expected, **CLOSE)


def test_casadi_generates_c_that_computes_the_same(tmp_path):
    robot = lw.KinDyn(lw.robots.load("pendulum"), floating=True)
    function = lwc.wrap(robot.function("forward_dynamics"))
    generator = ca.CodeGenerator("pendulum.c")
    generator.add(function)
    generator.generate(f"{tmp_path}/")
    library = tmp_path / "pendulum.so"
    source = str(tmp_path / "pendulum.c")
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", str(library), "-lm"], check=True)
    arguments = arguments_of(robot, robot.function("forward_dynamics"))
    result = ca.external(function.name(), str(library))(*arguments).full()[:, 0]
    np.testing.assert_allclose(result, robot.forward_dynamics(*arguments), **CLOSE)


def test_robots_are_equal_hashable_and_picklable(arm):
    robot = lwc.KinDyn(arm, floating=False, compiled=True)
    again = pickle.loads(pickle.dumps(robot))
    assert again == robot
    assert hash(again) == hash(robot)
    assert again.compiled
    assert robot != robot.replace(compiled=False) != robot.replace(floating=True)
    function = lwc.KinDyn(arm, floating=False).function("mass_matrix")
    copy = pickle.loads(pickle.dumps(function))
    np.testing.assert_array_equal(copy(np.ones(8)).full(), function(np.ones(8)).full())


def test_wrong_arguments_raise_errors_with_the_facts(arm):
    robot = lwc.KinDyn(arm, floating=False)
    with pytest.raises(lw.ShapeError, match=r"q: .*\(8, 1\).*\(8, n\).*\(3, 1\)"):
        robot.mass_matrix([1.0, 2.0, 3.0])
    with pytest.raises(lw.ArgumentError, match=r"q: .*SX, MX, DM.*'a'"):
        robot.mass_matrix("a")
    with pytest.raises(lw.ArgumentError, match=r"dt: .*SX, MX, DM.*None"):
        robot.integrate(robot.neutral(), np.zeros(8), None)
    with pytest.raises(lw.ArgumentError, match=r"q: .*SX, MX, DM.*array"):
        robot.mass_matrix(np.zeros(8) * 1j)
    with pytest.raises(lw.ArgumentError, match=r"q is SX.*nu is MX"):
        robot.bias_force(ca.SX.sym("q", 8), ca.MX.sym("nu", 8))
    with pytest.raises(lw.NameNotFoundError, match=r"frame.*'tol'.*'tool'"):
        robot.jacobian("tol", robot.neutral())
    with pytest.raises(lw.ArgumentError, match=r"kernel: .*sin"):
        lwc.wrap(np.sin)
    with pytest.raises(lw.ArgumentError, match=r"steps: .*rollout"):
        lwc.wrap(robot.numpy.function("mass_matrix"), steps=3)
    with pytest.raises(lw.ArgumentError, match=r"out=.*NumPy"):
        robot.mass_matrix(robot.neutral(), out=np.empty((8, 8)))


def test_the_arm_of_the_example_reaches_its_target():
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "17_casadi_reach.py"))
    positions, torques, _ = example["solve"](6)
    robot = lw.KinDyn(example["kd"].model, floating=False)
    tool = robot.transform("tool", positions[-1])[:3, 3]
    np.testing.assert_allclose(tool, example["TARGET"], atol=1e-6)
    assert (np.abs(torques[1:]) <= robot.limits.effort + 1e-6).all()
    assert (positions >= robot.limits.lower - 1e-6).all()
