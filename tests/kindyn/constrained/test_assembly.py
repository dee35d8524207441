"""Assembly: what can be closed is closed, and the rest is reported, row by row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.support.linkages import LINKAGES, Y, at, closed, five_bar, four_bar, rod

import linkwork as lw


def triangle(longest=0.6):
    """Three links whose lengths determine their angles: a locked mechanism."""
    b = lw.ModelBuilder("triangle")
    for name, length in (("a", longest), ("b", 0.5), ("c", 0.4)):
        b.add_link(name, inertia=rod(1.0, length))
    b.add_joint("ab", "revolute", "a", "b", axis=Y)
    b.add_joint("bc", "revolute", "b", "c", axis=Y, first_H_joint=at(0.5))
    mounts = {"first_H_joint": at(0.4), "joint_H_second": at(-longest)}
    b.add_joint("ca", "revolute", "c", "a", axis=Y, **mounts)
    return b.build()


def test_assembly_closes_what_can_be_closed_and_reports_the_rest():
    kd = lw.KinDyn(four_bar(), floating=False)
    q = np.tile(kd.random(seed=0), (3, 1))
    q[0] += 0.1, -0.2, 0.1
    q[2, 0] = np.nan
    result = lw.assemble(kd, q, fixed=["a"])
    assert result.converged.tolist() == [True, True, False]
    assert result.failed == ("c",)
    np.testing.assert_array_equal(result.q[:2, 0], q[:2, 0])
    assert np.abs(result.errors[:2]).max() < 1e-10
    # a crank that is too long for the others
    longer = lw.KinDyn(
        four_bar().with_constraint("point", "crank", second_xyz=(9, 0, 0)), floating=False
    )
    result = lw.assemble(longer, kd.neutral())
    assert not result.converged
    assert "crank_to_world" in result.failed
    with pytest.raises(lw.ValueRangeError, match=r"crank_to_world.*error was \d"):
        longer.random(seed=0)
    with pytest.raises(lw.ValueRangeError, match="crank_to_world"):
        longer.constrained().project_configuration(kd.neutral())
    with pytest.raises(lw.ArgumentError, match="no closed loops"):
        lw.assemble(lw.KinDyn(lw.load("quadruped")), np.zeros(19))


def test_rows_are_those_of_calls_of_their_own():
    kd = lw.KinDyn(five_bar(), floating=False)
    rng = np.random.default_rng(0)
    q = kd.random((2, 3), seed=1) + 0.2 * rng.normal(size=(2, 3, kd.nq))
    q[1, 0] = np.nan
    result = lw.assemble(kd, q)
    assert result.converged.tolist() == [[True] * 3, [False, True, True]]
    assert result.errors.shape == (2, 3, 5)
    for index in np.ndindex(2, 3):
        alone = lw.assemble(kd, q[index].tolist())
        np.testing.assert_allclose(alone.q, result.q[index], atol=1e-12)
    # what is closed stays, also if it is closed only to the tolerance
    kept = lw.assemble(kd, result.q[0])
    np.testing.assert_array_equal(kept.q, result.q[0])
    loose = lw.assemble(kd, q[0], tolerance=1e-3)
    np.testing.assert_array_equal(lw.assemble(kd, loose.q, tolerance=1e-3).q, loose.q)
    assert lw.assemble(kd, np.zeros((0, 4))).q.shape == (0, 4)


def test_robots_of_single_precision_are_closed():
    kd = lw.KinDyn(four_bar(), floating=False, dtype=np.float32)
    result = lw.assemble(kd, kd.q(a=0.5), fixed=["a"])
    assert result.converged
    assert result.q.dtype == np.float32
    assert np.abs(kd.constrained().error(result.q)).max() < 1e-6
    assert kd.random(3, seed=0).dtype == np.float32


def test_limits_are_kept():
    model = four_bar()
    joints = [
        replace(joint, limits=lw.Limits(lower=0.8, upper=0.85)) if joint.name == "d" else joint
        for joint in model.joints
    ]
    kd = lw.KinDyn(replace(model, joints=tuple(joints)), floating=False)
    result = lw.assemble(kd, kd.random(20, seed=0) + 0.3)
    assert result.converged.mean() > 0.5
    assert ((result.q[:, 2] >= 0.8) & (result.q[:, 2] <= 0.85)).all()
    # with the crank fixed at an angle that needs another one
    assert not lw.assemble(kd, kd.q(a=2.5, d=0.8), fixed=["a"]).converged


def test_locked_mechanisms():
    kd = lw.KinDyn(triangle(), floating=False, cut=["ca"])
    result = lw.assemble(kd, np.random.default_rng(0).normal(size=(8, 2)))
    assert result.converged.all()
    # the law of cosines, for either orientation
    cosine = (0.5**2 + 0.4**2 - 0.6**2) / (2 * 0.5 * 0.4)
    np.testing.assert_allclose(np.cos(result.q[:, 1]), -cosine, atol=1e-9)
    constrained = kd.constrained()
    assert constrained.independent_velocities(result.q).shape == (8, 2, 0)
    assert np.abs(constrained.project_velocity(result.q, np.ones(2))).max() < 1e-9
    moving = constrained.forward_dynamics(result.q, np.zeros(2), np.ones(2))
    assert np.abs(moving.nu_dot).max() < 1e-9
    # a side that is longer than the others together: the gap that is left is the least one
    result = lw.assemble(
        lw.KinDyn(triangle(2.0), floating=False, cut=["ca"]), [[0.3, 0.5], [-0.2, 0.1]]
    )
    assert not result.converged.any()
    assert result.failed == ("ca",)
    np.testing.assert_allclose(np.linalg.norm(result.errors, axis=-1), 1.1, rtol=1e-3)


def test_zero_mass_in_a_loop():
    """It does not matter where only positions and velocities of the links are asked for."""
    model = four_bar()
    links = [
        replace(link, inertia=lw.Inertia()) if link.name == "coupler" else link
        for link in model.links
    ]
    kd = lw.KinDyn(replace(model, links=tuple(links)), floating=False)
    result = lw.assemble(kd, kd.q(a=0.5), fixed=["a"])
    heavy = lw.assemble(lw.KinDyn(model, floating=False), kd.q(a=0.5), fixed=["a"])
    np.testing.assert_allclose(result.q, heavy.q, atol=1e-12)
    with pytest.raises(lw.SingularJointError, match="'b'"):
        kd.forward_dynamics(result.q, np.zeros(3), np.zeros(3))


def test_bad_arguments_are_reported():
    kd = lw.KinDyn(four_bar(), floating=False)
    q = kd.random(seed=0)
    for options, error, fact in (
        ({"fixed": ["crank"]}, lw.NameNotFoundError, "crank"),
        ({"fixed": ["c"]}, lw.ArgumentError, "'c' closes a loop"),
        ({"fixed": "a"}, lw.ArgumentError, "list"),
        ({"tolerance": -1.0}, lw.ValueRangeError, "tolerance"),
    ):
        with pytest.raises(error, match=fact):
            lw.assemble(kd, q, **options)
    with pytest.raises(lw.ShapeError, match=r"\(\.\.\., 3\)"):
        lw.assemble(kd, q[:2])
    same_name = lw.KinDyn(four_bar().with_frame("a", "crank"), floating=False)
    held = same_name.constrained([lw.Contact("a", target=same_name.transform("a", q))])
    np.testing.assert_array_equal(lw.assemble(held, q, fixed=["a"]).q, q)


def rounded(model, angle=3.7e-6):
    """The model with rotated joint axes, as in a file that contains 1.5708 for pi/2."""
    rng = np.random.default_rng(0)
    joints = []
    for joint in model.joints:
        rotation = lw.Pose(rpy=tuple(rng.choice((-angle, 0.0, angle), size=3))).matrix()
        mount = lw.Pose.from_matrix(joint.first_H_joint.matrix() @ rotation)
        joints.append(replace(joint, first_H_joint=mount))
    return replace(model, joints=tuple(joints))


@pytest.mark.parametrize("name", ["four_bar", "five_bar", "gripper"])
def test_planar_linkages_move_although_numbers_are_rounded(name):
    """Taken literally, axes that are not quite parallel would lock them."""
    make, n = LINKAGES[name]
    exact = lw.KinDyn(make(), floating=False)
    kd = lw.KinDyn(rounded(make()), floating=False)
    with pytest.warns(lw.LinkworkWarning, match=r"closed to an error of \de-0[56].*rounded"):
        q = kd.random(20, seed=1)
    expected = lw.assemble(exact, q)
    assert expected.converged.all()
    np.testing.assert_allclose(q, expected.q, atol=2e-4)
    nu = exact.constrained().project_velocity(expected.q, np.ones((20, kd.nv)))
    here, there = kd.constrained(), exact.constrained()
    with pytest.warns(lw.LinkworkWarning, match=r"redundant but for .* \de-06"):
        here.warmup("forward_dynamics")
    assert here.independent_velocities(q).shape == (20, kd.nv, n)
    s = np.linalg.svd(there.jacobian(expected.q), compute_uv=False)[:, kd.nv - n - 1]
    regular = s >= np.median(s)  # away from singular configurations
    for size in (1e-3, 1.0):
        exact_result = there.forward_dynamics(expected.q, size * nu, np.ones((20, kd.nv)))
        result = here.forward_dynamics(expected.q, size * nu, np.ones((20, kd.nv)))
        error = np.abs(result.nu_dot - exact_result.nu_dot)[regular].max()
        assert error < 1e-3 * np.abs(exact_result.nu_dot[regular]).max()
    np.testing.assert_allclose(
        here.project_velocity(expected.q, nu)[regular], nu[regular], atol=1e-3
    )
    frame = kd.model.link_names[-1]
    solution = lw.ik(kd, {frame: kd.transform(frame, q[:4])}, q[4], tolerance=1e-4)
    assert solution.converged.all()


@pytest.mark.parametrize(
    ("name", "operations"), [("five_bar", 155), ("parallel_ankle", 916), ("delta", 5940)]
)
def test_operations_of_a_step(name, operations):
    kd = lw.KinDyn(LINKAGES[name][0](), floating=False)
    assert kd.constrained().closing_step.program.n_ops <= operations
    q = kd.integrate(closed(kd, 8), 0.1 * np.random.default_rng(0).normal(size=(8, kd.nv)))
    assert lw.assemble(kd, q).converged.all()
