"""What a file says differently than the robot, collected while it is written."""

from __future__ import annotations

from linkwork.errors import Finding, listed


class Doubts:
    """Warnings that may concern many parts of a robot, each with the names of all of them."""

    def __init__(self) -> None:
        self._names: dict[str, list[str]] = {}  # by text

    def add(self, text: str, name: str) -> None:
        """Say something about a part."""
        names = self._names.setdefault(text, [])
        if name not in names:
            names.append(name)

    @property
    def findings(self) -> list[Finding]:
        """Each text once."""
        texts = self._names.items()
        return [Finding("warning", "", f"{text}: {listed(names)}") for text, names in texts]
