"""Arguments of xacro files on the command line, as ROS writes them: `name:=value`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextvars import ContextVar

_WORD = re.compile(r"([A-Za-z_][\w.-]*):=(.*)", re.DOTALL)

given: ContextVar[dict[str, str] | None] = ContextVar("xacro arguments", default=None)
"""Those of the command that runs now."""


def split(words: Sequence[str]) -> tuple[list[str], dict[str, str] | None]:
    """The other words, and the arguments by name; None if there are none."""
    found = {match[1]: match[2] for word in words if (match := _WORD.fullmatch(word))}
    return [word for word in words if not _WORD.fullmatch(word)], found or None
