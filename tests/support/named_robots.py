"""Removal and replacement of installed packages of robots."""

from __future__ import annotations

import pytest

from linkwork.io import named_robots as named


def only_bundled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Robots as on a machine on which no package of robots is installed."""
    without = {
        package: collection
        if package == named.BUNDLED
        else named.Collection(tuple, collection.file)  # no names
        for package, collection in named.COLLECTIONS.items()
    }
    monkeypatch.setattr(named, "COLLECTIONS", without)
