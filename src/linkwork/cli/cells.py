"""Which files are workcells."""

from __future__ import annotations

import re
from pathlib import Path

from linkwork.io.named_robots import bundled_cells

ROOTS = (b"WorkCell", b"DynamicWorkCell", b"DynamicWorkcell")
HEAD = 65_536  # bytes of a file in which its root element stands, after comments


def is_cell(file: str) -> bool:
    """Whether a file, or what is bundled under a name, is a workcell."""
    path = Path(file)
    try:
        if not path.is_file():
            return file in bundled_cells()
        with path.open("rb") as opened:
            head = opened.read(HEAD)
    except (OSError, ValueError):  # loading says what is wrong with it
        return False
    first = re.search(rb"<\s*([A-Za-z]\w*)", re.sub(rb"<!--.*?-->", b"", head, flags=re.DOTALL))
    return first is not None and first[1] in ROOTS
