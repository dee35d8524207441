"""Small robots written for linkwork: good for trying things out, and for tests.

pendulum, double_pendulum, cartpole, quadrotor, arm, quadruped, humanoid
"""

from __future__ import annotations

from pathlib import Path

from linkwork.errors import NameNotFoundError, nearest, shown
from linkwork.io.bundled import FOLDER, REAL_ROBOTS, bundled_names
from linkwork.io.load import load as load_file
from linkwork.model.model import Model


def names() -> tuple[str, ...]:
    """Names of the bundled robots."""
    return bundled_names()


def path(name: str) -> Path:
    """The URDF file of a bundled robot.

    Raises:
        NameNotFoundError: no robot of this name is bundled.
    """
    if name not in names():
        hint = nearest(name, names())
        real = "" if hint.startswith("did you mean") else f"; {REAL_ROBOTS}"
        raise NameNotFoundError(f"no bundled robot named {shown(name)}; {hint}{real}")
    return FOLDER / f"{name}.urdf"


def load(name: str) -> Model:
    """Load a bundled robot."""
    return load_file(path(name))
