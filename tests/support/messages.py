"""Comparing messages by their facts: place, names, values and shapes, not by their wording."""

from __future__ import annotations

import re


def assert_facts(said: str | list[str], facts: str | list[str]) -> None:
    """Each message starts with what its pattern starts with, and holds the rest of it in order."""
    said, facts = ([each] if isinstance(each, str) else each for each in (said, facts))
    assert len(said) == len(facts), said
    for message, pattern in zip(said, facts, strict=True):
        assert re.match(pattern, message), message
