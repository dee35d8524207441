"""Which MJCF files include a file, for those who load a part of a model."""

from __future__ import annotations

import re
from pathlib import Path

from linkwork.errors import MOST_LISTED

# The search for files that include a given one is for a hint in a message only, so it stays short:
MOST_SEARCHED = 100  # files of a folder
MOST_SEARCHED_IN = 1 << 20  # characters of each file


def included_by(path: Path | None) -> str:
    """Files beside a file, or one folder above, that include it; as `: a.xml or b.xml`."""
    if path is None:
        return ""
    folders = (path.parent, path.parent.parent)
    files = [file for folder in folders for file in sorted(folder.glob("*.xml"))[:MOST_SEARCHED]]
    include = re.compile(rf"<include\s[^>]*[\"'/\\]{re.escape(path.name)}[\"']")
    names = [str(file) for file in files if include.search(_start_of(file))]
    return f": {' or '.join(names[:MOST_LISTED])}" if names else ""


def _start_of(file: Path) -> str:
    """The first part of a text file; nothing if it cannot be read."""
    try:
        if not file.is_file():  # a pipe might never end
            return ""
        with file.open(errors="replace") as text:
            return text.read(MOST_SEARCHED_IN)
    except OSError:
        return ""
