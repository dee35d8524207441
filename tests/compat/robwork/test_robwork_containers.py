"""Distances, properties, lists and legs with RobWork's names."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

import linkwork as lw
import linkwork.compat.robwork as rw


def test_distances_of_vectors_are_norms_of_differences(rng):
    a, b = (rw.Q(rng.normal(size=4)) for _ in range(2))

    for name, order in (("1", 1), ("2", 2), ("Inf", np.inf)):
        difference = np.asarray(a) - np.asarray(b)
        distance = getattr(rw.MetricUtil, f"dist{name}")(a, b)
        assert distance == pytest.approx(np.linalg.norm(difference, order))
        assert getattr(rw.MetricUtil, f"norm{name}")(a) == np.linalg.norm(np.asarray(a), order)
    with pytest.raises(lw.ShapeError):
        rw.MetricUtil.dist2(a, rw.Q(3, 1.0))


def test_properties_have_identifier_description_and_value():
    one = rw.Property("id", "text", 0.1)

    assert (one.getIdentifier(), one.getDescription(), one.getValue()) == ("id", "text", 0.1)
    copy = one.clone()
    copy.setValue("other")
    assert (one.getPropertyValue().getValue(), copy.getValue()) == (0.1, "other")


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
