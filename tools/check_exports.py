"""Exported C against the kernels: every quantity of the bundled robots and of twelve real ones.

python tools/check_exports.py [ROBOT ...]      # all if none is named; minutes each

Each robot is exported once in double and once in single precision, compiled and compared. What
differs by more than 1e-13 or 1e-5 of the largest number of a result is listed with the limit that
rounding of the inputs allows.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import linkwork as lw
from linkwork.export import check
from linkwork.export.samples import DIFFERENCE
from linkwork.kindyn.quantities import QUANTITIES

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.support.real_robots import ROBOT_FILES, label, load_quietly

REAL = (
    *("ur_description/urdf/ur5_robot.urdf", "panda_description/urdf/panda.urdf"),
    *("anymal_b_simple_description/robots/anymal.urdf", "iCubGazeboV2_5/model.urdf"),
    *("talos_data/robots/talos_reduced.urdf", "solo_description/robots/solo12.urdf"),
    *("a1_description/urdf/a1.urdf", "go1_description/urdf/go1.urdf"),
    *("hyq_description/robots/hyq_no_sensors.urdf", "kinova_description/robots/kinova.urdf"),
    *("double_pendulum_description/urdf/double_pendulum.urdf", "romeo_small.urdf"),
)
MOST_OPERATIONS = 30_000  # of a function: longer ones take compilers minutes


def wanted(kd: lw.KinDyn) -> list[object]:
    """Every quantity that is not too long, of the last frame where it is of one."""
    frame, other = kd.model.frame_names[-1], kd.model.frame_names[0]
    frames: dict[str, object] = {"frame": frame, "frames": [frame, other], "reference": other}
    frames |= {"origin": frame, "axes": other}
    every = [(name, *(frames[one] for one in row.frames)) for name, row in QUANTITIES.items()]
    kernels = [(one, kd.function(one)) for one in every]  # pyright: ignore
    return [
        one
        for one, kernel in kernels
        if kernel.program.n_ops <= MOST_OPERATIONS and kernel.program.results
    ]


def compare(name: str, model: lw.Model) -> None:
    """Export a robot twice, and print the largest differences."""
    check.OPTIONS = ("-std=c99", "-O0")  # compiles fastest, and takes most stack
    for dtype, real in ((np.float64, "double"), (np.float32, "float")):
        kd, start = lw.KinDyn(model, dtype=dtype), time.perf_counter()
        functions = wanted(kd)
        with tempfile.TemporaryDirectory() as folder:
            report = lw.export(kd, folder, functions, prefix="robot")  # pyright: ignore
        worst = max(report.rows, key=lambda row: row.difference or 0.0)
        seconds = time.perf_counter() - start
        stack = max(row.stack_bytes or 0 for row in report.rows)
        print(
            f"{name:40} {real:6} {len(functions)} of {len(QUANTITIES)} functions, "
            f"largest difference {worst.difference:.1e} ({worst.name}), "
            f"largest stack {stack:,} B, {seconds:.0f} s",
            flush=True,
        )
        for row in report.rows:
            if row.difference and row.difference > DIFFERENCE[real]:
                print(f"    {row.name}: {row.difference:.1e}, allowed {row.allowed:.1e}")


def main() -> None:
    robots = {name: lw.robots.load(name) for name in lw.robots.names()}
    for ending in REAL:
        path = next((path for path in ROBOT_FILES if path.as_posix().endswith(ending)), None)
        if path is None:
            print(f"not installed: {ending}")
        else:
            robots[label(path)] = load_quietly(path)
    for name, model in robots.items():
        if not sys.argv[1:] or any(part in name for part in sys.argv[1:]):
            try:
                compare(name, model)
            except lw.LinkworkError as error:
                print(f"{name}: {error}", flush=True)


if __name__ == "__main__":
    main()
