"""Surfaces in mesh files, read with limits of memory.

Formats     .stl, .obj, .dae, .ply, .off, .glb and .gltf with trimesh, .ac with `ac3d`. Archives
            (.zip, .3mf, .zae) are not read, because a small one can contain any amount of data
Limits      sizes of files; sizes that a header announces; the number of copies of a mesh in a scene
References  materials and buffers are read in the package of the mesh (`folders`); textures are not
Vertices    that are equal to 8 digits of the size of a mesh are merged
"""

from __future__ import annotations

import json
import struct
import warnings
from functools import lru_cache
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from linkwork.errors import MissingPackageError, clipped, missing_package
from linkwork.io.ac3d import read_ac3d
from linkwork.io.folders import AllowedFolders
from linkwork.io.meshes import REJECTED
from linkwork.model.geometry import Mesh
from linkwork.model.geometry.surface import Surface, joined

Rgb: TypeAlias = tuple[int, int, int]
MeshPiece: TypeAlias = tuple[Surface, Rgb | None]  # with the color in the file

MESH_PACKAGES = ("trimesh", "pycollada")  # pycollada reads .dae
MAX_BYTES = 200_000_000  # of a mesh file, and of all files that it refers to
MAX_VERTICES = 20_000_000  # of all copies of meshes in a file, and as many triangles
MAX_NODES = 100_000  # of the scene in a file
MAX_DEPTH = 100  # of nodes that are instances of others
FARTHEST = 1e9  # coordinate of a vertex
DIGITS = 8  # of the coordinates of vertices that are merged, relative to the size of the mesh
SMALLEST_DAE = (
    1e-4  # size of a mesh in a .dae file, of which trimesh merges vertices nearer than 1e-8
)
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


def read_mesh(mesh: Mesh) -> tuple[list[MeshPiece], str]:
    """Read the scaled surfaces of a mesh, each with its color in the file, if it has one.

    Returns:
        The surfaces, and the reason if there are none; one of the two is empty.
    """
    if mesh.path is None and mesh.searched and all(REJECTED in path for path in mesh.searched):
        text = f"mesh {mesh.filename!r} is outside of the allowed folders: {mesh.searched[0]}"
        return [], f"{text}; pass package_dirs"
    if mesh.path is None:
        where = f"; searched {len(mesh.searched)} locations" if mesh.searched else ""
        return [], f"mesh {mesh.filename!r} not found{where}"
    try:
        pieces = _cached_pieces(mesh.path, Path(mesh.path).stat().st_mtime_ns)
    except MissingPackageError:
        raise
    except Exception as error:  # noqa: BLE001 - readers of mesh formats raise many types of exceptions
        return [], f"mesh {mesh.filename!r} cannot be read: {clipped(_reason(error), 200)}"
    if not pieces:
        return [], f"mesh {mesh.filename!r} has no triangles"
    return [(surface.scaled(mesh.scale), color) for surface, color in pieces], ""


def read_surface(mesh: Mesh) -> tuple[Surface | None, str]:
    """Read the scaled surface of a mesh, and the reason if there is none."""
    pieces, reason = read_mesh(mesh)
    return (None if reason else joined([surface for surface, _ in pieces])), reason


@lru_cache(maxsize=512)
def _cached_pieces(path: str, changed: int) -> list[MeshPiece]:
    """Read a file; `changed` is its time, so that a new file is read again."""
    del changed
    return read_mesh_file(path)


def _reason(error: Exception) -> str:
    if isinstance(error, ImportError):
        return f"{error}; pip install {' '.join(MESH_PACKAGES)}"
    return str(error) or type(error).__name__


def read_mesh_file(path: str) -> list[MeshPiece]:
    """Read the surfaces in a mesh file, placed as in its scene.

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
        return _checked([(Surface(*arrays), color) for *arrays, color in read_ac3d(data)])
    trimesh = import_trimesh()
    if ending in (".glb", ".gltf"):
        _check_gltf(data)
    elif ending == ".dae":
        _check_dae(data)
    with warnings.catch_warnings():  # pycollada uses deprecated functions of NumPy
        warnings.simplefilter("ignore", DeprecationWarning)
        scene = trimesh.load_scene(
            BytesIO(data), file_type=_FORMATS[ending], resolver=_References(path), process=False
        )
    return _pieces(scene, trimesh, SMALLEST_DAE if ending == ".dae" else 0.0)


def _read(path: str, limit: int) -> bytes:
    """Return the content of a regular file of limited size."""
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
        """Return the content of a file.

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
        """Return the number of nodes and geometries in a node and its instances."""
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


def _pieces(scene: Any, trimesh: Any, smallest: float) -> list[MeshPiece]:
    """Place the meshes of a scene, which must not be smaller than a size."""
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
        size = float(np.ptp(mesh.vertices, axis=0).max())
        if size < smallest:
            text = f"a surface of size {size:g} is too small for trimesh, which merges its vertices"
            raise ValueError(f"{text}; use a smaller unit of length in the file")
        if 0.0 < size < np.inf and not smallest:
            mesh.merge_vertices(digits_vertex=DIGITS - int(np.ceil(np.log10(size))))
        surface = Surface(np.asarray(mesh.vertices), np.asarray(mesh.faces)).placed(pose)
        if np.linalg.det(pose[:3, :3]) < 0:
            surface = Surface(surface.vertices, surface.faces[:, ::-1])
        pieces.append((surface, _color(mesh)))
    return _checked(pieces)


def _checked(pieces: list[MeshPiece]) -> list[MeshPiece]:
    for surface, _ in pieces:
        vertices, faces = surface.vertices, surface.faces
        if faces.size and not 0 <= faces.min() <= faces.max() < len(vertices):
            raise ValueError("a triangle refers to a vertex that does not exist")
        if not np.isfinite(vertices).all():
            raise ValueError("a vertex is not finite")
        if vertices.size and np.abs(vertices).max() > FARTHEST:
            text = f"a vertex is farther than {FARTHEST:g} from the origin"
            raise ValueError(text)
    return pieces


def _color(mesh: Any) -> Rgb | None:
    """Return the color of a surface in its file, or None."""
    visual = mesh.visual
    if not getattr(visual, "defined", False):
        return None
    material = getattr(visual, "material", None)
    main: Any = visual.main_color if material is None else material.main_color
    r, g, b = np.asarray(main)[:3].tolist()
    return int(r), int(g), int(b)
