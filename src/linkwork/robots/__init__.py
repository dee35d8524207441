"""Small bundled robots for experiments and tests.

pendulum, double_pendulum, cartpole, quadrotor, arm, quadruped, humanoid
"""

from __future__ import annotations

from pathlib import Path

from linkwork.errors import NameNotFoundError, nearest, shown
from linkwork.io.load import load as load_file
from linkwork.io.named_robots import FOLDER, REAL_ROBOTS_HINT, bundled_names, named_robot
from linkwork.model.model import Model


def names() -> tuple[str, ...]:
    """Names of the bundled robots."""
    return bundled_names()


def path(name: str) -> Path:
    """The file of a robot, for any name that `linkwork.load` accepts; bundled robots come first.

    Raises:
        NameNotFoundError: there is no robot with this name.
        SourceError: the robot is known, but its file is not downloaded.
    """
    if name in names():
        return FOLDER / f"{name}.urdf"
    file = named_robot(name) if isinstance(name, str) else None
    if file is None:
        hint = nearest(name, names())
        real = "" if hint.startswith("did you mean") else f"; {REAL_ROBOTS_HINT}"
        raise NameNotFoundError(f"no robot named {shown(name)}; {hint}{real}")
    return file.path


def load(name: str) -> Model:
    """Load a robot by its name, even if a file with that name exists."""
    file = path(name)
    return load_file(file if name in names() else name)
