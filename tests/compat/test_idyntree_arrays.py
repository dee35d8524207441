"""Vectors, matrices, outputs and errors with iDynTree's names."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.support.idyntree import compat, idyn, without_compiling

import linkwork as lw
import linkwork.compat.idyntree.kindyn

BOTH = pytest.mark.parametrize("iDynTree", [idyn, compat], ids=["iDynTree", "linkwork"])


def loaded(robot="arm"):
    loader = compat.ModelLoader()
    loader.loadModelFromString(lw.dump_urdf(lw.robots.load(robot)))
    return loader.model()


@pytest.fixture
def kd(monkeypatch):
    monkeypatch.setattr(linkwork.compat.idyntree.kindyn, "KinDyn", without_compiling)
    kd = compat.KinDynComputations()
    kd.loadRobotModel(loaded())
    return kd


@BOTH
def test_elements_are_set_and_read(iDynTree):
    gravity = iDynTree.Vector3()
    gravity.zero()
    gravity.setVal(2, -9.81)
    matrix = iDynTree.MatrixDynSize(2, 3)
    matrix.zero()
    matrix.setVal(1, 2, 5.0)
    vector = iDynTree.VectorDynSize()
    vector.resize(4)
    vector.zero()

    assert gravity.toNumPy().tolist() == [0, 0, -9.81]
    assert gravity.getVal(2) == gravity[2] == -9.81
    assert matrix.toNumPy().tolist() == [[0, 0, 0], [0, 0, 5]]
    assert (matrix.rows(), matrix.cols()) == (2, 3)
    assert len(vector) == 4
    matrix.resize(1, 1)
    assert matrix.toNumPy().shape == (1, 1)


def test_the_parts_of_spatial_vectors_are_views():
    twist = compat.Twist.FromPython([1, 2, 3, 4, 5, 6])
    twist.getLinearVec3()[0] = 7

    assert twist.tolist() == [7, 2, 3, 4, 5, 6]
    assert twist.getAngularVec3().tolist() == [4, 5, 6]


def test_results_are_numpy_arrays(kd):
    H, v = kd.getWorldTransform("hand"), kd.getFrameVel("hand")
    J = kd.getFrameFreeFloatingJacobian("hand")
    nu = kd.getModelVel()

    assert isinstance(H, np.ndarray)
    assert type(H[:3, 3]) is type(J @ nu) is type(np.concatenate([v, nu])) is np.ndarray
    assert type(v + v) is type(2 * v) is compat.Twist
    assert isinstance(v.sum(), float)
    assert type(v.toNumPy()) is np.ndarray
    assert type(H @ H) is compat.Transform
    again = pickle.loads(pickle.dumps(H))
    np.testing.assert_array_equal(again, H)


def test_a_numpy_array_is_filled_and_the_method_returns_true(kd):
    n = kd.getNrOfDegreesOfFreedom()
    J = np.full((6, 6 + n), np.nan, order="F")
    H, h = np.zeros((4, 4)), np.zeros(6 + n)

    assert kd.getFrameFreeFloatingJacobian("hand", J) is True
    assert kd.getWorldTransform("hand", H) is True
    assert kd.generalizedBiasForces(h) is True

    np.testing.assert_array_equal(J, kd.getFrameFreeFloatingJacobian("hand"))
    np.testing.assert_array_equal(H, kd.getWorldTransform("hand"))
    np.testing.assert_array_equal(h, kd.generalizedBiasForces())


def test_arrays_of_any_size_are_resized(kd):
    M, s = compat.MatrixDynSize(), compat.VectorDynSize(3)

    kd.getFreeFloatingMassMatrix(M)
    kd.getJointPos(s)

    n = kd.getNrOfDegreesOfFreedom()
    assert (M.shape, s.shape) == ((6 + n, 6 + n), (n,))


def test_inertias_have_mass_and_center_of_mass(kd):
    kd.setWorldBaseTransform(compat.Transform(compat.Rotation(), [0.1, 0.2, 0.3]))
    kd.setFrameVelocityRepresentation(compat.INERTIAL_FIXED_REPRESENTATION)
    inertia = kd.getRobotLockedInertia()

    assert inertia.getMass() == pytest.approx(kd.model().getTotalMass(), rel=1e-14)
    np.testing.assert_allclose(inertia.getCenterOfMass(), kd.getCenterOfMassPosition(), rtol=1e-12)
    tensor = inertia.getRotationalInertiaWrtFrameOrigin()
    np.testing.assert_array_equal(tensor, inertia.asMatrix()[3:, 3:])
    assert compat.SpatialInertia().getCenterOfMass().tolist() == [0, 0, 0]


def test_lists_grow_as_those_of_idyntree_do():
    joints = compat.StringVector()
    joints.push_back("wrist_roll")
    joints.push_back("elbow_pitch")
    loader = compat.ModelLoader()
    loader.loadReducedModelFromFullModel(loaded(), joints)

    assert loader.model().getJointName(1) == "elbow_pitch"
    indices = compat.IndexVector()
    indices.push_back(compat.LINK_INVALID_INDEX)
    assert indices == [compat.cvar.LINK_INVALID_INDEX] == [idyn.cvar.LINK_INVALID_INDEX]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda kd: kd.getWorldTransform(99), lw.LinkworkError, "frame.*99"),
        (lambda kd: kd.getWorldTransform(1.5), lw.ArgumentError, "frame.*1.5"),
        (lambda kd: kd.setRobotState(np.eye(4)), lw.ArgumentError, "5 or 3.*1"),
        (lambda kd: kd.setWorldBaseTransform(np.ones((4, 4))), lw.ModelError, "base pose"),
        (lambda kd: kd.getRobotState(np.zeros(3)), lw.ArgumentError, "5, 3.*1"),
        (lambda kd: kd.getFrameVel("hand", [0] * 6), lw.ArgumentError, "NumPy array"),
        (lambda kd: kd.getCoriolisAndMassMatrices(np.eye(2)), lw.ArgumentError, "3.*1"),
        (lambda kd: kd.inverseDynamics([0] * 6, [0]), lw.ShapeError, "joint accelerations"),
        (lambda kd: kd.generalizedExternalForces([[0] * 6]), lw.ShapeError, "linkWrenches"),
        (lambda kd: kd.loadRobotModel("arm"), lw.ArgumentError, "model.*Model.*'arm'"),
        (
            lambda kd: kd.model().getJoint(0).getRestTransform(5, 6),
            lw.LinkworkError,
            r"links.*\[5, 6\]",
        ),
        (
            lambda _: compat.KinDynComputations().getFloatingBase(),
            lw.LinkworkError,
            "loadRobotModel",
        ),
        (lambda _: compat.Model("arm"), lw.ArgumentError, "robot.*Model.*'arm'"),
        (lambda _: compat.Vector3(1, 2), lw.ShapeError, "Vector3.*3.*2"),
        (lambda _: compat.Traversal().getLink(0), lw.LinkworkError, "computeFullTreeTraversal"),
    ],
)
def test_errors_without_a_status_are_raised(kd, call, error, message):
    with pytest.raises(error, match=message):
        call(kd)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("wrist_roll",), "consideredJoints.*list"),
        ((["wrist_roll"], [0.1]), "removedJointPositions"),
    ],
)
def test_wrong_arguments_of_reduced_models_raise(arguments, message):
    with pytest.raises(lw.ArgumentError, match=message):
        compat.ModelLoader().loadReducedModelFromFullModel(loaded(), *arguments)


SENSORS = """
<robot name="r"><link name="a"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="b"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="fixed"><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><parent link="a"/>
<child link="b"/></joint>{}</robot>"""
FORCE_TORQUE = """<sensor name="{0}" type="force_torque"><parent joint="j"/><force_torque>
<frame>{0}</frame><measure_direction>child_to_parent</measure_direction></force_torque>
<origin xyz="0 0 1" rpy="0.3 0 0"/></sensor>"""
GYROSCOPE = (
    """<sensor name="gyro" type="gyroscope"><parent link="a"/><origin xyz="1 0 0"/></sensor>"""
)


def test_sensors_become_frames_as_in_idyntree():
    sensors = GYROSCOPE + "".join(map(FORCE_TORQUE.format, ("child", "parent", "sensor")))
    result = []
    for iDynTree in (idyn, compat):
        loader = iDynTree.ModelLoader()
        assert loader.loadModelFromString(SENSORS.format(sensors))
        model = loader.model()
        frames = range(model.getNrOfFrames())
        poses = [model.getFrameTransform(frame) for frame in frames]
        result.append(
            (
                [(model.getFrameName(frame), model.getFrameLink(frame)) for frame in frames],
                np.array([pose.asHomogeneousTransform().toNumPy() for pose in poses]),
            )
        )

    assert result[0][0] == result[1][0]
    np.testing.assert_allclose(result[0][1], result[1][1], atol=1e-15)


@pytest.mark.parametrize(
    ("sensor", "message"),
    [
        (
            FORCE_TORQUE.format("child").replace('"j"', '"k"'),
            "'child'.*joint 'k'",
        ),
        (GYROSCOPE.replace('"a"', '"c"'), "'gyro'.*link 'c'"),
        (GYROSCOPE.replace("1 0 0", "1 0"), "origin xyz.*3"),
    ],
)
def test_robots_with_sensors_without_a_parent_are_not_loaded(sensor, message):
    with pytest.warns(lw.LinkworkWarning, match=message):
        assert not compat.ModelLoader().loadModelFromString(SENSORS.format(sensor))
