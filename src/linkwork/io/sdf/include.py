"""Files that an SDF file includes.

    <include>
      <uri>model://arm</uri>       a model folder in a package folder, or a relative path
      <name>left_arm</name>        replaces the name of the model
      <pose>0 0.5 0 0 0 0</pose>   replaces its pose
    </include>

Files are searched as meshes are. In workcells, they must also be inside of its allowed
folders. The file of a model folder is named in its `model.config`; without it,
`model.sdf` is read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from linkwork.errors import ParseError, SourceError, shown
from linkwork.io.meshes import MeshFinder
from linkwork.io.sdf.elements import NEWEST, OLDEST, SdfFile, SdfPart, Version
from linkwork.io.xml.parse import parse_xml
from linkwork.io.xml.source import read_source, shown_path

MAX_DEPTH = 30  # of files that include each other, and of nested models
MAX_MODELS = 1_000  # nested includes can grow exponentially

OTHERS_INCLUDE = ("plugin",)
READ_INCLUDE = ("uri", "name", "pose", "placement_frame", "static")


@dataclass(frozen=True, slots=True)
class Included:
    """A model in another file, and the `<include>` that refers to it."""

    include: SdfPart
    including_file: SdfFile
    model: SdfPart
    file: SdfFile
    merged: bool  # whether its parts become parts of the including model


def read_include(part: SdfPart, file: SdfFile) -> Included | None:
    """Read an `<include>`; None after an error, or if the file has no model, only lights."""
    errors = part.report.n_errors
    included = _read_include(part, file)
    if included is None and part.report.n_errors > errors:
        for child in part.children("name", "uri"):
            part.report.unread_models.add(child.text().rstrip("/").rpartition("/")[2])
    return included


def _read_include(part: SdfPart, file: SdfFile) -> Included | None:
    part.check(READ_INCLUDE, OTHERS_INCLUDE, ("merge",))
    for tag in part.child_tags:
        if tag == "experimental:params":
            part.error("<experimental:params> is not supported; edit the included file")
    uri = part.required_text("uri")
    path = _find(part, uri, file) if uri else None
    if path is None:
        return None
    resolved = path.resolve()
    if resolved in file.including:
        names = [one.name for one in (*file.including, resolved)]
        part.error(f"include cycle: {' -> '.join(names)}")
        return None
    if len(file.including) >= MAX_DEPTH:
        part.error(f"more than {MAX_DEPTH} files include each other")
        return None
    root = _parse(part, path)
    if root is None:
        return None
    inner = replace(
        file,
        version=read_version(root),
        path=path,
        meshes=MeshFinder(path, file.package_dirs, allowed=file.allowed),
        including=(*file.including, resolved),
    )
    models = list(root.children("model"))
    if len(models) != 1:
        if len(models) > 1 or not any(root.children("light", "actor")):
            part.error(f"{shown_path(path)} has {len(models)} models; expected one")
        return None
    merged = part.boolean(part.attribute("merge"))
    return Included(part, file, models[0], inner, merged)


def read_version(root: SdfPart) -> Version:
    """Return the version of an `<sdf>` element; `NEWEST` if it is newer or invalid."""
    text = root.required_attribute("version").strip()
    version = _as_version(text)
    if version is None:
        if text:
            root.error(f"invalid SDF version {shown(text)}")
        return NEWEST
    if version < OLDEST:
        root.error(f"SDF {text} is not supported; versions 1.4 to 1.12 are")
        return NEWEST
    if version > NEWEST:
        root.warning(f"SDF {text} is newer than 1.12; it is read as 1.12")
        return NEWEST
    return version


def _as_version(text: str) -> Version | None:
    """Return a version as two numbers, of at most nine digits each; None if it is invalid."""
    major, _, minor = text.strip().partition(".")
    if not (major.isdecimal() and minor.isdecimal() and text.isascii()):
        return None
    return int(major[:9]), int(minor[:9])


def _find(part: SdfPart, uri: str, file: SdfFile) -> Path | None:
    """Return the file that a URI refers to, if it exists in an allowed folder; else an error."""
    uri = uri.rstrip("/")
    lookup = file.meshes.find(uri)
    searched = lookup.searched
    if lookup.path is None:
        config = file.meshes.find(f"{uri}/model.config")
        name = _configured_file(part, Path(config.path)) if config.path else "model.sdf"
        if name is None:
            return None
        lookup = file.meshes.find(f"{uri}/{name}")
        searched += lookup.searched
    if lookup.path is None:
        tried = ", ".join(dict.fromkeys(searched))
        hint = f"searched: {tried}; pass package_dirs"
        if uri.startswith(("http:", "https:")):
            hint = "nothing is downloaded; download the model, and write its path as <uri>"
        part.error(f"cannot find {shown(uri)}; {hint}")
        return None
    path = Path(lookup.path)
    if file.allowed is not None and path not in file.allowed:
        part.error(f"{shown_path(path)} is outside of the allowed folders; pass include_dirs")
        return None
    return path


def _configured_file(part: SdfPart, config: Path) -> str | None:
    """Return the newest readable SDF file that a `model.config` names; None after an error."""
    try:
        root = parse_xml(read_source(config)).root
    except (SourceError, ParseError) as error:
        part.error(f"cannot read {shown_path(config)}: {error}")
        return None
    files: dict[Version, str] = {}
    for element in root.iter("sdf"):
        version = _as_version(element.get("version") or "") or OLDEST
        if version <= NEWEST and (element.text or "").strip():
            files[version] = str(element.text).strip()
    if not files:
        part.error(f"{shown_path(config)} names no SDF file of version 1.12 or older")
        return None
    return files[max(files)]


def _parse(part: SdfPart, path: Path) -> SdfPart | None:
    """Return the `<sdf>` element of a file; None after an error."""
    document = part.report.documents.get(path)
    if document is None:
        try:
            source = read_source(path)
            document = part.report.documents[path] = parse_xml(source)
        except SourceError as error:
            part.error(f"cannot include {shown_path(path)}: {error}")
            return None
        except ParseError as error:
            part.report.extend(error.findings)
            return None
        part.report.add_file(source.name, document)
    root = SdfPart(document.root, "", part.report)
    if root.tag == "robot":
        hint = f"convert it first: linkwork convert {path.name} {path.with_suffix('.sdf').name}"
        part.error(f"{shown_path(path)} is a URDF file, which SDF files cannot include; {hint}")
        return None
    if root.tag != "sdf":
        root.error(f"expected <sdf> as the root, got <{root.tag.lstrip(':')}>")
        return None
    return root
