"""The robots of the PyPI packages example-robot-data and icub-models: 85 files, 84 robots."""

from __future__ import annotations

import sys
import sysconfig
import warnings
from functools import cache
from pathlib import Path

import linkwork as lw

WITHOUT_LINKS = "ur3.urdf"  # holds no robot


def _all_files() -> list[Path]:
    packages = Path(sysconfig.get_paths()["purelib"])
    example = packages / "cmeel.prefix/share/example-robot-data/robots"
    icub = Path(sys.prefix) / "share/iCub/robots"
    return sorted(example.rglob("*.urdf")) + sorted(icub.rglob("*.urdf"))


FILES = _all_files()
ROBOT_FILES = [path for path in FILES if path.name != WITHOUT_LINKS]


def label(path: Path) -> str:
    """A short name for a robot file."""
    folder = path.parent.name if path.name == "model.urdf" else path.parents[1].name
    return f"{folder}/{path.stem}"


def load_quietly(source: Path | str, **options: bool) -> lw.Model:
    """Load a robot, ignoring its warnings; real robots are loaded once."""
    return _loaded_once(source, **options) if source in FILES else _loaded(source, **options)


def _loaded(source: Path | str, **options: bool) -> lw.Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)
        return lw.load(source, **options)


_loaded_once = cache(_loaded)
