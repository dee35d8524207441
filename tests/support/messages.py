"""Comparison of messages by their facts: location, names, values and shapes, not wording."""

from __future__ import annotations

import re


def assert_facts(said: str | list[str], facts: str | list[str]) -> None:
    """Check that each message starts as its pattern does, and contains its other parts in order."""
    said, facts = ([each] if isinstance(each, str) else each for each in (said, facts))
    assert len(said) == len(facts), said
    for message, pattern in zip(said, facts, strict=True):
        assert re.match(pattern, message), message
