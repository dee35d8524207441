"""JAX programs that call kernels: compiled, exported, pickled, on threads, through Python."""

from __future__ import annotations

import gc
import pickle
import sys
import threading
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export
from tests.support.jax_robots import arguments, kindyn
from tests.support.kernels import BODY, output_of, run_python
from tests.support.messages import assert_facts
from tests.support.rollouts import pendulum

import linkwork as lw
import linkwork.jax
from linkwork.bridges.jax import lowering as jax_lowering
from linkwork.engine.kernel import kernel as kernel_module
from linkwork.engine.runtime.processor import NoMachineCodeError

FAILED = (
    jax.errors.JaxRuntimeError,
    ValueError,
)  # raised by the call, or when its result is awaited
UNCHECKED = [export.DisabledSafetyCheck.custom_call(linkwork.jax.TARGET)]


@pytest.fixture(scope="module")
def kd():
    return kindyn(gravity=(0.0, 0.0, -9.0))  # a robot that no other test has compiled


@pytest.fixture
def without_handler(monkeypatch):
    """Pretend that XLA's interface has another version."""
    monkeypatch.setattr(jax_lowering.HANDLER, "_is_usable", False)


def test_a_scan_with_gradients(kd):
    taus = jnp.asarray(np.random.default_rng(1).normal(size=(12, kd.nv)))

    def step(state, tau):
        q, nu = state
        nu = nu + 0.01 * tau
        return (kd.integrate(q, nu, 0.01), nu), kd.com(q)

    def cost(taus, loop):
        states = kd.neutral(), jnp.zeros(kd.nv)
        if loop:
            result = []
            for tau in taus:
                states, com = step(states, tau)
                result.append(com)
            return jnp.sum(jnp.stack(result) ** 2)
        return jnp.sum(jax.lax.scan(step, states, taus)[1] ** 2)

    scanned = jax.jit(jax.value_and_grad(lambda taus: cost(taus, loop=False)))(taus)
    unrolled = jax.value_and_grad(lambda taus: cost(taus, loop=True))(taus)
    np.testing.assert_allclose(scanned[0], unrolled[0], rtol=1e-12)
    np.testing.assert_allclose(scanned[1], unrolled[1], rtol=1e-10, atol=1e-14)


def test_cond_and_while_call_kernels(kd):
    q = kd.random(seed=1)
    chosen = jax.jit(lambda flag: jax.lax.cond(flag, kd.com, lambda q: 2 * kd.com(q), q))
    np.testing.assert_array_equal(chosen(True), kd.numpy.com(np.asarray(q)))
    moved = jax.lax.fori_loop(0, 3, lambda _, q: kd.integrate(q, jnp.ones(kd.nv), 0.1), q)
    expected = np.asarray(q)
    for _ in range(3):
        expected = kd.numpy.integrate(expected, np.ones(kd.nv), 0.1)
    np.testing.assert_array_equal(moved, expected)


def test_an_exported_program_runs_with_any_batch(kd):
    (size,) = export.symbolic_shape("b")
    shape = jax.ShapeDtypeStruct((size, kd.nq), np.float64)
    exported = export.export(jax.jit(kd.com), disabled_checks=UNCHECKED)(shape)
    again = export.deserialize(exported.serialize())
    (q,) = arguments(kd, ("q",), (7,))
    np.testing.assert_array_equal(again.call(q), kd.numpy.com(q))


EXPORTED = """
import jax, sys
jax.config.update("jax_enable_x64", True)
import linkwork.jax
from jax import export
from pathlib import Path
program = export.deserialize(Path(PATH).read_bytes())
q = lw.KinDyn(lw.robots.load("pendulum"), floating=True).random(seed=1)
linkwork.jax.KinDyn(lw.robots.load("pendulum"), floating=True).kinetic_energy(q, np.zeros(7))
try:
    print(program.call(q))
except (jax.errors.JaxRuntimeError, ValueError) as error:
    print(error.args[0].splitlines()[0])
kd = linkwork.jax.KinDyn(lw.robots.load("pendulum"), floating=True)
kd.com(q)
print((abs(program.call(q) - kd.numpy.com(q)) < 1e-15).all())
"""


def test_an_exported_program_runs_in_another_process_that_has_the_function(tmp_path):
    kd = linkwork.jax.KinDyn(lw.robots.load("pendulum"), floating=True)
    shape = jax.ShapeDtypeStruct((kd.nq,), np.float64)
    exported = export.export(jax.jit(kd.com), disabled_checks=UNCHECKED)(shape)
    path = tmp_path / "program"
    path.write_bytes(exported.serialize())
    code = EXPORTED.replace("PATH", repr(str(path)))
    error, agrees = output_of(code).splitlines()
    assert_facts(error, r"FAILED_PRECONDITION: .*compiled.*linkwork\.jax")
    assert agrees == "True"


def test_pickles_of_everything(kd):
    again = pickle.loads(pickle.dumps(kd))
    assert again == kd
    assert hash(again) == hash(kd)
    assert again != kd.replace(backend="xla")
    assert pickle.loads(pickle.dumps(kd.replace(backend="xla"))).backend == "xla"
    (q,) = arguments(kd, ("q",))
    function = pickle.loads(pickle.dumps(kd.function("com")))
    np.testing.assert_array_equal(function(q), kd.com(q))


def test_threads_call_the_same_function(kd):
    (q,) = arguments(kd, ("q",), (3000,))
    expected, wrong = kd.numpy.com(q), []

    def work():
        for _ in range(10):
            if not np.array_equal(kd.com(q), expected):
                wrong.append(1)

    kd.warmup("com")
    expected = kd.numpy.com(q)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_program_keeps_the_kernels_it_calls():
    @jax.jit
    def com(q):
        return linkwork.jax.KinDyn(lw.robots.load("pendulum"), floating=True).com(q)

    q = lw.KinDyn(lw.robots.load("pendulum"), floating=True).neutral()
    before = com(q)
    gc.collect()
    np.testing.assert_array_equal(com(q), before)


# The Python objects of programs are collected before, while and after they run. `slow` delays their
# input.
COLLECTED = """
import gc
import jax, jax.numpy as jnp
jax.config.update("jax_enable_x64", True)
import linkwork.jax

def program(number, shape):
    @lw.compile(x=3)
    def function(x):
        for _ in range(40):
            x = np.sin(x) * (2 + number) + x[::-1]
        return x
    if number % 2:
        function.warmup()
    wrapped = linkwork.jax.wrap(function)
    return jax.jit(lambda x: wrapped(x)).lower(shape).compile()

slow = jax.jit(lambda x: jax.lax.fori_loop(0, 30, lambda _, x: 0.5 * x @ jnp.ones((3, 3)), x))
start = jnp.ones((ROWS, 3))
slow(start).block_until_ready()
results, expected = [], []
for number in range(NUMBERS):
    gc.freeze()  # excludes existing objects, so that a collection is quick
    f = program(number, start)
    expected.append(np.asarray(f(slow(start))))
    jax.clear_caches()
    x = slow(start)
    result = f(x)
    if number % 3:
        while not x.is_ready():
            pass
    del f
    gc.collect()
    while number % 3 == 1 and not result.is_ready():
        gc.collect()
    results.append(result)
for one, other in zip(results, expected, strict=True):
    np.testing.assert_array_equal(one, other)
print("done")
"""


def test_code_stays_loaded_while_collected_programs_run():
    code = COLLECTED.replace("ROWS", "60_000").replace("NUMBERS", "9")
    assert output_of(code, LINKWORK_BACKGROUND="off") == "done"


def test_a_kernel_that_xla_may_call_stays_and_equal_ones_are_freed():
    """XLA does not report when a program ends, so kernels it may call stay, one per function."""

    def compiled():
        @lw.compile(x=())
        def twice(x):
            return 2 * x + 0.625

        assert linkwork.jax.wrap(twice)(2.0) == 4.625
        return weakref.ref(twice)

    first, *others = [compiled() for _ in range(3)]
    jax.clear_caches()
    gc.collect()
    assert first() is not None
    assert [other() for other in others] == [None, None]


def test_existing_programs_use_new_optimized_code():
    kd = linkwork.jax.KinDyn(lw.robots.load("pendulum"), gravity=(0, 0, -2))
    (q,) = arguments(kd, ("q",), (9,))
    compiled = jax.jit(kd.gravity_force).lower(q).compile()
    first = compiled(q)
    assert not kd.numpy.gravity_force.code.is_fast
    kd.warmup()
    assert kd.numpy.gravity_force.code.is_fast
    np.testing.assert_allclose(compiled(q), first, rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(compiled(q), kd.numpy.gravity_force(q))


def test_warmup_waits_for_derivatives_in_use():
    kd = linkwork.jax.KinDyn(lw.robots.load("pendulum"), gravity=(0, 0, -3))
    q = kd.neutral()
    jax.grad(kd.potential_energy)(q)
    kd.warmup()
    vjp = kd.numpy.potential_energy.vjp("q")
    assert vjp.code.is_fast
    assert not kd.numpy.potential_energy.jvp("q").code.is_fast  # nothing computed it


def test_without_the_handler_python_is_called(kd, without_handler):
    fresh = kindyn()
    q, nu = arguments(fresh, ("q", "nu"), (3,))
    for robot in (fresh, kd):  # so that the code is not replaced in between
        robot.numpy.warmup("com_velocity")
    program = jax.jit(fresh.com_velocity)
    assert "linkwork_call" not in program.lower(q, nu).as_text()
    np.testing.assert_array_equal(program(q, nu), kd.numpy.com_velocity(q, nu))
    gradient = jax.grad(lambda q: jnp.sum(fresh.com_velocity(q, nu[0])))(q[0])
    expected = jax.grad(lambda q: jnp.sum(kd.com_velocity(q, nu[0])))(q[0])
    np.testing.assert_allclose(gradient, expected, rtol=1e-12, atol=1e-14)
    with pytest.raises(FAILED, match=r"quaternion.*1\.1\b"):
        jax.block_until_ready(fresh.com(q[0] * 1.1))


@pytest.mark.parametrize("is_rejected", [True, False])
def test_an_unsupported_interface_of_xla_is_reported(monkeypatch, is_rejected):
    from linkwork.bridges.jax import _xla

    def register(*args, **options):
        if is_rejected:
            raise ValueError("its version is incompatible")

    messages = []
    monkeypatch.setattr(_xla, "interface", lambda: (0, 0, False))
    monkeypatch.setattr(jax.ffi, "register_ffi_target", register)
    monkeypatch.setattr(jax_lowering, "warn_once", lambda key, message: messages.append(message))
    assert not jax_lowering._Handler().is_usable()
    (message,) = messages
    assert f"jax {jax.__version__}" in message
    assert ("its version is incompatible" if is_rejected else "layout") in message


def test_without_the_extension_python_is_called(monkeypatch):
    messages = []
    monkeypatch.setitem(sys.modules, "linkwork.bridges.jax._xla", None)
    monkeypatch.setattr(jax_lowering, "warn_once", lambda key, message: messages.append(message))
    assert not jax_lowering._Handler().is_usable()
    (message,) = messages
    assert "_xla" in message
    assert "through Python" in message


def test_an_extension_of_another_version_is_not_used():
    """The memory layout shared by both extensions may differ, so calls would crash."""
    message = """
import ctypes, warnings
import numpy as np
import linkwork as lw
from linkwork.engine.kernel import _call
new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
memory = ctypes.create_string_buffer(1000)
_call.C_API = new(ctypes.addressof(memory), b"linkwork.engine.kernel._call.C_API", None)
import linkwork.jax
f = lw.compile(x=3)(lambda x: x + 1.0)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    print(linkwork.jax.wrap(f)(np.ones(3, np.float32)).tolist())
print(*(one.message for one in said if issubclass(one.category, lw.LinkworkWarning)))
"""
    values, messages = output_of(message).splitlines()
    assert values == "[2.0, 2.0, 2.0]"
    assert "different versions of linkwork" in messages


def test_the_interface_of_xla_has_the_declared_version(kd):
    from linkwork.bridges.jax import _xla

    kd.com(kd.neutral())
    major, minor, fits = _xla.interface()
    assert (major, fits) == (0, True)
    assert minor >= 0


def test_where_there_is_no_machine_code_numpy_computes(monkeypatch):
    def reject(*args):
        raise NoMachineCodeError("this is a test")

    monkeypatch.setattr("linkwork.engine.runtime.compiler.compiled", reject)
    monkeypatch.setattr("linkwork.engine.runtime.cache.fetch", lambda *args: None)
    monkeypatch.setattr("linkwork.engine.runtime.compiled_program.warn_once", lambda *args: None)
    kd = linkwork.jax.KinDyn(lw.robots.load("pendulum"), gravity=(0, 0, -1))
    np.testing.assert_array_equal(kd.com(kd.neutral()), kd.numpy.com(kd.numpy.neutral()))
    assert "this is a test" in kd.numpy.function("com").status


def test_columnwise_jacobians(monkeypatch):
    monkeypatch.setattr(kernel_module, "MOST_UNROLLED_STEPS", 10)
    kernel = pendulum().jacobian("x")
    assert kernel.is_columnwise
    x, u = np.array([0.3, 0.2]), np.array([0.1])
    np.testing.assert_array_equal(linkwork.jax.wrap(kernel)(x, u), kernel(x, u))


def test_a_process_that_forks_after_a_call():
    code = """
import jax
jax.config.update("jax_enable_x64", True)
import linkwork.jax, gc, warnings
warnings.simplefilter("ignore")
kd = linkwork.jax.KinDyn(lw.robots.load("pendulum"), floating=True)
q = lw.KinDyn(kd.model).neutral()
kd.com(q)
child = os.fork()
if not child:
    kernel = kd.numpy.com
    fine = np.isfinite(kernel(q)).all()
    kd.__dict__.clear(); del kernel, kd; gc.collect()
    os._exit(0 if fine else 1)
print(os.waitpid(child, 0)[1])
"""
    returncode, out, err = run_python(code, LINKWORK_BACKGROUND="off")
    assert (returncode, out.strip()) == (0, "0"), err


def test_singular_joints_raise_under_jit():
    builder = lw.ModelBuilder("turntable")
    for name, inertia in (("base", BODY), ("table", lw.Inertia()), ("mass", lw.Inertia(1.0))):
        builder.add_link(name, inertia=inertia)
    builder.add_joint("turn", "revolute", "base", "table", axis=(0, 0, 1))
    builder.add_joint("slide", "prismatic", "table", "mass", axis=(1, 0, 0))
    kd = linkwork.jax.KinDyn(builder.build(), floating=False)
    q, nu, tau = np.array([[0.3, 0.5], [0.3, 0.0]]), np.full((2, 2), 0.1), np.ones((2, 2))
    with pytest.raises(lw.SingularJointError) as expected:
        kd.numpy.forward_dynamics(q, nu, tau)
    with pytest.raises(FAILED, match=r"joint 'turn'") as caught:
        jax.block_until_ready(jax.jit(kd.forward_dynamics)(q, nu, tau))
    assert str(expected.value) in str(caught.value)
    same = kd.numpy.forward_dynamics(q[0], nu[0], tau[0])
    np.testing.assert_array_equal(kd.forward_dynamics(q[0], nu[0], tau[0]), same)


def test_nonfinite_values_are_accepted_unless_check_is_set(kd):
    q = kd.neutral().at[7].set(jnp.nan)
    assert np.isnan(kd.com(q)).any()
    checked = kd.replace(check=True)
    with pytest.raises(FAILED, match=r"q: .*'elbow'.*nan"):
        jax.block_until_ready(jax.jit(checked.com)(q))


def test_a_drifted_quaternion_is_normalized_and_a_wrong_norm_raises(kd):
    (q,) = arguments(kd, ("q",), (4,))
    q[1, 3:7] *= 1.0005
    np.testing.assert_array_equal(kd.com(q), kd.numpy.com(q))
    q[2, 3:7] *= 1.3
    with pytest.raises(FAILED, match=r"norm 1\.3\b.*row 2"):
        jax.block_until_ready(jax.jit(kd.com)(q))


def test_calls_without_jit_compute_the_same(kd):
    """Also derivatives."""
    (q,) = arguments(kd, ("q",))
    expected = kd.com(q), jax.grad(kd.potential_energy)(q)
    with jax.disable_jit():
        result = kd.com(q), jax.grad(kd.potential_energy)(q)
    for one, other in zip(result, expected, strict=True):
        np.testing.assert_array_equal(one, other)
