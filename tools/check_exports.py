"""Exported C against the kernels: every quantity of the bundled robots and of twelve real ones.

python tools/check_exports.py [ROBOT ...] [--most OPERATIONS]     # all robots if none is named

Each robot is exported in double and in single precision, compiled and compared. Arms are exported
twice, with a base that moves freely and with one that is fixed to the world. A row of the table
that is printed has the number of functions; in double precision the largest difference relative to
the largest number of a result, how many functions exceed 1e-13, and for these the largest error of
the kernel itself, against the same operations with more digits; in single precision the largest
difference, how many functions exceed 1e-5, and the largest error of rounding. Functions of more
than OPERATIONS operations are left out and named.
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
from linkwork.engine.codegen.c.statements import DOUBLE, FLOAT, Real
from linkwork.export import check
from linkwork.export.check import Row
from linkwork.export.code import Names
from linkwork.export.requests import exported_functions
from linkwork.export.samples import DIFFERENCE, rounding_errors, sample_of

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
HEAD = (
    *("robot", "base", "functions", "double", "beyond 1e-13", "kernel's own error"),
    *("float", "beyond 1e-5", "rounding in float"),
)


def wanted(kd: lw.KinDyn) -> list[Any]:
    """Every quantity, of the last frame where it is of one."""
    frame, other = kd.model.frame_names[-1], kd.model.frame_names[0]
    frames: dict[str, object] = {"frame": frame, "frames": [frame, other], "reference": other}
    frames |= {"origin": frame, "axes": other}
    every: list[Any] = [
        (name, *(frames[one] for one in row.frames)) for name, row in lw.KinDyn.quantities.items()
    ]
    return [one for one in every if kd.function(one).program.results]


def compare(name: str, model: lw.Model, *, floating: bool, most: int) -> None:
    """Export a robot twice, and print the largest differences."""
    check.OPTIONS = ("-std=c99", "-O0")  # compiles fastest, and takes most stack
    kd = lw.KinDyn(model, floating=floating)
    every = wanted(kd)
    functions = [one for one in every if kd.function(one).program.n_ops <= most]
    cells = [name, "free" if floating else "fixed", str(len(functions))]
    for real in (DOUBLE, FLOAT):
        dtype = np.float64 if real is DOUBLE else np.float32
        with tempfile.TemporaryDirectory() as folder:
            report = lw.export(kd, folder, functions, dtype=dtype, prefix="robot")
        pairs = list(zip(report.rows, functions, strict=True))
        beyond = [one for one in pairs if _apart(one[0]) > DIFFERENCE[real.name]]
        cells += [f"{max(map(_apart, report.rows)):.1e}", str(len(beyond))]
        for row, request in beyond:
            own = _error(kd, [request], real)
            print(f"    {row.name} {real.name}: {row.difference:.1e}, rounding {own:.1e}")
        if real is DOUBLE:
            cells.append(f"{_error(kd, [one for _, one in beyond], real):.1e}" if beyond else "")
        else:
            cells.append(f"{_error(kd, functions, real):.1e}")
    print(f"| {' | '.join(cells)} |", flush=True)
    left = [str(one[0]) for one in every if one not in functions]
    if left:
        print(f"    left out, of more than {most:,} operations: {', '.join(left)}", flush=True)


def _apart(row: Row) -> float:
    assert row.difference is not None
    return row.difference


def _error(kd: lw.KinDyn, requests: Sequence[Any], real: Real) -> float:
    """Return the largest error of rounding at the states of the check."""
    listed = exported_functions(kd, requests, derivatives=False, prefix="robot", names=Names())
    samples = [(one, sample_of(kd, one, real, rows=10)) for one in listed]
    errors = [rounding_errors(one, of.inputs, of.outputs, real).max() for one, of in samples]
    return max(errors)


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
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}", flush=True)
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
