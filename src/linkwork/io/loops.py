"""Closed loops of a robot whose file describes a tree: a side file, or a list in Python.

URDF cannot describe loops. The collection `example-parallel-robots` of the Gepetto team puts them
into a YAML file next to the URDF, with these lists:

    closed_loop   pairs of frames that coincide; a frame is a link, or the child link of a joint
    type          for each pair 6d (the frames coincide, the default) or 3d (only their origins)
    name_mot      the joints that have motors: complete names, or parts of names
    joint_name    joints whose type in the URDF is replaced
    joint_type    their types: FIXED, SPHERICAL, or UJOINT_XY and the like, which rotates about the
                  first and then the second axis of the joint's frame; CARDAN is UJOINT_XY

The pairs become point and pose constraints of the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from linkwork.errors import (
    ArgumentError,
    Finding,
    ModelError,
    ParseError,
    counted,
    missing_package,
    nearest,
    shown,
)
from linkwork.io.xml.documents import Source, read_source, source_parse_error
from linkwork.model.joints import plane_basis
from linkwork.model.model import Model
from linkwork.model.parts import Constraint, ConstraintKind, Joint
from linkwork.model.pose import IDENTITY, Pose, as_pose, composed, inverted
from linkwork.spatial.source import se3

Pair: TypeAlias = tuple[str, str] | tuple[str, str, str] | Sequence[str]
Loops: TypeAlias = bool | str | PathLike[str] | Mapping[str, Any] | Sequence[Pair]

KEYS = ("closed_loop", "type", "name_mot", "joint_name", "joint_type")
TYPES: dict[str, ConstraintKind] = {"6d": "pose", "3d": "point", "pose": "pose", "point": "point"}
AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
JOINT_TYPES = (
    *("FIXED", "SPHERICAL", "CARDAN"),
    *(f"UJOINT_{a}{b}" for a in AXES for b in AXES if a != b),
)


def with_loops(model: Model, loops: Loops, urdf: Path | None) -> tuple[Model, list[Finding]]:
    """Add loops to a robot.

    Args:
        model: the robot.
        loops: as for `linkwork.load`.
        urdf: the file of the robot; with `loops=True`, the side file has its name.

    Returns:
        The robot, and warnings.

    Raises:
        SourceError: the file cannot be read.
        ParseError: the loops are not valid.
    """
    table = _table(loops, urdf)
    warnings = [
        Finding("warning", f"loops, {key}", f"unknown key; {nearest(key, KEYS)}")
        for key in table
        if key not in KEYS
    ]
    joints = {joint.name: joint for joint in model.joints}
    names, types = _words(table, "joint_name"), _words(table, "joint_type")
    for name, kind in _paired("joint_type", names, types, "joint"):
        joint = joints[_known("joint_name", "joint", name, joints)]
        joints[name] = _with_type(joint, _known("joint_type", "type", kind, JOINT_TYPES))
    if "name_mot" in table:
        motors = _motors(_words(table, "name_mot"), [one.name for one in joints.values() if one.nv])
        for name, joint in joints.items():
            joints[name] = replace(joint, actuated=name in motors if joint.nv else None)
    try:
        constraints = (*model.constraints, *_constraints(model, table))
        return replace(model, joints=tuple(joints.values()), constraints=constraints), warnings
    except ModelError as error:
        raise ParseError(error.findings) from None


def _table(loops: Loops, urdf: Path | None) -> Mapping[str, Any]:
    """Return the lists by key."""
    if isinstance(loops, Mapping):
        return loops
    if loops is True:
        if urdf is None:
            raise ArgumentError(
                "loops=True: the robot is not from a file; pass the path of the YAML file"
            )
        loops = urdf.with_suffix(".yaml")
    if isinstance(loops, (str, PathLike)):
        return _read_yaml(read_source(loops))
    if isinstance(loops, bool) or not isinstance(loops, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        expected = "True, a path, a mapping or a list of pairs"
        raise ArgumentError(f"loops: expected {expected}, got {shown(loops)}")
    for pair in loops:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) not in (2, 3):  # pyright: ignore[reportUnnecessaryIsInstance]
            expected = "(first frame, second frame) or (first frame, second frame, type)"
            raise ArgumentError(f"loops: expected {expected}, got {shown(pair)}")
    types = [pair[2] if len(pair) == 3 else "6d" for pair in loops]
    return {"closed_loop": [[*pair[:2]] for pair in loops], "type": types}


def _read_yaml(source: Source) -> Mapping[str, Any]:
    """Read a YAML mapping, in which every word is a string."""
    try:
        yaml = import_module("yaml")
    except ImportError as error:
        raise missing_package("reading loops from YAML", "pyyaml") from error
    try:
        table = yaml.load(source.text, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        message = getattr(error, "problem", None) or str(error)
        line = mark.line + 1 if mark else 1
        raise source_parse_error(source.name, f"not valid YAML: {message}", line) from None
    if not isinstance(table, Mapping):
        raise source_parse_error(source.name, f"expected a mapping with the keys {', '.join(KEYS)}")
    return table


def _constraints(model: Model, table: Mapping[str, Any]) -> list[Constraint]:
    pairs = table.get("closed_loop")
    if not isinstance(pairs, Sequence) or not all(map(_is_pair, pairs)):
        raise _error("closed_loop", "expected a list of pairs of frames")
    types = _words(table, "type") or ["6d"] * len(pairs)
    constraints: list[Constraint] = []
    for pair, kind in _paired("type", pairs, types, "pair"):
        first, second = (_frame(model, name) for name in pair)
        kind = TYPES[_known("type", "type", kind.lower(), TYPES)]  # noqa: PLW2901
        name = f"{first}_to_{second}"
        constraints.append(Constraint(name=name, kind=kind, first=first, second=second))
    return constraints


def _is_pair(value: Any) -> bool:
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    return is_list and len(value) == 2 and all(isinstance(name, str) for name in value)


def _frame(model: Model, name: str) -> str:
    """Return the frame of this name, or the child link of the joint of this name."""
    if name in model.joint_names and name not in model.frame_names:
        return model.joint(name).second
    return _known("closed_loop", "frame", name, model.frame_names)


def _motors(words: Sequence[str], moving: Sequence[str]) -> set[str]:
    """Return the joints with these names, or whose names contain one of them."""
    motors: set[str] = set()
    for word in words:
        matches = {word} & set(moving) or {name for name in moving if word in name}
        if not matches:
            text = f"no moving joint has {shown(word)} in its name; {nearest(word, moving)}"
            raise _error("name_mot", text)
        motors |= matches
    return motors


def _words(table: Mapping[str, Any], key: str) -> list[str]:
    """Return a list of words; a single word is a list of one."""
    value = table.get(key, ())
    words = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    if not all(isinstance(word, str) and word for word in words):
        raise _error(key, "expected a list of words")
    return words


def _paired(
    key: str, parts: Sequence[Any], types: Sequence[str], what: str
) -> Iterable[tuple[Any, str]]:
    """Return each part with its type; raise if there are more or fewer types."""
    if len(types) != len(parts):
        expected = f"{counted(len(parts), 'type')}, one for each {what}"
        raise _error(key, f"expected {expected}, got {len(types)}")
    return zip(parts, types, strict=True)


def _known(key: str, what: str, word: str, words: Iterable[str]) -> str:
    """Return a word that is one of some words; else raise with the nearest ones."""
    if word not in words:
        raise _error(key, f"no {what} named {shown(word)}; {nearest(word, words)}")
    return word


def _error(key: str, text: str) -> ParseError:
    return ParseError([Finding("error", f"loops, {key}", text)])


def _with_type(joint: Joint, kind: str) -> Joint:
    """Return a joint of another type with the same mounts, without limits and friction."""
    retyped = Joint(
        name=joint.name,
        kind="fixed" if kind == "FIXED" else "spherical",
        first=joint.first,
        second=joint.second,
        first_H_joint=joint.first_H_joint,
        joint_H_second=joint.joint_H_second,
        location=joint.location,
    )
    if kind in ("FIXED", "SPHERICAL"):
        return retyped
    first, second = "XY" if kind == "CARDAN" else kind.removeprefix("UJOINT_")
    rotation = _universal_frame(AXES[first], AXES[second])
    return replace(
        retyped,
        kind="universal",
        axis=AXES[first],
        first_H_joint=composed(joint.first_H_joint, rotation),
        joint_H_second=composed(inverted(rotation), joint.joint_H_second),
    )


def _universal_frame(first: tuple[float, ...], second: tuple[float, ...]) -> Pose:
    """Return the rotation about `first` that makes `second` the second axis of a joint.

    By default, the second axis follows from the first one: it is that of `plane_basis`.
    """
    default = plane_basis(np.array(first))[:, 0]
    default_axes, axes = (
        np.column_stack([first, across, np.cross(first, across)]) for across in (default, second)
    )
    rotation = axes @ default_axes.T
    if np.array_equal(rotation, np.eye(3)):
        return IDENTITY
    return as_pose(se3.pose(rotation, np.zeros(3)))
