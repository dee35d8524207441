"""Triangles of mesh files, read with limits of memory.

Formats     .stl, .obj, .dae, .ply, .off, .glb and .gltf with trimesh, .ac with `ac3d`. Archives
            (.zip, .3mf, .zae) are not read, because a small one can contain any amount of data
Limits      sizes of files; sizes that a header announces; the number of copies of a mesh in a scene
References  materials and buffers are read in the package of the mesh (`folders`); textures are not
"""

from __future__ import annotations

import json
import struct
import warnings
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import missing_package
from linkwork.io.ac3d import read_ac3d
from linkwork.io.folders import AllowedFolders

Rgb: TypeAlias = tuple[int, int, int]
MeshPiece: TypeAlias = tuple[Array, Array, Rgb | None]  # vertices (n, 3), triangles (m, 3), color

MESH_PACKAGES = ("trimesh", "pycollada")  # pycollada reads .dae
MAX_BYTES = 200_000_000  # of a mesh file, and of all files that it refers to
MAX_VERTICES = 20_000_000  # of all copies of meshes in a file, and as many triangles
MAX_NODES = 100_000  # of the scene in a file
MAX_DEPTH = 100  # of nodes that are instances of others
FARTHEST = 1e9  # coordinate of a vertex; trimesh merges larger ones wrongly
# The formats of trimesh by the ending of the file.
_FORMATS = {
    **{f".{name}": name for name in ("stl", "obj", "dae", "ply", "off", "glb", "gltf")},
    **dict.fromkeys((".stla", ".stlb"), "stl"),
}
MESH_ENDINGS = (*_FORMATS, ".ac", ".ac3d")
_REFERENCED = (".mtl", ".bin")  # endings of files that a mesh may refer to
_GLB_HEADER = struct.Struct("<4sIIII")  # magic, version, length; length and type of the JSON chunk
_SIZES = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}


def import_trimesh() -> Any:
    """Import `trimesh`, or raise an error that explains how to install it."""
    try:
        return import_module("trimesh")
    except ImportError as error:
        raise missing_package("reading meshes", *MESH_PACKAGES) from error


def read_mesh_file(path: str) -> list[MeshPiece]:
    """The surfaces in a mesh file, placed as in its scene.

    Raises:
        ValueError: the file is too large, or its format is not supported.
        Exception: readers of mesh formats raise many types of exceptions.
    """
    ending = Path(path).suffix.lower()
    if ending not in MESH_ENDINGS:
        text = f"the format {ending!r} is not supported; expected {', '.join(MESH_ENDINGS)}"
        raise ValueError(text)
    data = _read(path, MAX_BYTES)
    if ending not in _FORMATS:
        return _checked(read_ac3d(data))
    trimesh = import_trimesh()
    if ending in (".glb", ".gltf"):
        _check_gltf(data)
    elif ending == ".dae":
        _check_dae(data)
    with warnings.catch_warnings():  # pycollada uses deprecated functions of NumPy
        warnings.simplefilter("ignore", DeprecationWarning)
        scene = trimesh.load_scene(
            BytesIO(data), file_type=_FORMATS[ending], resolver=_References(path)
        )
    return _pieces(scene, trimesh)


def _read(path: str, limit: int) -> bytes:
    """The content of a regular file of limited size."""
    file = Path(path)
    if not file.is_file():  # a pipe or a device may be endless
        raise ValueError("it is not a regular file")
    with file.open("rb") as opened:
        data = opened.read(min(limit, file.stat().st_size) + 1)
    if len(data) > limit:
        raise ValueError(f"it is larger than {limit // 1_000_000} MB")
    return data


class _References:
    """Reads the files that a mesh refers to; a resolver of trimesh."""

    def __init__(self, path: str) -> None:
        self.file_name = Path(path).name
        self._folder = Path(path).parent
        self._allowed = AllowedFolders.of(path)
        self._left = MAX_BYTES

    def get(self, name: str) -> bytes:
        """The content of a file.

        Raises:
            FileNotFoundError: it does not exist in the allowed folders, or is not needed.
        """
        path = self._folder / str(name).strip()
        if path.suffix.lower() not in _REFERENCED or path not in self._allowed:
            raise FileNotFoundError(name)
        data = _read(str(path), self._left)
        self._left -= len(data)
        return data

    __getitem__ = get


def _check_gltf(data: bytes) -> None:
    """Check the sizes that a glTF file announces: trimesh allocates memory before it reads."""
    text = data
    if data.startswith(b"glTF"):
        length = _GLB_HEADER.unpack_from(data)[3]
        text = data[_GLB_HEADER.size :][:length]
    header: dict[str, list[dict[str, Any]]] = json.loads(text)
    accessors = header.get("accessors", [])
    for accessor in accessors:
        size = accessor["count"] * _SIZES[accessor["type"]]
        if not 0 <= size * 8 <= MAX_BYTES:
            raise ValueError(f"an accessor has {accessor['count']} elements")
    elements = sum(
        accessors[index]["count"]
        for mesh in header.get("meshes", [])
        for part in mesh["primitives"]
        for index in (*part["attributes"].values(), part.get("indices", 0))
    )
    without_data = sum(one["count"] for one in accessors if "bufferView" not in one)
    if max(elements, without_data) > MAX_VERTICES:
        raise ValueError(f"its meshes have more than {MAX_VERTICES} elements")
    children = [child for node in header.get("nodes", []) for child in node.get("children", ())]
    if len(children) != len(set(children)):
        raise ValueError("a node is in several others; the nodes of glTF form a tree")


def _check_dae(data: bytes) -> None:
    """Check a COLLADA file: entities, and nodes that are instances of nodes, grow exponentially."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
    root = etree.fromstring(data, parser)
    if root.getroottree().docinfo.internalDTD is not None:  # it may declare entities
        raise ValueError("it has a DOCTYPE, which is not supported")
    nodes = {str(node.get("id")): node for node in root.iter("{*}node")}
    sizes: dict[str, int] = {}

    def size(node: Any, around: tuple[str, ...]) -> int:
        """The number of nodes and geometries in a node, with those of its instances."""
        total = 1 + sum(1 for _ in node.iter("{*}instance_geometry", "{*}node"))
        for instance in node.iter("{*}instance_node"):
            name = str(instance.get("url")).removeprefix("#")
            if name in around or len(around) > MAX_DEPTH:
                raise ValueError(f"node {name!r} contains itself, or is nested too deeply")
            if name in nodes and name not in sizes:
                sizes[name] = size(nodes[name], (*around, name))
            total += sizes.get(name, 0)
        return total

    if size(root, ()) > MAX_NODES:
        raise ValueError(f"its scene has more than {MAX_NODES} nodes")


def _pieces(scene: Any, trimesh: Any) -> list[MeshPiece]:
    """The meshes of a scene at their poses."""
    pieces: list[MeshPiece] = []
    n_elements = 0
    for node in sorted(scene.graph.nodes_geometry):
        pose, name = scene.graph[node]
        mesh = scene.geometry[name]
        if not isinstance(mesh, trimesh.Trimesh) or not len(mesh.faces):
            continue
        n_elements += max(len(mesh.vertices), len(mesh.faces))
        if n_elements > MAX_VERTICES:
            raise ValueError(f"it has more than {MAX_VERTICES} vertices or triangles")
        vertices = np.asarray(mesh.vertices) @ pose[:3, :3].T + pose[:3, 3]
        faces = np.asarray(mesh.faces)
        mirrored = np.linalg.det(pose[:3, :3]) < 0
        pieces.append((vertices, faces[:, ::-1] if mirrored else faces, _color(mesh)))
    return _checked(pieces)


def _checked(pieces: list[MeshPiece]) -> list[MeshPiece]:
    for vertices, faces, _ in pieces:
        if not np.isfinite(vertices).all():
            raise ValueError("a vertex is not finite")
        if vertices.size and np.abs(vertices).max() > FARTHEST:
            text = f"a vertex is farther than {FARTHEST:g} from the origin"
            raise ValueError(text)
        if faces.size and not 0 <= faces.min() <= faces.max() < len(vertices):
            raise ValueError("a triangle refers to a vertex that does not exist")
    return pieces


def _color(mesh: Any) -> Rgb | None:
    """The color of a surface in its file, or None."""
    visual = mesh.visual
    if not getattr(visual, "defined", False):
        return None
    material = getattr(visual, "material", None)
    main: Any = visual.main_color if material is None else material.main_color
    r, g, b = np.asarray(main)[:3].tolist()
    return int(r), int(g), int(b)
