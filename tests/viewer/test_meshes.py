"""Meshes and what is drawn of a robot."""

from __future__ import annotations

import os

import numpy as np
import pytest
import trimesh
from tests.support.real_robots import FILES, load_quietly

import linkwork as lw
from linkwork.io.mesh_files import read_mesh
from linkwork.viewer.drawing import drawing_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("meshes")
    cube = trimesh.creation.box((0.1, 0.2, 0.3))
    cube.visual.face_colors = [200, 100, 50, 255]
    for kind in ("stl", "obj", "glb", "dae", "ply"):
        cube.export(folder / f"cube.{kind}")
    (folder / "broken.stl").write_bytes(b"nothing that is a mesh")
    (folder / "empty.obj").write_text("# nothing\n")
    return folder


@pytest.mark.parametrize("kind", ["stl", "obj", "glb", "dae", "ply"])
def test_a_mesh_is_read_and_scaled(folder, kind):
    path = str(folder / f"cube.{kind}")
    pieces, why = read_mesh(lw.Mesh("m", (2.0, 1.0, -1.0), path=path))

    assert why == ""
    vertices = np.concatenate([surface.vertices for surface, _ in pieces])
    np.testing.assert_allclose(np.ptp(vertices, axis=0), [0.2, 0.2, 0.3], atol=1e-6)


def test_the_color_in_a_file_is_used_unless_the_robot_has_one(folder):
    mesh = lw.Mesh("m", path=str(folder / "cube.glb"))
    red = lw.Material("red", (1.0, 0.0, 0.0, 1.0))

    def drawn(material):
        link = lw.Link(name="a", visuals=(lw.Shape(mesh, material=material),))
        return drawing_of(lw.Model(name="m", links=(link,))).parts["a"][0].color

    assert drawn(None) == (200, 100, 50)
    assert drawn(red) == (255, 0, 0)


@pytest.mark.parametrize(
    ("mesh", "text"),
    [
        (lw.Mesh("package://x/a.stl"), "mesh 'package://x/a.stl' not found"),
        (lw.Mesh("a.stl", searched=("/a", "/b")), "searched 2"),
        (lw.Mesh("a.stl", path="/nowhere/a.stl"), "cannot be read"),
    ],
)
def test_a_mesh_that_is_not_there_becomes_a_box_with_a_note(mesh, text):
    link = lw.Link(name="a", visuals=(lw.Shape(mesh),))
    drawing = drawing_of(lw.Model(name="m", links=(link,)))

    assert len(drawing.parts["a"]) == 1
    np.testing.assert_allclose(drawing.parts["a"][0].surface.extents, 0.06)
    (note,) = drawing.notes
    assert text in note
    assert note.startswith("a: ")
    assert note.endswith("; drawn as a box")


@pytest.mark.parametrize("name", ["broken.stl", "empty.obj"])
def test_a_broken_mesh_is_reported(folder, name):
    pieces, why = read_mesh(lw.Mesh(name, path=str(folder / name)))

    assert pieces == []
    assert name in why


def test_a_changed_file_is_read_again(folder):
    path = folder / "grows.stl"
    sizes = []
    for k, edge in enumerate((0.1, 0.4)):
        trimesh.creation.box((edge,) * 3).export(path)
        os.utime(path, ns=(k, k))
        ((surface, _),), _ = read_mesh(lw.Mesh("grows.stl", path=str(path)))
        sizes.append(surface.extents[0])
    np.testing.assert_allclose(sizes, [0.1, 0.4], rtol=1e-6)


def test_collision_shapes_stand_in_for_visuals_and_sticks_for_both():
    box = lw.Shape(lw.Box((0.1, 0.1, 0.1)))
    links = (lw.Link(name="a", collisions=(box,)), lw.Link(name="b"))
    joint = lw.Joint(
        name="j", kind="revolute", first="a", second="b", first_H_joint=lw.Pose((0.0, 0.3, 0.4))
    )
    drawn = drawing_of(lw.Model(name="m", links=links, joints=(joint,)))
    assert [len(drawn.parts[name]) for name in "ab"] == [1, 0]
    assert drawn.notes == ["the robot has no visuals; its collision shapes are drawn"]

    bare = (lw.Link(name="a"), lw.Link(name="b"))
    drawn = drawing_of(lw.Model(name="m", links=bare, joints=(joint,)))
    ball, stick = drawn.parts["a"]
    assert stick.surface.extents[2] == pytest.approx(0.5)
    ends = stick.link_H_part[:3, 3] + np.outer([-0.25, 0.25], stick.link_H_part[:3, 2])
    np.testing.assert_allclose(ends, [[0, 0, 0], [0, 0.3, 0.4]], atol=1e-12)
    assert ball.surface.extents[0] > 0
    assert len(drawn.notes) == 1


@pytest.mark.parametrize("name", ["talos_reduced.urdf", "ur5_robot.urdf", "panda.urdf"])
def test_meshes_of_real_robots_are_all_read(name):
    file = next(path for path in FILES if path.name == name)
    drawing = drawing_of(load_quietly(file))

    assert drawing.notes == []
    assert 0.1 < drawing.size < 2
    assert sum(len(part.surface.faces) for own in drawing.parts.values() for part in own) > 1000
