"""Constraints that are redundant, nearly redundant or contradictory, in both precisions."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.linalg import get_lapack_funcs
from tests.support.complex_steps import jacobian_by_steps
from tests.support.kindyn import run_program
from tests.support.linkages import LINKAGES, closed, four_bar, leg
from tests.support.redundant_robots import outcome, random_case

import linkwork as lw

N_MODELS = 200
# Rows of a few millionths of their full size; a light link beside heavy ones; rounding errors that
# have a target.
HARD_MODELS = (4114, 4440, 8586, 9267)


def camera(offset, kind="point"):
    """A link on a hinge, constrained at a point at a distance from the axis."""
    b = lw.ModelBuilder(f"camera{offset}")
    b.add_link("base", inertia=lw.solid_box(1.0, (0.1, 0.1, 0.1)))
    b.add_link("column", inertia=lw.Inertia(1.0, (0, 0, 0), (0.1, 0, 0, 0.1, 0, 0.1)))
    b.add_joint("turn", "revolute", "base", "column", axis=(0, 0, 1))
    b.add_frame("lens", "column", lw.Pose((0.0, offset, 0.3)))
    return lw.KinDyn(b.build(), floating=False).constrained({"lens": kind})


@pytest.mark.parametrize("offset", [0.0, 1e-17, 1e-13, -1e-10, 1e-9])
def test_an_anchor_on_an_axis_does_not_lock_the_joint(offset):
    """Its rows are rounding errors compared with the size of the robot, not with themselves."""
    robot = camera(offset)
    nu_dot, forces, residual = robot.forward_dynamics([0.3], [0.0], [1.0])
    np.testing.assert_allclose(nu_dot, [10.0], rtol=1e-6)
    assert np.abs(forces).max() < 1e-3
    np.testing.assert_allclose(residual, robot.jacobian([0.3]) @ nu_dot, atol=1e-15)
    np.testing.assert_allclose(robot.project_velocity([0.3], [1.0]), [1.0], rtol=1e-6)
    by_q = robot.forward_dynamics_derivatives([0.3], [0.0], [1.0])
    np.testing.assert_allclose(by_q.tau, [[10.0]], rtol=1e-6)


@pytest.mark.parametrize("offset", [3e-5, 1e-3])
def test_an_anchor_beside_an_axis_locks_the_joint(offset):
    robot = camera(offset)
    nu_dot, _, residual = robot.forward_dynamics([0.3], [0.0], [1.0])
    assert np.abs(nu_dot).max() < 1e-6
    assert np.abs(residual).max() < 1e-12
    assert np.abs(robot.project_velocity([0.3], [1.0])).max() < 1e-7


@pytest.mark.parametrize("offset", [1e-7, 4e-7])
def test_nearly_redundant_constraints_are_reported(offset):
    robot = camera(offset)
    with pytest.warns(lw.LinkworkWarning, match=r"'lens' are redundant but for .*e-0[67]"):
        nu_dot, _, residual = robot.forward_dynamics([0.3], [0.0], [1.0])
    np.testing.assert_allclose(nu_dot, [10.0], rtol=1e-3)
    np.testing.assert_allclose(residual, robot.jacobian([0.3]) @ nu_dot, atol=1e-12)


def stretched(angle, *, doubled=False):
    """An arm of two links whose end is held, bent by a small angle; perhaps held twice."""
    b = lw.ModelBuilder(f"stretched{doubled}")
    b.add_link("base", inertia=lw.solid_box(1.0, (0.1, 0.1, 0.1)))
    for name in ("upper", "lower"):
        b.add_link(name, inertia=lw.solid_box(1.0, (0.5, 0.1, 0.1), com=(0.25, 0, 0)))
    b.add_joint("shoulder", "revolute", "base", "upper", axis=(0, 1, 0))
    elbow = lw.Pose((0.5, 0, 0))
    b.add_joint("elbow", "revolute", "upper", "lower", axis=(0, 1, 0), first_H_joint=elbow)
    b.add_frame("hand", "lower", lw.Pose((0.5, 0, 0)))
    b.add_frame("again", "lower", lw.Pose((0.5, 0, 0)))
    contacts = dict.fromkeys(("hand", "again") if doubled else ("hand",), "point")
    return lw.KinDyn(b.build(), floating=False).constrained(contacts), np.array([0.7, angle])


@pytest.mark.parametrize("doubled", [False, True])
@pytest.mark.parametrize("angle", [1e-5, 1e-4])
def test_singular_values_from_a_millionth_are_real(doubled, angle):
    """The end of an arm that is almost stretched is held in both directions."""
    robot, q = stretched(angle, doubled=doubled)
    J = robot.jacobian(q)
    smallest = np.linalg.svd(J / np.linalg.norm(J), compute_uv=False)[1]
    assert 1e-6 < smallest < 2.0 * angle
    velocity = robot.project_velocity(q, np.array([1.0, -0.3]))
    assert np.abs(velocity).max() < 1e-3
    moving = np.linalg.solve(J[[0, 2]], [0.3, 0.5])  # nothing but rest satisfies both equations
    assert np.abs(robot.project_velocity(q, moving)).max() < 2e-3 * np.abs(moving).max()


@pytest.mark.parametrize("doubled", [False, True])
def test_singular_values_below_a_billionth_are_rounding_errors(doubled):
    robot, q = stretched(1e-10, doubled=doubled)
    J = robot.jacobian(q)
    free = np.array([1.0, -2.0]) / np.sqrt(5.0)  # the elbow moves across the line to the hand
    np.testing.assert_allclose(J @ free, 0.0, atol=1e-9)
    result = robot.forward_dynamics(q, 0.0 * q, J[0] * 0.3 + free)
    assert np.abs(result.nu_dot).max() < 1e3
    np.testing.assert_allclose(robot.project_velocity(q, free), free, atol=1e-6)


@pytest.mark.parametrize("doubled", [False, True])
def test_singular_and_regular_rows_of_a_batch_do_not_affect_each_other(doubled):
    """Neither in their values nor in their derivatives, which are finite in both precisions."""
    robot, _ = stretched(0.0, doubled=doubled)
    angles = (0.0, 1e-10, 3e-7, 1e-4, 0.5, -2.0)
    q = np.array([(shoulder, angle) for shoulder in (0.0, 0.7) for angle in angles])
    rng = np.random.default_rng(0)
    nu, tau, seed = rng.normal(size=(3, len(q), 2))
    jacobian, vjp = robot.forward_dynamics.jacobian("q"), robot.forward_dynamics.vjp("q")
    analytic = robot.forward_dynamics_derivatives(q, nu, tau)
    slopes, of_forces = jacobian(q, nu, tau)[0], np.zeros((len(q), robot.m))
    pulled = vjp(q, nu, tau, seed, of_forces, of_forces)
    together = robot.forward_dynamics(q, nu, tau)
    for k in range(len(q)):
        alone = robot.forward_dynamics(q[k], nu[k], tau[k])
        scale = np.abs(together.nu_dot[k]).max()
        np.testing.assert_allclose(alone.nu_dot, together.nu_dot[k], atol=1e-10 * scale)
        scale = np.abs(slopes[k]).max()
        np.testing.assert_allclose(
            robot.forward_dynamics_derivatives(q[k], nu[k], tau[k]).q,
            analytic.q[k],
            atol=1e-8 * np.abs(analytic.q[k]).max(),
        )
        if abs(q[k, 1]) > 1e-5:  # accelerations jump where the arm is stretched
            np.testing.assert_allclose(pulled[k], seed[k] @ slopes[k], atol=1e-9 * scale)
    assert all(np.isfinite(part).all() for part in (*analytic, slopes, pulled))
    single = robot.replace(dtype=np.float32)
    values = [x.astype(np.float32) for x in (q, nu, tau)]
    for result in (single.forward_dynamics(*values), single.forward_dynamics_derivatives(*values)):
        assert all(np.isfinite(part).all() for part in result)


@pytest.mark.parametrize("angle", [1.5e-6, 2e-6, 1e-5])
def test_small_rows_have_their_full_weight_where_they_contradict_others(angle):
    """Least squares of rows with norm 1, from a millionth of the robot's size on."""
    b = lw.ModelBuilder("contradicted")
    b.add_link("base", inertia=lw.solid_box(1.0, (0.1, 0.1, 0.1)))
    b.add_link("column", inertia=lw.solid_box(1.0, (1.0, 0.1, 0.1)))
    b.add_joint("turn", "revolute", "base", "column", axis=(0, 0, 1))
    contacts = []
    for name, axis, target in (("along", "x", (1.0 - 1e-6, 0, 0)), ("across", "y", (0, 1, 0))):
        b.add_frame(name, "column", lw.Pose((1.0, 0.0, 0.0)))
        contacts.append(lw.Contact(name, "point", axes=(axis,), target=lw.Pose(target)))
    robot = lw.KinDyn(b.build(), floating=False).constrained(contacts, stabilization=1.0)
    nu_dot, _, residual = robot.forward_dynamics([angle], [0.0], [0.0])
    J, error = robot.jacobian([angle])[:, 0], robot.error([angle])
    np.testing.assert_allclose(nu_dot, [np.mean(-error / J)], rtol=1e-3)
    np.testing.assert_allclose(residual, J * nu_dot + error, atol=1e-12)


def test_constraints_that_are_satisfied_in_part_are_reported():
    """Also where they are nearly redundant in some configurations only, such as the neutral one."""
    b = lw.ModelBuilder("bent")
    b.add_link("base", inertia=lw.solid_box(1.0, (0.1, 0.1, 0.1)))
    for name in ("upper", "lower"):
        b.add_link(name, inertia=lw.solid_box(1.0, (0.5, 0.1, 0.1), com=(0.25, 0, 0)))
    turned = lw.Pose(rpy=(0.0, 0.7, 0.0))
    b.add_joint("shoulder", "revolute", "base", "upper", axis=(0, 1, 0), first_H_joint=turned)
    elbow = lw.Pose((0.5, 0, 0), rpy=(0.0, 5e-7, 0.0))
    b.add_joint("elbow", "revolute", "upper", "lower", axis=(0, 1, 0), first_H_joint=elbow)
    b.add_frame("hand", "lower", lw.Pose((0.5, 0, 0)))
    robot = lw.KinDyn(b.build(), floating=False).constrained({"hand": "point"})
    with pytest.warns(lw.LinkworkWarning, match=r"'hand' are in some configurations redundant"):
        nu_dot, _, residual = robot.forward_dynamics([0.0, 0.0], [0.1, 0.2], [1.0, 2.0])
    missed = robot.jacobian([0.0, 0.0]) @ nu_dot + robot.bias([0.0, 0.0], [0.1, 0.2])
    np.testing.assert_allclose(residual, missed, atol=1e-9 * np.abs(nu_dot).max())
    assert np.abs(nu_dot).max() < 1e7


@pytest.mark.parametrize("kind", ["point", "pose"])
@pytest.mark.parametrize("gap", [0.0, 0.1])
def test_frames_that_are_rigidly_connected(kind, gap):
    """The equations are redundant; if the frames do not coincide, the residual reports it."""
    tree = leg().with_frame("sole", "shank", lw.Pose((-0.1, gap, -0.4)))
    model = tree.with_constraint(kind, "heel", "sole", name="rigid")
    kd = lw.KinDyn(model)
    robot = kd.constrained({"toe": "point"}, stabilization=3.0, actuated=["hip", "knee"])
    plain = lw.KinDyn(tree).constrained({"toe": "point"}, stabilization=3.0)
    q = plain.kindyn.random(seed=0)
    nu, tau = np.random.default_rng(0).normal(size=(2, kd.nv))
    result, expected = (one.forward_dynamics(q, nu, tau) for one in (robot, plain))
    np.testing.assert_allclose(result.nu_dot, expected.nu_dot, atol=1e-12)
    rigid = robot.rows["rigid"]
    assert not result.forces[rigid].any()
    np.testing.assert_allclose(np.abs(result.residual[rigid][:3]).max(), 9.0 * gap, atol=1e-14)
    expected = plain.project_velocity(q, nu)
    np.testing.assert_allclose(robot.project_velocity(q, nu), expected, atol=1e-12)
    expected = plain.step(q, nu, tau, 0.01)
    np.testing.assert_allclose(robot.step(q, nu, tau, 0.01).nu, expected.nu, atol=1e-12)
    assert np.isfinite(robot.inverse_dynamics(q, nu, nu).forces).all()
    for one, other in zip(
        robot.forward_dynamics_derivatives(q, nu, tau)[:3],
        plain.forward_dynamics_derivatives(q, nu, tau)[:3],
        strict=True,
    ):
        np.testing.assert_allclose(one, other, atol=1e-10 * np.abs(other).max())
    assert lw.assemble(kd, q).converged == (gap == 0.0)


@pytest.mark.filterwarnings("ignore:cycle.*are treated as redundant")
@pytest.mark.parametrize("difference", [0.0, 1e-9, 2e-6])
def test_a_contradiction_of_nearly_redundant_equations_does_not_act(difference):
    """Three wheels are coupled in a cycle, the third time by a ratio that is not 1, and angle."""
    b = lw.ModelBuilder("cycle")
    b.add_link("base")
    for k in range(3):
        b.add_link(f"l{k}", inertia=lw.solid_cylinder(1.0 + k, 0.1, 0.02))
        b.add_joint(f"j{k}", "revolute", "base", f"l{k}", axis=(0, 0, 1))
    model = b.build()
    for k, (offset, ratio) in enumerate(((0.0, 1.0), (0.0, 1.0), (0.1, 1.0 + difference))):
        ends = f"j{k}", f"j{(k + 1) % 3}"
        model = model.with_constraint("coupling", *ends, name=f"c{k}", coefficients=(offset, ratio))
    robot = lw.KinDyn(model, floating=False).constrained(stabilization=10.0)
    inertias = np.diag(lw.KinDyn(b.build(), floating=False).mass_matrix(np.zeros(3)))
    result = robot.forward_dynamics(np.zeros(3), np.zeros(3), [1.0, 2.0, 3.0])
    contradiction = 0.1 * 10.0**2
    together = result.nu_dot @ inertias / inertias.sum()
    np.testing.assert_allclose(together, 6.0 / inertias.sum(), atol=1e-5 * contradiction)
    squares = 1.0 / inertias + 1.0 / np.roll(inertias, -1)  # of the norms of rows of J M^-1/2
    missed = contradiction * squares / squares.sum()  # by least squares of rows of norm 1
    np.testing.assert_allclose(np.abs(result.residual), missed, rtol=1e-4)
    reached = robot.jacobian(np.zeros(3)) @ result.nu_dot - result.residual
    np.testing.assert_allclose(np.abs(reached), [0.0, 0.0, contradiction], atol=1e-9)


def torn():
    """A leg whose toe shall be in two places."""
    kd = lw.KinDyn(leg().with_frame("again", "shank", lw.Pose((0.15, 0.02, -0.4))))
    contacts = [
        lw.Contact("toe", "point", target=lw.Pose()),
        lw.Contact("again", "point", target=lw.Pose((0.0, 0.0, 0.1))),
        lw.Contact("heel", "point"),
    ]
    return kd.constrained(contacts, stabilization=10.0, actuated=["knee"])


def test_compiled_code_and_numpy_agree_where_constraints_contradict_each_other():
    robot = torn()
    q = robot.kindyn.random(5, seed=0)
    nu, tau = np.random.default_rng(0).normal(size=(2, 5, robot.nv))
    for kernel, arguments in (
        (robot.forward_dynamics, (q, nu, tau)),
        (robot.inverse_dynamics, (q, nu, tau)),
        (robot.function("impact"), (q, nu, np.full(5, 0.5))),
    ):
        compiled, by_numpy = kernel(*arguments), run_program(kernel.program, *arguments)
        # accelerations, torques or velocities, and forces, which may differ by those without effect
        for one, other, error in zip(compiled, by_numpy, (1e-11, 1e-5, 1e-11), strict=False):
            np.testing.assert_allclose(one, other, rtol=0.0, atol=error * np.abs(other).max())
    result = robot.forward_dynamics(q, nu, tau)
    heights = result.residual[:, [2, 5]]  # they differ by 100 / s^2 times 0.1 m
    np.testing.assert_allclose(np.abs(heights[:, 0] - heights[:, 1]), 10.0, rtol=1e-6)


def test_random_robots_agree_with_a_rank_revealing_solution():
    """Robots of 1e-3 to 1e3 m, masses over six orders, anchors almost on axes, rounded angles."""
    n_compared = 0
    for seed in (*range(N_MODELS), *HARD_MODELS):
        with np.errstate(all="ignore"):
            result = outcome(random_case(seed))
        assert result.is_finite, seed
        assert result.residual_error < 1e-9, seed
        for error, allowed in zip(result.errors, result.allowed, strict=True):
            assert np.isnan(error) or error < allowed, (seed, error, allowed)
            n_compared += not np.isnan(error)
    assert n_compared > 2 * N_MODELS  # most cases have one right result


def redundant_stances():
    """Redundant sets: doubled, rounding errors and rigid frames, contradictory."""
    b = lw.KinDyn(leg().with_frame("copy", "shank", lw.Pose((0.15, 0.02, -0.4))))
    yield b.constrained({"toe": "point", "copy": "point", "heel": "point"}, stabilization=2.0)
    model = leg().with_frame("pin", "shank", lw.Pose((0.2, 0.2, 1e-13)))  # on the axis of the knee
    model = model.with_constraint("point", "thigh", "pin", name="pivot", first_xyz=(0.2, 0.3, -0.4))
    yield lw.KinDyn(model, floating=False).constrained(stabilization=2.0)
    yield torn()


@pytest.mark.parametrize("index", range(3))
def test_derivatives_of_redundant_constraints_agree_with_complex_steps(index):
    robot = list(redundant_stances())[index]
    rng = np.random.default_rng(1)
    q, (nu, tau) = robot.kindyn.random(seed=1), rng.normal(size=(2, robot.nv))
    nu = robot.project_velocity(q, nu)
    exact = robot.forward_dynamics_derivatives(q, nu, tau)
    E = robot.kindyn.velocity_kinematics(q)
    for name in ("q", "nu", "tau"):
        stepped = jacobian_by_steps(robot.forward_dynamics, (q, nu, tau), name)[0]
        by_program = robot.forward_dynamics.jacobian(name)(q, nu, tau)[0]
        np.testing.assert_allclose(by_program, stepped, atol=1e-8 * np.abs(stepped).max())
        # by q, the implicit function theorem needs equations that can be satisfied
        if index < 2 or name != "q":
            stepped = stepped @ E if name == "q" else stepped
            actual = getattr(exact, name)
            np.testing.assert_allclose(actual, stepped, atol=1e-7 * np.abs(stepped).max())


def dense_accelerations(robot, tree, q, nu, tau):
    """nu_dot of the dense system of M and J, in the precision of the arrays.

    NumPy computes in double precision whatever the arrays are, LAPACK does not.
    """
    M, h = tree.mass_matrix(q), tree.bias_force(q, nu)
    J, bias = robot.jacobian(q), robot.bias(q, nu)
    n, m = M.shape[-1], J.shape[-2]
    A = np.zeros((len(q), n + m, n + m), dtype=M.dtype)
    A[:, :n, :n], A[:, :n, n:], A[:, n:, :n] = M, J.swapaxes(1, 2), J
    right = np.concatenate([tau - h, -bias], axis=1)
    (gesv,) = get_lapack_funcs(("gesv",), (A,))
    solution = np.stack([gesv(*one)[2] for one in zip(A, right, strict=True)])
    assert solution.dtype == M.dtype
    return solution[:, :n]


@pytest.mark.parametrize("name", ["delta", "stewart", "parallel_ankle", "quadruped"])
def test_single_precision_is_as_accurate_as_a_dense_solution(name):
    """Also near singular configurations, where the Delassus matrix is lost in rounding errors.

    On a single state either may be lucky, as two orders of the same equations are.
    """
    if name == "quadruped":
        kd = lw.KinDyn(lw.load("quadruped"))
        feet = [frame for frame in kd.model.frame_names if frame.endswith("foot")]
        robot = kd.constrained(dict.fromkeys(feet, "point"))
    else:
        kd = lw.KinDyn(LINKAGES[name][0](), floating=False)
        robot = kd.constrained()
    tree = lw.KinDyn(robot.layout.model, kd.base, floating=kd.floating)
    q = kd.random(400, seed=0)
    rng = np.random.default_rng(1)
    nu = robot.project_velocity(q, rng.normal(size=(400, kd.nv)))
    values = [x.astype(np.float32) for x in (q, nu, rng.normal(size=(400, kd.nv)))]
    wide = [x.astype(float) for x in values]
    wide[0] = tree.normalize(wide[0])
    exact = dense_accelerations(robot, tree, *wide)
    scale = np.abs(exact).max(axis=1)
    single, single_tree = robot.replace(dtype=np.float32), tree.replace(dtype=np.float32)
    dense = np.abs(dense_accelerations(single, single_tree, *values) - exact).max(axis=1) / scale
    error = np.abs(single.forward_dynamics(*values).nu_dot - exact).max(axis=1) / scale
    for part, factor in ((0.5, 1.0), (0.9, 1.0), (0.99, 1.3)):
        assert np.quantile(error, part) < factor * np.quantile(dense, part), part
    J = robot.jacobian(wide[0])
    smallest = np.linalg.svd(J / np.linalg.norm(J, axis=2, keepdims=True), compute_uv=False)[:, -1]
    assert (error < np.maximum(10.0 * dense, 3e-6 / smallest)).all()


def test_many_redundant_equations_in_single_precision():
    """Three feet on one link that are fixed, and two that are held: 24 equations, 18 too many."""
    model, feet = leg(), {"toe": "point", "heel": "pose"}
    for k, kind in enumerate(("pose", "pose", "point")):
        place = lw.Pose((0.05 * k, 0.02, -0.4 + 0.1 * k))
        model, feet = model.with_frame(f"copy{k}", "shank", place), {**feet, f"copy{k}": kind}
    kd = lw.KinDyn(model)
    robot = kd.constrained(feet)
    q, rng = kd.random(100, seed=0), np.random.default_rng(0)
    nu = robot.project_velocity(q, rng.normal(size=(100, kd.nv)))
    values = [x.astype(np.float32) for x in (q, nu, rng.normal(size=(100, kd.nv)))]
    wide = [x.astype(float) for x in values]
    wide[0] = kd.normalize(wide[0])
    expected = robot.forward_dynamics(*wide)
    actual = robot.replace(dtype=np.float32).forward_dynamics(*values)
    error = np.abs(actual.nu_dot - expected.nu_dot).max(axis=1)
    assert (error < 3e-5 * np.abs(expected.nu_dot).max(axis=1)).all()
    error = np.abs(actual.forces - expected.forces).max(axis=1)
    assert np.median(error / np.abs(expected.forces).max(axis=1)) < 1e-5


@pytest.mark.parametrize("name", ["four_bar", "gripper"])
def test_redundant_linkages_in_single_precision(name):
    kd = lw.KinDyn(LINKAGES[name][0](), floating=False)
    robot, q = kd.constrained(), closed(kd, 100)
    rng = np.random.default_rng(0)
    nu = robot.project_velocity(q, rng.normal(size=(100, kd.nv)))
    values = [x.astype(np.float32) for x in (q, nu, rng.normal(size=(100, kd.nv)))]
    expected = robot.forward_dynamics(*(x.astype(float) for x in values)).nu_dot
    actual = robot.replace(dtype=np.float32).forward_dynamics(*values).nu_dot
    error = np.abs(actual - expected).max(axis=1) / np.abs(expected).max(axis=1)
    assert np.median(error) < 1e-6
    assert error.max() < 1e-3


def test_equal_calls_of_constrained_return_the_same_object():
    kd = lw.KinDyn(four_bar(), floating=False)
    first = kd.constrained({"crank": "point"}, actuated=["a"], stabilization=2.0)
    contact = lw.Contact("crank", "point")
    assert kd.constrained([contact], actuated=("a", "a"), stabilization=(4.0, 4.0)) is first
    assert kd.constrained() is kd.constrained(())
    assert kd.constrained([contact]) is not first
    with ThreadPoolExecutor(8) as pool:
        same = list(pool.map(lambda _: kd.constrained({"rocker": "pose"}), range(64)))
    assert all(one is kd.constrained({"rocker": "pose"}) for one in same)
    assert first.kindyn is kd
    used, again = kd.constrained([contact]), pickle.loads(pickle.dumps(kd))
    assert again.constrained([contact]) == kd.constrained([contact])
    for rate in range(1, 200):  # those that were used last are kept
        kd.constrained(stabilization=float(rate))
        assert kd.constrained([contact]) is used
    assert len(kd._results) <= 64


@pytest.mark.parametrize("wrong", [2, -0.1, np.nan, [0.0, 0.5, 1.5], np.array([0.1, np.nan])])
def test_restitution_is_a_fraction(wrong):
    robot = lw.KinDyn(four_bar(), floating=False).constrained()
    q, nu = np.zeros((np.size(wrong), 3)), np.ones((np.size(wrong), 3))
    for function in (robot.impact, robot.impact_derivatives):
        with pytest.raises(lw.ValueRangeError, match=r"restitution.*0 to 1.*(2|-0\.1|nan|1\.5)"):
            function(q, nu, wrong)
    assert robot.impact(q, nu, 1).nu.shape == q.shape


@pytest.mark.parametrize(
    ("shape", "fact"),
    [
        (lw.Shape(lw.Cylinder(0.1, 0.02)), "cylinder.*radius="),
        (lw.Shape(lw.Sphere(0.1), lw.Pose((0.0, 0.0, 0.05))), "not the center.*0.05"),
    ],
)
def test_only_balls_around_their_frame_roll(shape, fact):
    """The point at which a tilted coin touches the ground moves along its rim."""
    b = lw.ModelBuilder("coin")
    b.add_link("coin", inertia=lw.solid_cylinder(1.0, 0.1, 0.02), collisions=[shape])
    kd = lw.KinDyn(b.build(), floating=True)
    with pytest.raises(lw.ArgumentError, match=fact):
        kd.constrained({"coin": "rolling"})
    assert kd.constrained([lw.Contact("coin", "rolling", radius=0.1)]).m == 3
