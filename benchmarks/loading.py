"""How long it takes to load robots: ours, and the peers that are installed. Minimum of repeats.

python benchmarks/loading.py
"""

from __future__ import annotations

import platform
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np

import linkwork as lw

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.support.real_robots import ROBOT_FILES, label

REPEATS = 10
SHOWN = ("ur5_robot", "panda", "anymal", "talos_full_v2")


def best(action: Callable[[], object], repeats: int = REPEATS) -> float:
    """Least time of several tries [s]."""
    times: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def chain(length: int) -> str:
    """URDF text of a chain."""
    mass = "<mass value='1'/><inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/>"
    links = [f"<link name='l{i}'><inertial>{mass}</inertial></link>" for i in range(length)]
    limit = "<limit lower='-1' upper='1' effort='1' velocity='1'/>"
    joints = [
        f"<joint name='j{i}' type='revolute'><parent link='l{i}'/><child link='l{i + 1}'/>"
        f"<axis xyz='0 0 1'/>{limit}</joint>"
        for i in range(length - 1)
    ]
    return f"<robot name='chain'>{''.join(links)}{''.join(joints)}</robot>"


def peers() -> dict[str, Callable[[str], object]]:
    """Loaders of other libraries, where they are installed."""
    loaders: dict[str, Callable[[str], object]] = {}
    try:
        import pinocchio as pin

        loaders["pin"] = pin.buildModelFromUrdf
    except ImportError:
        pass
    try:
        import idyntree.bindings as idyn

        loaders["idyntree"] = lambda path: idyn.ModelLoader().loadModelFromFile(path)
    except ImportError:
        pass
    return loaders


def main() -> None:
    warnings.simplefilter("ignore")
    others = peers()
    print(f"Python {platform.python_version()}, numpy {np.__version__}, linkwork {lw.__version__}")
    print(", ".join(f"{name} {version(name)}" for name in others))
    print(f"{'load [ms]':40}" + "".join(f"{name:>12}" for name in ("linkwork", *others)))
    for path in ROBOT_FILES:
        if path.stem in SHOWN:
            times = [best(lambda p=path: lw.load(p))]
            times += [best(lambda p=path, f=f: f(str(p)), 3) for f in others.values()]
            print(f"{label(path):40}" + "".join(f"{t * 1e3:12.1f}" for t in times))
    total = best(lambda: [lw.load(path) for path in ROBOT_FILES], 3)
    print(f"{'all 84 robots':40}{total * 1e3:12.1f}")
    text = chain(5000)
    print(f"{'a chain of 5,000 links':40}{best(lambda: lw.load(text), 3) * 1e3:12.1f}")


if __name__ == "__main__":
    main()
