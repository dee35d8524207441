"""The CasADi class compared with adam's: values, derivatives, functions."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from adam.casadi import KinDynComputations as Adam
from tests.support.models import random_wxyz
from tests.support.real_robots import FILES

import linkwork as lw
from linkwork.compat.adam import Representations
from linkwork.compat.adam.casadi import KinDynComputations
from linkwork.spatial import quat

ICUB = next(path for path in FILES if path.as_posix().endswith("iCubGazeboV2_5/model.urdf"))
JOINTS = ["torso_pitch", "torso_roll", "l_hip_pitch", "l_knee", "r_elbow"]
OF_ROBOT = {
    "mass_matrix": 2,
    "centroidal_momentum_matrix": 2,
    "CoM_position": 2,
    "CoM_jacobian": 2,
    "bias_force": 4,
    "coriolis_term": 4,
    "gravity_term": 2,
    "aba": 5,
}


@pytest.fixture(scope="module")
def pair():
    return KinDynComputations(str(ICUB), JOINTS), Adam(str(ICUB), JOINTS)


def state(seed=0):
    rng = np.random.default_rng(seed)
    H = np.eye(4)
    H[:3, :3] = quat.to_rotation(random_wxyz(rng, ()))
    H[:3, 3] = rng.normal(size=3)
    return [H, *(rng.normal(size=n) for n in (5, 6, 5, 5))]


def assert_close(actual, expected, rtol=1e-9):
    scale = max(1.0, np.abs(expected).max())
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual / scale, expected / scale, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("representation", Representations)
@pytest.mark.parametrize("name", OF_ROBOT)
def test_functions_of_the_robot_agree_with_adam(name, representation, pair):
    arguments = state()[: OF_ROBOT[name]]
    results = []
    for robot in pair:
        robot.set_frame_velocity_representation(representation)
        function = getattr(robot, f"{name}_fun")()
        assert function.n_in() == len(arguments)
        results.append(function(*arguments).full())
    assert_close(*results)
    assert_close(getattr(pair[0], name)(*arguments).full(), results[0])


@pytest.mark.parametrize("name", ["forward_kinematics", "jacobian", "relative_jacobian"])
def test_functions_of_a_frame_agree_with_adam(name, pair):
    H, s, *_ = state(1)
    arguments = [s] if name == "relative_jacobian" else [H, s]
    for robot in pair:
        robot.set_frame_velocity_representation(Representations.MIXED_REPRESENTATION)
    ours, adams = (getattr(robot, f"{name}_fun")("l_sole")(*arguments).full() for robot in pair)
    assert_close(ours, adams)
    assert_close(getattr(pair[0], name)("l_sole", *arguments).full(), adams)


@pytest.mark.parametrize("name", ["mass_matrix", "bias_force", "aba"])
def test_derivatives_along_motions_agree_with_adam(name, pair):
    """Along joints, translations and rotations of the base; other changes of H are not motions."""
    arguments = state(2)[: OF_ROBOT[name]]
    H = arguments[0]
    rng = np.random.default_rng(3)
    rotation = np.cross(np.eye(3), rng.normal(size=3))
    along = np.zeros((4, 4))
    along[:3, :3], along[:3, 3] = rotation @ H[:3, :3], rng.normal(size=3)
    symbols = [ca.SX.sym("x", *ca.DM(value).shape) for value in arguments]
    results = []
    for robot in pair:
        robot.set_frame_velocity_representation(Representations.MIXED_REPRESENTATION)
        value = getattr(robot, f"{name}_fun")()(*symbols)
        by_pose = ca.jtimes(value, symbols[0], ca.DM(along))
        by_joints = ca.jacobian(value, symbols[1])
        derivative = ca.Function("derivative", symbols, [ca.densify(by_pose), by_joints])
        results.append([matrix.full() for matrix in derivative(*arguments)])
    for ours, adams in zip(*results, strict=True):
        assert_close(ours, adams)


def test_matrices_close_to_rotations_are_accepted(pair):
    H, s, *_ = state()
    H[:3, :3] *= 1.01
    assert np.isfinite(pair[0].mass_matrix(H, s).full()).all()


def test_symbols_floats_and_rows_are_accepted(pair):
    robot, (H, s, *_) = pair[0], state()
    for kind in (ca.SX, ca.MX):
        pose, joints = kind.sym("H", 4, 4), kind.sym("s", 5)
        assert isinstance(robot.mass_matrix(pose, joints), kind)
    expected = robot.mass_matrix(H, s).full()
    np.testing.assert_array_equal(robot.mass_matrix(ca.DM(H), list(s)).full(), expected)
    np.testing.assert_array_equal(robot.mass_matrix(H, s[None]).full(), expected)
    poses = robot.link_poses(H, s)
    assert_close(poses["l_foot"].full(), robot.forward_kinematics("l_foot", H, s).full())


def test_external_wrenches_agree_with_numpy(pair):
    from linkwork.compat.adam import KinDynComputations as OfNumpy

    arguments, wrenches = state(4), {"l_sole": np.arange(6.0), "root_link": np.ones(6)}
    pair[0].set_frame_velocity_representation(Representations.BODY_FIXED_REPRESENTATION)
    numpy = OfNumpy(str(ICUB), JOINTS)
    numpy.set_frame_velocity_representation(Representations.BODY_FIXED_REPRESENTATION)
    assert_close(pair[0].aba(*arguments, wrenches).full()[:, 0], numpy.aba(*arguments, wrenches))


def test_gravity_and_options_apply_to_functions(pair):
    robot = KinDynComputations(
        str(ICUB), JOINTS, f_opts={"cse": False}, gravity=[0, 0, -1, 0, 0, 0]
    )
    H, s, *_ = state()
    assert robot.f_opts == {"cse": False}
    pair[0].set_frame_velocity_representation(Representations.MIXED_REPRESENTATION)
    expected = pair[0].gravity_term(H, s).full() / 9.80665
    assert_close(robot.gravity_term_fun()(H, s).full(), expected, rtol=1e-12)


def test_wrong_arguments_raise_with_the_facts(pair):
    robot, (H, s, *_) = pair[0], state()
    with pytest.raises(lw.ShapeError, match=r"joint_positions: expected \(5, 1\), got \(4, 1\)"):
        robot.mass_matrix(H, s[:4])
    with pytest.raises(ValueError, match="l_sol"):
        robot.jacobian_fun("l_sol")
