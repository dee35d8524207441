"""MJCF files, by way of MuJoCo: it compiles them, and what comes out is read.

Defaults, classes, includes, angles, inertias from geoms and the checks of all that are MuJoCo's
work; what it finds wrong is told in its own words. The package `mujoco` is needed for this alone
and imported here only.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from linkwork.errors import MOST_LISTED, Finding, ModelError, ParseError, Place
from linkwork.io.mjcf_model import read_mjmodel
from linkwork.io.mjcf_package import MjModel, import_mujoco
from linkwork.io.source import Source, text_error
from linkwork.io.urdf import Reading

UNNAMED = "MuJoCo Model"  # what MuJoCo calls a model whose file does not name it

INCLUDED = "mujocoinclude"  # the first element of a file that others include
MOST_SEARCHED = 100  # files of a folder that are searched for who includes a file
MOST_SEARCHED_IN = 1 << 20  # characters of each

_TAG = re.compile(r"<([^\s/>]+)")
_PROLOG = re.compile(r"(?:\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*>)*", re.DOTALL)
_LINE = re.compile(r"[Ll]ine(?: number=|:? )(\d+)")
_one_at_a_time = threading.Lock()  # MuJoCo's warning handler is one for the process


def is_mjcf(source: Source) -> bool:
    """Whether the first element of a text is `<mujoco>`, or `<mujocoinclude>`, a part of one."""
    return _first_tag(source) in ("mujoco", INCLUDED)


def read_mjcf(source: Source, *, mimic: bool = True) -> Reading:
    """Read an MJCF text, or the file it came from.

    Args:
        source: the text; if it has a path, the file is read from there, with all that it includes.
        mimic: whether linear joint equalities make joints depend on others.

    Raises:
        ParseError: MuJoCo refuses the file.
        MissingPackageError: MuJoCo is not installed.
    """
    if _first_tag(source) == INCLUDED:
        raise text_error(source.name, _included_text(source))
    mujoco = import_mujoco()
    with collected_warnings(mujoco) as said:
        mj = _compiled(mujoco, source)
    doubts = [Finding("warning", "", text, Place(source.name, _line(text))) for text in said]
    name = _name(mj, source)
    folder = str(source.path.parent) if source.path else None
    try:
        model, findings = read_mjmodel(mj, mimic=mimic, name=name, folder=folder)
    except ModelError as error:
        places = [
            Finding(f.severity, f.element, f.text, f.place or Place(source.name, 1))
            for f in error.findings
        ]
        return Reading(None, (*places, *doubts))
    return Reading(model, (*doubts, *findings))


def _first_tag(source: Source) -> str:
    prolog = _PROLOG.match(source.text)
    found = _TAG.match(source.text, prolog.end() if prolog else 0)
    return found.group(1) if found else ""


def _included_text(source: Source) -> str:
    """What a part of a model is, and which files beside it or above it say that they include it."""
    text = f"<{INCLUDED}> is a part of an MJCF model; load the file that includes it"
    if source.path is None:
        return text
    folders = (source.path.parent, source.path.parent.parent)
    files = [file for folder in folders for file in sorted(folder.glob("*.xml"))[:MOST_SEARCHED]]
    including = re.compile(rf"<include\s[^>]*{re.escape(source.path.name)}[\"']")
    found = [str(file) for file in files if including.search(_start_of(file))]
    return f"{text}: {' or '.join(found[:MOST_LISTED])}" if found else text


def _start_of(file: Path) -> str:
    """The first part of a text file; nothing if it cannot be read."""
    try:
        if not file.is_file():  # a pipe might never end
            return ""
        with file.open(errors="replace") as text:
            return text.read(MOST_SEARCHED_IN)
    except OSError:
        return ""


def _compiled(mujoco: Any, source: Source) -> MjModel:
    try:
        if source.path is not None:
            return mujoco.MjModel.from_xml_path(str(source.path))
        return mujoco.MjModel.from_xml_string(source.text)
    except (ValueError, mujoco.FatalError, mujoco.UnexpectedError) as error:
        raise _refused(source, str(error)) from None


def _refused(source: Source, message: str) -> ParseError:
    """MuJoCo's words on one line, and the line of the file that they name."""
    words = " ".join(message.split())
    return text_error(source.name, f"MuJoCo: {words}", _line(words))


def _line(message: str) -> int:
    found = _LINE.search(message)
    return max(1, int(found.group(1))) if found else 1


def _name(mj: MjModel, source: Source) -> str | None:
    given = mj.names.split(b"\0", 1)[0].decode(errors="replace")
    return source.path.stem if source.path and given in ("", UNNAMED) else None


@contextmanager
def collected_warnings(mujoco: Any) -> Generator[list[str], None, None]:
    """Collect what MuJoCo warns of, which it would else write into a file where it stands."""
    said: list[str] = []
    with _one_at_a_time:
        before = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(lambda text: said.append(" ".join(str(text).split())))
        try:
            yield said
        finally:
            mujoco.set_mju_user_warning(before)
