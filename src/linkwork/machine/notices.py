"""Warnings that are given once per process, and settings in environment variables."""

from __future__ import annotations

import os

from linkwork.errors import nearest, shown, warn

_told: set[str] = set()


def warn_once(topic: str, text: str) -> None:
    """Warn, unless the topic was warned of before."""
    if topic not in _told:
        _told.add(topic)
        warn(text)


def setting(name: str, options: tuple[str, ...]) -> str:
    """The value of an environment variable; the first option if it is not set, or unknown."""
    given = os.environ.get(name, "").lower()
    if given and given not in options:
        text = f"{name}={shown(given)} is unknown; {nearest(given, options)}"
        warn_once(name, f"{text}; {options[0]!r} is used")
    return given if given in options else options[0]
