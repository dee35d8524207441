"""Dynamic workcells: masses, inertias and force limits of the frames of a workcell."""

from __future__ import annotations

import re

import numpy as np
import pytest

import linkwork as lw

SCENE = """<WorkCell name="scene"><Frame name="table" refframe="WORLD"/>
<SerialDevice name="arm"><Frame name="Base"/>
<Joint name="J1" type="Revolute"><RPY>0 0 0</RPY><Pos>0 0 0.3</Pos></Joint>
<Joint name="J2" type="Prismatic"><RPY>0 0 90</RPY><Pos>0.5 0 0</Pos></Joint></SerialDevice>
<Frame name="box" refframe="table" type="Movable" daf="true"><Drawable name="b"><RPY>0 0 0</RPY>
<Pos>0 0 1</Pos><Box x="1" y="2" z="3"/></Drawable></Frame>
<Frame name="pair" refframe="table" type="Movable">
<Drawable name="a"><Sphere radius="0.1"/></Drawable>
<Drawable name="b"><RPY>0 0 0</RPY><Pos>1 0 0</Pos><Sphere radius="0.1"/></Drawable></Frame>
<Frame name="mesh" refframe="table" type="Movable">
<Drawable name="m"><Polytope file="m.stl"/></Drawable></Frame></WorkCell>"""
ARM = """<IncludeData><RigidDevice device="arm"><ForceLimit joint="J1">40</ForceLimit>
<ForceLimit joint="J2">50</ForceLimit>
<FixedBase frame="Base"><MaterialID>Iron</MaterialID></FixedBase>
<Link object="J1"><Mass>2</Mass><COG>0.1 0 0</COG><Inertia>0.1 0.2 0.3</Inertia></Link>
<RigidJoint joint="J2"><Mass>1.5</Mass><COG>0 0 0.2</COG>
<Inertia>0.1 0.01 0 0.01 0.2 0 0 0 0.3</Inertia></RigidJoint></RigidDevice></IncludeData>"""
BODIES = """<RigidBody frame="box"><Mass>6</Mass><EstimateInertia/></RigidBody>
<RigidBody frame="pair"><Mass>2</Mass><EstimateInertia/></RigidBody>
<FixedBody frame="table"><MaterialID>Iron</MaterialID></FixedBody>"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "scene.wc.xml").write_text(SCENE)
    (tmp_path / "arm.dwc.xml").write_text(ARM)
    (tmp_path / "m.stl").write_text("")
    return tmp_path


def loaded(folder, inside, tag="DynamicWorkcell"):
    path = folder / "scene.dwc.xml"
    path.write_text(f'<!-- <{tag}> -->\n<{tag} workcell="scene.wc.xml">\n{inside}\n</{tag}>')
    return lw.load_workcell(path)


@pytest.mark.parametrize("tag", ["DynamicWorkcell", "DynamicWorkCell"])
def test_masses_and_inertias_are_assigned_to_frames(folder, tag):
    cell = loaded(folder, f'{BODIES}<Include file="arm.dwc.xml"/>', tag)

    assert cell.name == "scene"
    assert cell.frame("arm.J1").inertia == lw.Inertia(2, (0.1, 0, 0), (0.1, 0, 0, 0.2, 0, 0.3))
    tensor = (0.1, 0.01, 0, 0.2, 0, 0.3)
    assert cell.frame("arm.J2").inertia == lw.Inertia(1.5, (0, 0, 0.2), tensor)
    assert cell.device("arm").effort_limits.tolist() == [40, 50]
    assert cell.frame("box").inertia == lw.solid_box(6, (1, 2, 3), com=(0, 0, 1))
    assert cell.frame("table").inertia == lw.Inertia()
    dyn, kd = cell.dynamics("arm"), lw.KinDyn(_arm(), floating=False)
    q, nu = np.array([0.3, 0.1]), np.array([0.5, -0.2])
    state = cell.state({"arm": q})
    np.testing.assert_allclose(dyn.mass_matrix(state), kd.mass_matrix(q), atol=1e-14)
    np.testing.assert_allclose(dyn.bias_force(state, nu), kd.bias_force(q, nu), atol=1e-13)
    assert lw.load_workcell(lw.dump_workcell(cell)).frame("box").inertia.mass == 6


def _arm():
    builder = lw.ModelBuilder("arm")
    builder.add_link("base")
    builder.add_link("one", inertia=lw.Inertia(2, (0.1, 0, 0), (0.1, 0, 0, 0.2, 0, 0.3)))
    builder.add_link("two", inertia=lw.Inertia(1.5, (0, 0, 0.2), (0.1, 0.01, 0, 0.2, 0, 0.3)))
    builder.add_joint("j1", "revolute", "base", "one", first_H_joint=lw.Pose((0, 0, 0.3)))
    pose = lw.Pose((0.5, 0, 0), (np.pi / 2, 0, 0))
    builder.add_joint("j2", "prismatic", "one", "two", first_H_joint=pose)
    return builder.build()


def test_estimated_inertia_is_that_of_homogeneous_solids(folder):
    """Two equal spheres share the mass; the axis through both has no parallel-axis term."""
    inertia = loaded(folder, BODIES).frame("pair").inertia

    ball = 0.4 * 1 * 0.1**2
    np.testing.assert_allclose(inertia.com, (0.5, 0, 0))
    expected = np.diag([2 * ball, 2 * ball + 0.5, 2 * ball + 0.5])
    np.testing.assert_allclose(inertia.matrix(), expected, atol=1e-15)
    light = loaded(folder, BODIES.replace("<Mass>6", "<Mass>0.1"))
    assert light.frame("box").inertia.mass == 0.1  # without rounding


def test_ignored_elements_and_shapes_are_warnings(folder):
    inside = """<Gravity>0 0 -9.8</Gravity><PDDeviceController name="c" device="arm"/>
    <RigidBody frame="mesh"><Mass>3</Mass><EstimateInertia/><COG>0 1 0</COG>
    <Associate object="box"/></RigidBody>"""
    with pytest.warns(lw.LinkworkWarning) as caught:
        cell = loaded(folder, inside)

    assert cell.frame("mesh").inertia == lw.point_mass(3, (0, 1, 0))
    message = str(caught[0].message)
    for text in ("<Gravity>", "<PDDeviceController>", "<Associate>", "'mesh'", "point mass"):
        assert text in message


def body(*inside, frame="box"):
    return f'<RigidBody frame="{frame}">{"".join(inside)}</RigidBody>'


ONE, AT_ORIGIN = "<Mass>1</Mass>", "<COG>0 0 0</COG>"
LIMIT = '<ForceLimit joint="Base">1</ForceLimit>'
LINK = f'<Link object="J9">{ONE}<EstimateInertia/></Link>'
WRONG = {
    body(ONE, "<EstimateInertia/>", frame="bx"): "'bx'.*'box'",
    body("<EstimateInertia/>"): "'box': <RigidBody>.*<Mass>",
    body(ONE): "<EstimateInertia/>",
    body("<Mass>-1</Mass>", AT_ORIGIN, "<Inertia>1 1 1</Inertia>"): "mass -1",
    body(ONE, AT_ORIGIN, "<Inertia>1 1</Inertia>"): r"\b9\b.*\b2\b",
    body(ONE, AT_ORIGIN, "<Inertia>1 2 0 0 1 0 0 0 1</Inertia>"): "symmetric",
    f'<RigidDevice device="arm">{LIMIT}</RigidDevice>': r"'arm\.Base'.*not a joint",
    f'<RigidDevice device="arm">{LINK}</RigidDevice>': r"'arm\.J9'",
}


@pytest.mark.parametrize(("inside", "text"), WRONG.items())
def test_invalid_bodies_are_rejected_with_their_line(folder, inside, text):
    with pytest.raises(lw.ParseError) as caught:
        loaded(folder, inside)
    assert re.search(text, str(caught.value), re.DOTALL)
    assert "scene.dwc.xml:3" in str(caught.value)


def test_workcell_is_read_from_allowed_folders_only(folder):
    (folder / "sub").mkdir()
    path = folder / "sub" / "s.dwc.xml"
    path.write_text("<DynamicWorkcell workcell='../scene.wc.xml'/>")
    with pytest.raises(lw.ParseError, match="include_dirs="):
        lw.load_workcell(path)
    assert lw.load_workcell(path, include_dirs=[folder]).name == "scene"
    with pytest.raises(lw.ParseError, match="'workcell'"):
        lw.load_workcell("<DynamicWorkCell/>")
    path.write_text("<DynamicWorkcell workcell='none.xml'/>")
    with pytest.raises(lw.ParseError, match=r"none\.xml"):
        lw.load_workcell(path)
