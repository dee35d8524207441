"""A robot in another format: what has to change for it, and what is lost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from linkwork.errors import ArgumentError, Finding, MissingPackageError, ModelError, listed, nearest
from linkwork.io.load import read
from linkwork.io.mjcf.package import import_mujoco
from linkwork.io.mjcf.reader import collected_warnings
from linkwork.io.mjcf.writer import write_mjcf
from linkwork.io.urdf.writer import extension_findings, urdf_text
from linkwork.io.xml.source import read_source, text_error
from linkwork.model.geometry import Mesh
from linkwork.model.model import Model

FORMATS = {"urdf": "URDF", "mjcf": "MJCF", "workcell": "workcell XML"}

# By ending, the longest that fits. `.xml` alone is what MuJoCo's own models are called.
_ENDINGS = {".urdf": "urdf", ".wc.xml": "workcell", ".mjcf": "mjcf", ".xml": "mjcf"}


@dataclass(frozen=True, slots=True)
class Converted:
    """A text, what differs from the robot that was read, and how the text was checked."""

    text: str
    findings: tuple[Finding, ...] = ()
    checked: str = ""


def format_of(file: str, given: str | None) -> str:
    """The format to write: the one given, or that of a file's ending."""
    if given is not None:
        if given not in FORMATS:
            raise ArgumentError(f"no format {given!r}; {nearest(given, FORMATS)}")
        return given
    fitting = next((name for end, name in _ENDINGS.items() if file.lower().endswith(end)), None)
    if fitting is None:
        endings = ", ".join(_ENDINGS)
        raise ArgumentError(f"which format is {file!r}? end it in {endings}, or give --to FORMAT")
    return fitting


def convert_model(model: Model, target: str, *, floating: bool | None, meshes: bool) -> Converted:
    """A robot as URDF or MJCF.

    Args:
        model: the robot.
        target: `urdf` or `mjcf`.
        floating, meshes: as for `dump_mjcf`.

    Raises:
        ModelError: the format cannot hold the robot.
        ParseError: MuJoCo refuses the text.
    """
    if target == "mjcf":
        written = write_mjcf(model, floating=floating, meshes=meshes)
        told = _base_note(written.text)
        return Converted(written.text, (*written.findings, *told), _checked_by_mujoco(written.text))
    model, findings = in_urdf_form(model)
    text = urdf_text(model)
    if read(read_source(text)).model != model:
        raise ModelError([Finding("error", "", "the text would not read back as the same robot")])
    return Converted(text, (*findings, *extension_findings(model)), "reads back as the same robot")


def in_urdf_form(model: Model) -> tuple[Model, tuple[Finding, ...]]:
    """The robot as URDF can say it, its link frames moved where they have to be."""
    try:
        urdf_text(model)
    except ModelError:
        fitting = model.rerooted()
        moved = [
            joint.second
            for joint in fitting.joints
            if fitting.link(joint.second) != model.link(joint.second)
            or joint != model.joint(joint.name)
        ]
        text = "URDF wants links to hang on their joints by the origin; these frames were moved"
        return fitting, (Finding("warning", "", f"{text}: {listed(moved)}"),)
    return model, ()


as_workcell = in_urdf_form  # workcell files hold robots as URDF


def relative_meshes(model: Model) -> list[Finding]:
    """A warning of meshes that are named relative to the file of the robot."""
    shapes = [s for link in model.links for s in (*link.visuals, *link.collisions)]
    names = [s.geometry.filename for s in shapes if isinstance(s.geometry, Mesh)]
    relative = [
        name
        for name in dict.fromkeys(names)
        if "://" not in name and not PurePath(name).is_absolute()
    ]
    if not relative:
        return []
    text = "meshes are named relative to the file that was read, and are not beside the new one"
    return [Finding("warning", "", f"{text}: {listed(relative)}")]


def _base_note(text: str) -> list[Finding]:
    if "<freejoint" not in text:
        return []
    return [Finding("note", "", "the base moves freely; --fixed holds it in the world")]


def _checked_by_mujoco(text: str) -> str:
    """Have MuJoCo load a text, if it is installed."""
    try:
        mujoco = import_mujoco()
    except MissingPackageError:
        return ""
    with collected_warnings(mujoco):
        try:
            mujoco.MjModel.from_xml_string(text)
        except (ValueError, mujoco.FatalError, mujoco.UnexpectedError) as error:
            words = " ".join(str(error).split())
            advice = "; --no-meshes leaves meshes out" if "<mesh" in text else ""
            raise text_error("<MJCF>", f"MuJoCo: {words}{advice}") from None
    return "MuJoCo loads it"
