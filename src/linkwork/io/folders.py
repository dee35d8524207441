"""The folders that the files of a document may be in. Every reader uses `AllowedFolders`.

Rule      a file is allowed if it is inside an allowed folder after all symbolic links are resolved.
          `..` in a name is removed before, so it never leads through a link
Package   a folder with a manifest: package.xml or model.config. The package of a document is the
          nearest one that contains it. Without one, it is the parent of the document's folder, if
          that is named `urdf` or similarly, unless the parent is a home folder or at the top of the
          file system, without a folder `meshes`; or the parent of `robots` in `robots/NAME/`, if
          `meshes` is next to `robots`; or else the document's folder. The root of the file system
          is never allowed by a document
Links     a document that is a link, or a manifest that is a link to another manifest, also allows
          the package of its target. So `colcon build --symlink-install` works, and so do folders
          of links into a store. Other links out of the allowed folders are rejected
Others    folders that the caller passes (`package_dirs`, `include_dirs`), and those of the search
          paths of ROS and Gazebo in the environment
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from os import PathLike, fspath
from os.path import abspath, basename, dirname, expanduser, isdir, isfile, islink, join, realpath
from typing import TypeAlias

from linkwork.errors import ArgumentError, shown

Folders: TypeAlias = Iterable[str | PathLike[str]] | str | PathLike[str] | None

MANIFESTS = ("package.xml", "model.config")
# Folders of robot files that usually have a sibling folder `meshes`.
_ROBOT_FOLDERS = ("urdf", "robots", "robot", "xml", "models", "description")
_MESHES = "meshes"


class AllowedFolders:
    """Folders whose files may be opened."""

    __slots__ = ("_targets", "folders")

    def __init__(self, folders: Iterable[str | PathLike[str]] = ()) -> None:
        """Resolve the symbolic links of the folders, and of their manifests."""
        self.folders = tuple(dict.fromkeys(abspath(folder) for folder in folders))
        self._targets = tuple(dict.fromkeys(t for f in self.folders for t in _targets(f)))

    @classmethod
    def of(
        cls, document: str | PathLike[str] | None, folders: Iterable[str] = ()
    ) -> AllowedFolders:
        """Return the folders of a document: its package, the package of its target, and others.

        Args:
            document: path of the document; None for a string.
            folders: further folders.
        """
        if document is None:
            return cls(folders)
        path = abspath(fspath(document))
        packages = [packages_around(dirname(one))[0] for one in (path, realpath(path))]
        return cls([*(one for one in packages if dirname(one) != one), *folders])

    def __contains__(self, path: str | PathLike[str]) -> bool:
        """Whether a path is inside of these folders after symbolic links are resolved.

        Raises:
            OSError, ValueError: the path is invalid, such as one with a NUL byte.
        """
        target = realpath(path)
        return any(_is_inside(target, folder) for folder in self._targets)

    def __bool__(self) -> bool:
        """Whether there are any folders."""
        return bool(self.folders)

    def __str__(self) -> str:
        """Return the folders, for messages."""
        return ", ".join(self.folders)


def _targets(folder: str) -> Iterator[str]:
    """Yield the folder without symbolic links, and the folders of the targets of its manifests."""
    yield realpath(folder)
    for name in MANIFESTS:
        manifest = join(folder, name)
        target = realpath(manifest) if islink(manifest) else ""
        if basename(target) == name and isfile(target):
            yield dirname(target)


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def has_manifest(folder: str) -> bool:
    """Return whether a folder is a package."""
    return any(isfile(join(folder, name)) for name in MANIFESTS)


def with_parents(folder: str) -> list[str]:
    """Return a folder and its parents, nearest first, without the root of the file system."""
    folders: list[str] = []
    while dirname(folder) != folder:
        folders.append(folder)
        folder = dirname(folder)
    return folders


def packages_around(folder: str) -> list[str]:
    """Return the packages that contain a folder, nearest first, by the rules above."""
    parents = with_parents(folder)
    packages = [parent for parent in parents if has_manifest(parent)]
    for depth in (1, 2):  # the parent of `urdf`, or of `robots` in `robots/NAME`
        if len(parents) > depth and basename(parents[depth - 1]) in _ROBOT_FOLDERS:
            is_narrow = depth == 1 and len(parents) > 2 and not _is_home(parents[1])
            if is_narrow or isdir(join(parents[depth], _MESHES)):
                packages.append(parents[depth])
    return packages or [folder]


def _is_home(folder: str) -> bool:
    return dirname(folder) == dirname(expanduser("~")) or folder == expanduser("~")


def as_folders(folders: Folders, argument: str = "package_dirs") -> list[str]:
    """Return the absolute paths of an argument: none, one or several."""
    if folders is None or isinstance(folders, (str, PathLike)):
        folders = () if folders is None else (folders,)
    paths: list[str] = []
    for folder in folders:
        path = fspath(folder) if isinstance(folder, (str, PathLike)) else None
        if not isinstance(path, str):
            raise ArgumentError(f"{argument}: expected paths, got {shown(folder)}")
        paths.append(abspath(path))
    return paths
