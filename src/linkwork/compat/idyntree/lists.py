"""Lists and constants under iDynTree's names."""

from __future__ import annotations

from types import SimpleNamespace

LINK_INVALID_INDEX = -1
JOINT_INVALID_INDEX = -1
FRAME_INVALID_INDEX = -1

cvar = SimpleNamespace(
    LINK_INVALID_INDEX=LINK_INVALID_INDEX,
    JOINT_INVALID_INDEX=JOINT_INVALID_INDEX,
    FRAME_INVALID_INDEX=FRAME_INVALID_INDEX,
)
"""Where iDynTree itself keeps its constants."""


class StringVector(list[str]):
    """A list of texts."""

    def push_back(self, text: str) -> None:
        """Put a text at the end."""
        self.append(text)


class IndexVector(list[int]):
    """A list of indices."""

    def push_back(self, index: int) -> None:
        """Put an index at the end."""
        self.append(index)
