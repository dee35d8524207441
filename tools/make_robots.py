"""Write the bundled robots: ``python tools/make_robots.py [directory]``.

Each robot is described by solids, in the modules ``robots_*.py`` beside this one. Masses, centers
of mass and inertias are computed from them. The same description gives the same bytes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from robots_arm import arm
from robots_humanoid import humanoid
from robots_quadruped import quadruped
from robots_small import cartpole, double_pendulum, pendulum, quadrotor
from robots_urdf import urdf

ROBOTS = (pendulum, double_pendulum, cartpole, quadrotor, arm, quadruped, humanoid)
BUNDLED = Path(__file__).resolve().parents[1] / "src" / "linkwork" / "robots"


def write(directory: Path) -> None:
    """Write every robot as ``<name>.urdf`` into the directory."""
    for make in ROBOTS:
        robot = make()
        (directory / f"{robot.name}.urdf").write_bytes(urdf(robot).encode())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the bundled robots.")
    parser.add_argument("directory", nargs="?", type=Path, default=BUNDLED)
    write(parser.parse_args().directory)
