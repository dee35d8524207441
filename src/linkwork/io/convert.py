"""Conversion of a robot to another format, with findings about the differences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePath

import numpy as np

from linkwork.errors import ArgumentError, Finding, MissingPackageError, ModelError, listed, nearest
from linkwork.io.load import read
from linkwork.io.mjcf.package import collected_warnings, import_mujoco
from linkwork.io.mjcf.writer import write_mjcf
from linkwork.io.sdf.writer import in_sdf_terms, sdf_text
from linkwork.io.urdf.writer import (
    configuration_findings,
    expressible,
    extension_findings,
    urdf_text,
)
from linkwork.io.usd.writer import usd_text
from linkwork.io.xml.source import read_source, source_parse_error
from linkwork.model.description.differences import differences
from linkwork.model.geometry import Mesh
from linkwork.model.joints.motion import motion_pose, normalized
from linkwork.model.model import Model
from linkwork.model.parts import Joint

FORMATS = {
    "urdf": "URDF",
    "sdf": "SDF",
    "mjcf": "MJCF",
    "usd": "USD",
    "workcell": "workcell XML",
}

# Format by file ending; the first ending that matches. MuJoCo's models are named `.xml`.
_ENDINGS = {
    ".urdf": "urdf",
    ".sdf": "sdf",
    ".wc.xml": "workcell",
    ".mjcf": "mjcf",
    ".xml": "mjcf",
    ".usda": "usd",
    ".usd": "usd",
}
READ_BACK = 1e-8  # poses of SDF are computed, so they are read with rounding


@dataclass(frozen=True, slots=True)
class Conversion:
    """The content of the new file, its differences from the robot, and how it was checked."""

    text: str
    findings: tuple[Finding, ...] = ()
    checked: str = ""


def format_of(file: str, requested: str | None) -> str:
    """The format to write: the one requested, or that of the file's ending."""
    if requested is not None:
        if requested not in FORMATS:
            raise ArgumentError(f"unknown format {requested!r}; {nearest(requested, FORMATS)}")
        return requested
    name = next((name for end, name in _ENDINGS.items() if file.lower().endswith(end)), None)
    if name is None:
        endings = ", ".join(_ENDINGS)
        message = f"unknown file ending of {file!r}; use one of {endings}"
        raise ArgumentError(f"{message}, or pass --to FORMAT")
    return name


def convert_model(model: Model, target: str, *, floating: bool | None, meshes: bool) -> Conversion:
    """Convert a robot to URDF, SDF, MJCF or USD.

    Args:
        model: the robot.
        target: `urdf`, `sdf`, `mjcf` or `usd`.
        floating, meshes: as for `dump_mjcf`.

    Raises:
        ModelError: the format cannot express the robot.
        ParseError: MuJoCo rejects the result.
    """
    if target == "mjcf":
        mjcf = write_mjcf(model, floating=floating, meshes=meshes)
        findings = (*mjcf.findings, *_notes_of_mjcf(mjcf.text))
        return Conversion(mjcf.text, findings, _check_with_mujoco(mjcf.text))
    if target == "sdf":
        text, findings = sdf_text(model)
        return Conversion(text, tuple(findings), _check_sdf(model, text))
    if target == "usd":
        text, findings = usd_text(model)
        reading = read(read_source(text))
        if reading.model is None:
            raise ModelError([one for one in reading.findings if one.severity == "error"])
        return Conversion(text, tuple(findings), "can be read; values have single precision")
    model, findings = in_urdf_form(model)
    text = urdf_text(model)
    if read(read_source(text)).model != replace(model, configurations=()):
        message = "the URDF does not read back as the same robot"
        raise ModelError([Finding("error", "", message)])
    return Conversion(text, (*findings, *extension_findings(model)), "reads back as the same robot")


def _check_sdf(model: Model, text: str) -> str:
    """Read SDF, and compare it with the robot."""
    reading = read(read_source(text))
    if reading.model is None:
        raise ModelError([one for one in reading.findings if one.severity == "error"])
    changes = differences(in_sdf_form(model, reading.model), reading.model, READ_BACK)
    if changes:
        message = f"the SDF does not read back as the same robot: {changes[0]}"
        raise ModelError([Finding("error", "", message)])
    return "reads back as the same robot"


def in_sdf_form(model: Model, written: Model) -> Model:
    """The robot as SDF can express it.

    Args:
        model: the robot.
        written: the same robot read from SDF. Where a joint of both robots has the same motion, the
            result has its mounts, because the frame of a universal joint is not unique.
    """
    model, _ = in_sdf_terms(model)
    others = {joint.name: joint for joint in written.joints}
    joints: list[Joint] = []
    for joint in model.joints:
        other = others.get(joint.name)
        if other is not None and _has_same_motion(joint, other):
            names = ("first", "second", "axis", "first_H_joint", "joint_H_second")
            joint = replace(joint, **{name: getattr(other, name) for name in names})  # noqa: PLW2901
        joints.append(joint)
    return replace(model, joints=tuple(joints))


def _has_same_motion(joint: Joint, other: Joint) -> bool:
    """Whether two joints move the same links equally, in a sample of positions."""
    ends = {joint.first, joint.second}
    if joint.kind != other.kind or ends != {other.first, other.second}:
        return False
    random = np.random.default_rng(0)
    for _ in range(3):
        theta = normalized(joint, random.uniform(-1, 1, joint.motion_kind.nq))
        poses = [
            one.first_H_joint.matrix() @ motion_pose(one, theta) @ one.joint_H_second.matrix()
            for one in (joint, other)
        ]
        if joint.first != other.first:
            poses[1] = np.linalg.inv(poses[1])
        if np.abs(poses[0] - poses[1]).max() > READ_BACK * (1 + np.abs(poses[0]).max()):
            return False
    return True


def in_urdf_form(model: Model) -> tuple[Model, tuple[Finding, ...]]:
    """The robot as URDF can express it, and findings about what changed.

    Link frames are on their joints, and linear couplings are joints that mimic others.
    """
    model, changes = expressible(model)
    try:
        urdf_text(model)
    except ModelError:
        rerooted = model.rerooted()
        moved = [
            joint.second
            for joint in rerooted.joints
            if rerooted.link(joint.second) != model.link(joint.second)
            or joint != model.joint(joint.name)
        ]
        reason = "in URDF, the origin of a link is on the joint that carries it"
        message = f"{reason}; these link frames were moved: {listed(moved)}"
        return rerooted, (*changes, Finding("warning", "", message))
    return model, tuple(changes)


def in_workcell_form(model: Model) -> tuple[Model, tuple[Finding, ...]]:
    """The robot as workcell files can express it, which contain robots as URDF, and findings."""
    model, findings = in_urdf_form(model)
    findings = (*findings, *configuration_findings(model, "workcell XML"))
    return replace(model, configurations=()), findings


def relative_meshes(model: Model) -> list[Finding]:
    """Warn about meshes whose paths are relative to the file of the robot."""
    shapes = [s for link in model.links for s in (*link.visuals, *link.collisions)]
    names = [s.geometry.filename for s in shapes if isinstance(s.geometry, Mesh)]
    relative = [
        name
        for name in dict.fromkeys(names)
        if "://" not in name and not PurePath(name).is_absolute()
    ]
    if not relative:
        return []
    message = "paths of meshes are relative to the input file and may be wrong for the new file"
    return [Finding("warning", "", f"{message}: {listed(relative)}")]


def _notes_of_mjcf(text: str) -> list[Finding]:
    notes = {
        "<freejoint": "the base floats; --fixed fixes it to the world",
        "<mesh": "meshes are referenced by their absolute paths on this machine",
    }
    return [Finding("note", "", note) for element, note in notes.items() if element in text]


def _check_with_mujoco(text: str) -> str:
    """Load MJCF with MuJoCo, if it is installed."""
    try:
        mujoco = import_mujoco()
    except MissingPackageError:
        return ""
    with collected_warnings(mujoco):
        try:
            mujoco.MjModel.from_xml_string(text)
        except (ValueError, mujoco.FatalError, mujoco.UnexpectedError) as error:
            message = " ".join(str(error).split())
            raise source_parse_error("<MJCF>", f"MuJoCo: {message}") from None
    return "MuJoCo loads it"
