"""Robots by name: bundled with linkwork, or of a package that is installed.

    arm                        bundled, else of example-robot-data, else of robot_descriptions
    example-robot-data:arm     of that package only; likewise linkwork: and robot_descriptions:

A file of that name is taken before any robot.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from os.path import isfile

from linkwork.errors import LONGEST_NAME, MissingFileError, counted, nearest, shown
from linkwork.io.named.bundled import FOLDER, bundled_names
from linkwork.io.named.example_robot_data import PACKAGE as EXAMPLES
from linkwork.io.named.example_robot_data import example_robot, example_robots
from linkwork.io.named.named_file import NamedFile
from linkwork.io.named.robot_descriptions import PACKAGE as DESCRIPTIONS
from linkwork.io.named.robot_descriptions import described_robot, described_robots

OWN = "linkwork"
_NAME = re.compile(r"[\w.+-]+(:[\w.+-]+)?")
_FILE_ENDINGS = (".urdf", ".xml", ".mjcf", ".xacro", ".sdf", ".txt")


@dataclass(frozen=True, slots=True)
class Collection:
    """Robots that share a package: all names, and the file of one."""

    names: Callable[[], tuple[str, ...]]
    file: Callable[[str], NamedFile]


COLLECTIONS: Mapping[str, Collection] = {
    OWN: Collection(bundled_names, lambda name: NamedFile(FOLDER / f"{name}.urdf")),
    EXAMPLES: Collection(lambda: tuple(example_robots()), example_robot),
    DESCRIPTIONS: Collection(described_robots, described_robot),
}


def named_robot(name: str) -> NamedFile | None:
    """The file of a robot of this name; None if there is none, or if a file has this name.

    Raises:
        MissingFileError: the name says which package, and that has no such robot.
        SourceError: the robot is known, but its file is not here.
    """
    if len(name) > 2 * LONGEST_NAME or not _NAME.fullmatch(name) or isfile(name):  # noqa: PTH113
        return None
    package, colon, own = name.partition(":")
    if colon and package in COLLECTIONS:
        collection = COLLECTIONS[package]
        if own not in collection.names():
            raise MissingFileError(f"no robot {shown(own)} in {package}; {_known(package, own)}")
        return collection.file(own)
    for collection in COLLECTIONS.values():
        if name in collection.names():
            return collection.file(name)
    return None


def name_hint(missing: str) -> str:
    """What to say, with its separator, to someone who named a file that does not exist.

    Someone who writes a bare word looks for a robot rather than for a file.
    """
    stem = next((missing.removesuffix(e) for e in _FILE_ENDINGS if missing.endswith(e)), missing)
    if not _NAME.fullmatch(stem):
        return ""
    names = [name for collection in COLLECTIONS.values() for name in collection.names()]
    if stem in names:
        return f"; {stem!r} is the name of a robot that can be loaded"
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
    return f"{listed}; more come with: pip install {', or '.join(others)}" if others else listed


def _known(package: str, name: str) -> str:
    names = COLLECTIONS[package].names()
    if not names and package != OWN:
        return f"it is not installed: pip install {package}"
    return nearest(name, names)
