"""Derivatives of forward dynamics: complex steps, Pinocchio on real robots, structural zeros."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.derivatives import velocity_kinematics_of
from tests.support.kindyn import GRAVITY, STEP
from tests.support.models import assert_close
from tests.support.peers import AtPinocchio, Moving
from tests.support.real_robots import ROBOT_FILES, label
from tests.support.skeletons import (
    every_representation,
    floating_or_not,
    random_case,
    real_case,
    skeleton_seen_by,
)
from tests.support.spatial import pin

import linkwork as lw
from linkwork.algorithms.derivatives.forward_dynamics import forward_dynamics_derivatives
from linkwork.algorithms.dynamics.aba import forward_dynamics
from linkwork.algorithms.dynamics.inverse_mass_matrix import inverse_mass_matrix
from linkwork.engine.symbolic.program import Port
from linkwork.engine.symbolic.tracing import trace
from linkwork.mechanics.joint_dynamics import JointDynamics
from linkwork.spatial.blocks import Vec

WITH_MASSLESS_FINGERS = ("romeo_description/romeo", "romeo_description/romeo_laas_small")
# of the iCubs, which are much the same, one
DIFFERENT = [p for p in ROBOT_FILES if p.name != "model.urdf" or "iCubGenova04" in label(p)]
SLOPING = Vec(0.4, -1.2, -9.5)  # gravity along no axis


class Pushed:
    """A robot of any kinds of joints, moving under torques and wrenches on two frames."""

    def __init__(self, seed, *, floating, velocity, **options):
        self.case = random_case(seed, floating=floating, **options)
        rng, nv = np.random.default_rng(seed), self.case.layout.nv
        self.nu, self.tau = 2 * rng.normal(size=nv), 3 * rng.normal(size=nv)
        self.wrenches = {frame: 2 * rng.normal(size=6) for frame in (0, len(self.case.frames) - 1)}
        first = 6 if floating else 0
        added = {k: JointDynamics(0.1, 0.2 * k, 0.0) for k in range(first, nv, 2)}
        self.velocity = velocity
        self.options = {"gravity": SLOPING, "velocity": velocity, "joint_dynamics": added}

    def state(self):
        return [self.case.q, self.nu, self.tau, *self.wrenches.values()]

    def at(self, function, state):
        q, nu, tau, *wrenches = (list(numbers) for numbers in state)
        given = dict(zip(self.wrenches, wrenches, strict=True))
        return function(self.case.skeleton, q, nu, tau, wrenches=given, **self.options)

    def found(self):
        by_q, by_nu, by_tau, by_wrenches = self.at(forward_dynamics_derivatives, self.state())
        return [np.array(rows, dtype=float) for rows in (by_q, by_nu, by_tau, *by_wrenches)]

    def by_complex_steps(self):
        E = velocity_kinematics_of(self.case.layout, self.case.q, self.velocity)
        for which, numbers in enumerate(self.state()):
            directions = E if which == 0 else np.eye(len(numbers))
            moved = [x.astype(complex) for x in self.state()]
            moved[which] = moved[which][:, None] + 1j * STEP * directions
            rows = self.at(forward_dynamics, moved)
            yield np.array([np.broadcast_to(row, directions.shape[1:]).imag for row in rows]) / STEP


def assert_derivatives(pushed):
    for found, expected in zip(pushed.found(), pushed.by_complex_steps(), strict=True):
        assert_close(found, expected, 1e-9)


@pytest.mark.parametrize("seed", [0, 1])
@floating_or_not
@every_representation
def test_every_kind_of_joint_by_complex_steps(seed, floating, velocity):
    assert_derivatives(Pushed(seed, floating=floating, velocity=velocity, mimic=False))


@every_representation
def test_dependent_joints_by_complex_steps(velocity):
    assert_derivatives(Pushed(3, floating=True, velocity=velocity))


def test_friction_has_no_slope():
    """It is constant on either side of standstill."""
    pushed = Pushed(4, floating=False, velocity="mixed")
    by_q, by_nu, *_ = pushed.found()
    added = pushed.options["joint_dynamics"]
    rubbing = {k: JointDynamics(one.armature, one.damping, 5.0) for k, one in added.items()}
    pushed.options["joint_dynamics"] = rubbing
    before, (_, after, *_) = by_nu, pushed.found()
    assert_close(after, before, 1e-12)
    assert np.abs(pushed.found()[0] - by_q).max() > 1.0  # the acceleration is another one


@pytest.mark.parametrize("path", DIFFERENT, ids=label)
def test_pinocchio_gives_real_robots_the_same(path):
    here = Moving(path, floating=True, velocity="body")
    if label(path) in WITH_MASSLESS_FINGERS:
        with pytest.raises(lw.SingularJointError):
            derivatives_of(here)
        return
    there = AtPinocchio(path, here)
    T, tau = there.T, there.T @ here.tau
    found = pin.computeABADerivatives(there.model, there.data, there.q, there.v, tau)
    inverse = np.triu(found[2]) + np.triu(found[2], 1).T
    rtol = 1e-8 * max(1.0, np.linalg.cond(inverse) / 1e8)
    for here_by, there_by in zip(derivatives_of(here), (*found[:2], inverse), strict=True):
        assert_close(here_by, T.T @ there_by @ T, rtol)


def derivatives_of(here):
    """By q, nu and tau, as arrays."""
    given = [list(numbers) for numbers in (here.q, here.nu, here.tau)]
    options = {"gravity": Vec(*GRAVITY), "velocity": here.kd.representation}
    found = forward_dynamics_derivatives(skeleton_seen_by(here.kd), *given, **options)
    return [np.array(rows, dtype=float) for rows in found[:3]]


@pytest.mark.peers
@every_representation
def test_what_the_base_does_not_change_is_exactly_zero_and_takes_no_operations(velocity):
    """A place of the world, or a constant velocity of it, changes no acceleration."""
    case = real_case("anymal_b_simple_description/anymal", np.random.default_rng(0), floating=True)
    nv = case.layout.nv
    ports = [Port("q", (case.layout.nq,)), Port("nu", (nv,)), Port("tau", (nv,))]

    def derivatives(*arrays):
        given = [list(array) for array in arrays]
        options = {"gravity": Vec(*GRAVITY), "velocity": velocity}
        return tuple(
            np.array(rows)
            for rows in forward_dynamics_derivatives(case.skeleton, *given, **options)[:3]
        )

    program = trace(derivatives, ports, "by")
    assert program.n_ops <= {"mixed": 19_995, "body": 18_000, "inertial": 25_000}[velocity]
    steps = np.array(program.results).reshape(3, nv, nv)
    zero = np.vectorize(lambda step: program.steps[step][1:] == (0.0,))(steps)
    by_q, by_nu, by_tau = zero
    assert not by_tau.any()
    assert not by_q[:, 6:].any()
    assert not by_nu[:, 3:].any()
    if velocity == "mixed":
        assert by_q[:, :3].all()
        assert by_nu[:, :3].all()
        assert not by_q[:, 3:].any()
    else:  # nu_dot contains -w x v
        assert np.array_equal(by_nu[:3, :3], np.eye(3, dtype=bool))
        assert by_nu[3:, :3].all()
    if velocity == "body":
        assert by_q[:, :3].all()
        assert by_q[3:, 3:6].all()


def test_by_tau_is_the_inverse_mass_matrix_to_the_last_bit():
    case = random_case(6, floating=True)
    nu, tau = list(case.nu), list(case.nu_dot)
    found = forward_dynamics_derivatives(
        case.skeleton, list(case.q), nu, tau, gravity=SLOPING, velocity="mixed"
    )
    assert np.array_equal(
        found[2], inverse_mass_matrix(case.skeleton, list(case.q), velocity="mixed")
    )
    assert found[3] == []


def test_named_results_of_kindyn():
    kd = lw.KinDyn(lw.robots.load("double_pendulum"), floating=False)
    q, nu, tau = kd.random(seed=1), np.ones(kd.nv), np.arange(kd.nv, dtype=float)
    frame = kd.model.frame_names[-1]
    found = kd.forward_dynamics_derivatives(np.stack([q, q]), nu, tau, wrenches={frame: np.ones(6)})
    shapes = {name: array.shape for name, array in found._asdict().items()}
    square = (2, kd.nv, kd.nv)
    assert shapes == {"q": square, "nu": square, "tau": square, "wrenches": (2, 1, kd.nv, 6)}
    assert_close(found.tau[0], kd.inverse_mass_matrix(q), 1e-12)
    assert_close(found.wrenches[0, 0], kd.inverse_mass_matrix(q) @ kd.jacobian(frame, q).T, 1e-12)
    assert kd.forward_dynamics_derivatives(q, nu, tau).wrenches.shape == (0, kd.nv, 6)
