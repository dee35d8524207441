"""Reader of MJCF files: MuJoCo compiles them, and the compiled model is converted.

MuJoCo handles defaults, classes, includes, angles, inertias from geoms and all checks; its error
messages are passed on. The package `mujoco` is imported on first use.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import Finding, ModelError, ParseError, SourceLocation
from linkwork.io.folders import Folders
from linkwork.io.formats import Reading
from linkwork.io.mjcf.include import check_files
from linkwork.io.mjcf.model import NO_BODIES, read_mjmodel
from linkwork.io.mjcf.package import (
    MjModel,
    collected_warnings,
    import_mujoco,
    matrix_of,
    need_utf8_names,
)
from linkwork.io.mjcf.unsupported import gravity_findings
from linkwork.io.xml.source import Source, first_tag, source_parse_error

UNNAMED = "MuJoCo Model"  # MuJoCo's name for a model without a name

INCLUDED = "mujocoinclude"  # the root element of a file that others include

_LINE = re.compile(r"[Ll]ine(?: number=|:? )(\d+)")


def read_mjcf(
    source: Source, *, mimic: bool = True, package_dirs: Folders = (), repair: bool = False
) -> Reading:
    """Read an MJCF document.

    Args:
        source: the document. If it has a path, MuJoCo reads the file and those it includes; they
            must be in its `allowed` folders, if it has any.
        mimic: whether linear joint equalities make joints depend on others.
        package_dirs, repair: not used, because MuJoCo finds and checks the files.

    Raises:
        ParseError: MuJoCo rejects the file, or it refers to files outside of these folders, or
            creates too many copies of elements.
        MissingPackageError: MuJoCo is not installed.
    """
    del package_dirs, repair
    if first_tag(source) == INCLUDED:
        message = f"<{INCLUDED}> is a part of an MJCF model; load the file that includes it"
        raise source_parse_error(source.name, message)
    check_files(source)
    mujoco = import_mujoco()
    with collected_warnings(mujoco) as messages:
        mj, references = _compile(mujoco, source)
    warnings = [
        Finding("warning", "", text, SourceLocation(source.name, _line(text)))
        for text in dict.fromkeys(messages)
    ]
    if mj.nbody <= 1:
        text = f"{NO_BODIES}; if another file includes this one, load that file"
        errors = source_parse_error(source.name, text).findings
        return Reading(None, (*errors, *warnings))
    name = _name(mj, source)
    try:
        model, findings = read_mjmodel(mj, mimic=mimic, name=name, references=references)
    except ModelError as error:
        errors = [
            replace(f, location=f.location or SourceLocation(source.name, 1))
            for f in error.findings
        ]
        return Reading(None, (*errors, *warnings))
    return Reading(model, (*warnings, *findings, *gravity_findings(mj)))


def _compile(mujoco: Any, source: Source) -> tuple[MjModel, dict[str, Array]]:
    """Compile a document, and read the reference poses of its meshes.

    The paths of meshes are absolute if the path of the document is.
    """
    try:
        if source.path is not None:
            mj = mujoco.MjModel.from_xml_path(str(source.path.absolute()))
        else:
            mj = mujoco.MjModel.from_xml_string(source.text)
        need_utf8_names(mj)
        return mj, _mesh_references(mujoco, source) if mj.nmesh else {}
    except ModelError as error:
        raise source_parse_error(source.name, str(error)) from None
    except (
        *(ValueError, RuntimeError, MemoryError),  # RuntimeError: MuJoCo is out of memory
        *(mujoco.FatalError, mujoco.UnexpectedError),
    ) as error:
        raise _mujoco_error(source, str(error)) from None


def _mesh_references(mujoco: Any, source: Source) -> dict[str, Array]:
    """Return the reference poses of meshes by name, which a compiled model lacks.

    The class MjSpec recognizes MJCF by the ending .xml, so files have that name here.
    """
    if source.path is None:
        spec = mujoco.MjSpec.from_string(source.text)
    else:
        path = f"{source.path.absolute()}.xml"
        spec = mujoco.MjSpec.from_file(path, include={path: source.text.encode()})
    return {mesh.name: matrix_of(mesh.refpos, mesh.refquat) for mesh in spec.meshes}


def _mujoco_error(source: Source, message: str) -> ParseError:
    """Convert an error message of MuJoCo, with the line that it states."""
    message = " ".join(message.split())
    return source_parse_error(source.name, f"MuJoCo: {message}", _line(message))


def _line(message: str) -> int:
    line = _LINE.search(message)
    return max(1, int(line.group(1))) if line else 1


def _name(mj: MjModel, source: Source) -> str | None:
    name = mj.names.split(b"\0", 1)[0].decode(errors="replace")
    return source.path.stem if source.path and name in ("", UNNAMED) else None
