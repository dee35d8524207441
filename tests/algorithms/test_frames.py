"""Frames: poses against an independent walk, velocities as derivatives of poses, and Pinocchio.

Derivatives are taken by complex steps: every formula here is analytic in q and nu, so the imaginary
part of f(x + i h dx) / h is the derivative along dx without a difference being taken.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.kindyn import STEP, base_X, rate_of_q, wedge
from tests.support.models import MOVING_KINDS, assert_close, random_q
from tests.support.real_robots import load_quietly
from tests.support.skeletons import (
    REAL,
    SEEDS,
    Case,
    every_representation,
    floating_or_not,
    random_case,
    real_case,
    robot_file,
    walked_poses,
)
from tests.support.spatial import pin
from tests.support.verifier import verify

from linkwork.algorithms.kinematics import frames, jacobians
from linkwork.engine.symbolic.operations import NUMPY_FUNCTIONS
from linkwork.engine.symbolic.program import Port
from linkwork.engine.symbolic.tracing import trace

pytestmark = pytest.mark.peers

PIN_FRAME = {
    "mixed": pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
    "body": pin.ReferenceFrame.LOCAL,
    "inertial": pin.ReferenceFrame.WORLD,
}


def derivative(function, x, dx):
    """Of function(x) along dx."""
    return np.array(function(list(x + 1j * STEP * dx)), dtype=complex).imag / STEP


def close(found, expected, rtol):
    """Close relative to the largest entry, or to 1: some frames stand still."""
    expected = np.asarray(expected, dtype=float)
    assert_close(found, expected, rtol, scale=max(1.0, np.abs(expected).max(initial=0.0)))


def twist_of_pose(pose, pose_dot, velocity):
    """Six numbers of a frame that is at `pose` and moves with `pose_dot`."""
    R, o, R_dot, o_dot = pose[:3, :3], pose[:3, 3], pose_dot[:3, :3], pose_dot[:3, 3]
    turning = R_dot @ R.T
    w = np.array([turning[2, 1], turning[0, 2], turning[1, 0]])
    match velocity:
        case "mixed":
            return np.concatenate([o_dot, w])
        case "body":
            return np.concatenate([R.T @ o_dot, R.T @ w])
        case _:
            return np.concatenate([o_dot - np.cross(w, o), w])


@pytest.mark.parametrize("seed", SEEDS)
@floating_or_not
def test_frames_stand_where_a_walk_over_the_graph_says(seed, floating):
    case = random_case(seed, floating=floating)
    expected = walked_poses(case.model, case.tree.base, case.q, floating)

    together = frames.frame_poses(case.skeleton, list(case.q), *case.frames)
    alone = [frames.frame_pose(case.skeleton, list(case.q), frame) for frame in case.frames]

    assert_close(together, expected, rtol=1e-13)
    assert_close(alone, expected, rtol=1e-13)
    assert alone[0][3] == [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("seed", SEEDS)
@floating_or_not
@every_representation
def test_velocity_is_the_derivative_of_the_pose(seed, floating, velocity):
    case = random_case(seed, floating=floating)
    q_dot = rate_of_q(case.layout, case.q, case.nu, velocity)
    for frame in case.frames:
        pose = np.array(frames.frame_pose(case.skeleton, list(case.q), frame), dtype=float)
        pose_dot = derivative(
            lambda q, frame=frame: frames.frame_pose(case.skeleton, q, frame), case.q, q_dot
        )

        found = frames.frame_velocity(
            case.skeleton, list(case.q), list(case.nu), frame, velocity=velocity
        )

        assert_close(found, twist_of_pose(pose, pose_dot, velocity), rtol=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
@floating_or_not
@every_representation
def test_jacobian_takes_nu_to_the_velocity(seed, floating, velocity):
    case = random_case(seed, floating=floating)
    q, nu = list(case.q), list(case.nu)
    for frame in case.frames:
        J = jacobians.jacobian(case.skeleton, q, frame, velocity=velocity)

        expected = frames.frame_velocity(case.skeleton, q, nu, frame, velocity=velocity)

        assert_close(np.array(J, dtype=float) @ case.nu, expected, rtol=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
@floating_or_not
@every_representation
def test_acceleration_is_the_derivative_of_the_velocity(seed, floating, velocity):
    case = random_case(seed, floating=floating)
    q_dot = rate_of_q(case.layout, case.q, case.nu, velocity)
    nq = case.layout.nq
    x = np.concatenate([case.q, case.nu])
    for nu_dot in (case.nu_dot, None):
        dx = np.concatenate([q_dot, np.zeros(case.layout.nv) if nu_dot is None else nu_dot])
        given = None if nu_dot is None else list(nu_dot)
        for frame in case.frames:
            expected = derivative(
                lambda x, frame=frame: frames.frame_velocity(
                    case.skeleton, x[:nq], x[nq:], frame, velocity=velocity
                ),
                x,
                dx,
            )

            found = frames.frame_acceleration(
                case.skeleton, list(case.q), list(case.nu), given, frame, velocity=velocity
            )

            close(found, expected, rtol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@floating_or_not
@every_representation
def test_jacobian_dot_is_the_derivative_of_the_jacobian(seed, floating, velocity):
    case = random_case(seed, floating=floating)
    q, nu = list(case.q), list(case.nu)
    q_dot = rate_of_q(case.layout, case.q, case.nu, velocity)
    for frame in case.frames:
        expected = derivative(
            lambda q, frame=frame: jacobians.jacobian(case.skeleton, q, frame, velocity=velocity),
            case.q,
            q_dot,
        )
        bias = frames.frame_acceleration(case.skeleton, q, nu, None, frame, velocity=velocity)

        found = jacobians.jacobian_dot(case.skeleton, q, nu, frame, velocity=velocity)

        close(found, expected, rtol=1e-12)
        close(np.array(found, dtype=float) @ case.nu, bias, rtol=1e-12)


@pytest.mark.parametrize("kind", MOVING_KINDS)
@floating_or_not
@every_representation
def test_chains_of_one_kind_have_the_derivatives_they_claim(kind, floating, velocity):
    """Where an error of that kind has nowhere to hide."""
    case = random_case(3, floating=floating, kinds=[kind])
    q, nu, frame = list(case.q), list(case.nu), case.frames[-1]
    q_dot = rate_of_q(case.layout, case.q, case.nu, velocity)
    pose = np.array(frames.frame_pose(case.skeleton, q, frame), dtype=float)

    J = np.array(jacobians.jacobian(case.skeleton, q, frame, velocity=velocity), dtype=float)
    J_dot = jacobians.jacobian_dot(case.skeleton, q, nu, frame, velocity=velocity)

    moving = derivative(lambda q: frames.frame_pose(case.skeleton, q, frame), case.q, q_dot)
    turning = derivative(
        lambda q: jacobians.jacobian(case.skeleton, q, frame, velocity=velocity), case.q, q_dot
    )
    assert_close(J @ case.nu, twist_of_pose(pose, moving, velocity), rtol=1e-13)
    close(J_dot, turning, rtol=1e-12)


def everything(skeleton, velocity):
    """All functions of one frame, as one function of q, nu and nu_dot that gives flat lists."""
    frame = len(skeleton.frames) - 1

    def function(q, nu, nu_dot):
        q, nu, nu_dot = tuple(q), tuple(nu), tuple(nu_dot)
        J = jacobians.jacobian(skeleton, q, frame, velocity=velocity)
        J_dot = jacobians.jacobian_dot(skeleton, q, nu, frame, velocity=velocity)
        return [
            *(x for row in frames.frame_pose(skeleton, q, frame) for x in row),
            *frames.frame_velocity(skeleton, q, nu, frame, velocity=velocity),
            *frames.frame_acceleration(skeleton, q, nu, nu_dot, frame, velocity=velocity),
            *(x for row in J + J_dot for x in row),
        ]

    return function


@floating_or_not
@every_representation
def test_batches_and_traced_programs_give_what_single_calls_give(floating, velocity, rng):
    case = random_case(11, floating=floating)
    sizes = {"q": case.layout.nq, "nu": case.layout.nv, "nu_dot": case.layout.nv}
    function = everything(case.skeleton, velocity)
    q = random_q(case.layout, rng, (5,))
    nu, nu_dot = rng.normal(size=(2, 5, case.layout.nv))

    program = trace(
        lambda *arrays: np.array(function(*arrays), dtype=object),
        [Port(name, (size,)) for name, size in sizes.items()],
        ["all"],
    )
    verify(program)
    traced = program.run(q.T, nu.T, nu_dot.T, functions=NUMPY_FUNCTIONS)
    batch = function(q.T, nu.T, nu_dot.T)
    single = np.array([function(*row) for row in zip(q, nu, nu_dot, strict=True)], dtype=float)

    for found in (batch, traced):
        whole = np.stack(np.broadcast_arrays(*found), axis=-1)
        assert_close(np.broadcast_to(whole, single.shape), single, rtol=1e-13)


@every_representation
def test_joints_that_do_not_move_a_frame_have_columns_of_floats(velocity):
    model = load_quietly(robot_file("talos_data/talos_reduced"))
    case = Case(model, np.random.default_rng(0), floating=True)
    frame = model.frame_index("left_sole_link")

    J = jacobians.jacobian(case.skeleton, list(case.q), frame, velocity=velocity)

    columns = {
        name: [row[case.layout.nu[name].start] for row in J] for name in case.layout.joint_names
    }
    still = [name for name, column in columns.items() if column == [0.0] * 6]
    assert sorted(set(columns) - set(still)) == [f"leg_left_{k}_joint" for k in range(1, 7)]


class AtPinocchio:
    """A real robot in both libraries, in one state."""

    def __init__(self, name, *, floating, velocity):
        root = (pin.JointModelFreeFlyer(),) if floating else ()
        self.case = real_case(name, np.random.default_rng(7), floating=floating)
        self.model = pin.buildModelFromUrdf(str(robot_file(name)), *root)
        self.data = self.model.createData()
        layout, q, nu = self.case.layout, self.case.q, self.case.nu
        self.T = np.zeros((self.model.nv, layout.nv))  # v = T nu
        T_dot = np.zeros_like(self.T)
        self.q = pin.neutral(self.model)
        if floating:
            self.q[:3], self.q[3:6], self.q[6] = q[:3], q[4:7], q[3]
            X = base_X(q, velocity)
            v, w = np.split(X @ nu[:6], 2)
            turning = wedge(w) if velocity != "body" else np.zeros((3, 3))
            carried = np.zeros((6, 6))
            carried[:3, :3] = carried[3:, 3:] = turning
            carried[:3, 3:] = wedge(v) if velocity == "inertial" else 0.0
            self.T[:6, :6], T_dot[:6, :6] = X, -carried @ X
        for joint in layout.joint_names:
            there = self.model.joints[self.model.getJointId(joint)]
            here = q[layout.q[joint]][0]
            both = [here] if there.nq == 1 else [np.cos(here), np.sin(here)]
            self.q[there.idx_q : there.idx_q + there.nq] = both
            self.T[there.idx_v, layout.nu[joint].start] = 1.0
        self.T_dot, self.v = T_dot, self.T @ nu
        self.a = self.T @ self.case.nu_dot + T_dot @ nu
        pin.forwardKinematics(self.model, self.data, self.q, self.v, self.a)
        pin.computeJointJacobiansTimeVariation(self.model, self.data, self.q, self.v)
        pin.updateFramePlacements(self.model, self.data)


@pytest.mark.parametrize(("name", "floating"), REAL)
@every_representation
def test_real_robots_move_as_pinocchio_says(name, floating, velocity):
    there = AtPinocchio(name, floating=floating, velocity=velocity)
    case, model, data = there.case, there.model, there.data
    of = PIN_FRAME[velocity]
    accelerating = (
        pin.getFrameClassicalAcceleration if velocity == "mixed" else pin.getFrameAcceleration
    )
    q, nu, nu_dot = list(case.q), list(case.nu), list(case.nu_dot)
    for link in case.model.link_names[::3]:
        frame = case.model.frame_index(link)
        at = model.getFrameId(link, pin.FrameType.BODY)
        J_pin = pin.getFrameJacobian(model, data, at, of)
        J_dot_pin = pin.getFrameJacobianTimeVariation(model, data, at, of)
        J_dot = J_dot_pin @ there.T + J_pin @ there.T_dot
        robot = (case.skeleton, q)

        close(frames.frame_pose(*robot, frame), data.oMf[at].homogeneous, rtol=1e-12)
        close(
            frames.frame_velocity(*robot, nu, frame, velocity=velocity),
            pin.getFrameVelocity(model, data, at, of).vector,
            rtol=1e-12,
        )
        close(
            frames.frame_acceleration(*robot, nu, nu_dot, frame, velocity=velocity),
            accelerating(model, data, at, of).vector,
            rtol=1e-12,
        )
        close(jacobians.jacobian(*robot, frame, velocity=velocity), J_pin @ there.T, rtol=1e-12)
        close(jacobians.jacobian_dot(*robot, nu, frame, velocity=velocity), J_dot, rtol=1e-12)
