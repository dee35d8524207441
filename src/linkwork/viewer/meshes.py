"""Meshes of a robot, read from their files by trimesh. What cannot be read is said, not hidden."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.errors import MissingPackageError, clipped, missing_package
from linkwork.model.geometry import Mesh
from linkwork.viewer.colors import Rgb
from linkwork.viewer.surfaces import Surface

VIEWER_PACKAGES = ("viser", "trimesh", "pycollada")

MOST_BYTES = 200_000_000  # of a file that is read


def check_trimesh() -> None:
    """Refuse to go on without trimesh; it is loaded when a mesh is read, which takes a second."""
    if find_spec("trimesh") is None:
        trimesh_package()


def trimesh_package() -> Any:
    """The package trimesh, or the error that says how to install it."""
    try:
        import trimesh
    except ImportError as error:
        raise missing_package("the viewer", *VIEWER_PACKAGES) from error
    return trimesh


def read_mesh(mesh: Mesh) -> tuple[list[tuple[Surface, Rgb | None]], str]:
    """The surfaces of a mesh, each with the colour that its file gives, if any; scaled.

    Returns:
        the surfaces, and why there are none, as a text; one of the two is empty.
    """
    if mesh.path is None:
        where = f"; searched {len(mesh.searched)} places" if mesh.searched else ""
        return [], f"mesh {mesh.filename!r} not found{where}"
    try:
        pieces = _pieces(mesh.path, Path(mesh.path).stat().st_mtime_ns)
    except MissingPackageError:
        raise
    except Exception as error:  # noqa: BLE001 - readers of formats raise whatever comes to hand
        return [], f"mesh {mesh.filename!r} cannot be read: {clipped(_reason(error), 200)}"
    if not pieces:
        return [], f"mesh {mesh.filename!r} has no triangles"
    return [(surface.scaled(mesh.scale), color) for surface, color in pieces], ""


@lru_cache(maxsize=512)
def _pieces(path: str, changed: int) -> list[tuple[Surface, Rgb | None]]:
    """The surfaces in a file; `changed` is its time, so that a new file is read again."""
    del changed
    trimesh = trimesh_package()
    if Path(path).stat().st_size > MOST_BYTES:
        text = f"it is larger than {MOST_BYTES // 1_000_000} MB"
        raise ValueError(text)
    scene = trimesh.load_scene(path)
    found: list[tuple[Surface, Rgb | None]] = []
    for node in sorted(scene.graph.nodes_geometry):
        pose, name = scene.graph[node]
        own = scene.geometry[name]
        if not isinstance(own, trimesh.Trimesh) or not len(own.faces):
            continue
        vertices = np.asarray(own.vertices) @ pose[:3, :3].T + pose[:3, 3]
        if not np.isfinite(vertices).all():
            raise ValueError("a vertex is not finite")
        mirrored = np.linalg.det(pose[:3, :3]) < 0
        faces = np.asarray(own.faces)
        found.append((Surface(vertices, faces[:, ::-1] if mirrored else faces), _color(own)))
    return found


def _color(mesh: Any) -> Rgb | None:
    """The colour that a file gives a piece, or None."""
    visual = mesh.visual
    if not getattr(visual, "defined", False):
        return None
    material = getattr(visual, "material", None)
    main: Any = visual.main_color if material is None else material.main_color
    r, g, b = np.asarray(main)[:3].tolist()
    return int(r), int(g), int(b)


def _reason(error: Exception) -> str:
    if isinstance(error, ImportError):
        return f"{error}; pip install {' '.join(VIEWER_PACKAGES)}"
    return str(error) or type(error).__name__
