"""Search for the mesh files of a robot. A model works without them.

    package://NAME/PATH, model://NAME/PATH   in a package NAME: the package of the file, a package
                                             that contains it or is next to it, or one in the
                                             package folders; by the name of the folder, or else by
                                             the name in package.xml
    file:///PATH                             at that absolute path
    PATH                                     relative to the folder of the file

A mesh must be in the package that it names; without a name, in the package of the file or in a
package folder (`folders` has the rules). Package folders are those of the caller and of
ROS_PACKAGE_PATH, GAZEBO_MODEL_PATH, GZ_SIM_RESOURCE_PATH, AMENT_PREFIX_PATH and similar variables.
A package that is next to that of the file, or is a symbolic link in a package folder, needs a
manifest. Meshes are not opened; only their existence is checked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from os.path import abspath, basename, dirname, isdir, isfile, islink, join, lexists, normpath
from urllib.parse import unquote

from linkwork.engine.cached_property import cached_property
from linkwork.io.folders import (
    AllowedFolders,
    Folders,
    as_folders,
    has_manifest,
    packages_around,
    with_parents,
)

_FOLDERS = ("ROS_PACKAGE_PATH", "GAZEBO_MODEL_PATH", "GZ_SIM_RESOURCE_PATH")
_PREFIXES = ("AMENT_PREFIX_PATH", "COLCON_PREFIX_PATH", "CMAKE_PREFIX_PATH")
_PACKAGE_SCHEMES = ("package", "model")
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
        allowed: AllowedFolders | None = None,
    ) -> None:
        """Collect the folders to search.

        Args:
            file: the robot's file; None if the robot was read from a string.
            package_dirs: folders that contain packages, or are packages.
            environment: environment variables with the search paths of ROS and Gazebo.
            allowed: further folders that meshes may be in.
        """
        self._folder = None if file is None else dirname(abspath(fspath(file)))
        folders = [*as_folders(package_dirs), *_environment_folders(environment)]
        self._package_dirs = tuple(dict.fromkeys(folders))
        self._roots = AllowedFolders.of(file, folders)
        self._more = allowed or AllowedFolders()
        self._cache: dict[str, MeshLookup] = {}
        self._known_packages: dict[str, list[tuple[AllowedFolders, str]]] = {}

    def find(self, filename: str) -> MeshLookup:
        """Find a mesh by its name in the robot file."""
        if filename not in self._cache:
            self._cache[filename] = self._search(filename)
        return self._cache[filename]

    def package(self, name: str) -> str | None:
        """Return the folder of a package by its name, searched as for `package://NAME`."""
        packages = self._packages(name)
        return next((one for allowed, one in packages if isdir(one) and one in allowed), None)

    def _search(self, filename: str) -> MeshLookup:
        searched: dict[str, None] = {}  # an ordered set
        for allowed, candidate in self._candidates(filename):
            path = normpath(candidate)
            if "\0" in path or not (path in allowed or path in self._more):
                outside = ", ".join(dict.fromkeys((*allowed.folders, *self._more.folders)))
                searched[f"{path} {REJECTED} {outside})"] = None
                continue
            searched[path] = None
            if isfile(path):
                return MeshLookup(path, tuple(searched))
        return MeshLookup(None, tuple(searched) or ("(there is no folder to search)",))

    def _candidates(self, filename: str) -> list[tuple[AllowedFolders, str]]:
        """Return (allowed folders, path) of each possible location of a mesh."""
        scheme, separator, name = filename.partition("://")
        if not separator:
            folders = [*([self._folder] if self._folder else []), *self._package_dirs]
            return [(self._roots, join(folder, filename)) for folder in folders]
        if scheme == "file":
            path = "/" + unquote(name.partition("/")[2])  # without the host
            return [(self._roots, path)] if self._roots else []
        package, _, inside = name.lstrip("/").partition("/")  # some files have package:///NAME
        if scheme not in _PACKAGE_SCHEMES:
            return []
        return [(allowed, join(folder, inside)) for allowed, folder in self._packages(package)]

    def _packages(self, package: str) -> list[tuple[AllowedFolders, str]]:
        """Return (allowed folders, folder) of each possible location of a package."""
        if package not in self._known_packages:
            self._known_packages[package] = self._search_package(package)
        return self._known_packages[package]

    def _search_package(self, package: str) -> list[tuple[AllowedFolders, str]]:
        if package in ("", ".", "..") or os.sep in package or "\0" in package:
            return []
        inner, around, root = list(self._package_dirs), list[str](), ""
        if self._folder:
            around, parents = packages_around(self._folder), with_parents(self._folder)
            root = around[0]
            inner += parents[: 1 + parents.index(root)] if root in parents else []
        # each folder, and whether it is a package that may be opened
        folders = {folder: True for folder in inner + around if basename(folder) == package}
        for folder in (join(parent, package) for parent in inner):
            folders[folder] = not islink(folder) or has_manifest(folder)
        for folder in (join(dirname(one), package) for one in around):
            folders.setdefault(folder, has_manifest(folder) or not lexists(folder))
        if not any(is_package and isdir(folder) for folder, is_package in folders.items()):
            folders |= dict.fromkeys(self._named_packages.get(package, ()), True)
        return [
            (AllowedFolders([folder]) if is_package and folder != root else self._roots, folder)
            for folder, is_package in folders.items()
        ]

    @cached_property
    def _named_packages(self) -> dict[str, list[str]]:
        """The folders of packages by the name in their package.xml, which is the name in ROS."""
        folders = [*(with_parents(self._folder) if self._folder else ()), *self._package_dirs]
        folders += [child for folder in self._package_dirs for child in _subfolders(folder)]
        packages: dict[str, list[str]] = {}
        for folder in folders:
            name = _package_name(folder)
            if name:
                packages.setdefault(name, []).append(folder)
        return packages


def _subfolders(folder: str) -> list[str]:
    try:
        return sorted(entry.path for entry in os.scandir(folder) if entry.is_dir())
    except OSError:
        return []


def _package_name(folder: str) -> str | None:
    """Return the name in the package.xml of a folder; None if there is no such file."""
    manifest = join(folder, "package.xml")
    if not isfile(manifest):  # a pipe may be endless
        return None
    try:
        with open(manifest, encoding="utf-8", errors="replace") as file:
            name = _NAME.search(file.read(_MANIFEST_SIZE))
    except OSError:
        return None
    return name and name[1]


def _environment_folders(environment: Mapping[str, str]) -> list[str]:
    folders = [f for name in _FOLDERS for f in environment.get(name, "").split(os.pathsep)]
    prefixes = [f for name in _PREFIXES for f in environment.get(name, "").split(os.pathsep)]
    folders += [join(prefix, "share") for prefix in prefixes if prefix]
    return [abspath(folder) for folder in folders if folder]
