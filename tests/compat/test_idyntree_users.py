"""Typical code of projects that use iDynTree, run with both modules.

Simulators and learning environments use keyword arguments, flat static names, quaternions of other
libraries, outputs of any size, and indices.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.support.idyntree import compat, idyn, loader_of, path_of, without_compiling

import linkwork as lw
import linkwork.compat.idyntree.kindyn

ROBOT = "iCubGenova04/model"
JOINTS = ["torso_yaw", "l_hip_pitch", "l_knee", "r_shoulder_roll"]
BOTH = pytest.mark.parametrize("iDynTree", [idyn, compat], ids=["iDynTree", "linkwork"])


@pytest.fixture(autouse=True)
def _without_compiling(monkeypatch):
    monkeypatch.setattr(linkwork.compat.idyntree.kindyn, "KinDyn", without_compiling)


class Wrapper:
    """A wrapper of a robot with NumPy arrays."""

    def __init__(self, iDynTree, representation):
        self.idt = iDynTree
        with open(path_of(ROBOT)) as file:  # noqa: PTH123 - as users write it
            xml = file.read()
        loader = iDynTree.ModelLoader()
        if not loader.loadReducedModelFromString(xml, JOINTS):
            raise RuntimeError
        self.kindyn = iDynTree.KinDynComputations()
        if not self.kindyn.loadRobotModel(model=loader.model()):
            raise RuntimeError
        self.kindyn.setFrameVelocityRepresentation(frameVelRepr=representation)
        self.kindyn.setFloatingBase(floatingBaseName="root_link")
        self.dofs = self.kindyn.getNrOfDegreesOfFreedom()

    def set_state(self, *, s, sd, position, quaternion, velocity, gravity):
        idt = self.idt
        R = idt.Rotation()
        R.fromQuaternion(idt.Vector4(quaternion))
        H = idt.Transform()
        H.setPosition(idt.Position(position[0], position[1], position[2]))
        H.setRotation(R)
        twist = idt.Twist.FromPython(velocity)
        vectors = idt.VectorDynSize(s), idt.VectorDynSize(sd)
        assert self.kindyn.setRobotState(
            H, vectors[0], twist, vectors[1], idt.Vector3.FromPython(gravity)
        )

    def matrix(self, name, *arguments):
        out = self.idt.MatrixDynSize(6, 6 + self.dofs)
        assert getattr(self.kindyn, name)(*arguments, out)
        return out.toNumPy()

    def forces(self, name):
        out = self.idt.FreeFloatingGeneralizedTorques(self.kindyn.model())
        assert getattr(self.kindyn, name)(out)
        return np.hstack([out.baseWrench().toNumPy().flatten(), out.jointTorques().toNumPy()])

    def explicit(self, *frames):
        indices = [self.kindyn.getFrameIndex(frameName=frame) for frame in frames]
        H = self.kindyn.getRelativeTransformExplicit(*indices)
        world = self.kindyn.getWorldTransform(frames[0])
        world.setPosition(self.idt.Position(0, 0, 0))
        return (world * H).asHomogeneousTransform().toNumPy()

    def everything(self):
        model, kd = self.kindyn.model(), self.kindyn
        link = model.getLink(model.getLinkIndex(linkName="l_lower_leg"))
        nu = self.idt.VectorDynSize()
        M = self.idt.MatrixDynSize()
        assert kd.getModelVel(nu)
        assert kd.getFreeFloatingMassMatrix(M)
        names = [model.getJointName(index) for index in range(model.getNrOfJoints())]
        return names, [
            M.toNumPy(),
            nu.toNumPy(),
            self.matrix("getFrameFreeFloatingJacobian", "l_sole"),
            self.matrix("getLinearAngularMomentumJacobian"),
            self.matrix("getCentroidalTotalMomentumJacobian"),
            self.matrix("getAverageVelocityJacobian"),
            self.forces("generalizedBiasForces"),
            self.forces("generalizedGravityForces"),
            self.explicit("l_sole", "l_sole", "r_hand", "chest"),
            link.inertia().asMatrix().toNumPy(),
            kd.getAverageVelocity().toNumPy(),
            kd.getFrameBiasAcc("l_sole").toNumPy(),
            kd.getLinearAngularMomentum().asVector().toNumPy(),
            kd.getWorldBaseTransform().getRotation().asRPY().toNumPy(),
            kd.getRelativeTransform("l_sole", "r_hand").asAdjointTransformWrench().toNumPy(),
        ]


@pytest.mark.parametrize("representation", [0, 1, 2])
def test_a_wrapper_of_a_robot_computes_the_same(representation):
    rng = np.random.default_rng(representation)
    quaternion = np.array([0.8, 0.2, -0.4, 0.4])
    quaternion /= np.linalg.norm(quaternion)
    state = {
        "s": rng.normal(size=4),
        "sd": rng.normal(size=4),
        "position": rng.normal(size=3),
        "quaternion": quaternion,
        "velocity": np.arange(6.0),
        "gravity": np.array([0.0, 0.0, -9.8]),
    }
    result = []
    for iDynTree in (idyn, compat):
        wrapper = Wrapper(iDynTree, representation)
        wrapper.set_state(**state)
        result.append(wrapper.everything())

    assert result[0][0] == result[1][0] == JOINTS
    for theirs, actual in zip(result[0][1], result[1][1], strict=True):
        np.testing.assert_allclose(actual, theirs, atol=1e-10 * max(1.0, np.abs(theirs).max()))


@BOTH
def test_rounded_rotations_are_accepted(iDynTree):
    kd = iDynTree.KinDynComputations()
    module = "linkwork" if iDynTree is compat else "iDynTree"
    assert kd.loadRobotModel(loader_of(module, "iris_description/iris").model())
    n = kd.getNrOfDegreesOfFreedom()
    exact = np.eye(4)
    exact[:3, :3] = iDynTree.Rotation.RPY(0.3, -0.2, 0.9).toNumPy()
    for decimals in (6, 3):
        H = exact.round(decimals)
        assert kd.setRobotState(H, np.zeros(n), np.zeros(6), np.zeros(n), np.zeros(3))
        result = kd.getWorldBaseTransform().asHomogeneousTransform().toNumPy()
        np.testing.assert_allclose(result, exact, atol=10.0**-decimals)


def test_matrices_that_are_not_rotations_raise():
    kd = compat.KinDynComputations()
    kd.loadRobotModel(loader_of("linkwork", "iris_description/iris").model())
    for H in (np.diag([1.1, 1.0, 1.0, 1.0]), np.diag([1.0, 1.0, -1.0, 1.0])):
        with pytest.raises(lw.ModelError, match="base pose"):
            kd.setWorldBaseTransform(H)


@BOTH
def test_wrenches_on_links_are_elements_that_can_be_changed(iDynTree):
    module = "linkwork" if iDynTree is compat else "iDynTree"
    model = loader_of(module, "iris_description/iris").model()
    wrenches = iDynTree.LinkWrenches(model)
    wrenches.zero()
    wrenches[0] = iDynTree.Wrench.FromPython(np.arange(6.0))
    wrenches(1).setVal(2, 5.0)

    assert wrenches[0].toNumPy().tolist() == [0, 1, 2, 3, 4, 5]
    assert wrenches(0).getVal(3) == 3.0
    assert wrenches[1].toNumPy().tolist() == [0, 0, 5, 0, 0, 0]
    assert len(wrenches) == wrenches.getNrOfLinks() == model.getNrOfLinks()


@BOTH
def test_arrays_of_a_robot_have_its_sizes(iDynTree):
    module = "linkwork" if iDynTree is compat else "iDynTree"
    model = loader_of(module, "panda_description/panda").model()
    n = model.getNrOfDOFs()
    assert iDynTree.JointPosDoubleArray(model).size() == n
    assert iDynTree.JointDOFsDoubleArray(model).size() == n
    torques = iDynTree.FreeFloatingGeneralizedTorques()
    torques.resize(model)
    assert torques.jointTorques().size() == torques.getNrOfDOFs() == n


@BOTH
def test_power_does_not_depend_on_the_frame(iDynTree):
    """As in iDynTree's tests of its Python geometry."""
    rng = random.Random(0)

    def numbers(count):
        return [rng.uniform(-10, 10) for _ in range(count)]

    for _ in range(5):
        force, velocity = iDynTree.Wrench(), iDynTree.Twist()
        for index, (f, v) in enumerate(zip(numbers(6), numbers(6), strict=True)):
            assert force.setVal(index, f)
            assert velocity.setVal(index, v)
        H = iDynTree.Transform()
        H.setPosition(iDynTree.Position(*numbers(3)))
        H.setRotation(iDynTree.Rotation.RPY(*numbers(3)))
        point = iDynTree.Position(*numbers(3))
        back = H.inverse() * H * point
        expected = force.dot(velocity)
        for power in (
            (H * force).dot(H * velocity),
            (H.inverse() * velocity).dot(H.inverse() * force),
        ):
            assert power == pytest.approx(expected, abs=1e-7)
        assert back.getVal(1) == pytest.approx(point.getVal(1), abs=1e-7), back.toString()
        assert (velocity - velocity).getVal(3) == 0.0


@BOTH
def test_parts_of_a_pose_and_of_an_axis_are_views(iDynTree):
    H = iDynTree.Transform.Identity()
    position, rotation = H.getPosition(), H.getRotation()
    H.setPosition(iDynTree.Position(1, 2, 3))
    H.setRotation(iDynTree.Rotation.RotZ(0.5))
    assert position.toNumPy().tolist() == [1, 2, 3]
    assert rotation.getVal(0, 0) == pytest.approx(np.cos(0.5))

    H.getPosition().setVal(0, 7.0)
    position = H.getPosition().toNumPy()
    H.getPosition().setVal(0, 8.0)
    assert H.asHomogeneousTransform().getVal(0, 3) == 8.0
    assert position[0] == 7.0

    axis = iDynTree.Axis(iDynTree.Direction(0, 0, 1), iDynTree.Position(1, 2, 3))
    twin, origin = iDynTree.Axis(axis), axis.getOrigin()
    axis.setOrigin(iDynTree.Position(4, 5, 6))
    origin.setVal(2, 7.0)
    assert axis.getOrigin().toNumPy().tolist() == [4, 5, 7]
    assert twin.getOrigin().toNumPy().tolist() == [1, 2, 3]


@BOTH
def test_adding_to_a_vector_keeps_other_references_unchanged(iDynTree):
    module = "linkwork" if iDynTree is compat else "iDynTree"
    wrenches = iDynTree.LinkWrenches(loader_of(module, "iris_description/iris").model())
    wrenches.zero()
    total, one = wrenches(0), iDynTree.Wrench.FromPython(np.ones(6))
    total += one
    total += one
    moved = start = iDynTree.Position(1, 2, 3)
    moved -= iDynTree.Position(1, 1, 1)
    pose = first = iDynTree.Transform(iDynTree.Rotation.RotZ(0.3), start)
    pose *= pose

    assert total.toNumPy().tolist() == [2] * 6
    assert wrenches(0).toNumPy().tolist() == [0] * 6
    assert (moved.toNumPy().tolist(), start.toNumPy().tolist()) == ([0, 1, 2], [1, 2, 3])
    assert first.getPosition().toNumPy().tolist() == [1, 2, 3]
    assert pose.getRotation().asRPY().getVal(2) == pytest.approx(0.6)


@BOTH
def test_quaternions_are_normalized_and_roll_is_zero_at_a_pitch_of_half_pi(iDynTree):
    R = iDynTree.Rotation.RotationFromQuaternion(iDynTree.Vector4([2.0, 0, 0, 2.0]))
    np.testing.assert_allclose(R.toNumPy(), [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)

    for sign, yaw in ((1, -0.1), (-1, 0.5)):
        result = iDynTree.Rotation.RPY(0.3, sign * np.pi / 2, 0.2).asRPY().toNumPy()
        np.testing.assert_allclose(result, [0, sign * np.pi / 2, yaw], atol=1e-15)


@BOTH
def test_the_robot_of_a_loader_is_available_before_it_is_loaded(iDynTree):
    module = "linkwork" if iDynTree is compat else "iDynTree"
    loader, kd = iDynTree.ModelLoader(), iDynTree.KinDynComputations()
    robot, seen = loader.model(), kd.model()
    assert robot.getNrOfLinks() == robot.getNrOfDOFs() == seen.getNrOfDOFs() == 0

    assert loader.loadReducedModelFromFile(path_of(ROBOT), JOINTS)
    assert robot.getNrOfDOFs() == len(JOINTS)
    assert kd.loadRobotModel(robot)
    assert seen.getNrOfDOFs() == len(JOINTS)
    assert loader.loadReducedModelFromFullModel(robot, JOINTS[:2])
    assert (robot.getNrOfDOFs(), seen.getNrOfDOFs()) == (2, len(JOINTS))
    assert kd.loadRobotModel(loader_of(module, "iris_description/iris").model())
    assert seen.getNrOfLinks() == kd.getNrOfLinks() != len(JOINTS) + 1


@BOTH
def test_an_array_is_true_if_it_has_elements(iDynTree):
    for kind in ("Vector3", "Position", "Twist", "Rotation", "Transform"):
        value = getattr(iDynTree, kind)()
        assert value
        assert (value == None, value != None) == (False, True)  # noqa: E711 - as users write it
    assert iDynTree.VectorDynSize(3)
    assert not iDynTree.VectorDynSize(0)


def test_a_comparison_is_an_ordinary_array():
    """So `if a == b` raises, as with NumPy arrays."""
    same = compat.Vector3(1, 2, 3) == compat.Vector3(1, 2, 4)

    assert type(same) is np.ndarray
    with pytest.raises(ValueError, match="ambiguous"):
        bool(same)
