"""Inverse kinematics: convergence, limits, dependent joints, weights and errors."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.models import random_model, random_q

import linkwork as lw
from linkwork.inverse_kinematics import step as stepping
from linkwork.kindyn import gauss_newton


@pytest.fixture(scope="module")
def arm():
    return lw.KinDyn(lw.robots.load("arm"), floating=False)


@pytest.fixture(scope="module")
def quadruped():
    return lw.KinDyn(lw.robots.load("quadruped"))


def feet_of(kd):
    return [name for name in kd.model.frame_names if "foot" in name.lower()]


def angle_between(A, B):
    """Angles between rotations, from the length of the chord."""
    chord = np.linalg.norm(A - B, axis=(-2, -1)) / np.sqrt(8.0)
    return 2.0 * np.arcsin(np.clip(chord, 0.0, 1.0))


def within_limits(kd, q):
    lower, upper = kd.limits.lower, kd.limits.upper
    s = q[..., -len(lower) :]
    return bool(((s >= lower) & (s <= upper)).all())


def test_reachable_poses_are_reached(arm):
    targets = arm.transform("tool", arm.random(150, seed=1))
    result = lw.ik(arm, {"tool": targets}, restarts=100)
    assert result.converged.all()
    poses = arm.transform("tool", result.q)
    distance = np.linalg.norm(poses[:, :3, 3] - targets[:, :3, 3], axis=-1)
    np.testing.assert_allclose(result.position_errors["tool"], distance, atol=1e-12)
    assert distance.max() <= 1e-6
    assert angle_between(poses[:, :3, :3], targets[:, :3, :3]).max() <= 1.1e-6
    assert within_limits(arm, result.q)


@pytest.mark.parametrize("seed", range(4))
def test_random_robots_with_all_kinds_of_joints(seed):
    rng = np.random.default_rng(seed)
    kd = lw.KinDyn(random_model(rng, 7), floating=False)
    q = random_q(kd.layout, rng)
    frames = kd.model.frame_names[-2:]
    start = kd.integrate(q, 0.05 * rng.normal(size=kd.nv))
    targets = {frames[0]: kd.transform(frames[0], q), frames[1]: kd.transform(frames[1], q)[:3, 3]}
    result = lw.ik(kd, targets, start)
    assert result.converged
    for frame, target in targets.items():
        pose = kd.transform(frame, result.q)
        reached = pose if target.shape == (4, 4) else pose[:3, 3]
        np.testing.assert_allclose(reached, target, atol=3e-6)


def test_result_stays_within_limits_from_a_start_outside(arm):
    outside = arm.limits.upper + 1.0
    outside[~np.isfinite(outside)] = 1.0
    far = np.array([[2.0, 0.5, 1.0], [-3.0, 0.1, 0.2]])
    result = lw.ik(arm, {"tool": far}, outside, restarts=3)
    assert not result.converged.any()
    assert within_limits(arm, result.q)
    assert repr(result).startswith("<IkResult: 0 of 2 converged")
    free = lw.ik(arm, {"tool": far}, outside, restarts=3, limits=False)
    assert not free.limits
    assert not within_limits(arm, free.q) or not free.active_limits


def test_unreachable_target_has_the_least_distance(arm):
    """The gradient is zero in all directions that the limits allow."""
    target = np.array([2.0, 0.5, 1.0])
    result = lw.ik(arm, {"tool": target}, restarts=0, max_iterations=2000)
    assert result.position_errors["tool"] > 0.5
    displacement = target - arm.transform("tool", result.q)[:3, 3]
    gradient = displacement @ arm.jacobian("tool", result.q)[:3]
    sides = np.array([result.limits.get(name, 0) for name in arm.joint_names])
    allowed = np.where(sides * gradient > 0, 0.0, gradient)
    np.testing.assert_allclose(allowed, 0.0, atol=1e-4)


def test_limits_of_dependent_joints_apply_to_their_leader():
    builder = lw.ModelBuilder("pair")
    for name in ("base", "first", "second"):
        builder.add_link(name, inertia=lw.solid_box(1.0, (0.1, 0.1, 0.1)))
    shift = lw.Pose((1.0, 0.0, 0.0))
    builder.add_joint("lead", "prismatic", "base", "first", axis=(1, 0, 0), lower=-9, upper=9)
    builder.add_joint(
        *("follow", "prismatic", "first", "second"),
        axis=(1, 0, 0),
        first_H_joint=shift,
        lower=-0.5,
        upper=0.2,
        mimic=lw.Mimic(joint="lead", multiplier=-2.0),
    )
    kd = lw.KinDyn(builder.build(), floating=False)
    result = lw.ik(kd, {"first": [5.0, 0.0, 0.0]}, restarts=0)
    np.testing.assert_allclose(result.q, [0.25])  # where the other joint is at its lower limit
    assert result.active_limits == ("lead",)


def test_center_of_mass_of_a_quadruped_with_targets_for_its_feet(quadruped):
    feet = feet_of(quadruped)
    q0 = quadruped.q({name: 0.4 for name in quadruped.joint_names if "thigh" in name.lower()})
    com = quadruped.com(q0) + np.array([0.02, 0.01, -0.01])
    result = lw.ik(quadruped, {}, q0, com=com, weights={"com": 1.0}, fixed=feet, restarts=0)
    positions = {foot: quadruped.transform(foot, q0)[:3, 3] for foot in feet}
    loose = lw.ik(quadruped, positions, q0, com=com, restarts=0)
    assert loose.converged
    np.testing.assert_allclose(quadruped.com(loose.q), com, atol=2e-6)
    for foot in feet:
        reached = quadruped.transform(foot, loose.q)[:3, 3]
        np.testing.assert_allclose(reached, positions[foot], atol=2e-6)
    assert set(result.rotation_errors) == set(feet)
    assert set(result.position_errors) == {*feet, "com"}


def test_held_joints_and_base_keep_their_position(quadruped):
    rng = np.random.default_rng(0)
    q0 = random_q(quadruped.layout, rng)
    foot, legs = feet_of(quadruped)[0], quadruped.joint_names
    target = quadruped.transform(foot, q0)[:3, 3] + np.array([0.01, 0.0, 0.01])
    result = lw.ik(quadruped, {foot: target}, q0, hold=["base", legs[-1]], limits=False)
    np.testing.assert_array_equal(result.q[:7], q0[:7])
    np.testing.assert_array_equal(result.q[-1], q0[-1])
    free = lw.ik(quadruped, {foot: target}, q0, limits=False)
    assert free.converged
    assert np.abs(free.q[:7] - q0[:7]).max() > 1e-6


def test_posture_draws_solutions_nearer(arm):
    target = arm.transform("tool", arm.random(30, seed=3))[:, :3, 3]
    posture = arm.random(seed=5)
    plain = lw.ik(arm, {"tool": target}, restarts=40)
    near = lw.ik(arm, {"tool": target}, posture=posture, posture_weight=0.3, restarts=40)
    assert plain.converged.all()
    assert near.converged.all()
    distances = [np.linalg.norm(r.q - posture, axis=-1).mean() for r in (plain, near)]
    assert distances[1] < 0.8 * distances[0]


def test_weights_decide_between_conflicting_targets(arm):
    one, other = arm.random(2, seed=2)
    targets = {
        "tool": arm.transform("tool", one)[:3, 3],
        "hand": arm.transform("hand", other)[:3, 3],
    }
    first = lw.ik(arm, targets, one, weights={"tool": 100.0}, restarts=4)
    second = lw.ik(arm, targets, one, weights={"hand": (100.0, 1.0)}, restarts=4)
    assert first.position_errors["tool"] < 1e-2 < second.position_errors["tool"]
    assert second.position_errors["hand"] < 1e-2 < first.position_errors["hand"]


def test_batches_and_reproducible_results(arm):
    targets = arm.transform("tool", arm.random((2, 3), seed=4))
    result, again = (lw.ik(arm, {"tool": targets}) for _ in range(2))
    assert result.q.shape == (2, 3, arm.nq)
    assert result.converged.shape == result.iterations.shape == (2, 3)
    np.testing.assert_array_equal(result.q, again.q)
    alone = lw.ik(arm, {"tool": targets[1, 2]}, restarts=0)
    together = lw.ik(arm, {"tool": targets}, restarts=0)
    np.testing.assert_allclose(alone.q, together.q[1, 2], atol=1e-9)
    none = lw.ik(arm, {"tool": targets[:0]})
    assert none.q.shape == (0, 3, arm.nq)


def test_accepted_steps_lower_the_cost(arm):
    rng = np.random.default_rng(0)
    tasks = (lw.inverse_kinematics.tasks.Task("pose", "tool"),)
    objective = stepping.Targets(arm, tasks, gauss_newton.bounds_of(arm.layout))
    step, errors = gauss_newton.step_kernel(objective), objective.error_kernel()
    q, pose = arm.random(200, seed=0), arm.transform("tool", arm.random(200, seed=1))
    target = np.concatenate([pose[:, :3, 3], pose[:, :3, :3].reshape(-1, 9)], axis=-1)
    damping = 10.0 ** rng.uniform(-6, 2, size=200)
    ones = np.ones((1, 2))
    cost = (errors(q, target, ones, ones, 0.0)[0] ** 2).sum(axis=(1, 2))
    state = q, damping, cost, np.full(200, 7.0)
    q_new, damped, lower, excess = step(*state, target, np.ones(6), np.ones(arm.nv), [1e3, 1e2])
    accepted = (q_new != q).any(axis=-1)
    assert accepted.any()
    assert (lower[accepted] < cost[accepted]).all()
    after, cost_after, excess_after = errors(q_new, target, ones, [[1e3, 1e2]], 0.0)
    np.testing.assert_allclose(lower, (after**2).sum(axis=(1, 2)), rtol=1e-10)
    largest = (after[:, 0] * [1e3, 1e2]).max(axis=-1)
    np.testing.assert_allclose(excess, np.where(accepted, largest, 7.0), rtol=1e-10)
    np.testing.assert_allclose(cost_after, lower, rtol=1e-10)
    np.testing.assert_allclose(excess_after, largest, rtol=1e-10)
    assert ((damped < damping) == accepted)[damping > objective.damping.least].all()


def test_invalid_arguments_are_rejected(arm):
    pose = np.eye(4)
    for call, error, message in (
        (lambda: lw.ik(arm, {"tol": pose}), lw.NameNotFoundError, "'tol'.*'tool'"),
        (lambda: lw.ik(arm, {}), lw.ArgumentError, "no target"),
        (lambda: lw.ik(arm), lw.ArgumentError, "no target"),
        (lambda: lw.ik(arm, pose), lw.ArgumentError, "poses.*by frame"),
        (lambda: lw.ik(arm, "tool", pose), lw.ArgumentError, "by frame.*'tool'"),
        (
            lambda: lw.ik(arm, {"tool": np.zeros(4)}),
            lw.ShapeError,
            r"tool: .*\(..., 4, 4\).*\(..., 3\).*\(4,\)",
        ),
        (lambda: lw.ik(arm, {"tool": 2 * pose}), lw.ValueRangeError, "tool: .*pose"),
        (lambda: lw.ik(arm, {"tool": [0, 0, np.nan]}), lw.ValueRangeError, "tool: .*finite"),
        (
            lambda: lw.ik(arm, {"tool": pose}, np.zeros(3)),
            lw.ShapeError,
            r"q0: .*\(..., 8\)",
        ),
        (lambda: lw.ik(arm, {"tool": pose}, hold=["base"]), lw.NameNotFoundError, "joint.*'base'"),
        (
            lambda: lw.ik(arm, {"tool": pose}, hold="x"),
            lw.ArgumentError,
            "list of names",
        ),
        (
            lambda: lw.ik(arm, {"tool": pose}, fixed=["tool"]),
            lw.ArgumentError,
            "frame 'tool'.*target",
        ),
        (
            lambda: lw.ik(arm, {"tool": pose}, weights={"hand": 1.0}),
            lw.NameNotFoundError,
            "weights: 'hand'.*tool",
        ),
        (
            lambda: lw.ik(arm, {"tool": pose}, weights={"tool": -1.0}),
            lw.ValueRangeError,
            "-1.0",
        ),
        (lambda: lw.ik(arm, {"tool": pose}, restarts=-1), lw.ValueRangeError, "-1"),
        (
            lambda: lw.ik(arm, {"tool": np.zeros((2, 3)), "hand": np.zeros((3, 3))}),
            lw.ShapeError,
            "batch axes",
        ),
        (
            lambda: lw.ik(arm, {"tool": np.zeros((2, 3))}, np.zeros((3, 8))),
            lw.ShapeError,
            "batch axes of q0",
        ),
    ):
        with pytest.raises(error, match=message):
            call()
