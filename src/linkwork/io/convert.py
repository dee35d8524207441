"""Conversion of a robot to another format, with findings about the differences."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from linkwork.errors import ArgumentError, Finding, MissingPackageError, ModelError, listed, nearest
from linkwork.io.load import read
from linkwork.io.mjcf.package import import_mujoco
from linkwork.io.mjcf.reader import collected_warnings
from linkwork.io.mjcf.writer import write_mjcf
from linkwork.io.urdf.writer import extension_findings, urdf_text
from linkwork.io.xml.source import read_source, source_parse_error
from linkwork.model.geometry import Mesh
from linkwork.model.model import Model

FORMATS = {"urdf": "URDF", "mjcf": "MJCF", "workcell": "workcell XML"}

# Format by file ending; the first ending that matches. MuJoCo's models are named `.xml`.
_ENDINGS = {".urdf": "urdf", ".wc.xml": "workcell", ".mjcf": "mjcf", ".xml": "mjcf"}


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
    """Convert a robot to URDF or MJCF.

    Args:
        model: the robot.
        target: `urdf` or `mjcf`.
        floating, meshes: as for `dump_mjcf`.

    Raises:
        ModelError: the format cannot express the robot.
        ParseError: MuJoCo rejects the result.
    """
    if target == "mjcf":
        mjcf = write_mjcf(model, floating=floating, meshes=meshes)
        findings = (*mjcf.findings, *_base_note(mjcf.text))
        return Conversion(mjcf.text, findings, _check_with_mujoco(mjcf.text))
    model, findings = in_urdf_form(model)
    text = urdf_text(model)
    if read(read_source(text)).model != model:
        message = "the URDF does not read back as the same robot"
        raise ModelError([Finding("error", "", message)])
    return Conversion(text, (*findings, *extension_findings(model)), "reads back as the same robot")


def in_urdf_form(model: Model) -> tuple[Model, tuple[Finding, ...]]:
    """The robot with link frames on their joints as URDF requires, and a finding if any moved."""
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
        return rerooted, (Finding("warning", "", message),)
    return model, ()


in_workcell_form = in_urdf_form  # workcell files contain robots as URDF


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


def _base_note(text: str) -> list[Finding]:
    if "<freejoint" not in text:
        return []
    return [Finding("note", "", "the base floats; --fixed fixes it to the world")]


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
            hint = "; --no-meshes omits meshes" if "<mesh" in text else ""
            raise source_parse_error("<MJCF>", f"MuJoCo: {message}{hint}") from None
    return "MuJoCo loads it"
