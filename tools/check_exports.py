"""Exported C against the kernels: every quantity of the bundled robots and of twelve real ones.

python tools/check_exports.py [ROBOT ...] [--most OPERATIONS]     # all robots if none is named

Each robot is exported in double and in single precision, compiled and compared. Arms are exported
twice, with a base that moves freely and with one that is fixed to the world. A row of the table
that is printed has the number of functions, the largest difference relative to the largest number
of a result, how many functions exceed 1e-13 or 1e-5, and for single precision the largest
difference of linkwork's own float32 kernels at the same states, and the largest ratio of the two
among functions that exceed 1e-5. Functions of more than OPERATIONS operations are left out, and
named.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.export import check
from linkwork.export.function import DOUBLE, FLOAT
from linkwork.export.names import Names
from linkwork.export.report import Row
from linkwork.export.requests import exported
from linkwork.export.samples import DIFFERENCE, difference, sample_of
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
ARMS = ("arm", "cartpole", "pendulum", "double_pendulum", "ur5_robot", "panda", "kinova")


def wanted(kd: lw.KinDyn) -> list[Any]:
    """Every quantity, of the last frame where it is of one."""
    frame, other = kd.model.frame_names[-1], kd.model.frame_names[0]
    frames: dict[str, object] = {"frame": frame, "frames": [frame, other], "reference": other}
    frames |= {"origin": frame, "axes": other}
    every: list[Any] = [
        (name, *(frames[one] for one in row.frames)) for name, row in QUANTITIES.items()
    ]
    return [one for one in every if kd.function(one).program.results]


def compare(name: str, model: lw.Model, *, floating: bool, most: int) -> None:
    """Export a robot twice, and print the largest differences."""
    check.OPTIONS = ("-std=c99", "-O0")  # compiles fastest, and takes most stack
    for real in (DOUBLE, FLOAT):
        dtype = np.float64 if real is DOUBLE else np.float32
        kd = lw.KinDyn(model, dtype=dtype, floating=floating)
        every = wanted(kd)
        functions = [one for one in every if kd.function(one).program.n_ops <= most]
        with tempfile.TemporaryDirectory() as folder:
            report = lw.export(kd, folder, functions, prefix="robot")
        pairs = list(zip(report.rows, functions, strict=True))
        worst, _ = max(pairs, key=lambda pair: pair[0].difference or 0.0)
        beyond = [pair for pair in pairs if (pair[0].difference or 0) > DIFFERENCE[real.name]]
        cells = [name, "free" if floating else "fixed", real.name]
        cells += [str(len(functions)), f"{worst.difference:.1e}", str(len(beyond))]
        cells += [worst.name.removeprefix("robot_")]
        if real is FLOAT:
            cells += _beside_kernels(kd, beyond or [pairs[report.rows.index(worst)]])
        print(f"| {' | '.join(cells)} |", flush=True)
        left = [str(one[0]) for one in every if one not in functions]
        if left:
            print(f"    left out, of more than {most:,} operations: {', '.join(left)}", flush=True)


def _beside_kernels(kd: lw.KinDyn, pairs: Sequence[tuple[Row, Any]]) -> list[str]:
    """The largest error of float32 kernels at the states of the export, and ratio of C to it."""
    errors = [error_of_kernel(kd, request) for _, request in pairs]
    ratios = (row.difference / own for (row, _), own in zip(pairs, errors, strict=True))
    return [f"{max(errors):.1e}", f"{max(ratios):.1f}"]


def error_of_kernel(kd: lw.KinDyn, request: Any) -> float:
    """How far the float32 kernel is from the one in double precision, as C is compared."""
    (one,) = exported(kd, [request], derivatives=False, prefix="robot", names=Names())
    sample = sample_of(kd, one, FLOAT, rows=10)
    kernel = kd.function(request)
    given = [
        rows.astype(np.float32).reshape(10, *port.shape)
        for rows, port in zip(sample.inputs, kernel.signature.inputs, strict=True)
    ]
    results: Any = kernel(*given, threads=1)
    listed = results if isinstance(results, tuple) else (results,)
    found = [np.asarray(part, float).reshape(10, -1) for part in listed if np.size(part)]
    return difference(found, sample.outputs)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("robots", nargs="*")
    parser.add_argument("--most", type=int, default=10**9)
    given = parser.parse_args()
    robots = {name: lw.robots.load(name) for name in lw.robots.names()}
    for ending in REAL:
        path = next((path for path in ROBOT_FILES if path.as_posix().endswith(ending)), None)
        if path is None:
            print(f"not installed: {ending}")
        else:
            robots[label(path)] = load_quietly(path)
    failures = 0
    for name, model in robots.items():
        if not given.robots or any(part in name for part in given.robots):
            for floating in (True, False) if name.split("/")[-1] in ARMS else (True,):
                try:
                    compare(name, model, floating=floating, most=given.most)
                except lw.LinkworkError as error:
                    failures += 1
                    print(f"{name}: {error}", flush=True)
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
