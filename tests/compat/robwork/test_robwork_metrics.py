"""Metrics, properties, statistics and lists with RobWork's names."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

import linkwork as lw
import linkwork.compat.robwork as rw

ORDERS = {"Manhattan": 1, "Euclidean": 2, "Infinity": np.inf}


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("kind", ["Q", "Vector2D", "Vector3D"])
def test_metrics_are_norms_of_differences(name, kind, rng):
    n = 2 if kind == "Vector2D" else 3
    a, b, weights = (getattr(rw, kind)(rng.normal(size=n)) for _ in range(3))
    metric = getattr(rw, f"{name}Metric{kind}")()
    weighted = getattr(rw, f"Weighted{name}Metric{kind}")(weights)

    order, difference = ORDERS[name], np.asarray(a) - np.asarray(b)

    assert metric.distance(a, b) == pytest.approx(np.linalg.norm(difference, order))
    assert metric.distance(a) == pytest.approx(np.linalg.norm(np.asarray(a), order))
    scaled = np.linalg.norm(difference * np.asarray(weights), order)
    assert weighted.distance(a, b) == pytest.approx(scaled)
    assert (metric.size(), weighted.size()) == (-1, n)
    with pytest.raises(lw.ShapeError):
        metric.distance(a, rw.Q(4, 1.0))
    with pytest.raises(lw.ShapeError):
        weighted.distance(rw.Q(4, 1.0))


def test_factory_creates_the_same_metrics(rng):
    a, b, weights = (rw.Q(rng.normal(size=4)) for _ in range(3))
    for name, norm in (("Manhattan", "1"), ("Euclidean", "2"), ("Infinity", "Inf")):
        metric = getattr(rw.MetricFactory, f"make{name}Q")()
        weighted = getattr(rw.MetricFactory, f"makeWeighted{name}")(weights)
        assert metric.distance(a, b) == getattr(rw.MetricUtil, f"dist{norm}")(a, b)
        assert metric.distance(a) == getattr(rw.MetricUtil, f"norm{norm}")(a)
        assert weighted.distance(a) == metric.distance(a.elemMultiply(weights))


def test_metrics_of_poses_add_distance_and_angle(rng):
    a = rw.Transform3D(rw.Vector3D(rng.normal(size=3)), rw.RPY(0.3, 0.2, 0.1))
    step = rw.Transform3D(rw.Vector3D(0, 3, 4), rw.EAA(0, 0.5, 0))

    metric = rw.MetricFactory.makeTransform3DMetric(2.0, 10.0)

    assert metric.distance(a * step, a) == pytest.approx(2 * 5 + 10 * 0.5)
    assert metric.distance(step) == pytest.approx(15)
    rotations = rw.MetricFactory.makeRotation3DMetric()
    assert rotations.distance((a * step).R(), a.R()) == pytest.approx(0.5)
    assert rotations.distance(step.R()) == pytest.approx(0.5)


def test_statistics_of_numbers_and_angles(rng):
    values, statistics = rng.normal(size=7), rw.Statistics()
    for value in values:
        statistics.add(value)

    assert statistics.meanAndVariance() == pytest.approx((values.mean(), values.var(ddof=1)))
    assert statistics.median() == sorted(values)[3]
    assert statistics.minAndMaxValue() == (values.min(), values.max())
    around_pi = rw.Statistics([np.pi - 0.1, 0.1 - np.pi])
    assert abs(around_pi.angularMean()) == pytest.approx(np.pi)
    assert around_pi.angularMeanAndVariance()[1] == pytest.approx(2 * 0.1**2)
    statistics.clear()
    with pytest.raises(lw.ArgumentError, match=r"\b1\b.*\b0\b"):
        statistics.mean()


@pytest.mark.parametrize(
    ("value", "name"),
    [
        *((0.1, "Double"), (1, "Int"), (True, "Bool"), ("a", "String"), ([], "Unknown")),
        *(([1, 2], "IntList"), ([0.1], "DoubleList"), (["a"], "StringList")),
        *((kind(), kind.__name__) for kind in (rw.Vector2D, rw.Vector3D, rw.Q, rw.PropertyMap)),
        *((kind(), kind.__name__) for kind in (rw.EAA, rw.RPY, rw.Quaternion, rw.Rotation2D)),
        *((kind(), kind.__name__) for kind in (rw.Rotation3D, rw.Transform3D)),
        (rw.VelocityScrew6D(), "VelocityScrew6D"),
    ],
)
def test_properties_have_types(value, name):
    one = rw.Property("id", "text", value)

    assert one.getType().getId() == getattr(rw.PropertyType, name)
    assert (one.getIdentifier(), one.getDescription(), one.getValue()) == ("id", "text", value)
    copy = one.clone()
    copy.setValue("other")
    assert one.getPropertyValue().getValue() == value


def test_numbers_of_property_types_are_those_of_robwork():
    """They are stored in files and compared by programs."""
    names = ("Unknown", "PropertyMap", "String", "Int", "Q", "VelocityScrew6D", "DoubleList")
    assert [getattr(rw.PropertyType, name) for name in names] == [-1, 0, 3, 6, 10, 17, 24]
    assert rw.PropertyType().getId() == -1


def test_properties_that_are_set_stay_set():
    cell = rw.WorkCell("cell")
    frame = rw.FixedFrame("table")
    frame.getPropertyMap().set("color", "red")
    cell.addFrame(frame)
    state = cell.getDefaultState()
    frame.getPropertyMap().setDouble("height", 0.8)
    cell.getPropertyMap().set("author", "me")

    assert frame.getPropertyMap() == {"color": "red", "height": "0.8"}
    assert frame.getPropertyMap().getDouble("height") == 0.8
    assert cell.cell.frame("table").properties == (("color", "red"), ("height", "0.8"))
    assert cell.getPropertyMap().getString("author") == "me"
    assert frame.wTf(state) == rw.Transform3D()
    assert pickle.loads(pickle.dumps(frame.getPropertyMap())) == frame.getPropertyMap()


def test_lists_are_vectors_of_cpp():
    state = rw.WorkCell("cell").getDefaultState()
    frames = rw.FrameVector(3)
    path = rw.PathTimedState([rw.TimedState(0.5, state)])
    path.push_back(rw.TimedState(1, state))

    assert frames == [None, None, None]
    assert rw.QVector([1, 2]) == [1, 2]
    assert [one.getTime() for one in path] == [0.5, 1]
    assert path.front().getValue() is path.elem(1).getValue() is state
    assert (rw.PathQ().empty(), rw.PathQ(2, rw.Q()).size()) == (True, 2)


def test_leg_has_active_and_passive_joints():
    structure = rw.StateStructure()
    frames = rw.FrameVector(4)
    frames[0] = rw.FixedFrame("base")
    frames[1] = rw.RevoluteJoint("hip", rw.Transform3D(rw.Vector3D(0, 0, 1)))
    frames[2] = rw.PrismaticJoint("slide", rw.Transform3D(rw.Vector3D(1, 0, 0)))
    frames[3] = rw.FixedFrame("foot", rw.Transform3D(rw.Vector3D(0, 2, 0)))
    frames[1].setActive(False)
    structure.addData(frames[0])
    for parent, frame in itertools.pairwise(frames):
        structure.addFrame(frame, parent)
    state = structure.getDefaultState()

    leg = rw.ParallelLeg(frames)
    leg.setQ(rw.Q(0.3, 0.2), state)

    assert (leg.nrOfJoints(), leg.nrOfActiveJoints(), leg.nrOfPassiveJoints()) == (2, 1, 1)
    assert leg.getActuatedJoints() == [frames[2]]
    assert leg.getUnactuatedJoints() == [frames[1]]
    assert (leg.getBase(), leg.getEnd(), leg.getKinematicChain()) == (frames[0], frames[3], frames)
    assert leg.getQ(state) == rw.Q(0.3, 0.2)
    assert leg.baseTend(state).equal(frames[0].fTf(frames[3], state), 1e-15)
    J, before = leg.baseJend(state), leg.baseTend(state).P()
    assert (J.size1(), J.size2(), leg.getJointDOFs()) == (6, 2, 2)
    leg.setQ(rw.Q(0.3 + 1e-6, 0.2), state)
    rate = (leg.baseTend(state).P() - before) / 1e-6
    np.testing.assert_allclose(rate, np.asarray(J)[:3, 0], atol=1e-5)


def test_jacobian_too_small_for_a_joint_is_rejected():
    ball, identity = rw.SphericalJoint("ball", rw.Transform3D()), rw.Transform3D()
    with pytest.raises(lw.ShapeError, match=r"3 columns from 1.*\(6, 3\)"):
        ball.getJacobian(0, 1, identity, identity, rw.Q(3, 0.0), rw.Jacobian(6, 3))
