"""Where the meshes of a robot lie on this machine. A model never needs them.

    package://NAME/REST, model://NAME/REST   in the package folders, and in NAME around the file
    file:///PATH                             as it stands
    REST                                     beside the file

A mesh is found only inside an allowed root: the package it names, the folder of the robot's file or
the package around that, and the package folders given by the caller or by ROS_PACKAGE_PATH,
GAZEBO_MODEL_PATH, GZ_SIM_RESOURCE_PATH, AMENT_PREFIX_PATH and their like. Nothing is opened;
only its existence is checked.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from os.path import abspath, basename, dirname, isdir, isfile, join, normpath
from typing import TypeAlias
from urllib.parse import unquote

from linkwork.errors import ArgumentError

Folders: TypeAlias = Iterable[str | PathLike[str]] | str | PathLike[str] | None

_FOLDERS = ("ROS_PACKAGE_PATH", "GAZEBO_MODEL_PATH", "GZ_SIM_RESOURCE_PATH")
_PREFIXES = ("AMENT_PREFIX_PATH", "COLCON_PREFIX_PATH", "CMAKE_PREFIX_PATH")
_PACKAGE_SCHEMES = ("package", "model")
_LEVELS = 3  # how far above the file a folder of the package's name is looked for
_BESIDE_MESHES = ("urdf", "robots", "robot", "xml", "models", "description")  # next to meshes/
_MARKS = ("package.xml", "model.config")  # a folder with one of these is a package


@dataclass(frozen=True, slots=True)
class FoundMesh:
    """The path of a mesh, or None, and the paths that were tried."""

    path: str | None
    searched: tuple[str, ...]


class MeshFinder:
    """Finds the meshes that one robot file names."""

    def __init__(
        self,
        file: str | PathLike[str] | None,
        package_dirs: Folders = (),
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """Look around a file.

        Args:
            file: the robot's file; None for a text, which lies nowhere.
            package_dirs: folders that hold packages, or are packages themselves.
            environment: where ROS and Gazebo leave their search paths.
        """
        self._folder = None if file is None else dirname(abspath(fspath(file)))
        folders = [*as_folders(package_dirs), *_environment_folders(environment)]
        self._package_dirs = tuple(dict.fromkeys(folders))
        self._own_root = self._folder and root_around(self._folder)
        self._known: dict[str, FoundMesh] = {}

    def find(self, filename: str) -> FoundMesh:
        """Find a mesh by the name that stands in the file."""
        if filename not in self._known:
            self._known[filename] = self._search(filename)
        return self._known[filename]

    def package(self, name: str) -> str | None:
        """The folder of a package by its name, where meshes of `package://NAME` are looked for."""
        return next((folder for folder in self._package_folders(name) if isdir(folder)), None)

    def _search(self, filename: str) -> FoundMesh:
        searched: dict[str, None] = {}  # an ordered set
        for root, candidate in self._candidates(filename):
            path = normpath(candidate)
            if "\0" in path or not _inside(path, root):
                searched[f"{path} (refused: outside {root})"] = None
                continue
            searched[path] = None
            if isfile(path):
                return FoundMesh(path, tuple(searched))
        return FoundMesh(None, tuple(searched) or ("nowhere: no folder is known for such a name",))

    def _candidates(self, filename: str) -> list[tuple[str, str]]:
        """(allowed root, path) for each folder in which a mesh may lie."""
        scheme, mark, name = filename.partition("://")
        if not mark:
            return [(root, join(folder, filename)) for root, folder in self._beside()]
        if scheme == "file":
            path = "/" + unquote(name.partition("/")[2])  # what stands before is a host
            return [(root, path) for root, _ in self._beside()]
        package, _, inside = name.lstrip("/").partition("/")  # some write package:///NAME
        if scheme not in _PACKAGE_SCHEMES:
            return []
        return [(folder, join(folder, inside)) for folder in self._package_folders(package)]

    def _package_folders(self, package: str) -> list[str]:
        """The folders that a package may be, whether they exist or not."""
        if package in ("", ".", "..") or os.sep in package or "\0" in package:
            return []
        around = _and_above(self._folder)
        folders = [join(folder, package) for folder in self._package_dirs]
        folders += [folder for folder in self._package_dirs if basename(folder) == package]
        folders += [folder for folder in around if basename(folder) == package]
        return folders + [join(folder, package) for folder in around[:_LEVELS]]

    def _beside(self) -> list[tuple[str, str]]:
        """(allowed root, folder) that a relative name may start from."""
        own = [(self._own_root, self._folder)] if self._own_root and self._folder else []
        return [*own, *((folder, folder) for folder in self._package_dirs)]


def as_folders(given: Folders) -> list[str]:
    """The absolute paths of the folders that a caller gives: none, one or several."""
    if given is None or isinstance(given, (str, PathLike)):
        given = () if given is None else (given,)
    return [_folder(folder) for folder in given]


def _folder(given: object) -> str:
    path = fspath(given) if isinstance(given, (str, PathLike)) else None
    if not isinstance(path, str):
        raise ArgumentError(f"package_dirs: expected paths, got {given!r}")
    return abspath(path)


def _inside(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def _and_above(folder: str | None) -> list[str]:
    """A folder and those around it, nearest first."""
    folders: list[str] = []
    while folder and (not folders or folder != folders[-1]):
        folders.append(folder)
        folder = dirname(folder)
    return folders


def root_around(folder: str) -> str:
    """The package that holds a folder; else its parent, if such folders lie next to meshes/."""
    for above in _and_above(folder):
        if any(isfile(join(above, mark)) for mark in _MARKS):
            return above
    parent = dirname(folder)
    return parent if basename(folder) in _BESIDE_MESHES and dirname(parent) != parent else folder


def _environment_folders(environment: Mapping[str, str]) -> list[str]:
    folders = [f for name in _FOLDERS for f in environment.get(name, "").split(os.pathsep)]
    prefixes = [f for name in _PREFIXES for f in environment.get(name, "").split(os.pathsep)]
    folders += [join(prefix, "share") for prefix in prefixes if prefix]
    return [abspath(folder) for folder in folders if folder]
