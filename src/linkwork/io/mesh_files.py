"""Surfaces in mesh files, read with limits of memory.

Formats     .stl, .obj, .dae, .ply, .off, .glb and .gltf with trimesh, .ac with `read_ac3d`.
            Archives (.zip, .3mf, .zae) are not read, because a small one can contain any amount of
            data
Limits      sizes of files; sizes that a header announces; the number of copies of a mesh in a scene
References  materials and buffers are read in the package of the mesh (`folders`); textures are not
Vertices    that are equal to 8 digits of the size of a mesh are merged
"""

from __future__ import annotations

import json
import struct
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import MissingPackageError, clipped, missing_package
from linkwork.io.folders import AllowedFolders
from linkwork.io.meshes import REJECTED
from linkwork.model.geometry import Mesh, Surface, joined

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


MAX_OBJECT_DEPTH = 100  # of nested objects
MAX_CORNERS = 1_000  # of a polygon; the time to cut it grows quadratically
_KIND = 0x0F  # bits of the type of a surface, of which 0 is a polygon


@dataclass(slots=True)
class _Lines:
    """The lines of a file that are not read yet, and the colors read so far."""

    lines: Iterator[str]
    colors: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])

    def words(self) -> list[str]:
        """Return the words of the next line that is not empty; none at the end."""
        return next((words for line in self.lines if (words := line.split())), [])

    def table(self, count: int, n_columns: int) -> Array:
        """Return the numbers (count, n_columns) of the next lines."""
        rows: list[list[float]] = []
        while len(rows) < count:
            words = self.words()
            if len(words) < n_columns:
                raise ValueError("a line has too few numbers, or the file ends too early")
            rows.append([float(word) for word in words[:n_columns]])
        return np.array(rows).reshape(-1, n_columns)


def read_ac3d(data: bytes) -> list[tuple[Array, Array, tuple[int, int, int] | None]]:
    """Return the surfaces of a file: vertices (n, 3), triangles (m, 3), and the color.

    Raises:
        ValueError: the file is not valid.
    """
    lines = _Lines(iter(data.decode("utf-8", errors="replace").splitlines()))
    if not (lines.words() or [""])[0].startswith("AC3D"):
        raise ValueError("it does not start with AC3D")
    with np.errstate(all="ignore"):  # vertices that are not finite are rejected by the caller
        return list(_objects(lines, 1, np.eye(4), 0))


def _objects(
    lines: _Lines, count: int, outer: Array, depth: int
) -> Iterator[tuple[Array, Array, tuple[int, int, int] | None]]:
    """Yield the surfaces of some objects with a pose `outer` (4, 4) around them."""
    if depth > MAX_OBJECT_DEPTH:
        raise ValueError(f"more than {MAX_OBJECT_DEPTH} objects are nested")
    pose, vertices = outer, np.zeros((0, 3))
    triangles: dict[int, list[list[int]]] = {}  # by material
    while count > 0 and (words := lines.words()):
        match words:
            case ["MATERIAL", *_]:
                numbers = words[words.index("rgb") + 1 :][:3]
                r, g, b = (round(255 * min(max(float(x), 0.0), 1.0)) for x in numbers)
                lines.colors.append((r, g, b))
            case ["OBJECT", *_]:
                pose, vertices, triangles = outer.copy(), np.zeros((0, 3)), {}
            case ["rot", *numbers]:
                rotation = np.array([float(number) for number in numbers]).reshape(3, 3)
                pose[:3, :3] = outer[:3, :3] @ rotation
            case ["loc", *numbers]:
                origin = np.array([float(number) for number in numbers]).reshape(3)
                pose[:3, 3] = outer[:3, :3] @ origin + outer[:3, 3]
            case ["data", *_]:
                lines.words()  # a text
            case ["numvert", n]:
                vertices = lines.table(int(n), 3)
            case ["numsurf", n]:
                triangles = _surfaces(lines, int(n), vertices)
            case ["kids", n]:
                for material, faces in triangles.items():
                    colors = lines.colors[material : material + 1]
                    used, indices = np.unique(faces, return_inverse=True)
                    placed = vertices[used] @ pose[:3, :3].T + pose[:3, 3]
                    yield placed, indices.reshape(-1, 3), colors[0] if colors else None
                yield from _objects(lines, int(n), pose, depth + 1)
                count -= 1
            case _:
                pass  # name, texture, crease and others


def _surfaces(lines: _Lines, count: int, vertices: Array) -> dict[int, list[list[int]]]:
    """Return the triangles of the surfaces of an object by material."""
    triangles: dict[int, list[list[int]]] = {}
    kind, material = 0, 0
    while count > 0 and (words := lines.words()):
        match words:
            case ["SURF", flags]:
                kind, material = int(flags, 16) & _KIND, 0
            case ["mat", index]:
                material = int(index)
            case ["refs", n]:
                numbers = lines.table(int(n), 1)[:, 0]
                if len(numbers) and not 0 <= numbers.min() <= numbers.max() < len(vertices):
                    raise ValueError("a surface refers to a vertex that the object does not have")
                corners = numbers.astype(np.int64)
                if kind == 0 and len(corners) >= 3:
                    cut = _triangles(vertices[corners])
                    triangles.setdefault(material, []).extend(corners[cut].tolist())
                count -= 1
            case _:
                pass
    return triangles


def _triangles(corners: Array) -> Array:
    """Cut a polygon (n, 3) into triangles (n - 2, 3) of its corners, which keep its orientation.

    Corners are cut off that are convex and whose triangles contain no other corner; if there is
    none, as in polygons that intersect themselves, any corner.
    """
    left = list(range(len(corners)))
    if len(left) > MAX_CORNERS:
        raise ValueError(f"a polygon has more than {MAX_CORNERS} corners")
    triangles: list[list[int]] = []
    normal = np.zeros(3)
    if len(left) > 3:
        normal = np.cross(corners, np.roll(corners, -1, axis=0)).sum(axis=0)
    while len(left) > 3:
        k = next((k for k in range(len(left)) if _is_ear(corners[left], k, normal)), 0)
        triangles.append([left[k - 1], left[k], left[(k + 1) % len(left)]])
        del left[k]
    return np.array([*triangles, left])


def _is_ear(corners: Array, k: int, normal: Array) -> bool:
    """Return whether a corner is convex, and its triangle contains no other corner."""
    a, b, c = corners[k - 1], corners[k], corners[(k + 1) % len(corners)]
    if np.cross(b - a, c - b) @ normal <= 0:
        return False
    is_other = ~np.any([(corners == corner).all(axis=1) for corner in (a, b, c)], axis=0)
    sides = [np.cross(q - p, corners - p) @ normal >= 0 for p, q in ((a, b), (b, c), (c, a))]
    return not np.all([is_other, *sides], axis=0).any()
