"""Small robots written for linkwork: good for trying things out, and for tests.

pendulum, double_pendulum, cartpole, quadrotor, arm, quadruped, humanoid
"""

from __future__ import annotations

from pathlib import Path

from linkwork.errors import name_not_found
from linkwork.io.load import load as load_file
from linkwork.model.model import Model

_FOLDER = Path(__file__).parent


def names() -> tuple[str, ...]:
    """Names of the bundled robots."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.urdf")))


def path(name: str) -> Path:
    """The URDF file of a bundled robot.

    Raises:
        NameNotFoundError: no robot of this name is bundled.
    """
    if name not in names():
        raise name_not_found("bundled robot", name, names())
    return _FOLDER / f"{name}.urdf"


def load(name: str) -> Model:
    """Load a bundled robot."""
    return load_file(path(name))
