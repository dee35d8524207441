"""Reader of AC3D files (.ac), the meshes of many RobWork scenes.

    AC3Db                                       MATERIAL "red" rgb 1 0 0 amb ... trans 0
    OBJECT poly                                 also `world` and `group`; objects are nested
    rot 1 0 0 0 1 0 0 0 1, loc 0 0 0            pose in the object that contains it
    numvert 3, then lines x y z
    numsurf 1, then SURF 0x10, mat 0, refs 3, then lines: index of a vertex, texture coordinates
    kids 0                                      number of objects inside; ends the object

Polygons are cut into triangles. Lines and textures are ignored. As in RobWork, coordinates are
neither scaled nor turned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from linkwork.engine.symbolic.arrays import Array

MAX_DEPTH = 100  # of nested objects
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
    if depth > MAX_DEPTH:
        raise ValueError(f"more than {MAX_DEPTH} objects are nested")
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
