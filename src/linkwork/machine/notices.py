"""What is said once per process, and the settings in environment variables."""

from __future__ import annotations

import inspect
import os
import warnings
from pathlib import Path

from linkwork.errors import LinkworkWarning, nearest, shown

_PACKAGE = str(Path(__file__).parents[1]) + os.sep
_told: set[str] = set()


def warn_once(topic: str, text: str) -> None:
    """Warn, at the line of the caller of linkwork, unless the topic was warned of before."""
    if topic in _told:
        return
    _told.add(topic)
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(LinkworkWarning(text), stacklevel=level)


def setting(name: str, options: tuple[str, ...]) -> str:
    """The value of an environment variable; the first option if it is not set, or unknown."""
    given = os.environ.get(name, "").lower()
    if given and given not in options:
        text = f"{name}={shown(given)} is unknown; {nearest(given, options)}"
        warn_once(name, f"{text}; {options[0]!r} is used")
    return given if given in options else options[0]
