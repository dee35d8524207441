"""Robots inside functions that are compiled: values, derivatives, shared work, messages."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from tests.support.complex_steps import COMPLEX_FUNCTIONS
from tests.support.kindyn import STEP, random_case, run_program
from tests.support.models import assert_close

import linkwork as lw
from linkwork.compat.adam import KinDynComputations
from linkwork.errors import LinkworkError
from linkwork.kindyn.programs import MOST_UNROLLED


@functools.cache
def case(floating):
    return random_case(3, floating=floating, n_links=6)


def request(name, frames):
    """A quantity with some frames, as `KinDyn.function` takes it."""
    row = lw.KinDyn.quantities[name]
    if row.of_many:
        return (name, tuple(frames))
    return (name, *(frames[k % len(frames)] for k, _ in enumerate(row.frames)))


def inputs(kernel, own):
    """A state for each input of a kernel, by its name."""
    kd, rng = own.kd.kd, np.random.default_rng(5)
    states = {"q": own.q, "nu": own.nu, "nu_dot": own.nu_dot, "tau": own.nu_dot, "dt": 0.3}
    states |= {"q_start": own.q, "q_end": kd.random(seed=8)}
    return [
        np.asarray(states.get(port.name, rng.normal(size=port.shape)), float)
        for port in kernel.signature.inputs
    ]


def of_one_vector(function, shapes):
    """A function of several arrays as a compiled function of one vector that holds them all."""
    sizes = [int(np.prod(shape)) for shape in shapes]
    ends = np.cumsum(sizes)

    def joined(x):
        parts = [x[end - size : end] for end, size in zip(ends, sizes, strict=True)]
        return function(*(p.reshape(shape) for p, shape in zip(parts, shapes, strict=True)))

    return lw.compile(x=int(sum(sizes)))(joined)


def joined(arrays):
    return np.concatenate([np.ravel(array) for array in arrays])


def outputs(program, *arguments):
    return joined(run_program(program, *arguments, functions=COMPLEX_FUNCTIONS))


@pytest.mark.parametrize("floating", [True, False])
@pytest.mark.parametrize("name", lw.KinDyn.quantities)
def test_every_quantity_is_the_same_inside_and_outside(name, floating):
    """The values at a q whose norms have drifted, and the derivatives, which have no component
    along a quaternion."""
    own = case(floating)
    kd = own.kd.kd
    kernel = kd.function(request(name, own.frames))
    given = inputs(kernel, own)
    inside = of_one_vector(kernel, [port.shape for port in kernel.signature.inputs]).program

    drifted = [array.copy() for array in given]
    along = [np.zeros(array.shape) for array in given]
    for unit in kernel.signature.unit_norms:
        span = slice(unit.offset, unit.offset + unit.count)
        drifted[unit.input][span] *= 1.0004
        along[unit.input][span] = given[unit.input][span]
    wanted = outputs(kernel.program, *given)
    assert_close(outputs(inside, joined(drifted)), wanted, 1e-12)

    radial = outputs(inside, joined(given) + 1j * STEP * joined(along)).imag / STEP
    assert np.abs(radial).max() <= 1e-12 * (1.0 + np.abs(wanted).max())
    direction = [np.random.default_rng(1).normal(size=array.shape) for array in given]
    moved = [a + 1j * STEP * d for a, d in zip(given, direction, strict=True)]
    slope = outputs(inside, joined(moved)).imag / STEP
    for unit in kernel.signature.unit_norms:
        span = slice(unit.offset, unit.offset + unit.count)
        part = moved[unit.input][span]
        moved[unit.input][span] = part / np.sqrt((part * part).sum())
    assert_close(slope, outputs(kernel.program, *moved).imag / STEP, 1e-11)


# Methods that are not quantities themselves; a new one must be added here, and tested.
NO_ARRAYS = {
    *("function", "warmup", "replace", "neutral", "random", "inertial_parameters"),
    *("jacobian_sparsity", "relative_jacobian_sparsity", "options", "layout", "tree", "problem"),
    "quantities",
    *("constrained", "closing_joints", "actuation"),
    *("nq", "nv", "joint_names", "limits", "total_mass", "parameters", "parameter_values"),
}
OTHERS = {"q": "test_a_configuration_from_traced_positions"}


def test_every_public_method_is_covered_here():
    public = {name for name in dir(lw.KinDyn) if not name.startswith("_")}
    assert public - set(lw.KinDyn.quantities) == NO_ARRAYS | set(OTHERS)
    assert all(name in globals() for name in OTHERS.values())


def test_a_configuration_from_traced_positions(rng):
    kd = lw.KinDyn(lw.robots.load("quadruped"))
    first, second = kd.joint_names[:2]
    H = kd.transform("FL_foot", kd.random(seed=1))

    @lw.compile(angle=(), pose=(4, 4))
    def placed(angle, pose):
        return kd.q({first: angle, second: 0.2}, base_pose=pose)

    wanted = kd.q({first: -0.4, second: 0.2}, base_pose=H)
    assert_close(run_program(placed.program, -0.4, H.ravel())[0], wanted, 1e-14)
    fixed = lw.KinDyn(kd.model, floating=False)
    com = lw.compile(angle=1)(lambda angle: fixed.com(fixed.q({first: angle})))
    assert_close(run_program(com.program, [0.7])[0], fixed.com(fixed.q({first: 0.7})), 1e-13)


def test_methods_with_options_of_their_own(rng):
    kd = lw.KinDyn(lw.robots.load("arm"))
    names = kd.model.frame_names
    q, nu = kd.random(seed=2), rng.normal(size=kd.nv)
    calls = [
        lambda q, nu: kd.transforms(q, frames=list(names[:3])),
        lambda q, nu: kd.transforms(q),
        lambda q, nu: kd.relative_jacobian(names[1], names[-1], q, origin=names[0]),
        kd.integrate,
        lambda q, nu: kd.integrate(q, nu, 0.1, threads=2),
        lambda q, nu: kd.integrate(q, nu=nu, dt=nu[0]),
        lambda q, nu: kd.difference(kd.neutral(), q_end=q),
        lambda q, nu: kd.function("com", "momentum").named(q, nu=nu)["momentum"],
        lambda q, nu: lw.KinDyn.bias_force(kd, q, nu, gravity=nu[:3]),
        lambda q, nu: kd.bias_force(q, nu, gravity=[0.0, 1.0, -9.0]),
        lambda q, nu: kd.inverse_dynamics(
            q, nu, 2 * nu, wrenches={"tool": nu[:6], names[1]: [1.0] * 6}
        ),
        lambda q, nu: kd.external_force(q, wrenches={"tool": nu[:6]}),
        lambda q, nu: kd.forward_dynamics(q, nu, nu_tau(nu), wrenches={"tool": np.ones(6)}),
        lambda q, nu: kd.bias_force(kd.neutral(), np.zeros_like(nu)) + nu,
        lambda q, nu: kd.com([*q[:7], *kd.neutral()[7:]]),
    ]
    for call in calls:
        inside = lw.compile(q=kd.nq, nu=kd.nv)(call)
        assert_close(run_program(inside.program, q, nu)[0], call(q, nu), 1e-12)


def nu_tau(nu):
    return np.concatenate([np.zeros(6), 3.0 * nu[6:]])


# The function of the documentation.


def make_cost(kd):
    @lw.compile(q=kd.nq, nu=kd.nv, target=3)
    def cost(q, nu, target):
        error = kd.transform("tool", q)[:3, 3] - target
        return error @ error + 1e-3 * nu @ kd.mass_matrix(q) @ nu

    return cost


def test_a_cost_with_a_robot_inside_compiles_and_takes_batches(rng):
    kd = lw.KinDyn(lw.robots.load("arm"))
    cost = make_cost(kd)
    q, nu, target = kd.random(20, seed=0), rng.normal(size=(20, kd.nv)), rng.normal(size=3)
    error = kd.transform("tool", q)[:, :3, 3] - target
    inertial = np.einsum("bi,bij,bj->b", nu, kd.mass_matrix(q), nu)
    wanted = (error**2).sum(axis=1) + 1e-3 * inertial

    assert_close(cost(q, nu, target), wanted, 1e-12)
    assert_close(cost(q[0], nu[0], target), wanted[0], 1e-12)


def test_the_derivative_of_a_cost_by_complex_steps(rng):
    kd = lw.KinDyn(lw.robots.load("arm"))
    cost = make_cost(kd)
    state = [kd.random(seed=4), rng.normal(size=kd.nv), rng.normal(size=3)]
    for k, name in enumerate(["q", "nu"]):
        slope = run_program(cost.jacobian(name).program, *state)[0]
        for at in range(len(state[k])):
            moved = [np.array(array, complex) for array in state]
            moved[k][at] += 1j * STEP
            assert_close(slope[at], run_program(cost.program, *moved)[0].imag / STEP, 1e-11)


def test_methods_at_the_same_q_share_their_work():
    kd = lw.KinDyn(lw.robots.load("humanoid"))
    both = lw.compile(q=kd.nq)(lambda q: (kd.mass_matrix(q), kd.transform("l_hand", q)))
    fused = kd.function("mass_matrix", ("transform", "l_hand"))
    of_norm = 12  # seven operations for the squares of the quaternion, 1 / norm and four products

    assert both.program.n_ops <= fused.program.n_ops + of_norm


def test_what_is_known_is_folded():
    kd = lw.KinDyn(lw.robots.load("humanoid"))
    q = kd.random(seed=0)
    momentum = lw.compile(nu=kd.nv)(lambda nu: kd.mass_matrix(q) @ nu)

    assert momentum.program.n_ops < 2 * kd.nv**2
    nu = np.arange(kd.nv) / 10.0
    assert_close(run_program(momentum.program, nu)[0], kd.mass_matrix(q) @ nu, 1e-12)


def test_two_robots_in_one_function(rng):
    arm, cart = (
        lw.KinDyn(lw.robots.load("arm")),
        lw.KinDyn(lw.robots.load("cartpole"), floating=False),
    )

    class Pair:
        def gap(self, q_arm, q_cart):
            return arm.com(q_arm) - cart.com(q_cart)

    f = lw.compile(q_arm=arm.nq, q_cart=cart.nq)(Pair().gap)
    q, s = arm.random(seed=1), cart.random(seed=1)
    assert_close(run_program(f.program, q, s)[0], arm.com(q) - cart.com(s), 1e-13)


def test_leading_axes_inside_are_computed_row_by_row(rng):
    kd = lw.KinDyn(lw.robots.load("arm"))
    f = lw.compile(q=(3, 1, kd.nq), nu=(2, kd.nv))(kd.com_velocity)
    q, nu = kd.random((3, 1), seed=0), rng.normal(size=(2, kd.nv))

    assert f.program.outputs[0].shape == (3, 2, 3)
    assert_close(run_program(f.program, q.ravel(), nu.ravel())[0], kd.com_velocity(q, nu), 1e-12)


def test_configurations_that_are_filled_entry_by_entry():
    kd = lw.KinDyn(lw.robots.load("arm"))

    def filled(q):
        y = np.zeros_like(q)
        for k, entry in enumerate(q):
            y[k] = entry
        return y

    makers = (filled, tuple, list, np.array, lambda q: np.array(list(q)), np.copy)
    f = lw.compile(q=kd.nq)(lambda q: np.stack([kd.com(make(q)) for make in makers]))
    q = kd.random(seed=0)
    assert_close(run_program(f.program, q)[0], np.tile(kd.com(q), (len(makers), 1)), 1e-13)


def test_a_robot_that_cannot_move():
    kd = lw.KinDyn(lw.robots.load("pendulum").lumped(), floating=False)
    kd = kd.replace(model=kd.model.reduced([]))
    f = lw.compile(q=kd.nq, x=3)(lambda q, x: kd.com(q) + x)

    assert kd.nq == 0
    assert_close(run_program(f.program, [], np.zeros(3))[0], kd.com([]), 1e-14)
    step = lw.compile(dt=())(lambda dt: kd.integrate([], [], dt))
    assert step.program.outputs[0].shape == (0,)


def test_single_precision_is_that_of_the_function():
    kd = lw.KinDyn(lw.robots.load("arm"), dtype=np.float32)
    f = lw.compile(q=kd.nq)(lambda q: 2.0 * kd.com(q))
    q = kd.replace(dtype=np.float64).random(seed=3)

    wanted = 2.0 * kd.replace(dtype=np.float64).com(q)
    assert_close(run_program(f.program, q)[0], wanted, 1e-13)


def test_a_compiled_function_with_a_robot_inside_another(rng):
    kd = lw.KinDyn(lw.robots.load("arm"))
    com = lw.compile(q=kd.nq)(lambda q: kd.com(q) + 1.0)
    f = lw.compile(q=kd.nq)(lambda q: com(q) + com.jacobian("q")(q) @ np.ones(kd.nq))
    q = kd.random(seed=5)

    moved = run_program(com.program, q + 1j * STEP)[0]
    assert_close(run_program(f.program, q)[0], moved.real + moved.imag / STEP, 1e-12)


def test_the_methods_of_adam_work_inside_too(rng):
    robot = KinDynComputations(str(lw.robots.path("arm")))
    kd = lw.KinDyn(lw.robots.load("arm"))
    H, s = kd.transform("tool", kd.random(seed=6)), rng.normal(size=robot.NDoF)
    f = lw.compile(base_transform=(4, 4), joint_positions=robot.NDoF)(robot.mass_matrix)

    assert_close(run_program(f.program, H.ravel(), s)[0], robot.mass_matrix(H, s), 1e-12)


# Messages.


def robot():
    return lw.KinDyn(lw.robots.load("arm"))


def compiled(function, **shapes):
    return lambda: lw.compile(**shapes)(function)


def kept(**shapes):
    """A traced value that its function did not keep for itself."""
    values = []
    lw.compile(**shapes)(lambda q: values.append(q) or q)
    return values[0]


NQ, NV = robot().nq, robot().nv
MEANING = r"position \(3\).*quaternion wxyz \(4\).*s \(8\) of 8 joints.*floating=False"
FACTS = {
    "^out: .*traced": compiled(lambda q: robot().com(q, out=np.empty(3)), q=NQ),
    rf"^q: .*\(\.\.\., {NQ}\).*\(4,\).*{MEANING}": compiled(lambda q: robot().com(q[:4]), q=NQ),
    rf"^q: .*\(\.\.\., {NQ}\).*\(\).*{MEANING}": compiled(lambda q: robot().com(q[0]), q=NQ),
    "frame.*'tol'.*'tool'": compiled(lambda q: robot().transform("tol", q), q=NQ),
    "^bias_force .*q, nu.*missing: nu": compiled(lambda q: robot().bias_force(q), q=NQ),
    r"^com: .*'p'.*\bq, out, threads$": compiled(lambda q: robot().com(p=q), q=NQ),
    r"^threads: .*1\.5": compiled(lambda q: robot().com(q, threads=1.5), q=NQ),
    r"batch.*q \(3,\).*nu \(2,\)": compiled(
        lambda q, nu: robot().momentum(q, nu), q=(3, NQ), nu=(2, NV)
    ),
    r"^q: .*base quaternion.*norm 2\b": compiled(
        lambda nu: robot().momentum([0, 0, 0, 2, *[0] * (NQ - 4)], nu), nu=NV
    ),
    "^q: .*traced value.*after": lambda: robot().com(kept(q=NQ)),
    r"^wrenches: .*by frame.*<traced array \(6,\)>": compiled(
        lambda q, f: robot().external_force(q, wrenches=f), q=NQ, f=6
    ),
    "^q: .*equal length": compiled(lambda q: robot().com([q, q[:2]]), q=NQ),
    "^q: .*real numbers.*str": compiled(lambda q: robot().com([*q[1:], "0"]), q=NQ),
    r"^n: .*batch shape.*<traced array \(\)>": compiled(lambda n: robot().random(n), n=()),
    r"^gravity: .*<traced array \(3,\)>": compiled(lambda g: robot().replace(gravity=g), g=3),
    r"^joint 'elbow_pitch': .*\(2,\)": compiled(lambda q: robot().q(elbow_pitch=q[:2]), q=NQ),
    r"^base_pose: .*Pose.*\(4, 4\).*\(3, 3\)": compiled(lambda H: robot().q(base_pose=H), H=(3, 3)),
    r"^numpy\.add .*traced function.*another.*argument": compiled(
        lambda q, x=None: robot().com(q) + kept(q=3), q=NQ
    ),
}


@pytest.mark.parametrize("facts", FACTS)
def test_bad_use_inside_a_function_is_explained(facts):
    with pytest.raises(LinkworkError, match=facts):
        FACTS[facts]()


def test_a_branch_on_a_quantity_names_where():
    with pytest.raises(lw.ArgumentError, match=r"traced value.*\bif\b.*while"):
        lw.compile(q=NQ)(lambda q: q if robot().com(q)[2] > 0.0 else -q)


def test_a_robot_too_long_to_trace_is_refused():
    builder = lw.ModelBuilder("snake")
    builder.add_link("0", inertia=lw.point_mass(1.0))
    for k in range(MOST_UNROLLED + 1):
        builder.add_link(f"{k + 1}", inertia=lw.point_mass(1.0))
        builder.add_joint(f"joint {k}", "prismatic", f"{k}", f"{k + 1}")
    with pytest.warns(lw.LinkworkWarning, match=rf"\b{MOST_UNROLLED + 1}\b"):
        kd = lw.KinDyn(builder.build(), floating=False)
    with pytest.raises(lw.ArgumentError, match=r"^com .*operations.*traced function"):
        lw.compile(q=kd.nq)(kd.com)
