"""The same bits of a row everywhere: alone, in batches, on threads, in quick and in fast code.

Results are compared by their bytes, so also signs of zeros; NaN only by its position.
"""

from __future__ import annotations

import ctypes
import platform
from functools import cache
from itertools import cycle

import numpy as np
import pytest
from tests.support.constrained import arguments as constrained_arguments
from tests.support.constrained import stance_of
from tests.support.exports import CC, build, package_for, results
from tests.support.models import MOVING_KINDS, random_model
from tests.support.sphere_robots import arm

import linkwork as lw
from linkwork.engine.codegen.c.statements import DOUBLE, FLOAT
from linkwork.engine.kernel.rollout import Rollout
from linkwork.engine.runtime.compiler import compiled, load_code
from linkwork.engine.runtime.processor import IS_LINUX_ON_X86_64, this_machine

ROWS = 2 * 2 * this_machine().lanes + 3  # two vectors of float32 or four of float64, and a rest
FRAMES = ("frame0", "frame1", "link1", "link2")
KINDS = ("value", "jacobian", "jvp", "vjp")
IS_ARM = platform.machine() in ("aarch64", "arm64")


def random_robot(seed, n_links, **options):
    rng = np.random.default_rng(seed)
    return lw.KinDyn(random_model(rng, n_links, MOVING_KINDS), **options)


@cache
def robots():
    """Small ones; joints that are spherical, planar, helical and mimic, and (cos, sin) pairs."""
    return (
        random_robot(35, 3, floating=True),
        lw.KinDyn(lw.load("arm"), floating=False),
        random_robot(11, 4, floating=False, representation="body"),
        lw.KinDyn(lw.load("double_pendulum"), floating=True),
        random_robot(15, 4, floating=True, base="frame0", representation="inertial"),
    )


def request_of(kd, name):
    names = FRAMES if "frame1" in kd.model.frame_names else kd.model.link_names[1:]
    free = cycle(names)
    arguments = [
        list(names[:2]) if one == "frames" else next(free)
        for one in lw.KinDyn.quantities[name].frames
    ]
    return (name, *arguments) if arguments else name


def rows_for(kernel, kd, dtype=np.float64, seed=0):
    """Arguments with some exact zeros of both signs, and quaternions that have drifted."""
    rng = np.random.default_rng(seed)
    rows = []
    for port in kernel.signature.inputs:
        if port.name in ("q", "q_start", "q_end"):
            array = kd.random(ROWS, seed=int(rng.integers(1000)))
        else:
            array = rng.normal(size=(ROWS, *port.shape))
            array[rng.random(array.shape) < 0.1] = -0.0
        rows.append(array.astype(dtype))
    for unit in kernel.signature.unit_norms:
        drift = 1.0 + 1e-5 * rng.normal(size=(ROWS, 1))
        rows[unit.input].reshape(ROWS, -1)[:, unit.offset : unit.offset + unit.count] *= drift
    return rows


def bits(result):
    """The bytes of each row of results; NaN has one representation."""
    arrays = result if isinstance(result, tuple) else (result,)
    flat = [np.where(np.isnan(array), np.nan, array).reshape(len(array), -1) for array in arrays]
    return [b"".join(array[row].tobytes() for array in flat) for row in range(len(flat[0]))]


def alone(kernel, rows):
    """The bits of each row, computed by a call of its own."""
    singles = [kernel(*row) for row in zip(*rows, strict=True)]
    return [
        bits(tuple(np.asarray(a)[None] for a in (r if isinstance(r, tuple) else (r,))))[0]
        for r in singles
    ]


def strided(array):
    """The same values in memory that is neither contiguous nor of the type of the kernel."""
    wide = np.zeros((len(array), *array.shape[1:], 2), array.dtype)
    wide[..., 0] = array
    return wide[..., 0]


def check(kernel, fresh, rows):
    """Compare the bits of rows in all ways of calling a kernel.

    Args:
        kernel: has no code yet.
        fresh: an equal kernel, which loads the code that `kernel` has stored.
        rows: arguments.
    """
    expected = alone(kernel, rows)  # by quick code, unless the fast code is ready soon
    assert bits(kernel(*rows)) == expected
    kernel.warmup()
    assert kernel.status == "fast"
    assert alone(kernel, rows) == expected
    n = len(rows[0])
    for pick in (slice(None), slice(1, None), slice(None, None, -1), slice(0, n - 3), slice(2, 5)):
        for threads in (1, 2):
            assert bits(kernel(*[a[pick] for a in rows], threads=threads)) == expected[pick]
    result = kernel(*rows)
    out = tuple(map(np.empty_like, result)) if isinstance(result, tuple) else np.empty_like(result)
    assert bits(kernel(*map(strided, rows), out=out)) == expected
    many = [np.concatenate([a] * 40) for a in rows]
    assert bits(kernel(*many, threads=2)) == expected * 40
    fresh.warmup()
    assert bits(fresh(*rows)) == expected == alone(fresh, rows)


def equal_kernels(kd, request, kind, dtype=np.float64):
    """A kernel and an equal one of another `KinDyn`, which shares only the code on disk."""
    kernels = [one.function(request) for one in (kd.replace(dtype=dtype), kd.replace(dtype=dtype))]
    return kernels if kind == "value" else [one.derivative(kind) for one in kernels]


LARGE = "coriolis_matrix", "forward_dynamics_derivatives"  # their Jacobians have many entries
CASES = [
    (name, (k + 2 * j) % 5, kind)
    for k, name in enumerate(lw.KinDyn.quantities)
    for j, kind in enumerate(("value", "jvp" if name in LARGE else KINDS[1 + k % 3]))
]


@pytest.mark.parametrize(("name", "robot", "kind"), CASES)
def test_quantities_and_derivatives(name, robot, kind):
    kd = robots()[robot]
    kernel, fresh = equal_kernels(kd, request_of(kd, name), kind)
    check(kernel, fresh, rows_for(kernel, kd))


@pytest.mark.parametrize("kind", ["gradient", "hessian", "hvp"])
def test_derivatives_of_energies(kind):
    kernel, fresh = equal_kernels(robots()[3], "kinetic_energy", kind)
    check(kernel, fresh, rows_for(kernel, robots()[3]))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("forward_dynamics", "value"),
        ("inverse_dynamics", "vjp"),
        *[("integrate", kind) for kind in ("value", "vjp")],
    ],
)
def test_single_precision(name, kind):
    kd = robots()[0]
    kernel, fresh = equal_kernels(kd, name, kind, np.float32)
    check(kernel, fresh, rows_for(kernel, kd, np.float32))


@pytest.mark.parametrize(
    ("name", "kind"),
    [("inverse_dynamics", "value"), ("impact", "value"), ("forward_dynamics", "vjp")],
)
def test_constrained_functions(name, kind):
    stance = stance_of(lw.KinDyn, floating=False)
    kernel, fresh = (
        one.function(name) if kind == "value" else one.function(name).derivative(kind)
        for one in (stance, stance_of(lw.KinDyn, floating=False))
    )
    names = [port.name for port in stance.function(name).signature.inputs]
    rows = constrained_arguments(stance, names, (ROWS,))
    rng = np.random.default_rng(2)
    rows += [rng.normal(size=(ROWS, *port.shape)) for port in kernel.signature.inputs[len(rows) :]]
    check(kernel, fresh, rows)


@pytest.mark.parametrize("name", ["distances", "smooth_minimum_distance", "in_collision"])
def test_collision_functions(name):
    robot, fresh = (lw.CollisionModel(arm(), floating=False) for _ in range(2))
    rows = [robot.kindyn.random(ROWS, seed=1)]
    rows += [np.linspace(0.01, 0.1, ROWS)] if name.startswith("smooth") else []
    check(robot.function(name), fresh.function(name), rows)


@pytest.mark.parametrize("kind", ["value", "vjp"])
def test_rows_that_are_not_finite(kind):
    """Of all lanes of a vector, also next to subnormal numbers and zeros of both signs."""

    def kernel():
        @lw.compile(x=4)
        def function(x):
            a, b, c, d = x
            chosen = np.where(c > 0.0, d, -d)
            return np.stack([a * b + c, np.sqrt(a), np.maximum(a, b), chosen, np.sin(a), b - b])

        return function if kind == "value" else function.vjp("x")

    rng = np.random.default_rng(4)
    special = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-310], size=(ROWS, 4))
    rows = [np.where(rng.random((ROWS, 4)) < 0.4, special, rng.normal(size=(ROWS, 4)))]
    rows += [rng.normal(size=(ROWS, 6))] if kind == "vjp" else []
    check(kernel(), kernel(), rows)


@cache
def falling_block():
    """A block, and states in which it flies, slides or stands on two, three or four points."""
    box = lw.Shape(lw.Box((0.3, 0.2, 0.1)))
    link = lw.Link(name="block", inertia=lw.solid_box(3.0, (0.3, 0.2, 0.1)), collisions=(box,))
    sim = lw.Simulation(lw.Model(name="block", links=(link,)), ground=True, friction=0.5)
    rng = np.random.default_rng(3)
    x = sim.state(nu=rng.normal(size=(ROWS, 6)))
    q = np.array(x.q)
    q[:, 2] = rng.uniform(0.06, 0.15, ROWS)
    states = sim.rollout(x._replace(q=q), np.zeros((ROWS, 40, 0)))
    return sim, [np.array(part[:, -1]) for part in states] + [np.zeros((ROWS, 0))]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["value", "vjp"])
def test_steps_of_simulations(kind, dtype):
    sim, rows = falling_block()
    active = sim.forward(lw.SimulationState(*rows[:4]), rows[4]).active.sum(axis=1)
    assert len(set(active)) > 2, "rows of a vector have different contacts"
    steps = [lw.Simulation(sim.model, scene=sim.scene, dtype=dtype).step for _ in range(2)]
    rng = np.random.default_rng(1)
    if kind == "vjp":
        rows = rows + [rng.normal(size=(ROWS, *port.shape)) for port in sim.step.signature.outputs]
        steps = [step.vjp() for step in steps]
    check(*steps, [row.astype(dtype) for row in rows])


@cache
def step_of_arm():
    kd = lw.KinDyn(random_model(np.random.default_rng(5), 4, MOVING_KINDS), floating=True)

    @lw.compile(q=kd.nq, nu=kd.nv, tau=kd.nv)
    def step(q, nu, tau):
        nu = nu + 0.01 * kd.forward_dynamics(q, nu, tau)
        return kd.integrate(q, nu, 0.01), nu

    return kd, step


@pytest.mark.parametrize("kind", ["value", "vjp"])
def test_loops_that_end_early(kind):
    """Rows in one vector end after different numbers of iterations; also of implicit functions."""

    def kernel():
        @lw.compile(a=3)
        def roots(a):
            def improve(carry):
                x, _ = carry
                better = 0.5 * (x + a / x)
                return better, better - x

            start = np.stack([a[0] + 1.0, a[1] + 1.0, a[2] + 1.0])
            x, _ = lw.repeat(
                40, improve, (start, start), condition=lambda carry: abs(carry[1]).sum() > 1e-9
            )
            solved = lw.implicit(x, lambda x: x * x - a, lambda x: np.diag(2.0 * x))
            return x * a[0] - a[1] * solved

        return roots if kind == "value" else roots.vjp("a")

    rng = np.random.default_rng(3)
    rows = [10.0 ** rng.uniform(-6, 6, (ROWS, 3))]
    rows += [rng.normal(size=(ROWS, 3))] if kind == "vjp" else []
    check(kernel(), kernel(), rows)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_rollout_is_a_loop_of_calls(threads):
    """Also of quaternions that drift, which calls and rollouts normalize."""
    kd, step = step_of_arm()
    rng, n = np.random.default_rng(1), 6
    q, nu = kd.random(ROWS, seed=3), rng.normal(size=(ROWS, kd.nv))
    q[:, kd.layout.base_wxyz] *= 1.0 + 1e-5 * rng.normal(size=(ROWS, 1))
    tau = rng.normal(size=(ROWS, n, kd.nv))
    found = lw.rollout(step, (q, nu), tau, threads=threads)
    for row in (0, ROWS // 2, ROWS - 1):
        state = q[row], nu[row]
        own = lw.rollout(step, state, tau[row])
        for k in range(n):
            state = step(*state, tau[row, k])
            for states, one, value in zip(found, own, state, strict=True):
                assert states[row, k + 1].tobytes() == one[k + 1].tobytes() == value.tobytes()


def test_gradients_of_rollouts():
    kd, step = step_of_arm()
    rng, n = np.random.default_rng(1), 6
    q, nu = kd.random(ROWS, seed=3), rng.normal(size=(ROWS, kd.nv))
    tau = rng.normal(size=(ROWS, n, kd.nv))
    weights = rng.normal(size=(ROWS, n + 1, kd.nq)), rng.normal(size=(ROWS, n + 1, kd.nv))

    def gradients(pick, threads):
        parts = [tuple(a[pick] for a in arrays) for arrays in ((q, nu), weights)]
        found = Rollout(step).vjp(parts[0], tau[pick], parts[1], threads=threads)
        return bits((*found.x0, found.controls))

    expected = gradients(slice(None), 1)
    assert gradients(slice(None), 2) == expected
    assert gradients(slice(None, None, -1), 1) == expected[::-1]
    for row in (0, 1, ROWS - 1):
        assert gradients(slice(row, row + 1), 1) == [expected[row]]


# Bits of the mode in MXCSR and in FPCR.
MODES = {"to zero": 0x8040, "down": 0x2000, "up": 0x4000, "toward zero": 0x6000}
if IS_ARM:
    MODES = {"to zero": 1 << 24, "down": 2 << 22, "up": 1 << 22, "toward zero": 3 << 22}


@pytest.mark.skipif(not (IS_LINUX_ON_X86_64 or IS_ARM), reason="the register is another")
@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_modes_that_other_libraries_set(mode):
    """Rounding and subnormal numbers are as usual in calls, and the mode remains afterwards.

    Also where Python traces a function, converts its arguments, or normalizes quaternions.
    """
    mode_of_thread = mode_functions()
    tiny = np.geomspace(1e-300, 1e-3, ROWS)
    rows = np.outer(tiny, [1.0, 0.3, -0.7])
    kd, step = step_of_arm()
    q, nu, tau = kd.random(ROWS, seed=3), np.ones((ROWS, kd.nv)), np.ones((ROWS, 3, kd.nv))
    q[:, kd.layout.base_wxyz] *= 1.0 + 1e-5 * np.sin(np.arange(ROWS))[:, None]
    larger, many = rows * 1e9, np.tile(rows, (4000, 1))

    def results():
        for dtype in (np.float64, np.float32):
            new = compiled_products(dtype)
            yield new(larger)  # nothing is compiled yet
            yield new([list(row) for row in rows])
            yield new(x=rows[1])[None]
            yield new(many, threads=2)
        single = kd.replace(dtype=np.float32)
        single.mass_matrix.warmup()
        yield single.mass_matrix(q[:, None])
        yield lw.rollout(step, (q, nu), tau, threads=2)
        found = Rollout(step).vjp((q, nu), tau, final=(q, nu))
        yield *found.x0, found.controls

    expected = [bits(one) for one in results()]
    before = mode_of_thread(None)
    mode_of_thread(before | mode)
    try:
        found, after = list(results()), mode_of_thread(None)
    finally:
        mode_of_thread(before)
    assert (after ^ (before | mode)) & (-1 if IS_ARM else 0xFFC0) == 0
    assert [bits(one) for one in found] == expected


def compiled_products(dtype):
    """A function that has no code; its constants are computed while it is traced."""

    @lw.compile(x=3, dtype=dtype)
    def products(x):
        third = np.float64(1.0) / 3.0
        return np.stack([x[0] * x[1] + 0.1, x[0] * x[1], np.sin(x[2]) * third, x[0] * 1e-9])

    return products


@cache
def mode_functions():
    """A function that sets MXCSR or FPCR, if it is given a value, and returns the value before."""
    ir = (
        """
    declare i64 @llvm.aarch64.get.fpcr()
    declare void @llvm.aarch64.set.fpcr(i64)
    define void @read(ptr %p) {
      %v = call i64 @llvm.aarch64.get.fpcr()
      store i64 %v, ptr %p
      ret void
    }
    define void @write(ptr %p) {
      %v = load i64, ptr %p
      call void @llvm.aarch64.set.fpcr(i64 %v)
      ret void
    }
    """
        if IS_ARM
        else """
    declare void @llvm.x86.sse.ldmxcsr(ptr)
    declare void @llvm.x86.sse.stmxcsr(ptr)
    define void @read(ptr %p) {
      call void @llvm.x86.sse.stmxcsr(ptr %p)
      ret void
    }
    define void @write(ptr %p) {
      call void @llvm.x86.sse.ldmxcsr(ptr %p)
      ret void
    }
    """
    )
    code = load_code(compiled(ir))
    read, write = (
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address(one)) for one in ("read", "write")
    )

    def mode_of_thread(value):
        word = ctypes.c_uint64()
        read(ctypes.addressof(word))
        if value is not None:
            write(ctypes.addressof(ctypes.c_uint64(value)))
        return word.value

    mode_of_thread.code = code  # keeps it in memory
    return mode_of_thread


def test_equal_products_cancel_in_functions_of_users():
    """As in NumPy: neither product of a difference is fused."""

    @lw.compile(a=3, b=3)
    def cross(a, b):
        return np.cross(a, b)

    a = np.random.default_rng(0).normal(size=(ROWS, 3))
    assert not cross(a, a).any()
    assert not cross(a[0], a[0]).any()
    np.testing.assert_array_equal(cross(a, -a[::-1]), -cross(a, a[::-1]))
    np.testing.assert_array_equal(cross(a, a[::-1]), np.cross(a, a[::-1]))


def test_the_promise_is_per_function():
    """Functions that contain a quantity are other programs: equal up to rounding.

    In a function of a user, neither product of a b - c d is fused. Its rows have the same bits
    everywhere, of course, and so has a function of several quantities.
    """
    kd = lw.KinDyn(lw.load("quadruped"), floating=True)
    q, nu = kd.random(ROWS, seed=1), np.random.default_rng(1).normal(size=(ROWS, kd.nv))

    @lw.compile(q=kd.nq, nu=kd.nv)
    def inside(q, nu):
        return kd.bias_force(q, nu)

    bias_force = kd.bias_force(q, nu)
    both = kd.function("mass_matrix", "bias_force")
    for found in (inside(q, nu), both(q, nu)[1]):
        np.testing.assert_allclose(found, bias_force, atol=1e-13 * abs(bias_force).max())
    assert bits(inside(q, nu)) != bits(bias_force)
    assert bits(inside(q, nu)) == alone(inside, [q, nu])
    assert bits(both(q, nu)) == alone(both, [q, nu])


@pytest.mark.skipif(CC is None, reason="there is no C compiler")
@pytest.mark.skipif(not IS_LINUX_ON_X86_64, reason="the options of GCC are those of x86-64")
@pytest.mark.skipif(not this_machine().has_fma, reason="products would not be fused")
@pytest.mark.parametrize("real", [DOUBLE, FLOAT])
def test_exported_c_gives_the_bits_of_machine_code(real, tmp_path):
    kd = robots()[1].replace(dtype=np.float64 if real is DOUBLE else np.float32)
    kernel = kd.function("forward_dynamics")
    rows = rows_for(kernel, kd, kd.dtype)
    build(package_for(kernel.program, real), tmp_path, "-mavx2", "-mfma")
    (result,) = results(package_for(kernel.program, real), tmp_path, *rows)
    assert bits(result.astype(kd.dtype)) == bits(kernel(*rows))
