"""What a name of a robot stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

STANDS_FOR = "stands for"


@dataclass(frozen=True, slots=True)
class NamedFile:
    """The file of a robot, and what reading it needs besides."""

    path: Path
    package_dirs: tuple[str, ...] = ()
    xacro_args: Mapping[str, str] = field(default_factory=dict[str, str])
    note: str = ""  # for those who expect another robot of this name; contains STANDS_FOR
