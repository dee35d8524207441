"""Mesh files: AC3D, and hostile files of all formats, which must not take much memory."""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.io.mesh_files import read_mesh
from linkwork.model.geometry import Surface

resource = pytest.importorskip("resource")  # not on Windows

BOX = """AC3Db
MATERIAL "red" rgb 1 0 0  amb 0.2 0.2 0.2  emis 0 0 0  spec 0 0 0  shi 10  trans 0
MATERIAL "gray" rgb 0.5 0.5 0.5  amb 0.2 0.2 0.2  emis 0 0 0  spec 0 0 0  shi 10  trans 0
OBJECT world
kids 1
OBJECT group
loc 1 2 3
rot 0 -1 0 1 0 0 0 0 1
kids 1
OBJECT poly
name "plate and line"
data 5
hello
loc 1 0 0
crease 45.0
numvert 5
0 0 0
2 0 0
2 1 0
0 1 0
9 9 9
numsurf 3
SURF 0x10
mat 1
refs 4
0 0 0
1 1 0
2 1 1
3 0 1
SURF 0x22
mat 0
refs 2
0 0 0
4 0 0
SURF 0x30
mat 0
refs 3
0 0 0
1 0 0
2 0 0
kids 0
"""


def surfaces(folder: Path, text: str) -> list[tuple[Surface, tuple[int, int, int] | None]]:
    file = folder / "part.ac"
    file.write_text(text)
    pieces, reason = read_mesh(lw.Mesh("part.ac", path=str(file)))
    assert reason == ""
    return pieces


def doubled_areas(surface: Surface) -> np.ndarray:
    a, b, c = (surface.vertices[surface.faces[:, k]] for k in range(3))
    return np.cross(b - a, c - a)


def test_ac3d_objects_are_placed_in_those_around_them(tmp_path):
    (plate, gray), (triangle, red) = surfaces(tmp_path, BOX)

    assert (gray, red) == ((128, 128, 128), (255, 0, 0))
    assert len(plate.vertices) == 4  # a vertex of a line only is not part of the surface
    np.testing.assert_allclose(plate.vertices.min(axis=0), [0, 3, 3])
    np.testing.assert_allclose(plate.vertices.max(axis=0), [1, 5, 3])
    np.testing.assert_allclose(doubled_areas(plate).sum(axis=0), [0, 0, 4], atol=1e-12)
    np.testing.assert_allclose(doubled_areas(triangle), [[0, 0, 2]], atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_ac3d_polygons_keep_their_area_and_orientation(seed, tmp_path):
    """Also polygons that are not convex, in any plane."""
    rng = np.random.default_rng(seed)
    n = 20
    angles = np.sort(rng.uniform(0, 2 * np.pi, n))
    radii = rng.uniform(0.2, 1.0, n)
    flat = np.stack([radii * np.cos(angles), radii * np.sin(angles), np.zeros(n)], axis=1)
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    R *= np.linalg.det(R)
    points = flat @ R.T + [1, 2, 3]
    x, y = flat[:, 0], flat[:, 1]
    doubled = float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))
    lines = [
        "AC3Db",
        "OBJECT poly",
        f"numvert {n}",
        *(" ".join(map(repr, p.tolist())) for p in points),
    ]
    lines += [
        "numsurf 1",
        "SURF 0x10",
        "mat 0",
        f"refs {n}",
        *(f"{k} 0 0" for k in range(n)),
        "kids 0",
    ]

    ((surface, color),) = surfaces(tmp_path, "\n".join(lines))

    along = doubled_areas(surface) @ R[:, 2]
    assert color is None
    assert len(surface.faces) == n - 2
    assert along.min() >= -1e-12
    np.testing.assert_allclose(along.sum(), doubled, rtol=1e-9)


def test_workcells_have_ac3d_meshes_without_their_ending(tmp_path):
    (tmp_path / "part.ac").write_text(BOX)
    frame = '<Frame name="f"><Drawable name="d"><Polytope file="part"/></Drawable></Frame>'
    (tmp_path / "cell.xml").write_text(f'<WorkCell name="c">{frame}</WorkCell>')

    mesh = lw.load_workcell(tmp_path / "cell.xml").frame("f").visuals[0].geometry

    assert isinstance(mesh, lw.Mesh)
    assert len(read_mesh(mesh)[0]) == 2


# Hostile files.

SCENE = {
    "asset": {"version": "2.0"},
    "scene": 0,
    "scenes": [{"nodes": [0]}],
    "nodes": [{"mesh": 0}],
}
PART = {"attributes": {"POSITION": 0}}
COLLADA = (
    "<COLLADA xmlns='http://www.collada.org/2005/11/COLLADASchema' version='1.4.1'>{}</COLLADA>"
)
TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"


def archive(name: str, size: int) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr(name, b"\0" * size)
    return data.getvalue()


def glb(header: dict[str, object], binary: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text
    chunks += struct.pack("<I4s", len(binary), b"BIN\0") + binary
    return b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks


def with_buffer(parts: int, nodes: int) -> bytes:
    """30,000 vertices that are used several times."""
    size = 360_000
    return glb(
        {
            **SCENE,
            "scenes": [{"nodes": list(range(nodes))}],
            "nodes": [{"mesh": 0}] * nodes,
            "meshes": [{"primitives": [PART] * parts}],
            "accessors": [
                {"count": 30_000, "type": "VEC3", "componentType": 5126, "bufferView": 0}
            ],
            "bufferViews": [{"buffer": 0, "byteLength": size}],
            "buffers": [{"byteLength": size}],
        },
        b"\0" * size,
    )


def nested_instances() -> str:
    """10 nodes with 10 instances of the next one each."""
    instance = "<instance_node url='#n{}'/>"
    nodes = [f"<node id='n{k}'>{instance.format(k + 1) * 10}</node>" for k in range(10)]
    return COLLADA.format(f"<library_nodes>{''.join(nodes)}<node id='n10'/></library_nodes>")


HOSTILE: dict[str, bytes | str] = {
    "bomb.zip": archive("m.stl", 500_000_000),
    "bomb.3mf": archive("3D/3dmodel.model", 500_000_000),
    "count.stl": b"\0" * 80 + struct.pack("<I", 2**32 - 1) + b"\0" * 50,
    "count.glb": glb(
        {
            **SCENE,
            "meshes": [{"primitives": [PART]}],
            "accessors": [{"count": 3 * 10**8, "type": "VEC3", "componentType": 5126}],
        }
    ),
    "parts.glb": with_buffer(100_000, 1),
    "nodes.glb": with_buffer(1, 20_000),
    "instances.dae": nested_instances(),
    "count.ac": "AC3Db\nOBJECT poly\nnumvert 99999999999\n0 0 0\n",
    "depth.ac": "AC3Db\n" + "OBJECT world\nkids 9999999999\n" * 20_000,
    "corners.ac": "AC3Db\nOBJECT poly\nnumvert 1\n0 0 0\nnumsurf 1\nSURF 0\nrefs 99999\n"
    + "0\n" * 99_999,
}
MEGABYTES = (
    700  # most memory that a file may take; trimesh needs more for the vertices of nodes.glb
)
READ_ALL = f"""
import resource, sys
import PIL, collada, trimesh
import linkwork as lw
from linkwork.io.mesh_files import read_mesh

used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
for path in sys.argv[1:]:
    pieces, reason = read_mesh(lw.Mesh(path, path=path))
    assert not pieces and reason, path
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10) - used
    assert more < {MEGABYTES} << 20, (path, more)
"""


def test_hostile_meshes_are_rejected_without_much_memory(tmp_path):
    paths = [tmp_path / name for name in HOSTILE]
    for path, content in zip(paths, HOSTILE.values(), strict=True):
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    command = [sys.executable, "-W", "ignore", "-c", READ_ALL, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["secret.mtl", "../secret.mtl", "link.mtl", "/dev/zero"])
def test_materials_outside_of_the_folder_are_not_read(name, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    (tmp_path / "secret.mtl").write_text("newmtl x\nKd 1 0 0\n")
    (folder / "link.mtl").symlink_to(tmp_path / "secret.mtl")
    (folder / "part.obj").write_text(f"mtllib {name}\nusemtl x\n{TRIANGLE}")

    ((_, outside),), _ = read_mesh(lw.Mesh("part.obj", path=str(folder / "part.obj")))
    (folder / "link.mtl").unlink()
    (folder / "part.mtl").write_text("newmtl x\nKd 1 0 0\n")
    (folder / "near.obj").write_text(f"mtllib part.mtl\nusemtl x\n{TRIANGLE}")
    ((_, inside),), _ = read_mesh(lw.Mesh("near.obj", path=str(folder / "near.obj")))

    assert outside != (255, 0, 0)
    assert inside == (255, 0, 0)
