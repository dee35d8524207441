"""JSON of any depth: a chain of links is nested as deep as it is long."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

INDENT = "  "


def print_json(value: Any) -> None:
    """Print dicts, lists, texts and numbers as JSON; beyond ASCII everything is escaped."""
    sys.stdout.writelines(json_pieces(value))
    sys.stdout.write("\n")


def json_pieces(value: Any) -> Iterator[str]:
    """A value as JSON, in pieces; iterative, where the standard library's is recursive."""
    waiting: list[Any] = [_Opened(value, "")]
    while waiting:
        here = waiting.pop()
        if isinstance(here, str):
            yield here
            continue
        items, lead = here.items, here.lead
        if not items:
            yield here.open + here.close
            continue
        inner = f"{lead}{INDENT}"
        following: list[Any] = []
        for index, (name, item) in enumerate(items):
            start = f"{here.open if index == 0 else ','}\n{inner}{name}"
            if isinstance(item, (dict, list)):
                following += [start, _Opened(item, inner)]
            else:
                following.append(start + json.dumps(item))
        waiting += reversed([*following, f"\n{lead}{here.close}"])


class _Opened:
    """A dict or list that is to be written, and what stands before its lines."""

    def __init__(self, value: Any, lead: str) -> None:
        self.lead = lead
        named = isinstance(value, dict)
        self.open, self.close = ("{", "}") if named else ("[", "]")
        self.items: list[tuple[str, Any]] = (
            [(f"{json.dumps(name)}: ", item) for name, item in value.items()]
            if named
            else [("", item) for item in value]
        )
