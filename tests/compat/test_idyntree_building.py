"""Joints, links and robots built with iDynTree's names, compared with iDynTree."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.idyntree import MODULES, compat, idyn, loader_of, without_compiling

import linkwork as lw
import linkwork.compat.idyntree.kindyn
from linkwork.compat.idyntree.conversion import as_in_idyntree

BOTH = pytest.mark.parametrize("iDynTree", [idyn, compat], ids=["iDynTree", "linkwork"])
NUMBERS = np.random.default_rng(5).normal(size=40)


@pytest.fixture(autouse=True)
def _without_compiling(monkeypatch):
    monkeypatch.setattr(linkwork.compat.idyntree.kindyn, "KinDyn", without_compiling)


def pose_of(iDynTree, seed=0):
    n = NUMBERS[seed : seed + 6].tolist()
    return iDynTree.Transform(iDynTree.Rotation.RPY(*n[:3]), iDynTree.Position(*n[3:]))


def axis_of(iDynTree, seed=9):
    n = NUMBERS[seed : seed + 6].tolist()
    return iDynTree.Axis(iDynTree.Direction(*n[:3]), iDynTree.Position(*n[3:]))


def link_of(iDynTree, seed=0, mass=1.3):
    root = NUMBERS[seed : seed + 9].reshape(3, 3)
    inertia = iDynTree.SpatialInertia()
    com = iDynTree.Position(*NUMBERS[seed : seed + 3].tolist())
    inertia.fromRotationalInertiaWrtCenterOfMass(
        mass, com, iDynTree.RotationalInertia(root @ root.T + 10 * np.eye(3))
    )
    link = iDynTree.Link()
    link.setInertia(inertia)
    return link


def joint_of(iDynTree, kind):
    if kind in ("RevoluteJoint", "PrismaticJoint"):
        return getattr(iDynTree, kind)(0, 1, pose_of(iDynTree), axis_of(iDynTree))
    joint = getattr(iDynTree, kind)(pose_of(iDynTree))
    joint.setAttachedLinks(0, 1)
    if kind == "SphericalJoint":
        joint.setJointCenter(0, iDynTree.Position(0.1, 0.2, 0.3))
    return joint


def values_of_axis(axis):
    return np.concatenate([axis.getDirection().toNumPy(), axis.getOrigin().toNumPy()])


def values_of(iDynTree, kind):
    """Return all values that describe the motion of a joint."""
    joint = joint_of(iDynTree, kind)
    s = np.array([0.7, 0.1, -0.5, 0.5])
    s = s / np.linalg.norm(s) if kind == "SphericalJoint" else s[: joint.getNrOfPosCoords()]
    s = iDynTree.VectorDynSize(s)
    result = []
    for ends in ((0, 1), (1, 0)):
        result.append(joint.getRestTransform(*ends).asHomogeneousTransform().toNumPy())
        result.append(joint.getTransform(s, *ends).asHomogeneousTransform().toNumPy())
        if kind != "SphericalJoint" or ends == (1, 0):  # iDynTree's depends on its last call
            result += [
                joint.getMotionSubspaceVector(dof, *ends).toNumPy()
                for dof in range(joint.getNrOfDOFs())
            ]
        if kind in ("RevoluteJoint", "PrismaticJoint"):
            result.append(values_of_axis(joint.getAxis(ends[0])))
    if kind == "SphericalJoint":
        result += [joint.getJointCenter(link).toNumPy() for link in (0, 1)]
    result.append(np.array([joint.getNrOfDOFs(), joint.getNrOfPosCoords()]))
    return result


@pytest.mark.parametrize(
    "kind", ["FixedJoint", "RevoluteJoint", "PrismaticJoint", "SphericalJoint"]
)
def test_a_joint_moves_as_in_idyntree(kind):
    for actual, theirs in zip(values_of(compat, kind), values_of(idyn, kind), strict=True):
        np.testing.assert_allclose(actual, theirs, rtol=1e-12, atol=1e-13)


@BOTH
@pytest.mark.parametrize("child", [None, 0, 1])
def test_the_axis_of_a_joint_is_set_from_either_link(iDynTree, child):
    joint = iDynTree.RevoluteJoint()
    joint.setAttachedLinks(0, 1)
    joint.setRestTransform(pose_of(iDynTree))
    axis = axis_of(iDynTree)
    joint.setAxis(axis, *([] if child is None else [child]))

    back = joint.getAxis(child or 0)
    sign = (
        -1 if child is None else 1
    )  # without a link, it is the axis of the second link in the first
    expected = values_of_axis(axis) * np.array([sign] * 3 + [1] * 3)
    np.testing.assert_allclose(values_of_axis(back), expected, atol=1e-14)


@BOTH
def test_limits_are_set_and_enabled(iDynTree):
    joint = iDynTree.RevoluteJoint()
    before = joint.hasPosLimits()
    largest = joint.getMaxPosLimit(0)
    assert joint.setPosLimits(_index=0, min=-1.0, max=2.0)
    assert not joint.hasPosLimits()
    assert joint.enablePosLimits(True)

    assert before is False
    assert largest > 1e308
    assert joint.hasPosLimits()
    assert (joint.getMinPosLimit(0), joint.getMaxPosLimit(0)) == (-1.0, 2.0)
    assert joint.setPosLimits(7, -2.0, 3.0)  # the index is ignored for one coordinate
    assert (joint.getMinPosLimit(8), joint.getMaxPosLimit(9)) == (-2.0, 3.0)
    assert joint.enablePosLimits(False)
    assert (joint.hasPosLimits(), joint.getMaxPosLimit(0)) == (False, 3.0)
    assert joint.isRevoluteJoint()
    assert not joint.isFixedJoint()
    fixed = iDynTree.FixedJoint()
    assert not fixed.setPosLimits(0, 1.0, 2.0)
    assert not fixed.enablePosLimits(True)
    assert (fixed.hasPosLimits(), fixed.getMinPosLimit(0)) == (False, 0.0)


@pytest.mark.parametrize(
    "name", ["panda_description/panda", "iCubGenova04/model", "anymal_b_simple_description/anymal"]
)
def test_limits_of_files_agree_with_idyntree(name):
    """With the index of a coordinate or, as callers often pass, that of the joint."""
    result = []
    for module in MODULES:
        model = loader_of(module, name).model()
        joints = [model.getJoint(number) for number in range(model.getNrOfDOFs())]
        result.append(
            [
                (
                    joint.hasPosLimits() and joint.getMinPosLimit(index),
                    joint.hasPosLimits() and joint.getMaxPosLimit(index),
                    joint.isRevoluteJoint(),
                    joint.isPrismaticJoint(),
                )
                for number, joint in enumerate(joints)
                for index in {0, number}
            ]
        )

    assert result[0] == result[1]


def built(iDynTree):
    """Build a robot of four links in three ways, with a frame."""
    model = iDynTree.Model()
    assert model.getDefaultBaseLink() == -1
    assert model.addLink("base", link_of(iDynTree, 0)) == 0
    assert model.addLink("arm", link_of(iDynTree, 3)) == 1
    assert model.addJoint("shoulder", joint_of(iDynTree, "RevoluteJoint")) == 0
    prismatic = iDynTree.PrismaticJoint(1, 2, pose_of(iDynTree, 7), axis_of(iDynTree, 14))
    assert prismatic.enablePosLimits(True)
    assert prismatic.setPosLimits(0, -1.0, 1.0)
    assert model.addJointAndLink("arm", "slide", prismatic, "tool", link_of(iDynTree, 5)) == 1
    assert model.addLink("cover", link_of(iDynTree, 8)) == 3
    fixed = iDynTree.FixedJoint(pose_of(iDynTree, 20))
    assert model.addJoint("base", "cover", "bolt", fixed) == 2
    assert model.addAdditionalFrameToLink("tool", "tip", pose_of(iDynTree, 25))
    return model


def structure(model):
    joints = [model.getJoint(index) for index in range(model.getNrOfJoints())]
    return (
        model.toString().split(),
        [(j.getFirstAttachedLink(), j.getSecondAttachedLink()) for j in joints],
        [(j.getIndex(), j.getDOFsOffset(), j.getPosCoordsOffset()) for j in joints],
        (model.getNrOfDOFs(), model.getNrOfFrames(), model.getDefaultBaseLink(), model.isValid()),
    )


def test_a_built_robot_agrees_with_idyntree():
    result = []
    for iDynTree in (idyn, compat):
        model = built(iDynTree)
        kd = iDynTree.KinDynComputations()
        assert kd.loadRobotModel(model)
        s, sd = np.array([0.3, -0.4]), np.array([1.1, 0.7])
        assert kd.setRobotState(pose_of(iDynTree, 11).asHomogeneousTransform().toNumPy(), s,
                                NUMBERS[:6].copy(), sd, np.array([0.0, 1.0, -9.0]))  # fmt: skip
        h, M = iDynTree.FreeFloatingGeneralizedTorques(model), iDynTree.MatrixDynSize(8, 8)
        J = iDynTree.MatrixDynSize(6, 8)
        assert kd.generalizedBiasForces(h)
        assert kd.getFreeFloatingMassMatrix(M)
        assert kd.getFrameFreeFloatingJacobian("tip", J)
        values = [h.baseWrench().toNumPy(), h.jointTorques().toNumPy(), M.toNumPy(), J.toNumPy()]
        result.append((structure(model), values))

    assert result[0][0] == result[1][0]
    for theirs, actual in zip(result[0][1], result[1][1], strict=True):
        np.testing.assert_allclose(actual, theirs, rtol=1e-10, atol=1e-10)


def test_a_robot_with_a_spherical_joint_agrees_with_idyntree():
    """Its position is a quaternion, and its velocity is in the axes of the second link."""
    result = []
    for iDynTree in (idyn, compat):
        model = iDynTree.Model()
        for name, seed in (("a", 0), ("b", 3), ("c", 6)):
            model.addLink(name, link_of(iDynTree, seed))
        model.addJoint("ball", joint_of(iDynTree, "SphericalJoint"))
        hinge = iDynTree.RevoluteJoint(1, 2, pose_of(iDynTree, 7), axis_of(iDynTree, 14))
        model.addJoint("hinge", hinge)
        kd = iDynTree.KinDynComputations()
        assert kd.loadRobotModel(model)
        s = np.array([0.7, 0.1, -0.5, 0.5, 0.3])
        s[:4] /= np.linalg.norm(s[:4])
        base = pose_of(iDynTree, 11).asHomogeneousTransform().toNumPy()
        gravity, sd = np.array([0.0, 1.0, -9.0]), np.array([0.4, -0.6, 0.8, 0.9])
        assert kd.setRobotState(base, s, NUMBERS[:6].copy(), sd, gravity)
        h, M = iDynTree.FreeFloatingGeneralizedTorques(model), iDynTree.MatrixDynSize(10, 10)
        assert kd.generalizedBiasForces(h)
        assert kd.getFreeFloatingMassMatrix(M)
        pose = kd.getWorldTransform("c").asHomogeneousTransform().toNumPy()
        forces = (h.baseWrench().toNumPy(), h.jointTorques().toNumPy())
        result.append((*forces, M.toNumPy(), pose, kd.getFrameVel("c").toNumPy()))

    for theirs, actual in zip(*result, strict=True):
        np.testing.assert_allclose(actual, theirs, rtol=1e-11, atol=1e-11)


@BOTH
def test_a_model_becomes_a_reduced_one(iDynTree):
    model, reduced = built(iDynTree), iDynTree.Model()
    assert iDynTree.createReducedModel(model, ["slide"], reduced)

    assert (reduced.getNrOfLinks(), reduced.getNrOfDOFs()) == (2, 1)
    assert reduced.getFrameIndex("tip") >= 0
    assert reduced.getTotalMass() == pytest.approx(model.getTotalMass(), rel=1e-12)


@BOTH
def test_joints_and_links_of_a_robot_change_it(iDynTree):
    model = built(iDynTree)
    joint = model.getJoint(0)
    joint.enablePosLimits(True)
    joint.setPosLimits(0, -0.5, 0.25)
    link = model.getLink(1)
    inertia = iDynTree.SpatialInertia(link.getInertia())
    inertia.fromVector(2.0 * inertia.asVector().toNumPy())
    link.setInertia(inertia)

    assert (model.getJoint(0).hasPosLimits(), model.getJoint(0).getMaxPosLimit(0)) == (True, 0.25)
    assert model.getLink(1).getInertia().getMass() == pytest.approx(2.6)
    assert model.getTotalMass() == pytest.approx(5 * 1.3)


@BOTH
@pytest.mark.parametrize("name", ["inertia", "getInertia"])
def test_changes_to_an_inertia_change_the_link(iDynTree, name):
    model, alone = built(iDynTree), link_of(iDynTree)
    before, mass = model.getTotalMass(), model.getLink(1).getInertia().getMass()
    link = model.getLink(1)  # iDynTree's inertia does not outlive its link
    getattr(link, name)().fromVector(iDynTree.Vector10([5.0, 0, 0, 0, 1, 0, 0, 1, 0, 1]))
    getattr(alone, name)().zero()

    assert model.getLink(1).getInertia().getMass() == 5.0
    assert model.getTotalMass() == pytest.approx(before - mass + 5.0)
    assert alone.getInertia().getMass() == 0.0


def test_the_tensor_of_an_inertia_is_a_view_and_read_only_in_a_robot():
    for iDynTree in (idyn, compat):
        inertia = iDynTree.SpatialInertia(1.0, iDynTree.Position(), iDynTree.RotationalInertia())
        inertia.getRotationalInertiaWrtFrameOrigin().setVal(0, 0, 7.0)
        assert inertia.asVector().getVal(4) == 7.0

    tensor = built(compat).getLink(0).inertia().getRotationalInertiaWrtFrameOrigin()
    with pytest.raises(ValueError, match="read-only"):
        tensor.setVal(0, 0, 7.0)


def test_changes_to_the_robot_of_a_kindyncomputations_have_an_effect():
    kd = compat.KinDynComputations()
    kd.loadRobotModel(built(compat))
    before = kd.getFreeFloatingMassMatrix()
    kd.model().updateInertialParameters(2 * kd.model().getInertialParameters())

    np.testing.assert_allclose(kd.getFreeFloatingMassMatrix(), 2 * before, rtol=1e-12)


def test_a_revolute_joint_can_have_cosine_and_sine_as_its_position():
    """`RevoluteSO2Joint` moves as a `RevoluteJoint` at the same angle."""
    angle, parts = 0.7, (0, 1, pose_of(compat), axis_of(compat))
    revolute, joint = compat.RevoluteJoint(*parts), compat.RevoluteSO2Joint(*parts)
    position = np.array([np.cos(angle), np.sin(angle)])

    assert (joint.getNrOfPosCoords(), joint.getNrOfDOFs()) == (2, 1)
    for ends in ((0, 1), (1, 0)):
        expected = revolute.getTransform([angle], *ends)
        np.testing.assert_allclose(joint.getTransform(position, *ends), expected, atol=1e-14)
        expected = revolute.getMotionSubspaceVector(0, *ends)
        np.testing.assert_allclose(joint.getMotionSubspaceVector(0, *ends), expected, atol=1e-15)
    model = compat.Model()
    model.addLink("base", link_of(compat))
    model.addJointAndLink("base", "wheel", joint, "rim", link_of(compat, 3))
    assert isinstance(model.getJoint(0), compat.RevoluteSO2Joint)
    assert not model.getJoint(0).isRevoluteJoint()


def test_a_robot_is_written_and_read_again(tmp_path):
    model = built(compat)
    exporter = compat.ModelExporter()
    options = compat.ModelExporterOptions()
    options.robotExportedName = "again"
    assert exporter.init(model, options)
    assert exporter.isValid()
    with pytest.warns(lw.LinkworkWarning, match="moved.*arm"):  # it is not on the axis of its joint
        assert exporter.exportModelToFile(str(tmp_path / "robot.urdf"))
    for iDynTree in (idyn, compat):
        loader = iDynTree.ModelLoader()
        assert loader.loadModelFromFile(str(tmp_path / "robot.urdf"))
        again = loader.model()
        assert again.getNrOfDOFs() == 2
        assert again.getTotalMass() == pytest.approx(model.getTotalMass(), rel=1e-12)
        assert again.getFrameIndex("tip") >= 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m: m.addLink("new", 3), lw.ArgumentError, "link.*Link.*3"),
        (lambda m: m.addJoint("j"), lw.ArgumentError, "addJoint.*2 or 4.*1"),
        (lambda m: m.getJoint(0).getMotionSubspaceVector(1, 1, 0), ValueError, "coordinate 1"),
        (lambda m: m.getJoint(0).getAxis(3), ValueError, r"\[0, 1\].*\[3\]"),
        (lambda m: compat.Model(3), lw.ArgumentError, "robot.*Model.*3"),
        (lambda m: compat.IJoint(), lw.ArgumentError, "FixedJoint.*RevoluteJoint"),
        (lambda m: compat.RevoluteJoint(1), lw.ArgumentError, "RevoluteJoint.*pose.*axis.*1"),
        (lambda m: compat.ModelExporter().exportModelToString(), lw.LinkworkError, "init"),
        (lambda m: compat.Model().robot, lw.ModelError, "link"),
    ],
)
def test_wrong_arguments_raise_with_the_facts(call, error, message):
    with pytest.raises(error, match=message):
        call(built(compat))


def test_a_robot_with_unconnected_links_is_not_valid():
    model = built(compat)
    twin = model.copy()
    twin.addLink("lonely", compat.Link())

    assert model.isValid()
    assert not twin.isValid()
    assert compat.Model(model).getNrOfLinks() == 4


MASSLESS = """<robot name="r">{}<joint name="j" type="fixed"><parent link="a"/>
<child link="b"/></joint>{}</robot>"""


@BOTH
def test_two_links_without_mass_fixed_to_each_other_are_both_kept(iDynTree):
    result = []
    for links, joints in (
        ('<link name="a"/><link name="b"/>', ""),
        (
            '<link name="a"/><link name="b"/><link name="c"/>',
            '<joint name="k" type="fixed"><parent link="b"/><child link="c"/></joint>',
        ),
    ):
        loader = iDynTree.ModelLoader()
        assert loader.loadModelFromString(MASSLESS.format(links, joints))
        model = loader.model()
        result.append((model.getNrOfLinks(), model.getNrOfJoints(), model.getNrOfFrames()))

    assert result == [(2, 1, 2), (1, 0, 3)]


def names_of(loader):
    return [loader.model().getJointName(index) for index in range(loader.model().getNrOfJoints())]


def test_the_order_of_joints_can_be_set():
    """Where iDynTree is not built with GCC, its hash table lists joints in another order."""
    robot = lw.robots.load("quadruped")
    xml, loader = lw.dump_urdf(robot), compat.ModelLoader()
    loader.loadModelFromString(xml)
    guess = names_of(loader)
    on_base = [name for name in guess if robot.joint(name).first == robot.default_base]
    options = loader.parsingOptions()
    options.jointOrder = on_base[::-1]
    loader.setParsingOptions(options)
    loader.loadModelFromString(xml)

    result = [name for name in names_of(loader) if name in on_base]
    assert result == on_base[::-1] != on_base
    assert as_in_idyntree(robot, guess).joint_names == tuple(guess)
    with pytest.raises(lw.NameNotFoundError):
        as_in_idyntree(robot, ["no such joint"])


def test_sensor_frames_can_be_omitted():
    options = compat.ModelParserOptions()
    assert options.addSensorFramesAsAdditionalFrames
    options.addSensorFramesAsAdditionalFrames = False
    loader = compat.ModelLoader()
    loader.setParsingOptions(options)

    assert not loader.parsingOptions().addSensorFramesAsAdditionalFrames
    with pytest.raises(lw.ArgumentError, match=r"options.*ModelParserOptions.*3"):
        loader.setParsingOptions(3)
