"""Every method of KinDynComputations compared with iDynTree, on real robots in random states.

robots             4 small ones in every case, 5 large ones in three cases each, so that each
                   representation and each kind of base occurs
bases              the default one, a link far from it, an additional frame
agreement          1e-10 of the largest element of each quantity
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from tests.support.idyntree import (
    REPRESENTATIONS,
    State,
    assert_same,
    base_of,
    compat,
    consistent,
    everything,
    idyn,
    loader_of,
    without_compiling,
)

import linkwork as lw
import linkwork.compat.idyntree.kindyn

SMALL = [
    "panda_description/panda",
    "iris_description/iris",
    "anymal_b_simple_description/anymal",
    "allegro_hand_description/allegro_right_hand",
]
LARGE = [
    "iCubGenova04/model",
    "iCubGenova03/model",
    "talos_data/talos_reduced",
    "g1_description/g1_29dof_rev_1_0",
    "hector_description/quadrotor_base",
]
BASES = ("default", "link", "frame")
CASES = [
    *((name, base, velocity) for name in SMALL for base in BASES for velocity in REPRESENTATIONS),
    *(
        (name, base, (velocity + shift) % 3)
        for shift, name in enumerate(LARGE)
        for base, velocity in zip(BASES, REPRESENTATIONS, strict=True)
    ),
]


@pytest.fixture(autouse=True)
def _without_compiling(monkeypatch):
    monkeypatch.setattr(linkwork.compat.idyntree.kindyn, "KinDyn", without_compiling)


def both(name, state, base, velocity, **options):
    """Return the results of the same code with linkwork and with iDynTree."""
    here, there = loader_of("linkwork", name).model(), loader_of("iDynTree", name).model()
    return (
        everything(compat, here, state, base, velocity, **options),
        everything(idyn, there, state, base, velocity, **options),
    )


@pytest.mark.parametrize(("name", "kind", "velocity"), CASES)
def test_every_quantity_agrees_with_idyntree(name, kind, velocity):
    state = State(name, seed=velocity)

    actual, theirs = both(name, state, base_of(name, kind), velocity, coriolis=kind == "default")

    if kind == "frame":
        mass = loader_of("iDynTree", name).model().getTotalMass()
        theirs = consistent(theirs, state, velocity, mass)
        actual["Regressor"] = actual["Regressor"] @ actual["InertialParameters"]
    if kind == "default":
        compare_coriolis(actual, theirs, np.concatenate([state.v, state.sd]))
    assert_same(actual, theirs)


def compare_coriolis(ours, theirs, nu):
    """Compare only the parts that are right in iDynTree: the force, and the columns of joints."""
    Mdot = ours.pop("Mdot")
    assert np.allclose(Mdot, ours["C"] + ours["C"].T)
    theirs.pop("Mdot")
    for result in (ours, theirs):
        C = result.pop("C")
        result["C of joints"], result["C nu"] = C[:, 6:], C @ nu


@pytest.mark.parametrize("name", [SMALL[0], SMALL[2]])
@pytest.mark.parametrize("velocity", REPRESENTATIONS)
def test_coriolis_matrices_agree_with_idyntree_if_the_base_does_not_move(name, velocity):
    state = State(name, seed=5, base_velocity=0.0)

    actual, theirs = both(name, state, base_of(name, "default"), velocity, coriolis=True)

    assert_same(actual, theirs)


@pytest.mark.parametrize("velocity", REPRESENTATIONS)
def test_the_third_matrix_is_the_derivative_of_the_second_also_if_the_base_moves(velocity):
    """iDynTree's is wrong in the base columns, as its mass matrix shows."""
    name = SMALL[0]
    kd = compat.KinDynComputations()
    kd.loadRobotModel(loader_of("linkwork", name).model())
    kd.setFrameVelocityRepresentation(velocity)
    state = State(name, seed=3)
    kd.setRobotState(state.H, state.s, state.v, state.sd, state.g)
    _, _, Mdot = kd.getCoriolisAndMassMatrices()

    representation = ("inertial", "body", "mixed")[velocity]
    here = without_compiling(kd.model().robot, kd.getFloatingBase(), representation=representation)
    quaternion = lw.spatial.quat.from_rotation(state.H[:3, :3])
    q, nu = np.concatenate([state.H[:3, 3], quaternion, state.s]), kd.getModelVel().toNumPy()

    def mass_matrix_after(time):
        return here.mass_matrix(here.integrate(q, nu * time))

    derivative = (mass_matrix_after(1e-6) - mass_matrix_after(-1e-6)) / 2e-6
    assert np.abs(derivative - Mdot).max() < 1e-6 * np.abs(Mdot).max()
    if velocity == idyn.MIXED_REPRESENTATION:
        _, theirs = both(name, state, base_of(name, "default"), velocity, coriolis=True)
        assert np.abs(derivative - theirs["Mdot"]).max() > 0.1 * np.abs(Mdot).max()


@pytest.mark.parametrize("iDynTree", [idyn, compat], ids=["iDynTree", "linkwork"])
def test_a_state_without_a_base_puts_the_base_at_the_origin(iDynTree):
    module = "linkwork" if iDynTree is compat else "iDynTree"
    model = loader_of(module, "panda_description/panda").model()
    kd = iDynTree.KinDynComputations()
    assert kd.loadRobotModel(model)
    n = kd.getNrOfDegreesOfFreedom()
    s, sd, g = 0.1 * np.arange(n), np.arange(n) * 1.0, np.array([0, 0, -9.81])
    assert kd.setRobotState(s, sd, g)

    got = iDynTree.VectorDynSize(n), iDynTree.VectorDynSize(n), iDynTree.Vector3()
    kd.getRobotState(*got)
    H = kd.getWorldBaseTransform().asHomogeneousTransform().toNumPy()
    nu = iDynTree.VectorDynSize(6 + n)
    assert kd.getModelVel(nu)

    for number, expected in zip(got, (s, sd, g), strict=True):
        np.testing.assert_array_equal(number.toNumPy(), expected)
    np.testing.assert_array_equal(H, np.eye(4))
    np.testing.assert_array_equal(nu.toNumPy(), [0, 0, 0, 0, 0, 0, *sd])


@pytest.mark.parametrize("iDynTree", [idyn, compat], ids=["iDynTree", "linkwork"])
def test_parts_of_the_state_are_set_and_read(iDynTree):
    module = "linkwork" if iDynTree is compat else "iDynTree"
    name = "iris_description/iris"
    kd, state = iDynTree.KinDynComputations(), State(name)
    assert not kd.isValid()
    assert kd.loadRobotModel(loader_of(module, name).model())
    assert kd.isValid()
    assert kd.getFrameVelocityRepresentation() == iDynTree.MIXED_REPRESENTATION == 2
    assert kd.setRobotState(state.H, 0 * state.s, state.v, state.sd, state.g)
    assert kd.setJointPos(state.s)
    other = np.eye(4)
    other[:3, 3] = [1.0, 2.0, 3.0]
    H = iDynTree.Transform.Identity()
    H.setPosition(iDynTree.Position(1, 2, 3))
    assert kd.setWorldBaseTransform(H)

    pose, s, v, sd, g = (
        iDynTree.Transform(),
        iDynTree.VectorDynSize(len(state.s)),
        iDynTree.Twist(),
        iDynTree.VectorDynSize(len(state.s)),
        iDynTree.Vector3(),
    )
    kd.getRobotState(pose, s, v, sd, g)
    also_s, also_sd = iDynTree.VectorDynSize(len(state.s)), iDynTree.VectorDynSize(len(state.s))
    assert kd.getJointPos(also_s)
    assert kd.getJointVel(also_sd)

    np.testing.assert_array_equal(pose.asHomogeneousTransform().toNumPy(), other)
    np.testing.assert_array_equal(s.toNumPy(), state.s)
    np.testing.assert_array_equal(also_s.toNumPy(), state.s)
    np.testing.assert_array_equal(v.toNumPy(), state.v)
    np.testing.assert_array_equal(sd.toNumPy(), state.sd)
    np.testing.assert_array_equal(also_sd.toNumPy(), state.sd)
    np.testing.assert_array_equal(g.toNumPy(), state.g)
    model = kd.model()
    names = [model.getJointName(joint) for joint in range(model.getNrOfJoints())]
    assert kd.getDescriptionOfDegreeOfFreedom(0) in names
    assert kd.getNrOfFrames() == kd.model().getNrOfFrames() == kd.getRobotModel().getNrOfFrames()


def test_another_representation_keeps_the_motion():
    """The base velocity is converted, as in iDynTree; setting positions does not change it."""
    name, result = "panda_description/panda", {}
    for module, iDynTree in (("iDynTree", idyn), ("linkwork", compat)):
        kd, state = iDynTree.KinDynComputations(), State(name)
        assert kd.loadRobotModel(loader_of(module, name).model())
        nu, v = iDynTree.VectorDynSize(15), iDynTree.Twist()
        s, sd, g = iDynTree.VectorDynSize(9), iDynTree.VectorDynSize(9), iDynTree.Vector3()
        result[module] = []
        for first, then in permutations((0, 1, 2), 2):
            assert kd.setFrameVelocityRepresentation(first)
            assert kd.setRobotState(state.H, state.s, state.v, state.sd, state.g)
            before = kd.getCenterOfMassVelocity().toNumPy()
            assert kd.setFrameVelocityRepresentation(then)
            np.testing.assert_allclose(kd.getCenterOfMassVelocity().toNumPy(), before, atol=1e-12)
            kd.getRobotState(iDynTree.Transform(), s, v, sd, g)
            assert kd.getModelVel(nu)
            result[module] += [v.toNumPy(), nu.toNumPy()[:6], kd.getBaseTwist().toNumPy()]
            assert kd.setJointPos(0.5 * state.s)
            result[module] += [kd.getBaseTwist().toNumPy(), kd.getFrameVel("panda_hand").toNumPy()]

    np.testing.assert_allclose(result["linkwork"], result["iDynTree"], atol=1e-12)


@pytest.mark.parametrize("iDynTree", [idyn, compat], ids=["iDynTree", "linkwork"])
@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_setting_the_pose_of_the_base_keeps_its_velocity(iDynTree, representation):
    module = "linkwork" if iDynTree is compat else "iDynTree"
    name = "iris_description/iris"
    kd, state = iDynTree.KinDynComputations(), State(name)
    assert kd.loadRobotModel(loader_of(module, name).model())
    assert kd.setFrameVelocityRepresentation(representation)
    assert kd.setRobotState(state.H, state.s, state.v, state.sd, state.g)
    assert kd.setWorldBaseTransform(np.eye(4))

    np.testing.assert_allclose(kd.getBaseTwist().toNumPy(), state.v, atol=1e-14)


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_the_stored_acceleration_is_that_of_frames(representation, rng):
    """iDynFor's methods: set the acceleration once, and read it or that of a frame."""
    kd = compat.KinDynComputations()
    kd.loadRobotModel(loader_of("linkwork", "panda_description/panda").model())
    with pytest.raises(lw.LinkworkError, match="setRobotAcceleration"):
        kd.getFrameAcc("panda_hand")
    kd.setFrameVelocityRepresentation(representation)
    n = kd.getNrOfDegreesOfFreedom()
    kd.setRobotState(np.eye(4), rng.normal(size=n), rng.normal(size=6), rng.normal(size=n), [0] * 3)
    base, joints = rng.normal(size=6), rng.normal(size=n)
    assert kd.setRobotAcceleration(base, joints)

    copies = compat.Vector6(), compat.VectorDynSize()
    assert kd.getRobotAcceleration(*copies)
    for stored in (copies, kd.getRobotAcceleration()):
        assert [part.tolist() for part in stored] == [base.tolist(), joints.tolist()]
    expected, written = kd.getFrameAcc("panda_hand", base, joints), compat.Vector6()
    assert kd.getFrameAcc("panda_hand", written)
    assert written.tolist() == kd.getFrameAcc("panda_hand").tolist() == expected.tolist()
    with pytest.warns(lw.LinkworkWarning, match="joint accelerations"):
        assert not kd.setRobotAcceleration(base, joints[1:])
    kd.setFrameVelocityRepresentation((representation + 1) % 3)
    with pytest.raises(lw.LinkworkError, match="setRobotAcceleration"):
        kd.getRobotAcceleration()


def test_descriptions_of_degrees_of_freedom_agree_with_idyntree():
    result = []
    for module, iDynTree in (("iDynTree", idyn), ("linkwork", compat)):
        kd = iDynTree.KinDynComputations()
        kd.loadRobotModel(loader_of(module, "panda_description/panda").model())
        dofs = range(kd.getNrOfDegreesOfFreedom())
        result.append([kd.getDescriptionOfDegreeOfFreedom(dof) for dof in dofs])

    assert result[0] == result[1]
