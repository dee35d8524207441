"""Inertias from shapes with a density, against formulas and MuJoCo."""

import mujoco
import numpy as np
import pytest
import trimesh

import linkwork as lw
from linkwork.io.load import read
from linkwork.model.inertia import moved
from linkwork.model.pose import Pose

pytestmark = pytest.mark.peers

DENSITY = 700.0
POSE = 'xyz="0.1 -0.2 0.3" rpy="0.4 -0.5 0.6"'
MOUNT = Pose((0.1, -0.2, 0.3), (0.4, -0.5, 0.6))
SIZES = {
    "box": 'size="0.2 0.3 0.5"',
    "cylinder": 'radius="0.2" length="0.7"',
    "sphere": 'radius="0.3"',
    "capsule": 'radius="0.2" length="0.6"',
}


def urdf(*shapes: str, tag: str = "collision", inertial: str = "") -> str:
    parts = "".join(
        f"<{tag}><origin {POSE}/><geometry>{shape}</geometry></{tag}>" for shape in shapes
    )
    return f'<robot name="r" version="1.1"><link name="a">{inertial}{parts}</link></robot>'


def inertia(text: str):
    return lw.load(text, inertia_from_meshes=DENSITY).link("a").inertia


def surfaces() -> dict[str, trimesh.Trimesh]:
    """The shapes as meshes, fine enough for the tolerance of the test."""
    return {
        "box": trimesh.creation.box((0.2, 0.3, 0.5)),
        "cylinder": trimesh.creation.cylinder(0.2, 0.7, sections=300),
        "sphere": trimesh.creation.icosphere(5, 0.3),
        "capsule": trimesh.creation.capsule(0.6, 0.2, count=(150, 150)),
    }


def assert_equal(actual, expected, tolerance):
    assert actual.mass == pytest.approx(expected.mass, rel=tolerance)
    np.testing.assert_allclose(actual.com, expected.com, atol=tolerance)
    size = np.abs(expected.matrix()).max()
    np.testing.assert_allclose(actual.matrix(), expected.matrix(), atol=tolerance * size)


@pytest.mark.parametrize("shape", SIZES)
def test_mesh_has_the_inertia_of_its_shape(shape, tmp_path):
    surfaces()[shape].export(tmp_path / "part.stl")
    file = tmp_path / "robot.urdf"
    file.write_text(urdf('<mesh filename="part.stl"/>', tag="visual"))

    exact = inertia(urdf(f"<{shape} {SIZES[shape]}/>"))

    assert_equal(inertia(file), exact, 1e-6 if shape == "box" else 2e-3)


def test_shapes_and_meshes_agree_with_mujoco(tmp_path):
    """All shapes, and a mesh that is scaled and mirrored, on one link."""
    part = trimesh.creation.annulus(0.1, 0.3, 0.4, sections=12)
    part.apply_translation((3.0, 2.0, 1.0))
    part.export(tmp_path / "part.stl")
    (tmp_path / "robot.urdf").write_text(
        urdf(
            *(f"<{shape} {size}/>" for shape, size in SIZES.items()),
            '<mesh filename="part.stl" scale="1 -0.5 0.3"/>',
        )
    )
    w, x, y, z = trimesh.transformations.quaternion_from_euler(*MOUNT.rpy)
    pose = f'density="{DENSITY}" pos="0.1 -0.2 0.3" quat="{w} {x} {y} {z}"'
    peer = mujoco.MjModel.from_xml_string(
        f"""<mujoco><asset><mesh name="part" file="part.stl" scale="1 -0.5 0.3" inertia="exact"/>
        </asset><worldbody><body name="a"><freejoint/>
        <geom {pose} type="box" size="0.1 0.15 0.25"/>
        <geom {pose} type="cylinder" size="0.2 0.35"/>
        <geom {pose} type="sphere" size="0.3"/>
        <geom {pose} type="capsule" size="0.2 0.3"/>
        <geom {pose} type="mesh" mesh="part"/>
        </body></worldbody></mujoco>""",
        {"part.stl": (tmp_path / "part.stl").read_bytes()},
    )
    axes = np.zeros(9)
    mujoco.mju_quat2Mat(axes, peer.body_iquat[1])
    tensor = axes.reshape(3, 3) * peer.body_inertia[1] @ axes.reshape(3, 3).T

    ours = inertia(tmp_path / "robot.urdf")

    assert ours.mass == pytest.approx(peer.body_mass[1], rel=1e-6)
    np.testing.assert_allclose(ours.com, peer.body_ipos[1], rtol=1e-6)
    np.testing.assert_allclose(ours.matrix(), tensor, atol=1e-6 * tensor.max())


def test_a_surface_that_is_not_closed_counts_with_its_convex_hull(tmp_path):
    box = trimesh.creation.box((0.2, 0.3, 0.5))
    box.faces = box.faces[2:]  # without a side
    box.export(tmp_path / "part.stl")
    file = tmp_path / "robot.urdf"
    file.write_text(urdf('<mesh filename="part.stl"/>'))

    with pytest.warns(lw.LinkworkWarning, match="part.stl.*not a closed surface.*convex hull"):
        model = lw.load(file, inertia_from_meshes=DENSITY)

    solid = lw.solid_box(DENSITY * 0.2 * 0.3 * 0.5, (0.2, 0.3, 0.5))
    assert_equal(model.link("a").inertia, moved(solid, MOUNT), 1e-6)


def test_an_inside_out_surface_has_the_same_inertia(tmp_path):
    part = trimesh.creation.box((0.2, 0.3, 0.5))
    part.invert()
    part.export(tmp_path / "part.stl")
    file = tmp_path / "robot.urdf"
    file.write_text(urdf('<mesh filename="part.stl"/>'))

    assert_equal(inertia(file), inertia(urdf(f"<box {SIZES['box']}/>")), 1e-6)


@pytest.mark.parametrize("make", ["missing", "flat", "flat and open"])
def test_shapes_without_volume_are_errors(make, tmp_path):
    flat = trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 1]])
    if make != "missing":
        flat.faces = flat.faces if make == "flat" else flat.faces[:1]
        flat.export(tmp_path / "part.stl")
    file = tmp_path / "robot.urdf"
    file.write_text(urdf('<mesh filename="part.stl"/>'))

    with pytest.raises(lw.ParseError, match=r"link 'a'.*part.stl.*(not found|no volume)"):
        lw.load(file, inertia_from_meshes=DENSITY)
    lw.load(file)  # only needed for inertias


def test_only_links_without_an_inertia_change():
    moments = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    inertial = f'<inertial><mass value="2"/>{moments}</inertial>'
    box = f"<box {SIZES['box']}/>"
    model = read(urdf(box, inertial=inertial), inertia_from_meshes=DENSITY).model
    assert model == lw.load(urdf(box, inertial=inertial))

    reading = read(urdf(box), inertia_from_meshes=DENSITY)
    notes = [finding.text for finding in reading.findings if finding.severity == "note"]
    assert any("21 kg" in text for text in notes)
    assert lw.load(urdf(), inertia_from_meshes=DENSITY).total_mass == 0  # no shapes


def test_the_default_inertia_of_sdf_is_replaced():
    shape = (
        "<collision name='c'><geometry><box><size>0.2 0.3 0.5</size></box></geometry></collision>"
    )
    link = f"<link name='a'>{shape}</link>"
    nested = f"<sdf version='1.9'><model name='m'><model name='n'>{link}</model></model></sdf>"

    model = lw.load(nested, strict=True, inertia_from_meshes=DENSITY)

    solid = lw.solid_box(DENSITY * 0.2 * 0.3 * 0.5, (0.2, 0.3, 0.5))
    assert_equal(model.link("n::a").inertia, solid, 1e-12)


@pytest.mark.parametrize("density", [0, -1.0, float("nan"), True, "steel"])
def test_densities_are_positive(density):
    with pytest.raises(lw.ArgumentError, match="inertia_from_meshes"):
        lw.load(urdf(), inertia_from_meshes=density)
