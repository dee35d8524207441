"""Inverse kinematics of robots with closed loops: the loops are equality constraints."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.linkages import LINKAGES, closed, five_bar, four_bar

import linkwork as lw

CLOSED = 1e-10  # tolerance of `assemble`
FRAMES = {
    "four_bar": "coupler",
    "five_bar": "left_forearm",
    "delta": "platform",
    "stewart": "platform",
    "parallel_ankle": "foot",
    "gripper": "left_finger",
}


@pytest.fixture(scope="module")
def linkages():
    return {name: lw.KinDyn(make(), floating=False) for name, (make, _) in LINKAGES.items()}


def away_from_singularities(kd, n, seed):
    """(n, nq) closed configurations in which the constraints have full rank."""
    q = closed(kd, 3 * n, seed)
    s = np.linalg.svd(kd.constrained().jacobian(q), compute_uv=False)
    rank = int((np.median(s, axis=0) > 1e-9).sum())
    return q[s[:, rank - 1] > 1e-3][:n]


def largest_error(kd, q):
    return np.abs(kd.constrained().error(q)).max()


@pytest.mark.parametrize("name", LINKAGES)
def test_reachable_targets_are_reached_with_closed_loops(name, linkages):
    kd, frame = linkages[name], FRAMES[name]
    goal, q0 = away_from_singularities(kd, 12, seed=3), closed(kd, 1, seed=9)[0]
    poses = kd.transform(frame, goal)
    targets = poses[:, :3, 3] if name in ("delta", "stewart") else poses
    result = lw.ik(kd, {frame: targets}, q0)
    assert result.converged.all()
    assert largest_error(kd, result.q) <= CLOSED
    reached = kd.transform(frame, result.q)
    assert np.abs(reached - poses)[:, :3, 3].max() <= 1e-6
    assert set(result.loop_errors) == set(kd.constrained().rows)
    assert max(error.max() for error in result.loop_errors.values()) <= CLOSED
    lower, upper = kd.limits.lower, kd.limits.upper
    assert ((result.q >= lower) & (result.q <= upper)).all()


def test_an_open_start_is_assembled_and_a_closed_one_that_reaches_its_target_is_kept(linkages):
    kd = linkages["five_bar"]
    q = away_from_singularities(kd, 1, seed=2)[0]
    target = {"left_forearm": kd.transform("left_forearm", q)}
    kept = lw.ik(kd, target, q)
    np.testing.assert_array_equal(kept.q, q)
    assert kept.iterations == 0
    assert lw.ik(kd, target, np.add(q, (0.1, -0.1, 0.05, 0.2)), restarts=0).converged
    # a frame that is fixed keeps its pose in the assembled start
    start = lw.assemble(kd, q + 0.05).q
    result = lw.ik(kd, fixed=["left_forearm"], q0=q + 0.05)
    np.testing.assert_allclose(
        kd.transform("left_forearm", result.q), kd.transform("left_forearm", start), atol=1e-6
    )


def test_a_target_out_of_reach_leads_to_the_nearest_closed_configuration(linkages):
    """The nearest of a dense sample of all configurations of a mechanism with one freedom."""
    kd = linkages["four_bar"]
    targets = np.array([[0.3, 0.0, 0.9], [9.0, 0.0, -3.0]])
    result = lw.ik(kd, {"coupler": targets})
    assert not result.converged.any()
    assert largest_error(kd, result.q) <= CLOSED
    cranks = np.linspace(-np.pi, np.pi, 2001)
    q = np.stack([cranks, np.zeros(2001), np.ones(2001)], axis=-1)
    sample = lw.assemble(kd, q, fixed=["a"])
    origins = kd.transform("coupler", sample.q[sample.converged])[:, :3, 3]
    for target, error in zip(targets, result.position_errors["coupler"], strict=True):
        nearest = np.linalg.norm(origins - target, axis=-1).min()
        assert nearest - 1e-4 < error < nearest + 1e-9


def test_limits_stop_a_parallel_robot(linkages):
    """A platform above its reach: the legs are at their limits, and the loops stay closed."""
    kd = linkages["stewart"]
    result = lw.ik(kd, {"platform": [0.0, 0.0, 3.0]}, restarts=4)
    assert not result.converged
    assert largest_error(kd, result.q) <= CLOSED
    assert set(result.active_limits) == {f"leg{k}" for k in range(6)}
    # the legs of a level platform in the middle
    foot, head = 0.25, 0.8
    apart = np.hypot(
        0.35 * np.cos(head) - 0.6 * np.cos(foot), 0.35 * np.sin(head) - 0.6 * np.sin(foot)
    )
    height = np.sqrt((0.4 + 0.6 + 0.4) ** 2 - apart**2)
    np.testing.assert_allclose(kd.transform("platform", result.q)[2, 3], height, atol=1e-4)
    assert not lw.ik(kd, {"platform": [0.0, 0.0, 3.0]}, limits=False, restarts=4).active_limits


def test_joints_that_are_held_stay(linkages):
    kd = linkages["five_bar"]
    q = away_from_singularities(kd, 1, seed=5)[0]
    target = kd.transform("right_forearm", q)[:3, 3]
    start = lw.assemble(kd, np.add(q, (0.0, 0.3, 0.2, 0.1)), fixed=["left_motor"]).q
    result = lw.ik(kd, {"right_forearm": target}, start, hold=["left_motor"])
    assert result.converged
    assert result.q[0] == q[0]
    # nothing is left to move: the loop stays closed, and the target is missed
    both = ["left_motor", "right_motor"]
    locked = lw.ik(kd, {"right_forearm": np.add(target, (0.1, 0, 0))}, start, hold=both)
    assert not locked.converged
    assert largest_error(kd, locked.q) <= CLOSED
    np.testing.assert_array_equal(locked.q[[0, 2]], start[[0, 2]])
    # a loop that is held open
    held_open = lw.ik(kd, {"right_forearm": target}, kd.neutral() + 0.3, hold=kd.joint_names)
    assert not held_open.converged
    assert held_open.loop_errors["tip"] > 1e-3


def test_what_cannot_be_assembled_is_reported(linkages):
    """A crank that is tied to a point out of its reach."""
    kd = lw.KinDyn(
        four_bar().with_constraint("point", "crank", second_xyz=(9, 0, 0), name="rope"),
        floating=False,
    )
    result = lw.ik(kd, {"coupler": [0.4, 0.0, 0.0]}, restarts=2)
    assert not result.converged
    assert result.loop_errors["rope"] > 1.0
    assert "converged=False" in repr(result)
    assert "largest loop error" in repr(result)


def test_rows_do_not_affect_each_other_and_options_of_the_robot_do_not_matter(linkages):
    kd = linkages["five_bar"]
    q = away_from_singularities(kd, 4, seed=6)
    targets = kd.transform("left_forearm", q)[:, :3, 3]
    targets[2] += (5.0, 0.0, 0.0)
    result = lw.ik(kd, {"left_forearm": targets})
    assert result.converged.tolist() == [True, True, False, True]
    for k in range(4):
        np.testing.assert_allclose(
            lw.ik(kd, {"left_forearm": targets[k]}).q, result.q[k], atol=1e-9
        )
    changed = kd.replace(representation="body", dtype=np.float32)
    np.testing.assert_array_equal(lw.ik(changed, {"left_forearm": targets}).q, result.q)


def test_posture_and_center_of_mass_of_a_floating_linkage():
    kd = lw.KinDyn(five_bar())
    q = kd.random(seed=1)
    target = {"left_crank": kd.transform("left_crank", q)[:3, 3]}
    com = kd.com(q)
    posture = lw.assemble(kd, kd.integrate(q, 0.1 * np.ones(kd.nv))).q
    free = lw.ik(kd, target, com=com)
    near = lw.ik(kd, target, com=com, posture=posture, posture_weight=0.1)
    for result in (free, near):
        assert result.converged
        assert largest_error(kd, result.q) <= CLOSED
        np.testing.assert_allclose(kd.com(result.q), com, atol=2e-6)
    distances = [np.linalg.norm(kd.difference(posture, r.q)) for r in (free, near)]
    assert distances[1] < distances[0]
    held = lw.ik(kd, com=com, q0=q, hold=["base"])
    np.testing.assert_array_equal(held.q[:7], q[:7])


def test_contacts_with_a_target_are_constraints():
    kd = lw.KinDyn(lw.load("quadruped"))
    q0 = kd.neutral()
    feet = [name for name in kd.model.frame_names if "foot" in name]

    def feet_at(q):
        return np.stack([kd.transform(foot, q)[:3, 3] for foot in feet])

    positions = feet_at(q0)
    contacts = [
        lw.Contact(foot, "point", target=lw.Pose(tuple(position)))
        for foot, position in zip(feet, positions, strict=True)
    ]
    stance = kd.constrained(contacts)
    com = np.add(kd.com(q0), (0.02, 0.01, -0.03))
    result = lw.ik(stance, com=com, q0=q0)
    assert result.converged
    np.testing.assert_allclose(feet_at(result.q), positions, atol=CLOSED)
    np.testing.assert_allclose(kd.com(result.q), com, atol=1e-6)
    # a center of mass out of reach: the feet stay
    far = lw.ik(stance, com=np.add(com, (0, 0, 1.0)), q0=q0, restarts=0)
    assert not far.converged
    np.testing.assert_allclose(feet_at(far.q), positions, atol=CLOSED)
    with pytest.raises(lw.ArgumentError, match=r"target.*fixed"):
        lw.ik(kd.constrained(feet[:1]), com=com)
    with pytest.raises(lw.ArgumentError, match="rolls"):
        lw.ik(kd.constrained([lw.Contact(feet[0], "rolling", radius=0.1)]), com=com)
