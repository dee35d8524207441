"""MJCF files, by way of MuJoCo: it compiles them, and the compiled model is read.

Defaults, classes, includes, angles, inertias from geoms and the checks of all that are MuJoCo's
work; what it finds wrong is reported in its own words. The package `mujoco` is imported on first
use.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from linkwork.errors import Finding, ModelError, ParseError, SourceLocation
from linkwork.io.meshes import Folders
from linkwork.io.mjcf.include import check_files, included_by
from linkwork.io.mjcf.model import NO_BODIES, read_mjmodel
from linkwork.io.mjcf.package import MjModel, import_mujoco
from linkwork.io.mjcf.unsupported import left_out_gravity
from linkwork.io.xml.source import Reading, Source, text_error

UNNAMED = "MuJoCo Model"  # what MuJoCo calls a model whose file does not name it

INCLUDED = "mujocoinclude"  # the first element of a file that others include

_TAG = re.compile(r"<([^\s/>]+)")
_PROLOG = re.compile(r"(?:\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*>)*", re.DOTALL)
_LINE = re.compile(r"[Ll]ine(?: number=|:? )(\d+)")
_one_at_a_time = threading.Lock()  # there is one warning handler in a process


def is_mjcf(source: Source) -> bool:
    """Whether the first element of a text is `<mujoco>`, or `<mujocoinclude>`, a part of one."""
    return _first_tag(source) in ("mujoco", INCLUDED)


def read_mjcf(
    source: Source, *, mimic: bool = True, package_dirs: Folders = (), repair: bool = False
) -> Reading:
    """Read an MJCF text, or the file it came from.

    Args:
        source: the text; if it has a path, the file is read from there, with all that it includes,
            which must lie in its `roots`, if it has any.
        mimic: whether linear joint equalities make joints depend on others.
        package_dirs, repair: not used; MJCF names its files itself, and MuJoCo reads them.

    Raises:
        ParseError: MuJoCo refuses the file, or it names files outside of `roots`, or repeats too
            many elements.
        MissingPackageError: MuJoCo is not installed.
    """
    del package_dirs, repair
    if _first_tag(source) == INCLUDED:
        text = f"<{INCLUDED}> is a part of an MJCF model; load the file that includes it"
        raise text_error(source.name, text + included_by(source.path))
    check_files(source)
    mujoco = import_mujoco()
    with collected_warnings(mujoco) as said:
        mj = _compiled(mujoco, source)
    doubts = [
        Finding("warning", "", text, SourceLocation(source.name, _line(text))) for text in said
    ]
    if mj.nbody <= 1:
        files = included_by(source.path)
        hint = f"; load the file that includes this one{files}" if files else ""
        return Reading(None, (*text_error(source.name, NO_BODIES + hint).findings, *doubts))
    name = _name(mj, source)
    folder = str(source.path.parent) if source.path else None
    try:
        model, findings = read_mjmodel(mj, mimic=mimic, name=name, folder=folder)
    except ModelError as error:
        places = [
            Finding(f.severity, f.element, f.text, f.location or SourceLocation(source.name, 1))
            for f in error.findings
        ]
        return Reading(None, (*places, *doubts))
    return Reading(model, (*doubts, *findings, *left_out_gravity(mj)))


def _first_tag(source: Source) -> str:
    prolog = _PROLOG.match(source.text)
    tag = _TAG.match(source.text, prolog.end() if prolog else 0)
    return tag.group(1) if tag else ""


def _compiled(mujoco: Any, source: Source) -> MjModel:
    try:
        if source.path is not None:
            return mujoco.MjModel.from_xml_path(str(source.path))
        return mujoco.MjModel.from_xml_string(source.text)
    except (
        *(ValueError, RuntimeError, MemoryError),  # RuntimeError: where MuJoCo lacks memory
        *(mujoco.FatalError, mujoco.UnexpectedError),
    ) as error:
        raise _refused(source, str(error)) from None


def _refused(source: Source, message: str) -> ParseError:
    """MuJoCo's words on one line, and the line of the file that they name."""
    words = " ".join(message.split())
    return text_error(source.name, f"MuJoCo: {words}", _line(words))


def _line(message: str) -> int:
    line = _LINE.search(message)
    return max(1, int(line.group(1))) if line else 1


def _name(mj: MjModel, source: Source) -> str | None:
    given = mj.names.split(b"\0", 1)[0].decode(errors="replace")
    return source.path.stem if source.path and given in ("", UNNAMED) else None


@contextmanager
def collected_warnings(mujoco: Any) -> Generator[list[str], None, None]:
    """Collect MuJoCo's warnings, which it would otherwise write to a file in the current folder."""
    said: list[str] = []
    with _one_at_a_time:
        before = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(lambda text: said.append(" ".join(str(text).split())))
        try:
            yield said
        finally:
            mujoco.set_mju_user_warning(before)
