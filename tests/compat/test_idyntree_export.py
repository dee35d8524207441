"""The options of iDynTree's `ModelExporter`, compared with the files that iDynTree writes."""

from __future__ import annotations

import numpy as np
import pytest
from lxml import etree
from tests.support.idyntree import compat, idyn

import linkwork as lw

FRAMES = {"imu": (0.1, 0.2, 0.3), "camera": (0.3, -0.2, 0.1)}


def link_of(iDynTree):
    link, inertia = iDynTree.Link(), iDynTree.SpatialInertia()
    tensor = iDynTree.RotationalInertia()
    tensor.zero()
    for k in range(3):
        tensor.setVal(k, k, 0.1 + k / 30)
    inertia.fromRotationalInertiaWrtCenterOfMass(4 / 3, iDynTree.Position(0, 0, 0.1), tensor)
    link.setInertia(inertia)
    return link


def robot_of(iDynTree, joint, *, frames=FRAMES):
    """A base with frames, an arm on a joint, and a tip with a frame on a hinge."""
    T, R, P = iDynTree.Transform, iDynTree.Rotation, iDynTree.Position
    model = iDynTree.Model()
    model.addLink("base", link_of(iDynTree))
    model.addJointAndLink("base", "shoulder", joint, "arm", link_of(iDynTree))
    axis = iDynTree.Axis(iDynTree.Direction(0, 1, 0), P(1, 0, 0))
    hinge = iDynTree.RevoluteJoint(T(R.RPY(0.1, 0.2, 0), P(1, 0, 0)), axis)
    model.addJointAndLink("arm", "hinge", hinge, "tip", link_of(iDynTree))
    for name, rpy in frames.items():
        model.addAdditionalFrameToLink("base", name, T(R.RPY(*rpy), P(1 / 3, 0, 0)))
    model.addAdditionalFrameToLink("tip", "tool", T(R.RPY(0, 0, 0.5), P(1 / 7, 0, 0)))
    return model


def weld(iDynTree):
    pose = iDynTree.Transform(iDynTree.Rotation.RPY(0.3, 0, 0), iDynTree.Position(0, 0, 1))
    return iDynTree.FixedJoint(pose)


def ball(iDynTree):
    pose = iDynTree.Transform(iDynTree.Rotation.RPY(0.1, 0.2, 0.3), iDynTree.Position(1, 2, 3))
    joint = iDynTree.SphericalJoint(pose)
    joint.setAttachedLinks(0, 1)
    joint.setJointCenter(1, iDynTree.Position(0, 0, 0))
    return joint


def exporter_of(iDynTree, model, **options):
    exporter, values = iDynTree.ModelExporter(), iDynTree.ModelExporterOptions()
    for name, value in options.items():
        setattr(values, name, iDynTree.StringVector(value) if isinstance(value, list) else value)
    assert exporter.init(model)
    exporter.setExportingOptions(values)
    return exporter


def exported(iDynTree, model, path, **options):
    exporter = exporter_of(iDynTree, model, **options)
    assert exporter.exportModelToFile(str(path / "robot.urdf"))
    return etree.parse(path / "robot.urdf").getroot()


def joints_of(root):
    """Type, parent and child of each joint, by name."""
    return {
        joint.get("name"): (joint.get("type"), *(joint.find(x).get("link") for x in LINKS))
        for joint in root.iter("joint")
    }


LINKS = ("parent", "child")


@pytest.mark.parametrize("fake_base", [True, False])
def test_frames_are_mounted_as_in_idyntree(fake_base, tmp_path):
    options = {"exportFirstBaseLinkAdditionalFrameAsFakeURDFBase": fake_base, "baseLink": "base"}
    theirs, ours = (
        exported(iDynTree, robot_of(iDynTree, weld(iDynTree)), tmp_path, **options)
        for iDynTree in (idyn, compat)
    )

    assert joints_of(ours) == joints_of(theirs)
    assert {link.get("name") for link in ours.iter("link")} == {
        link.get("name") for link in theirs.iter("link")
    }
    assert ours.find("joint[@name='tool_fixed_joint']") is not None
    assert joints_of(ours)["imu_fixed_joint"][1:] == ("imu", "base") or not fake_base


@pytest.mark.parametrize("fake_base", [True, False])
@pytest.mark.parametrize("base", ["base", "arm", "tip"])
@pytest.mark.filterwarnings("ignore:the frames of links are moved")
def test_an_exported_robot_has_the_poses_of_the_original(base, fake_base, tmp_path):
    """iDynTree writes the pose of a frame that becomes the root without inverting it."""
    model = robot_of(compat, weld(compat))
    options = {"exportFirstBaseLinkAdditionalFrameAsFakeURDFBase": fake_base, "baseLink": base}
    exported(compat, model, tmp_path, **options)
    unmoved = ["imu", "tool", "base", "arm", "tip"] if base == "base" else ["imu", "tool", base]
    poses = []
    for iDynTree in (idyn, compat):
        loader = iDynTree.ModelLoader()
        assert loader.loadModelFromFile(str(tmp_path / "robot.urdf"))
        poses.append(poses_in_camera(iDynTree, loader.model(), unmoved))

    expected = poses_in_camera(compat, model, unmoved)
    np.testing.assert_allclose(poses[0], expected, atol=1e-14)
    np.testing.assert_allclose(poses[1], expected, atol=1e-14)


def poses_in_camera(iDynTree, model, names):
    kd = iDynTree.KinDynComputations()
    assert kd.loadRobotModel(model)
    kd.setJointPos(iDynTree.VectorDynSize([0.4]))
    return [
        kd.getRelativeTransform("camera", name).asHomogeneousTransform().toNumPy() for name in names
    ]


def test_links_that_urdf_cannot_express_are_moved_with_a_warning(tmp_path):
    """iDynTree fails: seen from the tip, the axis of the hinge misses the origin of the arm."""
    model = robot_of(compat, weld(compat))
    with pytest.warns(lw.LinkworkWarning, match="moved.*arm"):
        exported(compat, model, tmp_path, baseLink="tip")
    assert not exporter_of(idyn, robot_of(idyn, weld(idyn)), baseLink="tip").exportModelToFile(
        str(tmp_path / "robot.urdf")
    )


def test_a_spherical_joint_is_one_that_only_linkwork_reads(tmp_path):
    model = robot_of(compat, ball(compat))
    with pytest.warns(lw.LinkworkWarning, match="only linkwork"):
        root = exported(compat, model, tmp_path)

    assert joints_of(root)["shoulder"][0] == "spherical"


def test_options_that_are_not_supported_raise():
    options = compat.ModelExporterOptions()
    for name in ("xmlBlobs", "exportSphericalJointsAsThreeRevoluteJoints"):
        with pytest.raises(AttributeError, match=name):
            setattr(options, name, "")
