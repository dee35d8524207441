"""The zoo: robots by name, with PinnZoo's kinematics bodies and initial configurations.

Small robots are bundled with linkwork; others are in the package example-robot-data.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import radians
from os import PathLike, fspath
from pathlib import Path

import numpy as np

from linkwork.errors import ArgumentError, NameNotFoundError, missing_package, nearest, shown
from linkwork.export.pinnzoo.state_space import Orientation
from linkwork.io.load import load, read
from linkwork.io.named_robots import EXAMPLES, FOLDER, bundled_names, robots_folder
from linkwork.model.model import Model
from linkwork.spatial.source import quat

_LEGS = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A robot of the zoo."""

    file: str = ""  # in example-robot-data; bundled if empty
    bodies: tuple[str, ...] = ()
    orientation: Orientation = "none"
    floating: bool = False
    start: tuple[float, ...] = ()  # q of `init_state`; neutral if empty


def _four_legs(
    height: float, pitch: float, hips: tuple[float, float, float, float], thigh: float, calf: float
) -> tuple[float, ...]:
    """q of a quadruped with its legs in the order FL, FR, RL, RR; angles in degrees."""
    wxyz = quat.exp(np.array([0.0, radians(pitch), 0.0])).tolist()
    legs = [angle for hip in hips for angle in map(radians, (hip, thigh, calf))]
    return (0.0, 0.0, height, *wxyz, *legs)


_HIP = float(np.degrees(0.55))
ZOO: dict[str, Entry] = {
    "pendulum": Entry(bodies=("pole_tip",)),
    "double_pendulum": Entry(bodies=("pole_tip",)),
    "cartpole": Entry(bodies=("pole_tip",)),
    "double_cartpole": Entry(bodies=("pole_tip",)),
    "quadrotor": Entry(bodies=("quadrotor",), orientation="axis_angle", floating=True),
    "go1": Entry(
        file="go1_description/urdf/go1.urdf",
        bodies=_LEGS,
        floating=True,
        start=_four_legs(0.058, 0.0, (-_HIP, _HIP, -_HIP, _HIP), 64.0, -155.0),
    ),
    "go2": Entry(
        file="go2_description/urdf/go2.urdf",
        bodies=_LEGS,
        floating=True,
        start=_four_legs(0.082, -7.5, (0.0, 0.0, 27.0, -27.0), 75.0, -156.0),
    ),
    "bolt": Entry(
        file="bolt_description/robots/bolt.urdf", bodies=("FL_FOOT", "FR_FOOT"), floating=True
    ),
}
# Names of PinnZoo's folders.
ALIASES = {"unitree_go1": "go1", "unitree_go2": "go2", "biped": "bolt"}
WITHOUT_FILE = ("nadia", "crazydog")  # robots of PinnZoo that are not in any package


@dataclass(frozen=True, slots=True)
class RobotSource:
    """The robot of a model, and its origin."""

    argument: object  # of `Model`
    name: str
    path: str | None
    model: Model
    entry: Entry


def in_zoo(name: str) -> bool:
    """Return whether the zoo has a robot of this name, installed or not."""
    return ALIASES.get(name.lower(), name.lower()) in ZOO


def zoo_names() -> tuple[str, ...]:
    """Return the names that `Model` accepts: robots that are bundled or installed."""
    folder = robots_folder()
    return tuple(
        name
        for name, entry in ZOO.items()
        if not entry.file or (folder is not None and (folder / entry.file).exists())
    )


def find_robot(source: object) -> RobotSource:
    """Find a robot by its name in the zoo, its file, its contents or its model."""
    if isinstance(source, Model):
        return RobotSource(source, source.name, None, source, Entry())
    if not isinstance(source, (str, PathLike)):
        expected = "a name of the zoo, the path or contents of a file, or a Model"
        raise ArgumentError(f"urdf_or_name: expected {expected}, got {shown(source)}")
    path_or_name = fspath(source)
    name = ALIASES.get(path_or_name.lower(), path_or_name.lower())
    if name in ZOO:
        entry = ZOO[name]
        path = _file_of(name, entry)
        model = read(path, mimic=False).model  # findings in files of the zoo are not reported
        assert model is not None
        return RobotSource(source, name, str(path), model, entry)
    if name in WITHOUT_FILE or _is_bare_word(path_or_name):
        raise _unknown(path_or_name)
    model = load(path_or_name, mimic=False)
    path = None if "<" in path_or_name else path_or_name
    return RobotSource(source, model.name, path, model, Entry())


def _file_of(name: str, entry: Entry) -> Path:
    if not entry.file:
        return FOLDER / "zoo" / f"{name}.urdf"
    folder = robots_folder()
    if folder is None or not (folder / entry.file).exists():
        raise missing_package(f"the file of {name!r}", EXAMPLES)
    return folder / entry.file


def _is_bare_word(text: str) -> bool:
    """Return whether a string is a name rather than a file or its contents."""
    is_word = text.replace("_", "").replace("-", "").isalnum()
    return is_word and not Path(text).exists()


def _unknown(name: str) -> NameNotFoundError:
    if name.lower() in WITHOUT_FILE:
        hint = "no package has its file; use the path of a file"
    elif name in bundled_names():
        hint = f"use the bundled robot with Model(linkwork.robots.load({name!r}))"
    else:
        hint = nearest(name, ZOO)
    return NameNotFoundError(f"no robot of the zoo named {shown(name)}; {hint}")
