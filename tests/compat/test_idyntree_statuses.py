"""Failures that iDynTree reports by its result: the same results, and a warning with the reason."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from tests.support.idyntree import compat, idyn

import linkwork as lw

BOX = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
LINK = f'<link name="%s"><inertial><mass value="1"/>{BOX}</inertial></link>'
ROBOT = f"""<robot name="r">{LINK % "base"}{LINK % "arm"}<link name="hand"/>
<joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="weld" type="fixed"><parent link="arm"/><child link="hand"/></joint></robot>"""


def loaded(iDynTree):
    """A loader, its model, and a KinDynComputations of it."""
    loader = iDynTree.ModelLoader()
    assert loader.loadModelFromString(ROBOT)
    kd = iDynTree.KinDynComputations()
    assert kd.loadRobotModel(loader.model())
    return SimpleNamespace(idt=iDynTree, loader=loader, model=loader.model(), kd=kd)


def fixed(iDynTree):
    return iDynTree.FixedJoint(iDynTree.Transform.Identity())


FAILURES = {
    "missing file": (lambda r: r.loader.loadModelFromFile("missing.urdf"), "missing.urdf"),
    "no XML": (lambda r: r.loader.loadModelFromString("<robot"), "XML"),
    "reduced file": (
        lambda r: r.loader.loadReducedModelFromFile("missing.urdf", ["hinge"]),
        "missing.urdf",
    ),
    "reduced text": (lambda r: r.loader.loadReducedModelFromString(ROBOT, ["hing"]), "'hinge'"),
    "reduced model": (
        lambda r: r.loader.loadReducedModelFromFullModel(r.model, ["hing"]),
        "'hinge'",
    ),
    "createReducedModel": (
        lambda r: r.idt.createReducedModel(r.model, ["hing"], r.idt.Model()),
        "'hinge'",
    ),
    "dofs of a file": (
        lambda r: r.idt.dofsListFromURDF("missing.urdf", r.idt.StringVector()),
        "missing.urdf",
    ),
    "link index": (lambda r: r.model.getLinkIndex("am"), "'arm'"),
    "joint index": (lambda r: r.model.getJointIndex("hing"), "'hinge'"),
    "frame index": (lambda r: r.model.getFrameIndex("hant"), "'hand'"),
    "frame index of the computation": (lambda r: r.kd.getFrameIndex("hant"), "'hand'"),
    "link name": (lambda r: r.model.getLinkName(-1), "-1"),
    "joint name": (lambda r: r.model.getJointName(99), "99"),
    "frame name": (lambda r: r.kd.getFrameName(99), "99"),
    "name of a degree of freedom": (lambda r: r.kd.getDescriptionOfDegreeOfFreedom(9), "9"),
    "link of a frame": (lambda r: r.model.getFrameLink(99), "99"),
    "frames of a link": (
        lambda r: r.model.getLinkAdditionalFrames(99, r.idt.IndexVector()),
        "99",
    ),
    "default base": (lambda r: r.model.setDefaultBaseLink(99), "99"),
    "link twice": (lambda r: r.model.addLink("arm", r.idt.Link()), "'arm'"),
    "joint twice": (lambda r: r.model.addJoint("base", "arm", "hinge", fixed(r.idt)), "'hinge'"),
    "joint of no link": (lambda r: r.model.addJoint("bse", "arm", "j", fixed(r.idt)), "'base'"),
    "link on no link": (
        lambda r: r.model.addJointAndLink("bse", "j", fixed(r.idt), "new", r.idt.Link()),
        "'base'",
    ),
    "frame twice": (
        lambda r: r.model.addAdditionalFrameToLink("arm", "hand", r.idt.Transform.Identity()),
        "'hand'",
    ),
    "frame on no link": (
        lambda r: r.model.addAdditionalFrameToLink("am", "new", r.idt.Transform.Identity()),
        "'arm'",
    ),
    "inertial parameters": (
        lambda r: r.model.updateInertialParameters(r.idt.VectorDynSize(3)),
        r"\(20,\).*\(3,\)",
    ),
    "floating base": (lambda r: r.kd.setFloatingBase("hant"), "'hand'"),
    "representation": (lambda r: r.kd.setFrameVelocityRepresentation(5), "5"),
    "joint positions": (lambda r: r.kd.setJointPos(r.idt.VectorDynSize(5)), r"\(5,\)"),
    "state": (
        lambda r: r.kd.setRobotState(
            r.idt.VectorDynSize(5), r.idt.VectorDynSize(1), r.idt.Vector3()
        ),
        r"\(5,\)",
    ),
    "Jacobian of no frame": (
        lambda r: r.kd.getFrameFreeFloatingJacobian("hant", r.idt.MatrixDynSize(6, 7)),
        "'hand'",
    ),
    "relative Jacobian of no frame": (
        lambda r: r.kd.getRelativeJacobian(99, 0, r.idt.MatrixDynSize(6, 1)),
        "99",
    ),
    "state of nothing": (
        lambda r: r.idt.KinDynComputations().setRobotState(
            r.idt.VectorDynSize(1), r.idt.VectorDynSize(1), r.idt.Vector3()
        ),
        "loadRobotModel",
    ),
    "export to no folder": (
        lambda r: exporter(r.idt, r.model).exportModelToFile("missing/r.urdf"),
        "missing",
    ),
    "export to another format": (
        lambda r: exporter(r.idt, r.model).exportModelToFile("r.sdf", "sdf"),
        "'sdf'",
    ),
    "export from no link": (
        lambda r: exporter(r.idt, r.model, "bse").exportModelToFile("r.urdf"),
        "'base'",
    ),
}


def exporter(iDynTree, model, base=""):
    result, options = iDynTree.ModelExporter(), iDynTree.ModelExporterOptions()
    options.baseLink = base
    assert result.init(model)
    result.setExportingOptions(options)
    return result


@pytest.mark.parametrize("case", FAILURES)
def test_a_failed_call_returns_the_status_of_idyntree_and_warns(case, tmp_path, monkeypatch):
    """Programs test for False, -1 and empty names, so an exception would end them."""
    monkeypatch.chdir(tmp_path)
    call, reason = FAILURES[case]
    robot = loaded(compat)
    with pytest.warns(lw.LinkworkWarning, match=reason) as issued:
        status = call(robot)

    expected = call(loaded(idyn))
    assert (type(status), status) == (type(expected), expected)
    assert len(issued) == 1
    assert issued[0].filename == __file__
    assert robot.loader.isValid()
    assert robot.model.getNrOfLinks() == robot.kd.getNrOfLinks() == 2
    assert robot.model.getNrOfFrames() == 3


def test_a_loader_is_not_valid_after_a_failed_load():
    for iDynTree in (idyn, compat):
        loader = iDynTree.ModelLoader()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lw.LinkworkWarning)
            assert loader.loadModelFromFile("missing.urdf") is False
        assert not loader.isValid()


def test_a_failed_call_changes_nothing():
    kd = loaded(compat).kd
    kd.setRobotState(np.ones(1), np.ones(1), np.ones(3))
    with pytest.warns(lw.LinkworkWarning, match="gravity"):
        assert kd.setRobotState(np.zeros(1), np.zeros(1), np.zeros(4)) is False
    with pytest.warns(lw.LinkworkWarning, match="hant"):
        kd.setFloatingBase("hant")

    assert kd.getJointPos().tolist() == [1.0]
    assert kd.getFloatingBase() == "base"


def test_a_call_that_returns_values_raises():
    """There is no value to return; iDynTree returns an identity or zeros."""
    kd = loaded(compat).kd
    for call in (
        lambda: kd.getWorldTransform("hant"),
        lambda: kd.getFrameVel("hant"),
        lambda: kd.getFrameFreeFloatingJacobian("hant"),
        lambda: kd.model().getFrameTransform(99),
    ):
        with pytest.raises(lw.LinkworkError):
            call()
    with pytest.raises(TypeError):  # as in iDynTree
        kd.model().getLinkName(1.5)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda ik: ik.addTarget("hant", np.eye(4)), "'hand'"),
        (lambda ik: ik.addFrameConstraint("hant", np.eye(4)), "'hand'"),
        (lambda ik: ik.setCurrentRobotConfiguration(np.eye(4), np.zeros(3)), "1.*3"),
        (lambda ik: ik.setJointLimits(np.zeros(2), np.zeros(1)), "2 and 1"),
        (lambda ik: ik.setModel(loaded(compat).model, ["hing"]), "'hinge'"),
        (lambda ik: ik.loadModelFromFile("missing.urdf"), "missing.urdf"),
        (lambda _: compat.InverseKinematics().solve(), "setModel"),
    ],
)
def test_failures_of_inverse_kinematics_are_false(call, reason):
    ik = compat.InverseKinematics()
    ik.setModel(loaded(compat).model)
    with pytest.warns(lw.LinkworkWarning, match=reason):
        assert call(ik) is False
