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
from dataclasses import dataclass, replace
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
    Severity,
    SourceLocation,
    Suggestions,
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


@dataclass(frozen=True, slots=True)
class Text:
    """A word, and where it is written."""

    value: str
    location: SourceLocation | None = None


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
        ParseError: the loops are not valid; the message lists all errors.
    """
    reader = _Reader(model, _tables(loops, urdf))
    closed = reader.model_with_loops()
    errors = [finding for finding in reader.findings if finding.severity == "error"]
    if closed is None or errors:
        raise ParseError(errors)
    return closed, reader.findings


def _tables(loops: Loops, urdf: Path | None) -> Mapping[str, Any]:
    """Return the lists by key; their words are `Text`."""
    if isinstance(loops, Mapping):
        return {str(key): _in_python(value) for key, value in loops.items()}
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
    return {
        "closed_loop": _in_python([pair[:2] for pair in loops]),
        "type": _in_python([pair[2] if len(pair) == 3 else "6d" for pair in loops]),
    }


def _in_python(value: Any) -> Any:
    if isinstance(value, str) or not isinstance(value, Iterable):
        return Text(value)
    return [_in_python(part) for part in value]


def _read_yaml(source: Source) -> Mapping[str, Any]:
    """Read a YAML mapping of lists, with the line of each word."""
    try:
        yaml = import_module("yaml")
    except ImportError as error:
        raise missing_package("reading loops from YAML", "pyyaml") from error

    def value_of(node: Any, depth: int) -> Any:
        location = SourceLocation(source.name, node.start_mark.line + 1)
        if isinstance(node, yaml.ScalarNode):
            return Text(node.value, location)
        if isinstance(node, yaml.SequenceNode) and depth:
            return [value_of(part, depth - 1) for part in node.value]
        raise source_parse_error(source.name, "expected names in lists", location.line)

    try:
        top = yaml.compose(source.text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        message = getattr(error, "problem", None) or str(error)
        line = mark.line + 1 if mark else 1
        raise source_parse_error(source.name, f"not valid YAML: {message}", line) from None
    if not isinstance(top, yaml.MappingNode):
        raise source_parse_error(source.name, f"expected a mapping with the keys {', '.join(KEYS)}")
    depth = 2  # a list of pairs
    return {str(key.value): value_of(value, depth) for key, value in top.value}


class _Reader:
    """Converts the lists to constraints and properties of joints, and collects findings."""

    def __init__(self, model: Model, tables: Mapping[str, Any]) -> None:
        self.model = model
        self.findings: list[Finding] = []
        self._tables = tables
        for key in tables:
            if key not in KEYS:
                self._add("warning", key, f"unknown key; {nearest(key, KEYS)}")

    def model_with_loops(self) -> Model | None:
        """Return the robot with its loops; None if there are errors."""
        try:
            joints = self._joints_with_types()
            motors = self._motors(joints)
            if "name_mot" in self._tables:
                joints = [replace(j, actuated=j.name in motors if j.nv else None) for j in joints]
            self.model = replace(self.model, joints=tuple(joints))
            constraints = (*self.model.constraints, *self._constraints())
            return replace(self.model, constraints=constraints)
        except ModelError as error:
            self.findings += error.findings
            return None

    def _constraints(self) -> list[Constraint]:
        pairs = self._tables.get("closed_loop")
        if not isinstance(pairs, list):
            self._add("error", "closed_loop", "expected a list of pairs of frames")
            return []
        types = self._words("type") or [Text("6d")] * len(pairs)
        if len(types) != len(pairs):
            text = f"expected {counted(len(pairs), 'type')}, one for each pair, got {len(types)}"
            self._add("error", "type", text)
            return []
        results: list[Constraint] = []
        for pair, kind in zip(pairs, types, strict=True):
            names = [_word(name) for name in pair] if isinstance(pair, list) else []
            if len(names) != 2 or not all(names):
                self._add("error", "closed_loop", "expected pairs of frames", _location(pair))
                continue
            first, second = (self._frame(name) for name in pair)
            constraint = self._constraint(first, second, kind)
            if constraint:
                results.append(constraint)
        return results

    def _constraint(self, first: Text | None, second: Text | None, kind: Text) -> Constraint | None:
        constraint_kind = TYPES.get(str(kind.value).lower())
        if constraint_kind is None:
            text = f"unknown type {shown(kind.value)}; {nearest(str(kind.value), TYPES)}"
            self._add("error", "type", text, kind.location)
        if constraint_kind is None or first is None or second is None:
            return None
        return Constraint(
            name=f"{first.value}_to_{second.value}",
            kind=constraint_kind,
            first=first.value,
            second=second.value,
            location=first.location,
        )

    def _frame(self, name: Text) -> Text | None:
        """Return the frame of this name, or the child link of the joint of this name."""
        if name.value in self.model.frame_names:
            return name
        if name.value in self.model.joint_names:
            return replace(name, value=self.model.joint(name.value).second)
        text = (
            f"no frame named {shown(name.value)}{Suggestions(self.model.frame_names)(name.value)}"
        )
        self._add("error", "closed_loop", text, name.location)
        return None

    def _motors(self, joints: Sequence[Joint]) -> set[str]:
        """Return the joints with these names, or whose names contain one of them."""
        moving = [joint.name for joint in joints if joint.nv]
        motors: set[str] = set()
        for name in self._words("name_mot"):
            matches = {name.value} & set(moving) or {one for one in moving if name.value in one}
            if not matches:
                text = f"no moving joint has {shown(name.value)} in its name"
                hint = Suggestions(moving)(name.value)
                self._add("error", "name_mot", text + hint, name.location)
            motors |= matches
        return motors

    def _joints_with_types(self) -> list[Joint]:
        """Return the joints, with the types that the lists replace."""
        names, types = self._words("joint_name"), self._words("joint_type")
        if len(names) != len(types):
            text = f"expected {counted(len(names), 'type')}, one for each joint, got {len(types)}"
            self._add("error", "joint_type", text)
            return list(self.model.joints)
        joints = {joint.name: joint for joint in self.model.joints}
        for name, kind in zip(names, types, strict=True):
            if name.value not in joints:
                text = f"no joint named {shown(name.value)}{Suggestions(joints)(name.value)}"
                self._add("error", "joint_name", text, name.location)
            elif kind.value not in JOINT_TYPES:
                text = f"unknown type {shown(kind.value)}; {nearest(str(kind.value), JOINT_TYPES)}"
                self._add("error", "joint_type", text, kind.location)
            else:
                joints[name.value] = _with_type(joints[name.value], kind.value)
        return list(joints.values())

    def _words(self, key: str) -> list[Text]:
        """Return a list of words; a single word is a list of one."""
        value = self._tables.get(key, [])
        words = value if isinstance(value, list) else [value]
        for word in words:
            if not _word(word):
                self._add("error", key, "expected a list of words", _location(word))
                return []
        return words

    def _add(
        self, severity: Severity, key: str, text: str, at: SourceLocation | None = None
    ) -> None:
        self.findings.append(Finding(severity, f"loops, {key}", text, at))


def _word(value: Any) -> str:
    """Return the word; empty if the value is something else."""
    return value.value if isinstance(value, Text) and isinstance(value.value, str) else ""


def _location(value: Any) -> SourceLocation | None:
    while isinstance(value, list):
        value = value[0] if value else None
    return value.location if isinstance(value, Text) else None


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
