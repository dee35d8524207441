"""Real robots against independent programs: Pinocchio on all of them, iDynTree on a selection.

    peer        robots it loads, of 84    compared here                     tolerance
    Pinocchio   84                        84 floating, 6 in every state     1e-11; M^-1: see below
    iDynTree    84                        12, three representations each    1e-11
    MuJoCo      60 (test_peers_mujoco)    12                                1e-9

Forward dynamics loses digits as the mass matrix does when it is nearly singular, as those of real
files are; so what is asked of accelerations is multiplied by the condition number where that is
large. Two robots move fingers without mass: their forward dynamics has no answer.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.kindyn import GRAVITY, Interpreted, run_program
from tests.support.models import assert_close
from tests.support.peers import OF_ONE_STATE, AtPinocchio, Moving, robot
from tests.support.real_robots import ROBOT_FILES, label, load_quietly
from tests.support.spatial import idyn, pin

import linkwork as lw
from linkwork.mechanics.base import REPRESENTATIONS

pytestmark = pytest.mark.peers

WITH_MASSLESS_FINGERS = {
    "romeo_description/romeo": "RThumb3",
    "romeo_description/romeo_laas_small": "r_gripper_joint",
}
IN_EVERY_STATE = [
    "talos_data/talos_reduced",
    "anymal_b_simple_description/anymal",
    "iCubGenova04/model",
    "tiago_description/tiago_no_hand",
    "panda_description/panda",
    "ur_description/ur5_robot",
]
AT_IDYNTREE = [
    *IN_EVERY_STATE,
    "a1_description/a1",
    "romeo_description/romeo_small",
    "simple_humanoid_description/simple_humanoid",
    "g1_description/g1_29dof_rev_1_0",
    "iCubGenova03/model",
    "iris_description/iris",
]
STATES = [(True, "body"), (True, "inertial"), (False, "mixed")]
FORCES = ("inverse_dynamics", "bias_force", "gravity_force")


def assert_agree(found, expected, rtol):
    """Relative to the largest entry; forces relative to the largest force, as they may cancel."""
    forces = max(np.abs(expected[name]).max(initial=0.0) for name in FORCES)
    for name in OF_ONE_STATE:
        scale = np.abs(expected[name]).max(initial=0.0)
        if name in FORCES:
            scale = forces
        elif name != "mass_matrix":
            scale = max(scale, 1.0)
        try:
            assert_close(found[name], expected[name], rtol, scale=scale)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None


def assert_accelerations_agree(here, there, M):
    program = here.kd.function("forward_dynamics").program
    found = run_program(program, here.q, here.nu, here.tau)[0]
    assert_close(found, there.acceleration(here.tau), rtol=1e-9 * max(1, np.linalg.cond(M) / 1e8))


@pytest.mark.parametrize("path", ROBOT_FILES, ids=label)
def test_every_real_robot_has_the_dynamics_that_pinocchio_gives_it(path):
    here = Moving(path, floating=True, velocity="mixed")
    there = AtPinocchio(path, here)

    found = here.everything()
    assert_agree(found, there.everything(), rtol=1e-11)
    if label(path) not in WITH_MASSLESS_FINGERS:
        assert_accelerations_agree(here, there, found["mass_matrix"])


@pytest.mark.parametrize("name", WITH_MASSLESS_FINGERS)
def test_fingers_without_mass_are_named_instead_of_given_an_acceleration(name):
    kd = lw.KinDyn(load_quietly(robot(name), mimic=False))
    with pytest.raises(lw.SingularJointError, match=WITH_MASSLESS_FINGERS[name]):
        kd.forward_dynamics(kd.neutral(), np.zeros(kd.nv), np.zeros(kd.nv))


@pytest.mark.parametrize("name", IN_EVERY_STATE)
@pytest.mark.parametrize(("floating", "velocity"), STATES)
def test_other_representations_and_fixed_bases_agree_with_pinocchio(name, floating, velocity):
    here = Moving(robot(name), floating=floating, velocity=velocity)
    there = AtPinocchio(robot(name), here)

    found = here.everything()
    assert_agree(found, there.everything(), rtol=1e-11)
    assert_accelerations_agree(here, there, found["mass_matrix"])


IDYN_REPRESENTATION = {
    "mixed": idyn.MIXED_REPRESENTATION,
    "body": idyn.BODY_FIXED_REPRESENTATION,
    "inertial": idyn.INERTIAL_FIXED_REPRESENTATION,
}


class AtIDynTree:
    """The same robot in the same state in iDynTree; T puts its joints in our order."""

    def __init__(self, loader, here):
        self.here, self.kd = here, idyn.KinDynComputations()
        assert self.kd.loadRobotModel(loader.model())
        self.kd.setFrameVelocityRepresentation(IDYN_REPRESENTATION[here.kd.representation])
        layout, model = here.kd.layout, self.kd.model()
        self.model = model
        self.order = list(range(6)) + [
            6 + model.getJoint(model.getJointIndex(name)).getDOFsOffset()
            for name in layout.joint_names
        ]
        q = here.q
        H = np.eye(4)
        H[:3, :3] = pin.Quaternion(*q[3:7].tolist()).toRotationMatrix()
        H[:3, 3] = q[:3]
        s, nu = np.zeros(layout.nv - 6), self.theirs(here.nu)
        s[np.array(self.order[6:], dtype=int) - 6] = q[7:]
        assert self.kd.setRobotState(H, s, nu[:6], nu[6:], GRAVITY)

    def theirs(self, mine):
        found = np.zeros(len(mine))
        found[self.order] = mine
        return found

    def forces(self, found):
        base, joints = found.baseWrench().toNumPy(), found.jointTorques().toNumPy()
        return np.concatenate([np.ravel(base), np.ravel(joints)])[self.order]

    def generalized(self, method, *arguments):
        found = idyn.FreeFloatingGeneralizedTorques(self.model)
        assert method(*arguments, found)
        return self.forces(found)

    def matrix(self, method, rows):
        found = idyn.MatrixDynSize(rows, len(self.order))
        assert method(found)
        return found.toNumPy()[:, self.order]


@pytest.mark.parametrize("name", AT_IDYNTREE)
@pytest.mark.parametrize("velocity", REPRESENTATIONS)
def test_real_robots_have_the_dynamics_that_idyntree_gives_them(name, velocity):
    """iDynTree makes a massless root a mere frame, so its own choice of the base is taken."""
    loader = idyn.ModelLoader()
    assert loader.loadModelFromFile(str(robot(name)))
    base = loader.model().getLinkName(loader.model().getDefaultBaseLink())
    here = Moving(robot(name), floating=True, velocity=velocity, base=base)
    there, mine = AtIDynTree(loader, here), here.everything()
    kd, n = there.kd, here.kd.nv
    wrenches = idyn.LinkWrenches(there.model)
    wrenches.zero()
    nu_dot = there.theirs(here.nu_dot)

    M = there.matrix(kd.getFreeFloatingMassMatrix, n)[there.order]
    bias = there.generalized(kd.generalizedBiasForces)
    gravity = there.generalized(kd.generalizedGravityForces)
    tau = there.generalized(kd.inverseDynamics, nu_dot[:6], nu_dot[6:], wrenches)
    A = there.matrix(kd.getCentroidalTotalMomentumJacobian, 6)

    forces = max(np.abs(tau).max(), np.abs(bias).max())
    assert_close(mine["mass_matrix"], M, rtol=1e-11)
    assert_close(mine["bias_force"], bias, rtol=1e-11, scale=forces)
    assert_close(mine["gravity_force"], gravity, rtol=1e-11, scale=forces)
    assert_close(mine["inverse_dynamics"], tau, rtol=1e-11, scale=forces)
    assert_close(mine["centroidal_momentum_matrix"], A, rtol=1e-11)
    assert_close(
        mine["momentum"], np.ravel(kd.getLinearAngularMomentum().toNumPy()), 1e-11, scale=forces
    )
    assert_close(
        mine["centroidal_momentum"], np.ravel(kd.getCentroidalTotalMomentum().toNumPy()), 1e-11
    )
    assert_close(mine["com"], np.ravel(kd.getCenterOfMassPosition().toNumPy()), 1e-12, scale=1.0)


@pytest.mark.parametrize("name", AT_IDYNTREE[::3])
@pytest.mark.parametrize("velocity", REPRESENTATIONS)
def test_wrenches_on_links_act_as_in_idyntree(name, velocity):
    loader = idyn.ModelLoader()
    assert loader.loadModelFromFile(str(robot(name)))
    model = loader.model()
    base = model.getLinkName(model.getDefaultBaseLink())
    here = Moving(robot(name), floating=True, velocity=velocity, base=base)
    there = AtIDynTree(loader, here)
    rng = np.random.default_rng(3)
    acting = idyn.LinkWrenches(there.model)
    acting.zero()
    mine = {}
    for link in rng.choice(there.model.getNrOfLinks(), size=3, replace=False).tolist():
        numbers = 10 * rng.normal(size=6)
        mine[there.model.getLinkName(link)] = numbers
        wrench = acting(link)
        for place, number in enumerate(numbers.tolist()):
            wrench.setVal(place, number)
    nu_dot = there.theirs(here.nu_dot)

    tau = there.generalized(there.kd.inverseDynamics, nu_dot[:6], nu_dot[6:], acting)

    found = Interpreted(here.kd).inverse_dynamics(here.q, here.nu, here.nu_dot, wrenches=mine)
    assert_close(found, tau, rtol=1e-11)


def test_idyntree_and_pinocchio_load_every_robot():
    """So that the table above stays true."""
    loaded = {"pin": 0, "idyn": 0}
    for path in ROBOT_FILES:
        loaded["pin"] += pin.buildModelFromUrdf(str(path)).nv >= 0
        loaded["idyn"] += idyn.ModelLoader().loadModelFromFile(str(path))
    assert loaded == {"pin": 84, "idyn": 84}
