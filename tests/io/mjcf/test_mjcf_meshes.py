"""Meshes of MJCF: their poses against the points that MuJoCo compiles, their files, and writing."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import mujoco
import numpy as np
import pytest

import linkwork as lw
from linkwork.model.model import Model
from linkwork.spatial.source import quat

CORNERS = np.array([(0, 0, 0), (1, 0, 0), (0, 2, 0), (0, 0, 3)]) * 0.1 + (0.3, 0.1, -0.2)
TRIANGLES = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
INERTIAL = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'


def write_stl(path: Path, triangles: object) -> Path:
    faces = np.asarray(triangles, dtype="<f4").reshape(-1, 9)
    records = b"".join(struct.pack("<3f", 0, 0, 1) + face.tobytes() + b"\0\0" for face in faces)
    path.write_bytes(bytes(80) + struct.pack("<I", len(faces)) + records)
    return path


@pytest.fixture
def tetrahedron(tmp_path: Path) -> Path:
    return write_stl(tmp_path / "t.stl", CORNERS[list(map(list, TRIANGLES))])


def with_mesh(attributes: str, geom: str = "") -> str:
    return f"""<mujoco><asset><mesh name="m" file="t.stl" {attributes}/></asset><worldbody>
        <body name="b"><joint/>{INERTIAL}<geom type="mesh" mesh="m" {geom}/></body>
        </worldbody></mujoco>"""


def numbers(values: object) -> str:
    return " ".join(map(repr, np.asarray(values, dtype=float).tolist()))


def placed_points(model: Model, link: str) -> np.ndarray:
    """The corners of the tetrahedron in the link, as linkwork has them."""
    (shape,) = model.link(link).visuals
    scaled = CORNERS * np.asarray(shape.geometry.scale)
    pose = shape.link_H_shape.matrix()
    return scaled @ pose[:3, :3].T + pose[:3, 3]


def compiled_points(path: Path) -> np.ndarray:
    """The same points, as MuJoCo has them."""
    mj = mujoco.MjModel.from_xml_path(str(path))
    rotation = quat.to_rotation(mj.geom_quat[0])
    return mj.mesh_vert.astype(float) @ rotation.T + mj.geom_pos[0]


def assert_same_points(result: np.ndarray, expected: np.ndarray) -> None:
    distances = np.linalg.norm(result[:, None] - expected, axis=2)
    assert max(distances.min(axis=0).max(), distances.min(axis=1).max()) < 1e-6


@pytest.mark.parametrize("inertia", ["convex", "exact", "legacy", "shell"])
@pytest.mark.parametrize("scale", [(1, 1, 1), (2, 2, 2), (1, -1, 1), (0.5, 1, 2)])
def test_reference_poses_move_the_points_of_a_mesh_as_in_mujoco(tetrahedron, scale, inertia):
    rng = np.random.default_rng([*map(int, np.abs(scale)), len(inertia)])
    is_uniform = len(set(np.abs(scale))) == 1 and min(scale) > 0
    quaternions = [rng.normal(size=4)] if is_uniform else []
    quaternions += [(1, 0, 0, 0), (1, 1, 0, 0), (1, 1, 1, 1), (0, 0, -2, 0)]
    for index, refquat in enumerate(quaternions):
        folder = tetrahedron.parent / str(index)  # MuJoCo 3 caches meshes without their refpos
        folder.mkdir()
        shutil.copy(tetrahedron, folder)
        path = folder / "r.xml"
        reference = f'refpos="{numbers(rng.normal(size=3))}" refquat="{numbers(refquat)}"'
        if scale == (1, -1, 1) and inertia == "exact":
            inertia = "convex"  # MuJoCo rejects a mirrored mesh
        attributes = f'{reference} scale="{numbers(scale)}" inertia="{inertia}"'
        geom = f'pos="{numbers(rng.normal(size=3))}" quat="{numbers(rng.normal(size=4))}"'
        path.write_text(with_mesh(attributes, geom))

        assert_same_points(placed_points(lw.load(path), "b"), compiled_points(path))


@pytest.mark.parametrize("scale", ["1 1 1", "1 2 3"])
def test_inertias_from_meshes_are_those_of_mujoco(tetrahedron, scale):
    """A body without mass has no inertia, wherever MuJoCo puts its center of mass."""
    path = tetrahedron.with_name("r.xml")
    reference = f'refpos="0.5 0.1 0.2" refquat="1 1 0 0" scale="{scale}" inertia="exact"'
    text = with_mesh(reference, 'pos="1 2 3" quat="1 0.1 0 0.3" density="700"')
    text = text.replace(f"<joint/>{INERTIAL}", "")
    path.write_text(text)
    expected = lw.load(path).link("b").inertia
    path.write_text(text.replace("<asset>", '<compiler inertiafromgeom="false"/><asset>'))

    inertia = lw.load(path, inertia_from_meshes=700).link("b").inertia

    assert lw.load(path).link("b").inertia == lw.Inertia()
    np.testing.assert_allclose(inertia.mass, expected.mass, rtol=1e-6)
    np.testing.assert_allclose(inertia.com, expected.com, rtol=1e-6)
    np.testing.assert_allclose(inertia.matrix(), expected.matrix(), rtol=0, atol=1e-6)


def test_a_mesh_that_its_reference_pose_shears_is_left_out_with_a_warning(tetrahedron):
    path = tetrahedron.with_name("r.xml")
    path.write_text(with_mesh('refquat="1 0.3 0 0" scale="1 1 2"'))

    with pytest.warns(lw.LinkworkWarning, match="'?m'?"):
        model = lw.load(path)

    assert model.link("b").visuals == model.link("b").collisions == ()


def test_meshes_are_found_from_every_current_folder(tetrahedron, monkeypatch):
    folder = tetrahedron.parent
    (folder / "r.xml").write_text(with_mesh(""))
    paths = {}
    for here, name in ((folder, "r.xml"), (folder.parent, f"{folder.name}/r.xml"), ("/", folder)):
        monkeypatch.chdir(here)
        source = name / "r.xml" if isinstance(name, Path) else name
        paths[source] = lw.load(source).link("b").visuals[0].geometry.path

    monkeypatch.chdir("/")
    assert set(paths.values()) == {str(tetrahedron)}


SQUARE = [[(0, 0, 0), (1, 0, 0), (1, 1, 0)], [(0, 0, 0), (1, 1, 0), (0, 1, 0)]]
DEGENERATE = {  # triangles, and how many of a visual and a collision geom MuJoCo accepts
    "flat": (SQUARE, 1),
    "one triangle": (SQUARE[:1], 0),
    "tiny": (CORNERS[list(map(list, TRIANGLES))] * 1e-5, 2),
    "inside out": (CORNERS[list(map(list, TRIANGLES))][:, ::-1], 2),
    "a line": ([[(0, 0, 0), (1, 0, 0), (2, 0, 0)]], 0),
}


@pytest.mark.parametrize("kind", DEGENERATE)
@pytest.mark.filterwarnings("ignore::linkwork.LinkworkWarning")
def test_mujoco_compiles_files_with_degenerate_meshes(tmp_path, kind):
    triangles, n_geoms = DEGENERATE[kind]
    mesh = lw.Shape(lw.Mesh("m.stl", path=str(write_stl(tmp_path / "m.stl", triangles))))
    builder = lw.ModelBuilder("r")
    builder.add_link("a", inertia=lw.solid_box(1, (1, 1, 1)), visuals=[mesh], collisions=[mesh])

    mj = mujoco.MjModel.from_xml_string(lw.dump_mjcf(builder.build()))

    assert (mj.ngeom, mj.body_mass[1]) == (n_geoms, 1)


def test_collision_meshes_that_mujoco_rejects_are_reported(tmp_path):
    mesh = lw.Shape(lw.Mesh("m.stl", path=str(write_stl(tmp_path / "m.stl", SQUARE))))
    builder = lw.ModelBuilder("r")
    builder.add_link("a", inertia=lw.solid_box(1, (1, 1, 1)), collisions=[mesh])

    with pytest.warns(lw.LinkworkWarning, match=r"coplanar.*m\.stl"):
        lw.dump_mjcf(builder.build())
