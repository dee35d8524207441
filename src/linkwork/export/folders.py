"""Files of an export in the user's folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from linkwork.errors import ArgumentError, escaped
from linkwork.export.package import MARK

_MARKED_BYTES = 400  # the mark is within so many at the start of a file


def refuse_others_files(folder: Path, names: Iterable[str]) -> None:
    """Refuse to replace files that no export has written."""
    for name in names:
        path = folder / name
        if path.exists() and MARK.encode() not in path.read_bytes()[:_MARKED_BYTES]:
            text = f"{escaped(str(path))} was not written by linkwork and is not replaced"
            raise ArgumentError(f"{text}; choose another folder")


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write texts by the names of their files, which may be in folders of the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii", newline="\n")
