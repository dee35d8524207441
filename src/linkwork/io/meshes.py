"""Search for the mesh files of a robot. A model works without them.

    package://NAME/PATH, model://NAME/PATH   in the package folders, and in a folder NAME that
                                             contains the file; else in a package whose
                                             package.xml has this name
    file:///PATH                             at that absolute path
    PATH                                     relative to the folder of the file

A mesh must be inside an allowed root: the package that it names, the folder of the robot's file or
the package that contains it, a package folder, or an allowed folder of a workcell. Package folders
are those of the caller and of ROS_PACKAGE_PATH, GAZEBO_MODEL_PATH, GZ_SIM_RESOURCE_PATH,
AMENT_PREFIX_PATH and similar variables. Meshes are not opened; only their existence is checked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from os.path import abspath, basename, dirname, isdir, isfile, join, normpath, realpath
from typing import TypeAlias
from urllib.parse import unquote

from linkwork.engine.cached_property import cached_property
from linkwork.errors import ArgumentError

Folders: TypeAlias = Iterable[str | PathLike[str]] | str | PathLike[str] | None

_FOLDERS = ("ROS_PACKAGE_PATH", "GAZEBO_MODEL_PATH", "GZ_SIM_RESOURCE_PATH")
_PREFIXES = ("AMENT_PREFIX_PATH", "COLCON_PREFIX_PATH", "CMAKE_PREFIX_PATH")
_PACKAGE_SCHEMES = ("package", "model")
_LEVELS = 3  # number of folders above the file that are searched for the package
# Folders of robot files that usually have a sibling folder `meshes`.
_ROBOT_FOLDERS = ("urdf", "robots", "robot", "xml", "models", "description")
_PACKAGE_FILES = ("package.xml", "model.config")  # a folder with one of these is a package
_NAME = re.compile(r"<name>\s*([^<\s]+)\s*</name>")
_MANIFEST_SIZE = 100_000  # number of characters of a package.xml that are searched for its name

REJECTED = "(rejected: outside"  # follows a path in `searched`


@dataclass(frozen=True, slots=True)
class MeshLookup:
    """The path of a mesh, or None if there is none, and the paths that were tried."""

    path: str | None
    searched: tuple[str, ...]


class MeshFinder:
    """Finds the meshes that a robot file refers to."""

    def __init__(
        self,
        file: str | PathLike[str] | None,
        package_dirs: Folders = (),
        environment: Mapping[str, str] = os.environ,
        more_roots: Iterable[str | PathLike[str]] = (),
    ) -> None:
        """Collect the folders to search.

        Args:
            file: the robot's file; None if the robot was read from a string.
            package_dirs: folders that contain packages, or are packages.
            environment: environment variables with the search paths of ROS and Gazebo.
            more_roots: further folders that meshes may be in, without symbolic links.
        """
        self._folder = None if file is None else dirname(abspath(fspath(file)))
        folders = [*as_folders(package_dirs), *_environment_folders(environment)]
        self._package_dirs = tuple(dict.fromkeys(folders))
        self._file_root = self._folder and package_root(self._folder)
        self._more_roots = tuple(fspath(root) for root in more_roots)
        self._cache: dict[str, MeshLookup] = {}

    def find(self, filename: str) -> MeshLookup:
        """Find a mesh by its name in the robot file."""
        if filename not in self._cache:
            self._cache[filename] = self._search(filename)
        return self._cache[filename]

    def package(self, name: str) -> str | None:
        """The folder of a package by its name, searched as for `package://NAME`."""
        return next((folder for folder in self._package_folders(name) if isdir(folder)), None)

    def _search(self, filename: str) -> MeshLookup:
        searched: dict[str, None] = {}  # an ordered set
        for roots, candidate in self._candidates(filename):
            path = normpath(candidate)
            if "\0" in path or not self._is_allowed(path, roots):
                outside = ", ".join(dict.fromkeys((*roots, *self._more_roots)))
                searched[f"{path} {REJECTED} {outside})"] = None
                continue
            searched[path] = None
            if isfile(path):
                return MeshLookup(path, tuple(searched))
        return MeshLookup(None, tuple(searched) or ("(there is no folder to search)",))

    def _is_allowed(self, path: str, roots: Iterable[str]) -> bool:
        return any(_inside(path, root) for root in roots) or any(
            _inside(realpath(path), root) for root in self._more_roots
        )

    def _candidates(self, filename: str) -> list[tuple[Sequence[str], str]]:
        """(allowed roots, path) of each possible location of a mesh."""
        scheme, separator, name = filename.partition("://")
        roots = list(dict.fromkeys(root for root, _ in self._roots()))
        if not separator:
            return [(roots, join(folder, filename)) for _, folder in self._roots()]
        if scheme == "file":
            path = "/" + unquote(name.partition("/")[2])  # without the host
            return [(roots, path)] if roots else []
        package, _, inside = name.lstrip("/").partition("/")  # some files have package:///NAME
        if scheme not in _PACKAGE_SCHEMES:
            return []
        return [((folder,), join(folder, inside)) for folder in self._package_folders(package)]

    def _package_folders(self, package: str) -> list[str]:
        """The folders where a package may be, whether they exist or not."""
        if package in ("", ".", "..") or os.sep in package or "\0" in package:
            return []
        parents = _with_parents(self._folder)
        folders = [join(folder, package) for folder in self._package_dirs]
        folders += [folder for folder in self._package_dirs if basename(folder) == package]
        folders += [folder for folder in parents if basename(folder) == package]
        folders += [join(folder, package) for folder in parents[:_LEVELS]]
        if any(map(isdir, folders)) or package not in self._named_packages:
            return folders
        return [*folders, self._named_packages[package]]

    @cached_property
    def _named_packages(self) -> dict[str, str]:
        """The folders of packages by the name in their package.xml, which is the name in ROS."""
        folders = [*_with_parents(self._folder), *self._package_dirs]
        folders += [child for folder in self._package_dirs for child in _subfolders(folder)]
        packages: dict[str, str] = {}
        for folder in folders:
            name = _package_name(folder)
            if name:
                packages.setdefault(name, folder)
        return packages

    def _roots(self) -> list[tuple[str, str]]:
        """(allowed root, folder) for relative paths."""
        roots = [(self._file_root, self._folder)] if self._file_root and self._folder else []
        return [*roots, *((folder, folder) for folder in self._package_dirs)]


def as_folders(folders: Folders) -> list[str]:
    """The absolute paths of the argument `package_dirs`: none, one or several."""
    if folders is None or isinstance(folders, (str, PathLike)):
        folders = () if folders is None else (folders,)
    return [_folder(folder) for folder in folders]


def _folder(value: object) -> str:
    path = fspath(value) if isinstance(value, (str, PathLike)) else None
    if not isinstance(path, str):
        raise ArgumentError(f"package_dirs: expected paths, got {value!r}")
    return abspath(path)


def _subfolders(folder: str) -> list[str]:
    try:
        return sorted(entry.path for entry in os.scandir(folder) if entry.is_dir())
    except OSError:
        return []


def _package_name(folder: str) -> str | None:
    """The name in the package.xml of a folder; None if there is no such file."""
    try:
        with open(join(folder, "package.xml"), encoding="utf-8", errors="replace") as file:
            name = _NAME.search(file.read(_MANIFEST_SIZE))
    except OSError:
        return None
    return name and name[1]


def _inside(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def _with_parents(folder: str | None) -> list[str]:
    """A folder and its parents, nearest first."""
    folders: list[str] = []
    while folder and (not folders or folder != folders[-1]):
        folders.append(folder)
        folder = dirname(folder)
    return folders


def package_root(folder: str) -> str:
    """The package that contains a folder.

    Without a package, the parent of a folder such as `urdf`, which usually has a sibling `meshes`;
    else the folder itself.
    """
    for candidate in _with_parents(folder):
        if any(isfile(join(candidate, file)) for file in _PACKAGE_FILES):
            return candidate
    parent = dirname(folder)
    return parent if basename(folder) in _ROBOT_FOLDERS and dirname(parent) != parent else folder


def _environment_folders(environment: Mapping[str, str]) -> list[str]:
    folders = [f for name in _FOLDERS for f in environment.get(name, "").split(os.pathsep)]
    prefixes = [f for name in _PREFIXES for f in environment.get(name, "").split(os.pathsep)]
    folders += [join(prefix, "share") for prefix in prefixes if prefix]
    return [abspath(folder) for folder in folders if folder]
