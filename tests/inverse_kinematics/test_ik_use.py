"""Inverse kinematics: edge cases of targets, robots and arguments."""

from __future__ import annotations

import gc
import time
import weakref
from importlib import import_module

import numpy as np
import pytest

import linkwork as lw

module = import_module("linkwork.inverse_kinematics.ik")  # the function has the same name
settings = import_module("linkwork.inverse_kinematics.settings")


@pytest.fixture(scope="module")
def arm():
    return lw.KinDyn(lw.robots.load("arm"), floating=False)


def chain(kind, n=2, lower=-np.inf, upper=np.inf, **options):
    """Links l0 to ln on joints of one kind."""
    builder = lw.ModelBuilder("chain")
    box = lw.solid_box(1.0, (0.1, 0.1, 0.1))
    builder.add_link("l0", inertia=box)
    for k in range(n):
        builder.add_link(f"l{k + 1}", inertia=box)
        ends = {"lower": lower, "upper": upper} if np.isfinite(lower) else {}
        mount = lw.Pose((0.3, 0.1, 0.2))
        builder.add_joint(f"j{k}", kind, f"l{k}", f"l{k + 1}", first_H_joint=mount, **ends)
    return lw.KinDyn(builder.build(), floating=False, **options)


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "spherical", "planar", "floating"])
def test_chains_of_one_joint_kind_without_limits(kind):
    kd = chain(kind)
    targets = kd.transform("l2", kd.random(5, seed=1))
    result = lw.ik(kd, {"l2": targets})
    assert result.converged.all()
    np.testing.assert_allclose(kd.transform("l2", result.q), targets, atol=3e-6)


def test_caches_end_with_their_robot():
    """A program that creates many robots must not run out of memory."""
    kd = chain("prismatic", 1)
    lw.ik(kd, {"l1": kd.transform("l1", kd.neutral())})
    reference = weakref.ref(kd)
    del kd
    for _ in range(100):  # background compilation holds a reference for a moment
        gc.collect()
        if reference() is None:
            break
        time.sleep(0.05)
    assert reference() is None


def test_robots_with_one_joint_and_without_joints():
    single = chain("revolute", 1)
    result = lw.ik(single, {"l1": single.transform("l1", [2.0])})
    np.testing.assert_allclose(result.q, [2.0], atol=1e-6)
    none = chain("revolute", 0)
    assert lw.ik(none, {"l0": np.eye(4)}).converged
    away = lw.ik(none, {"l0": [0.0, 0.0, 1.0]})
    assert not away.converged
    assert away.position_errors["l0"] == 1.0


def test_joint_with_equal_limits_stays_at_its_limit():
    kd = chain("revolute", 2, 0.5, 0.5)
    result = lw.ik(kd, {"l2": [0.0, 0.0, 9.0]}, [2.0, -3.0], restarts=2)
    np.testing.assert_array_equal(result.q, [0.5, 0.5])
    assert result.active_limits == ("j0", "j1")


def test_rows_do_not_depend_on_each_other(arm):
    """Random starts are the same for all rows, whether or not other rows need them."""
    targets = arm.transform("tool", arm.random(40, seed=9))
    together = lw.ik(arm, {"tool": targets})
    needed = np.flatnonzero(together.iterations > 96)[:2]
    assert needed.size
    for row in (0, *needed):
        alone = lw.ik(arm, {"tool": targets[row]})
        np.testing.assert_allclose(alone.q, together.q[row], atol=1e-6)


def test_starts_and_targets_are_broadcast(arm):
    targets = arm.transform("tool", arm.random(4, seed=0))
    result = lw.ik(arm, {"tool": targets}, arm.random((3, 1), seed=1))
    assert result.q.shape == (3, 4, arm.nq)
    assert result.converged.all()
    strided = lw.ik(arm, {"tool": np.asfortranarray(targets)[::2]}, np.zeros((2, 16))[:, ::2])
    again = lw.ik(arm, {"tool": targets[::2].tolist()}, np.zeros(8, dtype=np.float32))
    np.testing.assert_allclose(strided.q, again.q, atol=1e-6)


def test_singular_target_is_reached(arm):
    """The stretched arm has a rank-deficient Jacobian, so convergence is slow."""
    q = np.zeros(arm.nq)
    stretched = arm.transform("tool", q)
    for start in (q, q + 0.3, arm.random(seed=4)):
        result = lw.ik(arm, {"tool": stretched}, start, tolerance=1e-5)
        assert result.converged
    further = stretched.copy()
    further[:3, 3] *= 1.0 + 1e-3
    assert np.isfinite(lw.ik(arm, {"tool": further}, q, restarts=2).q).all()


def test_weight_of_zero_ignores_position_or_rotation(arm):
    target = arm.transform("tool", arm.random(seed=1))
    position = lw.ik(arm, {"tool": target}, weights={"tool": (1, 0)}, restarts=0)
    assert position.converged
    assert position.rotation_errors["tool"] > 1e-3
    rotation = lw.ik(arm, {"tool": target}, weights={"tool": (0, 1)}, restarts=0)
    assert rotation.converged
    assert rotation.rotation_errors["tool"] < 1e-6 < rotation.position_errors["tool"]


@pytest.mark.parametrize("size", [1e-8, 1e8])
def test_only_the_ratio_of_weights_matters(arm, size):
    target = arm.transform("tool", arm.random(seed=1))
    plain = lw.ik(arm, {"tool": target})
    scaled = lw.ik(arm, {"tool": target}, weights={"tool": size})
    np.testing.assert_allclose(scaled.q, plain.q, atol=1e-9)


def test_tolerances_of_distances_and_angles_may_differ(arm):
    target = arm.transform("tool", arm.random(200, seed=2))
    few = {"restarts": 0, "max_iterations": 4}
    result = lw.ik(arm, {"tool": target}, tolerance=(1e-2, 1e-3), **few)
    near = result.position_errors["tool"] <= 1e-2, result.rotation_errors["tool"] <= 1e-3
    np.testing.assert_array_equal(result.converged, near[0] & near[1])
    assert (near[0] != near[1]).any()
    assert result.converged.any()


def test_cached_settings_are_not_confused(arm):
    """A robot that was used with other options returns the same as a new one."""
    target = {"tool": arm.transform("tool", arm.random(seed=8))}
    weights = {"tool": np.array([1.0, 0.5])}
    for options in (
        {},
        {"limits": False},
        {"tolerance": 1e-2},
        {"tolerance": [1e-2, 1e-1]},
        {"hold": [arm.joint_names[0]]},
        {"weights": {"tool": (1.0, 0.0)}},
        {"weights": weights},
        {"weights": {"tool": 2}, "posture": arm.random(seed=1)},
    ):
        fresh = lw.ik(lw.KinDyn(arm.model, floating=False), target, **options)
        np.testing.assert_array_equal(lw.ik(arm, target, **options).q, fresh.q)
    weights["tool"][1] = 0.0
    position = lw.ik(arm, target, weights=weights)
    np.testing.assert_array_equal(position.q, lw.ik(arm, target, weights={"tool": (1.0, 0.0)}).q)


@pytest.mark.parametrize("steps", [0, 96])
def test_arguments_are_not_modified(arm, steps):
    q0, poses = arm.random(3, seed=1), arm.transform("tool", arm.random(3, seed=2))
    before = q0.copy(), poses.copy()
    result = lw.ik(arm, {"tool": poses}, q0, posture=q0, max_iterations=steps)
    np.testing.assert_array_equal(q0, before[0])
    np.testing.assert_array_equal(poses, before[1])
    assert not np.shares_memory(result.q, q0)


def test_steps_with_and_without_a_posture_are_counted(arm):
    """One search uses the posture and one does not; both end after `max_iterations`."""
    far = np.array([[2.0, 0.5, 1.0], [-3.0, 0.1, 0.2]])
    options = {"restarts": 0, "max_iterations": 5}
    assert (lw.ik(arm, {"tool": far}, **options).iterations == 5).all()
    result = lw.ik(arm, {"tool": far}, posture=arm.random(seed=1), **options)
    assert (result.iterations == 10).all()


@pytest.mark.parametrize(
    ("index", "value", "message"),
    [
        ((0, 3), np.nan, "finite"),
        ((2, 3), -np.inf, "finite"),
        ((1, 1), np.inf, "finite"),
        ((3, 1), 1e-300, "last row"),
        ((3, 3), np.nan, "finite"),
        ((0, 1), 1e-5, "rotation.*1e-05"),
        ((1, 1), -1.0, "left-handed"),
    ],
)
def test_one_invalid_pose_in_a_batch_is_rejected(arm, index, value, message):
    poses = np.tile(np.eye(4), (20, 1, 1))
    poses[(7, *index)] = value
    for target in (poses, poses[7]):
        with pytest.raises(lw.ValueRangeError, match=f"tool: .*{message}"):
            lw.ik(arm, {"tool": target})


def test_poses_with_rounding_errors_are_accepted(arm):
    """No entry of R^T R - 1 exceeds 1e-6, but its norm does."""
    pose = arm.transform("tool", arm.random(seed=8))
    pose[:3, :3] *= 1.0 + 4.5e-7
    assert lw.ik(arm, {"tool": pose}, tolerance=1e-5).converged


def test_result_does_not_depend_on_representation_and_precision(arm):
    model, target = arm.model, arm.transform("tool", arm.random(seed=1))
    plain = lw.ik(arm, {"tool": target})
    body = lw.KinDyn(model, floating=False, representation="body")
    single = lw.KinDyn(model, floating=False, dtype=np.float32)
    for kd in (body, single):
        result = lw.ik(kd, {"tool": target})
        assert result.q.dtype == np.float64
        np.testing.assert_allclose(result.q, plain.q, atol=1e-9)


def test_center_of_mass_of_a_humanoid_with_fixed_feet():
    kd = lw.KinDyn(lw.robots.load("humanoid"))
    feet, bent = ["l_sole", "r_sole"], {"hip_pitch": -0.4, "knee": 0.8, "ankle_pitch": -0.4}
    q0 = kd.q({f"{side}_{joint}": angle for side in "lr" for joint, angle in bent.items()})
    com = kd.com(q0) + np.array([0.01, 0.02, -0.01])
    result = lw.ik(kd, q0=q0, com=com, fixed=feet, restarts=0)
    assert result.converged
    np.testing.assert_allclose(kd.com(result.q), com, atol=1e-6)
    for foot in feet:
        np.testing.assert_allclose(kd.transform(foot, result.q), kd.transform(foot, q0), atol=2e-6)


@pytest.mark.parametrize(
    ("targets", "options", "error", "message"),
    [
        (
            {"tool": np.eye(4) * 1j},
            {},
            lw.ArgumentError,
            "tool: .*complex",
        ),
        ({"tool": None}, {}, lw.ArgumentError, "tool: .*NoneType"),
        ({"tool": "x"}, {}, lw.ArgumentError, "tool: .*str"),
        (
            {"tool": np.ma.masked_array([0.3, 0.2, 0.4], [0, 1, 0])},
            {},
            lw.ArgumentError,
            "tool: .*masked",
        ),
        ({"tool": np.ones((4, 4))}, {}, lw.ValueRangeError, "last row"),
        (
            {"tool": np.diag([1.0, 1.0, -1.0, 1.0])},
            {},
            lw.ValueRangeError,
            "tool: .*pose",
        ),
        ({"tool": [0, 0, 0]}, {"q0": "x"}, lw.ArgumentError, "q0: .*str"),
        ({"tool": [0, 0, 0]}, {"q0": [0.0]}, lw.ShapeError, r"q0: .*\(..., 8\).*\(1,\)"),
        ({}, {"com": "x"}, lw.ArgumentError, "com: .*str"),
        ({"tool": [0, 0, 0]}, {"seed": -1}, lw.ValueRangeError, "seed: .*-1"),
        (
            {"tool": [0, 0, 0]},
            {"weights": {"tool": "x"}},
            lw.ArgumentError,
            "weights: tool: .*str",
        ),
        (
            {"tool": [0, 0, 0]},
            {"weights": [1.0]},
            lw.ArgumentError,
            "weights: .*by frame",
        ),
        (
            {"tool": [0, 0, 0]},
            {"weights": {"tool": 0.0}},
            lw.ValueRangeError,
            "weights: .*zero",
        ),
        (
            {"tool": [0, 0, 0]},
            {"tolerance": -1},
            lw.ValueRangeError,
            r"tolerance: .*\[m\].*\[rad\].*-1",
        ),
        (
            {"tool": [0, 0, 0]},
            {"posture": np.zeros(8), "posture_weight": np.nan},
            lw.ValueRangeError,
            "posture_weight: .*nan",
        ),
    ],
)
def test_invalid_values_are_rejected(arm, targets, options, error, message):
    with pytest.raises(error, match=message):
        lw.ik(arm, targets, **options)


@pytest.mark.parametrize("shape", [(3, 3), (5, 3, 3)])
def test_a_rotation_matrix_is_not_taken_for_three_positions(arm, shape):
    rotations = np.broadcast_to(arm.transform("tool", arm.random(seed=3))[:3, :3], shape)
    with pytest.raises(lw.ShapeError, match=r"tool: .*\(..., 4, 4\).*rotation matrix.*weights"):
        lw.ik(arm, {"tool": rotations})
    positions = rotations * 0.5
    assert lw.ik(arm, {"tool": positions}, restarts=0).converged.shape == shape[:-1]


def test_a_model_in_place_of_a_kindyn_is_rejected():
    with pytest.raises(lw.ArgumentError, match=r"ik: .*KinDyn.*<Model 'arm'"):
        lw.ik(lw.robots.load("arm"), {"tool": [0, 0, 0]})
