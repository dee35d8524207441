"""The robots of the package example-robot-data, if it is installed; nothing is imported for it.

Names are those of the files, and those under which the package's own loaders know them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from linkwork.io.named.named_file import STANDS_FOR, NamedFile

PACKAGE = "example-robot-data"

# Robots that the package's loaders know by another name than that of the file.
LOADERS = {
    "alexander": "alexander_description/urdf/alexander_v1.lowerBodyOnly.urdf",
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",
    "anymal_c": "anymal_c_simple_description/urdf/anymal.urdf",
    "anymal_kinova": "anymal_b_simple_description/robots/anymal-kinova.urdf",
    "asr_twodof": "asr_twodof_description/urdf/TwoDofs.urdf",
    "b1_z1": "b1_description/urdf/b1-z1.urdf",
    "borinot": "borinot_description/urdf/borinot_flying_arm_2.urdf",
    "g1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "g1_with_hands": "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf",
    "hector": "hector_description/robots/quadrotor_base.urdf",
    "hextilt": "hextilt_description/urdf/hextilt_flying_arm_5.urdf",
    "hyq": "hyq_description/robots/hyq_no_sensors.urdf",
    "iris": "iris_description/robots/iris_simple.urdf",
    "solo8": "solo_description/robots/solo.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
    "talos_arm": "talos_data/robots/talos_left_arm.urdf",
    "talos_box": "talos_data/robots/talos_reduced_box.urdf",
    "talos_full": "talos_data/robots/talos_full_v2.urdf",
    "talos_full_box": "talos_data/robots/talos_full_v2_box.urdf",
    "ur3": "ur_description/urdf/ur3_robot.urdf",
    "ur3_limited": "ur_description/urdf/ur3_joint_limited_robot.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "ur5_limited": "ur_description/urdf/ur5_joint_limited_robot.urdf",
    "ur10": "ur_description/urdf/ur10_robot.urdf",
    "ur10_limited": "ur_description/urdf/ur10_joint_limited_robot.urdf",
}

# Names of robots that other files describe more fully: those files.
FULLER = {"talos": "talos_full", "talos_box": "talos_full_box"}


def robots_folder() -> Path | None:
    """The folder with the robots, if the package is installed."""
    return next((path for path in _folders() if path.is_dir()), None)


def example_robots() -> dict[str, Path]:
    """The files by name, sorted; empty if the package is not installed."""
    folder = robots_folder()
    return {} if folder is None else dict(_files(folder))


def example_robot(name: str) -> NamedFile:
    """The file of a robot, and what a user of its name should know."""
    path = example_robots()[name]
    fuller = FULLER.get(name)
    if fuller is None:
        return NamedFile(path)
    note = f"the name {name!r} {STANDS_FOR} {path.name}; {fuller!r} has more joints"
    return NamedFile(path, note=note)


@cache
def _files(folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in sorted(folder.glob("*/*/*.urdf")):
        found.setdefault(path.stem, path)  # of two that share one, the loaders' names tell apart
    found |= {name: folder / file for name, file in LOADERS.items() if (folder / file).is_file()}
    return dict(sorted(found.items()))


def _folders() -> Iterator[Path]:
    from importlib.metadata import PackageNotFoundError, distribution  # slow to import

    try:
        root = distribution(PACKAGE).locate_file("cmeel.prefix")
        yield Path(str(root)) / "share" / PACKAGE / "robots"
    except PackageNotFoundError:
        pass
    yield Path(sys.prefix) / "share" / PACKAGE / "robots"  # where conda puts it
