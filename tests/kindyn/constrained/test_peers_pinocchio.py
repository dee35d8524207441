"""Contacts of real robots against Pinocchio: accelerations, forces, derivatives, impacts."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.peers import robot
from tests.support.pinocchio import frame_index
from tests.support.real_robots import load_quietly
from tests.support.spatial import pin

import linkwork as lw
from linkwork.compat.pinocchio import Conventions

pytestmark = pytest.mark.peers

STANCES = {  # robot: contacts, kind
    "talos_data/talos_reduced": (("left_sole_link", "right_sole_link"), "pose"),
    "anymal_b_simple_description/anymal": (("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"), "point"),
    "solo_description/solo12": (("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"), "point"),
}


class Stance:
    """A robot with contacts, here and in Pinocchio, moving as the contacts allow."""

    def __init__(self, name):
        path, (frames, kind) = robot(name), STANCES[name]
        model = load_quietly(path, mimic=False)
        self.kd = lw.KinDyn(model, floating=True, representation="body")
        self.here = self.kd.constrained(dict.fromkeys(frames, kind))
        self.model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
        self.model.gravity.linear = np.array(self.kd.gravity)
        self.data = self.model.createData()
        maps = Conventions(self.kd)
        rng = np.random.default_rng(5)
        self.q = self.kd.random(seed=4)
        self.nu = self.here.project_velocity(self.q, rng.normal(size=self.kd.nv))
        self.tau = 10.0 * rng.normal(size=self.kd.nv)
        self.q_there = maps.q_to_pinocchio(self.q)
        self.v = maps.v_to_pinocchio(self.q, self.nu)
        self.tau_there = maps.tau_to_pinocchio(self.q, self.tau)
        # order of the coordinates: column k here is column order[k] there
        self.order = np.argmax(maps.v_to_pinocchio(self.q, np.eye(self.kd.nv)), axis=1)
        types = pin.ContactType
        contact = types.CONTACT_6D if kind == "pose" else types.CONTACT_3D
        self.contacts = pin.StdVec_RigidConstraintModel()
        self.contact_data = pin.StdVec_RigidConstraintData()
        for frame in frames:
            there = self.model.frames[frame_index(self.model, frame)]
            local = pin.ReferenceFrame.LOCAL
            one = pin.RigidConstraintModel(
                contact, self.model, there.parentJoint, there.placement, local
            )
            self.contacts.append(one)
            self.contact_data.append(one.createData())
        pin.initConstraintDynamics(self.model, self.data, self.contacts, self.contact_data)
        self.settings = pin.ProximalSettings(1e-13, 1e-13, 1e-8, 30)

    def of_pin(self, matrix):
        """Rows and columns of a matrix of Pinocchio in the order that they have here."""
        return matrix[np.ix_(self.order, self.order)]


@pytest.fixture(
    scope="module", params=["talos_data/talos_reduced", "anymal_b_simple_description/anymal"]
)
def stance(request):
    return Stance(request.param)


def close(found, expected, rtol=1e-9):
    np.testing.assert_allclose(found, expected, rtol=0, atol=rtol * np.abs(expected).max())


def test_accelerations_and_derivatives_agree(stance):
    arguments = stance.model, stance.data, stance.q_there, stance.v, stance.tau_there
    contacts = stance.contacts, stance.contact_data
    expected = pin.constraintDynamics(*arguments, *contacts, stance.settings).copy()
    result = stance.here.forward_dynamics(stance.q, stance.nu, stance.tau)
    close(result.nu_dot, expected[stance.order])
    for name, contact in zip(stance.here.rows, stance.contact_data, strict=True):
        wrench = stance.here.forces_of(name, stance.q, result.forces)  # in the axes of the frame
        close(wrench, contact.contact_force.vector)
    pin.computeConstraintDynamicsDerivatives(*arguments[:2], *contacts, stance.settings)
    derivatives = stance.here.forward_dynamics_derivatives(stance.q, stance.nu, stance.tau)
    close(derivatives.q, stance.of_pin(stance.data.ddq_dq))
    close(derivatives.nu, stance.of_pin(stance.data.ddq_dv))
    close(derivatives.tau, stance.of_pin(stance.data.ddq_dtau))


def test_the_articulated_body_algorithm_with_loops_agrees():
    """Pinocchio's `lcaba`, which solves the same equations in another way."""
    stance = Stance("solo_description/solo12")
    pin.computeJointMinimalOrdering(stance.model, stance.data, stance.contacts)
    settings = pin.ProximalSettings(1e-14, 1e-2, 4000)  # rounding errors grow with 1 / mu
    arguments = stance.model, stance.data, stance.q_there, stance.v, stance.tau_there
    expected = pin.lcaba(*arguments, stance.contacts, stance.contact_data, settings)
    result = stance.here.forward_dynamics(stance.q, stance.nu, stance.tau)
    close(result.nu_dot, expected[stance.order])


def test_impacts_agree(stance):
    nu = stance.nu + 0.1
    v = np.zeros_like(stance.v)
    v[stance.order] = nu
    for restitution in (0.0, 0.5):
        after = pin.impulseDynamics(
            stance.model,
            stance.data,
            stance.q_there,
            v,
            stance.contacts,
            stance.contact_data,
            restitution,
            pin.ProximalSettings(1e-13, 1e-13, 1e-13, 30),
        )
        close(stance.here.impact(stance.q, nu, restitution).nu, after[stance.order])


@pytest.mark.parametrize(
    ("name", "forward", "derivatives"),
    [
        ("talos_data/talos_reduced", 21_405, 170_378),
        ("anymal_b_simple_description/anymal", 10_550, 66_963),
    ],
)
def test_operation_counts(name, forward, derivatives):
    """Additions, multiplications, divisions and negations, in the mixed representation."""
    frames, kind = STANCES[name]
    kd = lw.KinDyn(load_quietly(robot(name), mimic=False), floating=True)
    stance = kd.constrained(dict.fromkeys(frames, kind))
    assert stance.function("forward_dynamics").program.n_ops <= forward
    assert stance.function("forward_dynamics_derivatives").program.n_ops <= derivatives
