"""Warnings that are given once per process, and settings in environment variables."""

from __future__ import annotations

import os
import threading

from linkwork.errors import LinkworkWarning, nearest, shown, warn

_told: set[str] = set()


def warn_once(topic: str, text: str, category: type[LinkworkWarning] = LinkworkWarning) -> None:
    """Warn, unless the topic was warned of before."""
    if topic not in _told:
        _told.add(topic)
        warn(text, category=category)


def report_failure(what: str, error: Exception) -> None:
    """Warn once of an error in a background thread, which goes on.

    Where warnings are errors, it is reported as threads report their exceptions.
    """
    reason = f"{type(error).__name__}: {error}".removesuffix(": ")
    try:
        warn_once(what, f"{what}; the reason: {reason}")
    except LinkworkWarning as warning:
        details = type(warning), warning, error.__traceback__, threading.current_thread()
        threading.excepthook(threading.ExceptHookArgs(details))


def setting(name: str, options: tuple[str, ...]) -> str:
    """The value of an environment variable; the first option if it is not set, or unknown."""
    given = os.environ.get(name, "").lower()
    if given and given not in options:
        text = f"{name}={shown(given)} is unknown; {nearest(given, options)}"
        warn_once(name, f"{text}; {options[0]!r} is used")
    return given if given in options else options[0]
