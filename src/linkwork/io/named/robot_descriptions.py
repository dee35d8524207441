"""The robots of the package robot_descriptions, if it is installed and they were downloaded.

The package downloads a robot when its module is imported. linkwork imports only modules whose files
are in the package's cache already, so that a name never starts a download.
"""

from __future__ import annotations

import contextlib
import io
import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from linkwork.errors import SourceError
from linkwork.io.named.named_file import NamedFile

PACKAGE = "robot_descriptions"


def described_robots() -> tuple[str, ...]:
    """Names of all robots that the package knows, downloaded or not; empty if not installed."""
    if find_spec(PACKAGE) is None:
        return ()
    return tuple(
        name for name, about in _descriptions().items() if about.has_urdf or about.has_mjcf
    )


def downloaded_robots() -> tuple[str, ...]:
    """Names of the robots whose files are in the package's cache."""
    return tuple(name for name in described_robots() if _folder_of(name).is_dir())


def described_robot(name: str) -> NamedFile:
    """The file of a robot.

    Raises:
        SourceError: it was not downloaded yet, or the package cannot find it.
    """
    if not _folder_of(name).is_dir():
        text = f"{name!r} of {PACKAGE} is not downloaded yet"
        raise SourceError(f'{text}; python -c "import {PACKAGE}.{name}" does so')
    said = io.StringIO()  # the package prints what it does, where a command may print JSON
    try:
        with contextlib.redirect_stdout(said):
            module = import_module(f"{PACKAGE}.{name}")
    except Exception as error:
        words = " ".join(str(error).split()) or type(error).__name__
        raise SourceError(f"{PACKAGE} cannot give {name!r}: {words}") from error
    return _file_of(module, name)


def _file_of(module: Any, name: str) -> NamedFile:
    """The first file that a module names, and where its packages lie."""
    names = ("URDF_PATH", "XACRO_PATH", "MJCF_PATH")
    file = next((getattr(module, own) for own in names if hasattr(module, own)), None)
    if file is None or not Path(file).is_file():
        raise SourceError(f"{PACKAGE} has no file for {name!r}" + (f": {file}" if file else ""))
    folders = [getattr(module, own, "") for own in ("PACKAGE_PATH", "REPOSITORY_PATH")]
    folders += [os.path.dirname(folder) for folder in folders]  # noqa: PTH120 - they are texts
    folders += getattr(module, "XACRO_PACKAGE_PATHS", {}).values()
    arguments = getattr(module, "XACRO_ARGS", {}) if hasattr(module, "XACRO_PATH") else {}
    return NamedFile(
        path=Path(file),
        package_dirs=tuple(dict.fromkeys(filter(None, folders))),
        xacro_args={key: str(value) for key, value in arguments.items()},
    )


def _descriptions() -> Any:
    return import_module(PACKAGE).DESCRIPTIONS


def _folder_of(name: str) -> Path:
    """Where the package keeps the files of a robot that it has downloaded."""
    repositories = import_module(f"{PACKAGE}._repositories").REPOSITORIES
    root = os.environ.get("ROBOT_DESCRIPTIONS_CACHE", "~/.cache/robot_descriptions")
    return Path(root).expanduser() / repositories[_descriptions()[name].repository].cache_path
