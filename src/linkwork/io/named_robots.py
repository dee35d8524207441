"""Robots by name: bundled with linkwork, or in an installed package.

    arm                        bundled, else in example-robot-data, else in robot_descriptions
    example-robot-data:arm     in that package only; also linkwork: and robot_descriptions:

A file with the same name takes precedence.

The package example-robot-data is searched for files and never imported. Its robots have the names
of their files and the names that its loaders use. The package robot_descriptions downloads a robot
when its module is imported; linkwork imports only modules whose files are downloaded already.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from os.path import isfile
from pathlib import Path
from typing import Any

from linkwork.errors import LONGEST_NAME, MissingFileError, SourceError, counted, nearest, shown
from linkwork.io.formats import endings


@dataclass(frozen=True, slots=True)
class NamedFile:
    """The file of a robot, and the options to read it with."""

    path: Path
    package_dirs: tuple[str, ...] = ()
    xacro_args: Mapping[str, str] = field(default_factory=dict[str, str])
    note: str = ""  # if the name may be understood as another robot
    srdf: Path | None = None


FOLDER = Path(__file__).parents[1] / "robots"
CELL_FOLDER = FOLDER / "cells"
REAL_ROBOTS_HINT = "files of real robots: pip install robot_descriptions, or example-robot-data"


def bundled_names() -> tuple[str, ...]:
    """Return the names of the bundled robots."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.urdf")))


def bundled_cells() -> tuple[str, ...]:
    """Return the names of the bundled workcells."""
    return tuple(sorted(path.stem for path in CELL_FOLDER.glob("*.xml")))


EXAMPLES = "example-robot-data"

# Names of the package's loaders that differ from the name of the file.
LOADER_NAMES = {
    "alexander": "alexander_description/urdf/alexander_v1.lowerBodyOnly.urdf",
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",
    "anymal_c": "anymal_c_simple_description/urdf/anymal.urdf",
    "anymal_kinova": "anymal_b_simple_description/robots/anymal-kinova.urdf",
    "asr_twodof": "asr_twodof_description/urdf/TwoDofs.urdf",
    "b1_z1": "b1_description/urdf/b1-z1.urdf",
    "borinot": "borinot_description/urdf/borinot_flying_arm_2.urdf",
    "g1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "g1_with_hands": "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf",
    "hector": "hector_description/robots/quadrotor_base.urdf",
    "hextilt": "hextilt_description/urdf/hextilt_flying_arm_5.urdf",
    "hyq": "hyq_description/robots/hyq_no_sensors.urdf",
    "iris": "iris_description/robots/iris_simple.urdf",
    "solo8": "solo_description/robots/solo.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
    "talos_arm": "talos_data/robots/talos_left_arm.urdf",
    "talos_box": "talos_data/robots/talos_reduced_box.urdf",
    "talos_full": "talos_data/robots/talos_full_v2.urdf",
    "talos_full_box": "talos_data/robots/talos_full_v2_box.urdf",
    "ur3": "ur_description/urdf/ur3_robot.urdf",
    "ur3_limited": "ur_description/urdf/ur3_joint_limited_robot.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "ur5_limited": "ur_description/urdf/ur5_joint_limited_robot.urdf",
    "ur10": "ur_description/urdf/ur10_robot.urdf",
    "ur10_limited": "ur_description/urdf/ur10_joint_limited_robot.urdf",
}

# Names of reduced robots, and of the complete robots.
COMPLETE_ROBOTS = {"talos": "talos_full", "talos_box": "talos_full_box"}


def robots_folder() -> Path | None:
    """Return the folder with the robots of example-robot-data, if it is installed."""
    return next((path for path in _folders() if path.is_dir()), None)


def example_robots() -> dict[str, Path]:
    """Return the files of example-robot-data by name, sorted; empty if it is not installed."""
    folder = robots_folder()
    return {} if folder is None else dict(_files(folder))


def example_robot(name: str) -> NamedFile:
    """Return the file of a robot of example-robot-data, with a note if it is a reduced robot."""
    path = example_robots()[name]
    srdf = _srdf_of(path)
    complete = COMPLETE_ROBOTS.get(name)
    if complete is None:
        return NamedFile(path, srdf=srdf)
    note = f"the name {name!r} stands for {path.name}; {complete!r} has more joints"
    return NamedFile(path, note=note, srdf=srdf)


def _srdf_of(path: Path) -> Path | None:
    """Return the SRDF file of a robot, such as `talos.srdf` for `talos_reduced.urdf`."""
    files = path.parents[1].glob("srdf/*.srdf")
    matches = [file for file in files if path.stem.startswith(file.stem)]
    return max(matches, key=lambda file: len(file.stem), default=None)


@cache
def _files(folder: Path) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for ending in (".urdf", ".sdf"):
        for path in sorted(folder.glob(f"*/*/*{ending}")):
            files.setdefault(path.stem, path)  # LOADER_NAMES has names for others with this stem
    files |= {
        name: folder / file for name, file in LOADER_NAMES.items() if (folder / file).is_file()
    }
    return dict(sorted(files.items()))


def _folders() -> Iterator[Path]:
    from importlib.metadata import PackageNotFoundError, distribution  # slow to import

    try:
        root = distribution(EXAMPLES).locate_file("cmeel.prefix")
        yield Path(str(root)) / "share" / EXAMPLES / "robots"
    except PackageNotFoundError:
        pass
    yield Path(sys.prefix) / "share" / EXAMPLES / "robots"  # where conda puts it


DESCRIPTIONS = "robot_descriptions"


def described_robots() -> tuple[str, ...]:
    """Return the names of all robots of robot_descriptions, downloaded or not."""
    if find_spec(DESCRIPTIONS) is None:
        return ()
    return tuple(
        name for name, about in _descriptions().items() if about.has_urdf or about.has_mjcf
    )


def downloaded_robots() -> tuple[str, ...]:
    """Return the names of the downloaded robots of robot_descriptions."""
    return tuple(name for name in described_robots() if _folder_of(name).is_dir())


def described_robot(name: str) -> NamedFile:
    """Return the file of a robot of robot_descriptions.

    Raises:
        SourceError: it is not downloaded, or the package has no file for it.
    """
    if not _folder_of(name).is_dir():
        command = f'python -c "import {DESCRIPTIONS}.{name}"'
        raise SourceError(f"{name!r} of {DESCRIPTIONS} is not downloaded; run {command}")
    output = io.StringIO()  # the package prints messages, which would damage JSON output
    try:
        with contextlib.redirect_stdout(output):
            module = import_module(f"{DESCRIPTIONS}.{name}")
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise SourceError(f"{DESCRIPTIONS} cannot load {name!r}: {reason}") from error
    return _file_of(module, name)


def _file_of(module: Any, name: str) -> NamedFile:
    """Return the first file that a module names, and the folders of its packages."""
    names = ("URDF_PATH", "XACRO_PATH", "MJCF_PATH")
    file = next((getattr(module, path) for path in names if hasattr(module, path)), None)
    if file is None or not Path(file).is_file():
        raise SourceError(
            f"{DESCRIPTIONS} has no file for {name!r}" + (f": {file}" if file else "")
        )
    folders = [getattr(module, path, "") for path in ("PACKAGE_PATH", "REPOSITORY_PATH")]
    folders += [os.path.dirname(folder) for folder in folders]  # noqa: PTH120 - they are strings
    folders += getattr(module, "XACRO_PACKAGE_PATHS", {}).values()
    arguments = getattr(module, "XACRO_ARGS", {}) if hasattr(module, "XACRO_PATH") else {}
    return NamedFile(
        path=Path(file),
        package_dirs=tuple(dict.fromkeys(filter(None, folders))),
        xacro_args={key: str(value) for key, value in arguments.items()},
    )


def _descriptions() -> Any:
    return import_module(DESCRIPTIONS).DESCRIPTIONS


def _folder_of(name: str) -> Path:
    """Return the folder into which the package downloads the files of a robot."""
    repositories = import_module(f"{DESCRIPTIONS}._repositories").REPOSITORIES
    root = os.environ.get("ROBOT_DESCRIPTIONS_CACHE", "~/.cache/robot_descriptions")
    return Path(root).expanduser() / repositories[_descriptions()[name].repository].cache_path


BUNDLED = "linkwork"
_NAME = re.compile(r"[\w.+-]+(:[\w.+-]+)?")
_FILE_ENDINGS = (*endings(), ".txt")


@dataclass(frozen=True, slots=True)
class Collection:
    """The robots of one package: all names, and the file of one robot."""

    names: Callable[[], tuple[str, ...]]
    file: Callable[[str], NamedFile]


COLLECTIONS: Mapping[str, Collection] = {
    BUNDLED: Collection(bundled_names, lambda name: NamedFile(FOLDER / f"{name}.urdf")),
    EXAMPLES: Collection(lambda: tuple(example_robots()), example_robot),
    DESCRIPTIONS: Collection(described_robots, described_robot),
}


def named_robot(name: str) -> NamedFile | None:
    """Return the file of a robot by name; None if there is none, or if a file has this name.

    Raises:
        MissingFileError: the name includes a package, and that has no such robot.
        SourceError: the robot is known, but its file is not downloaded.
    """
    if len(name) > 2 * LONGEST_NAME or not _NAME.fullmatch(name) or isfile(name):  # noqa: PTH113
        return None
    package, colon, robot = name.partition(":")
    if colon and package in COLLECTIONS:
        collection = COLLECTIONS[package]
        if robot not in collection.names():
            raise MissingFileError(f"no robot {shown(robot)} in {package}; {_hint(package, robot)}")
        return collection.file(robot)
    for collection in COLLECTIONS.values():
        if name in collection.names():
            return collection.file(name)
    return None


def name_hint(missing: str) -> str:
    """Return the hint, with its separator, for a file that does not exist.

    A name without folder and ending probably means a robot.
    """
    stem = next((missing.removesuffix(e) for e in _FILE_ENDINGS if missing.endswith(e)), missing)
    if not _NAME.fullmatch(stem):
        return ""
    names = [name for collection in COLLECTIONS.values() for name in collection.names()]
    if stem in names:
        return f"; {stem!r} is the name of a robot that can be loaded"
    if stem in bundled_cells():
        return f"; {stem!r} is a workcell, for lw.load_workcell and `linkwork view`"
    near = get_close_matches(stem[:LONGEST_NAME].lower(), names, n=2, cutoff=0.7)
    if near:
        return f"; did you mean the robot {' or '.join(map(repr, dict.fromkeys(near)))}?"
    if stem != missing:
        return ""
    listed = f"; bundled robots: {', '.join(bundled_names())}"
    others = [package for package in (EXAMPLES, DESCRIPTIONS) if not COLLECTIONS[package].names()]
    more = len(names) - len(bundled_names())
    if more:
        listed += f"; `linkwork robots` lists {counted(more, 'other')}"
    return f"{listed}; for more: pip install {', or '.join(others)}" if others else listed


def _hint(package: str, name: str) -> str:
    names = COLLECTIONS[package].names()
    if not names and package != BUNDLED:
        return f"it is not installed: pip install {package}"
    return nearest(name, names)
