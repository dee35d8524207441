"""The smaller methods of RobWork's types, cells and states."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.compat import robwork as rw
from linkwork.spatial.source import so3


def test_vectors_have_norms_products_and_axes():
    v = rw.Vector3D(3, 0, -4)

    assert (v.norm1(), v.norm2(), v.normInf(), v.size(), len(v)) == (7, 5, 4, 3, 3)
    assert rw.normalize(v) == rw.Vector3D(0.6, 0, -0.8)
    assert rw.normalize(rw.Vector3D.zero()) == rw.Vector3D()
    assert rw.cross(rw.Vector3D.x(), rw.Vector3D.y()) == rw.Vector3D.z()
    assert rw.dot(v, v) == 25
    assert -v + v == 2 * v - v * 2 == rw.Vector3D()
    assert v / 2 == rw.Vector3D(1.5, 0, -2)
    assert list(v) == [3, 0, -4]
    assert not np.shares_memory(v.asNumpy(), v.e())
    assert np.asarray(v).tolist() == [3, 0, -4]
    with pytest.raises(lw.ArgumentError, match="number"):
        v * v  # type: ignore[operator]


@pytest.mark.parametrize(
    "value",
    [
        *(rw.Vector2D(1, 2), rw.Vector3D(1, 2, 3), rw.Q(1.0, 2.0, 3.0, 4.0), rw.Q()),
        *(rw.VelocityScrew6D(1, 2, 3, 4, 5, 6), rw.Wrench6D(1, 2, 3, 4, 5, 6)),
        *(rw.EAA(1, 2, 3), rw.RPY(1, 2, 3), rw.Quaternion(0.5, 0.5, 0.5, 0.5)),
        rw.Pose6D(1, 2, 3, 4, 5, 6),
    ],
)
def test_arrays_of_vectors_are_columns(value):
    """So `a.asNumpy() @ b.asNumpy().T` is a matrix, as in RobWork; types accept columns."""
    column = value.asNumpy()
    assert column.shape == (value.size(), 1)
    np.testing.assert_array_equal(column @ column.T, np.outer(value, value))
    assert type(value)(column) == value


def test_configurations_have_parts():
    q = rw.Q(0.0, 5.0, 6.0)

    assert q.getSubPart(1, 2).toStdVector() == [5, 6]
    assert rw.Q.zero(3).toStdVector() == [0, 0, 0]
    assert rw.Q(2, [7.0, 8.0]).toStdVector() == [7, 8]
    with pytest.raises(lw.ShapeError, match=r"getSubPart: 2 \+ 2.*\b3\b"):
        q.getSubPart(2, 2)
    with pytest.raises(lw.ArgumentError, match=r"Q: .*-1"):
        rw.Q(-1)
    with pytest.raises(lw.ShapeError, match=r"\(2, 2\)"):
        rw.Q(np.eye(2))


def test_rotations_are_created_from_elements_and_columns():
    R = rw.Rotation3D(0, -1, 0, 1, 0, 0, 0, 0, 1)

    np.testing.assert_allclose(R.e(), so3.rot_z(np.pi / 2), atol=1e-16)
    assert rw.Rotation3D(R.getCol(0), R.getCol(1), R.getCol(2)) == R
    assert R.tr() == 1
    assert R.isProperRotation()
    assert rw.Rotation3D.identity() == R * R.inverse()
    assert R * rw.Vector3D(1, 0, 0) == rw.Vector3D(0, 1, 0)
    assert str(R) == "Rotation3D(0, -1, 0, 1, 0, 0, 0, 0, 1)"
    turned = rw.Rotation3D(R)
    assert turned.inverse(copy=False) is turned
    assert turned == R.inverse()
    R[0, 0] = 25
    assert not R.isProperRotation()
    with pytest.raises(lw.ArgumentError, match=r"Rotation3D: .*9.*4"):
        rw.Rotation3D(1, 2, 3, 4)
    with pytest.raises(lw.ArgumentError, match=r"\(3, 3\)"):
        rw.Rotation3D([1, 2])


def test_quaternions_multiply_as_their_rotations():
    a, b = rw.Quaternion(rw.RPY(0.1, 0.2, 0.3)), rw.Quaternion(rw.EAA(0.3, 0.1, 0.2).toRotation3D())

    product = (a * b).toRotation3D()

    assert product.equal(a.toRotation3D() * b.toRotation3D(), 1e-15)
    assert rw.inverse(a).toRotation3D().equal(a.toRotation3D().inverse(), 1e-15)
    assert (a * 2).getLength() == pytest.approx(2)
    assert [a.getQx(), a.getQy(), a.getQz(), a.getQw()] == list(a)
    with pytest.raises(lw.ArgumentError, match="zero quaternion"):
        rw.Quaternion(0, 0, 0, 0).normalize()


def test_jacobians_are_filled_and_rotated():
    J = rw.Jacobian.zero(12, 2)
    J.e()[6:9, 0] = 1, 2, 3
    R = rw.RPY(0.3, 0.2, 0.1).toRotation3D()

    assert (J[6, 0], J(7, 0), J.elem(8, 0)) == (1, 2, 3)
    turned = R * J
    np.testing.assert_allclose(turned.e()[6:9, 0], R.e() @ [1, 2, 3])
    assert isinstance(J * rw.Q(1.0, 2.0), rw.Q)
    assert (rw.Jacobian(np.eye(6)) * rw.Jacobian(6, 2)).size2() == 2
    pinv = rw.Jacobian(np.ones((2, 6)))
    assert (pinv * rw.VelocityScrew6D(1, 1, 1, 1, 1, 1)).toStdVector() == [6, 6]
    assert repr(J).startswith("Jacobian array(")
    with pytest.raises(lw.ArgumentError, match=r"Jacobian: .*matrix"):
        rw.Jacobian([1.0])


def test_velocities_are_created_from_two_vectors():
    v = rw.VelocityScrew6D(rw.Vector3D(1, 2, 3), rw.Vector3D(4, 5, 6))

    assert v == rw.VelocityScrew6D(1, 2, 3, 4, 5, 6)
    assert rw.VelocityScrew6D().norm2() == 0


def test_lists_have_the_methods_of_vectors():
    states = rw.StateVector()
    assert states.empty()
    states.push_back(1)
    assert (states.size(), rw.QVector([1, 2]).size()) == (1, 2)


def test_a_loaded_cell_has_the_path_of_its_file(tmp_path: Path):
    path = tmp_path / "cell.xml"
    path.write_text('<WorkCell name="c"><Frame name="a"/></WorkCell>')

    cell = rw.WorkCellLoader.Factory.load(path)

    assert (cell.getFilename(), cell.getFilePath()) == (str(path), f"{tmp_path}/")
    assert rw.WorkCell("").getFilePath() == ""
    assert (cell.getName(), str(cell)) == ("c", "WorkCell[c]")
    assert cell.getPropertyMap() == {}
    assert not cell.isNull()
    with pytest.raises(lw.ArgumentError, match=r"WorkCell: .*name.*3"):
        rw.WorkCell(3)  # type: ignore[arg-type]


def test_a_cell_lists_frames_and_devices_by_kind():
    cell = rw.WorkCellLoaderFactory.load("pick_and_place")

    assert isinstance(cell.findJoint("arm.finger_right"), rw.DependentPrismaticJoint)
    assert cell.findJointDevice("arm") is cell.findTreeDevice("arm")
    assert cell.findSerialDevice("manipulator") is not None
    assert cell.findCompositeDevice("arm") is cell.findSE3Device("arm") is None
    assert {type(frame) for frame in cell.findMovableFrames()} == {rw.MovableFrame}
    with pytest.raises(lw.ArgumentError, match=r"addDevice: .*Device.*'arm'"):
        cell.addDevice("arm")  # type: ignore[arg-type]


def test_states_are_copied_to_others():
    cell = rw.WorkCellLoaderFactory.load("pick_and_place")
    gripped, moved, before = (cell.getDefaultState() for _ in range(3))
    cube = cell.findMovableFrame("cube")
    hand = cell.findFrame("arm.tcp")
    assert cube is not None
    assert hand is not None
    rw.Kinematics.gripFrame(cube, hand, gripped)

    assert moved == before != gripped
    assert moved.copy(gripped) is moved
    assert moved == gripped != before
    assert moved.size() == cell.cell.state().values.size
    assert moved.getFrame(0) is cell.getWorldFrame()
    assert str(moved) == f"State[{moved.size()}] of 'pick_and_place'"
    table = rw.FKTable(before)
    table.reset(moved)
    assert table.get(cube).equal(cube.wTf(moved), 1e-14)
    with pytest.raises(lw.ArgumentError, match=r"State: .*State or StateStructure.*3"):
        rw.State(3)  # type: ignore[arg-type]


def test_devices_of_a_linkwork_cell_are_devices_here():
    cell = lw.load_workcell("two_arms")
    cell = cell.with_device(lw.CompositeDevice("both", "WORLD", "left.TCP", ("left", "right")))
    cell = cell.with_device(lw.JointDevice("one", "WORLD", "left.TCP", ("left.Joint2",)))
    cell = cell.with_device(lw.FreeDevice("free", "table", "bar"))
    cell = cell.with_device(lw.TreeDevice("tree", "WORLD", ("left.TCP", "right.TCP")))
    view = rw.WorkCell(cell)
    state = view.getDefaultState()
    both, tree = view.findCompositeDevice("both"), view.findTreeDevice("tree")
    assert both is not None
    assert tree is not None

    both.setQ(rw.Q(12, 0.1), state)

    assert tree.getQ(state) == rw.Q(12, 0.1)
    assert len(tree.frames()) == 1 + 1 + 2 * 9
    one = view.findJointDevice("one")
    assert one is not None
    assert one.getQ(state) == rw.Q(1, 0.1)
    free = view.findSE3Device("free")
    assert free is not None
    assert free.getDOF() == 7
    assert view.cell == cell
    assert (str(one), one.isNull(), one.cptr(), one.getPropertyMap()) == (
        *("JointDevice[one]", False, one),
        {},
    )
    one.setName("other")
    assert view.findDevice("other") is one


def test_a_cart_is_created_from_frames():
    cell = rw.WorkCell("c")
    base = rw.MovableFrame("base")
    side = rw.RPY(0, 0, np.pi / 2)
    wheels = [
        rw.RevoluteJoint(name, rw.Transform3D(rw.Vector3D(0, y, 0), side))
        for name, y in (("left", 0.2), ("right", -0.2))
    ]
    cell.addDAF(base)
    for wheel in wheels:
        cell.addFrame(wheel, base)
    state = cell.getDefaultState()

    cart = rw.MobileDevice(base, *wheels, state, "cart")
    cart.setQ(rw.Q(1.0, 1.0), state)

    assert base.wTf(state).P() == rw.Vector3D(1, 0, 0)
    assert cart.getQ(state) == rw.Q(1.0, 1.0)
    with pytest.raises(lw.ModelError, match=r"limits.*joints"):
        rw.SE3Device("free", cell.getWorldFrame(), base).setBounds(rw.Q(7, 0.0), rw.Q(7, 1.0))
    with pytest.raises(lw.ModelError, match=r"frame .*workcell"):
        rw.SE3Device("free", base, rw.MovableFrame("other"))
    with pytest.raises(lw.ArgumentError, match=r"State.*None"):
        rw.SerialDevice(base, wheels[0], "d", None)


def test_joints_of_other_kinds_are_joints():
    cell = (
        lw.WorkCell("c")
        .with_joint("ball", "spherical")
        .with_joint("u", "universal", axis=(1, 0, 0))
    )
    view = rw.WorkCell(cell)
    state = view.getDefaultState()
    joint = view.findJoint("u")
    assert isinstance(joint, rw.UniversalJoint)

    joint.setData(state, [0.1, 0.2])
    joint.setFixedTransform(rw.Transform3D(rw.Vector3D(1, 0, 0)))

    np.testing.assert_allclose(
        joint.getJointTransform(state).R().e(), so3.rot_x(0.1) @ so3.rot_y(0.2)
    )
    assert joint.getTransform(state).P() == rw.Vector3D(1, 0, 0)
    assert type(view.findJoint("ball")) is rw.Joint
    with pytest.raises(lw.ModelError, match=r"RevoluteJoint.*PrismaticJoint"):
        rw.Joint("j")


FRAMES = """<Frame name="table" refframe="WORLD">
  <Property name="height">0.8</Property><Property name="color">red</Property>
  <CollisionModel name="top"><Box x="1" y="1" z="0.1"/></CollisionModel></Frame>"""


def test_properties_are_read_by_type():
    cell = rw.WorkCell(lw.load_workcell(f'<WorkCell name="c">{FRAMES}</WorkCell>'))

    properties = cell.findFrame("table").getPropertyMap()

    assert (properties.has("height"), properties.has("width")) == (True, False)
    assert properties.getString("color") == "red"
    assert (properties.getDouble("height"), properties.getInt("legs", 4)) == (0.8, 4)
    assert properties.getString("name", None) is None
    with pytest.raises(lw.NameNotFoundError, match=r"property.*'colr'.*'color'"):
        properties.getString("colr")
    with pytest.raises(lw.ArgumentError, match=r"'color': .*int.*'red'"):
        properties.getInt("color")


def test_objects_are_frames_with_shapes():
    cell = rw.WorkCell(lw.load_workcell(f'<WorkCell name="c">{FRAMES}</WorkCell>'))

    (table,) = cell.getObjects()

    assert (table.getName(), table.getBase()) == ("table", cell.findFrame("table"))
    assert table.getFrames() == [cell.findFrame("table")]
    assert str(cell.findObject("table")) == "Object[table]"
    assert cell.findObject("WORLD") is None


def test_files_are_included_from_any_folder_by_default(tmp_path):
    """RobWork's cells include devices of neighboring folders."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "cells").mkdir()
    (tmp_path / "parts" / "table.wc.xml").write_text(FRAMES)
    path = tmp_path / "cells" / "c.wc.xml"
    path.write_text('<WorkCell name="c"><Include file="../parts/table.wc.xml"/></WorkCell>')

    for load in (
        rw.WorkCellLoaderFactory.load,
        rw.WorkCellLoaderFactory_load,
        rw.WorkCellLoader.Factory.load,
    ):
        assert load(str(path)).findFrame("table") is not None
    with pytest.raises(lw.ParseError, match="include_dirs"):
        rw.WorkCellLoaderFactory.load(path, include_dirs=())
    with pytest.raises(lw.ParseError, match="include_dirs"):
        lw.load_workcell(path)


def test_static_functions_have_the_names_of_swig():
    cell = rw.WorkCellLoaderFactory.load("pick_and_place")
    state, world = cell.getDefaultState(), cell.getWorldFrame()
    cube = cell.findMovableFrame("cube")

    assert rw.Kinematics_frameTframe(world, cube, state) == cube.wTf(state)
    assert rw.WorkCellLoaderFactory_load("pick_and_place").getName() == cell.getName()


def test_pointers_are_the_objects_themselves():
    frame = rw.ownedPtr(rw.MovableFrame("m"))

    assert frame is frame.deref() is frame.cptr()
    assert frame.getID() == -1
    cell = rw.WorkCellLoaderFactory.load("pick_and_place")
    device = cell.findSerialDevice("manipulator")
    assert device.getStateStructure() is cell.getStateStructure()
    assert isinstance(device, rw.Stateless)
