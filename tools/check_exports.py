"""Exported C against the kernels: every quantity of the bundled robots and of twelve real ones.

python tools/check_exports.py [ROBOT ...]      # all if none is named; a minute or less each

Each robot is exported in double and in single precision, compiled and compared. Arms are exported
twice, with a base that moves freely and with one that is fixed to the world. A function that
differs by more than 1e-13 or 1e-5 of the largest number of its result is listed, with how far
linkwork's own kernels of the same precision are from results in 60 digits.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np

import linkwork as lw
from linkwork.export import check
from linkwork.export.function import DOUBLE, FLOAT, Real
from linkwork.export.names import Names
from linkwork.export.requests import exported
from linkwork.export.samples import DIFFERENCE, difference, sample_of
from linkwork.kindyn.quantities import QUANTITIES

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.support.expressions import MPMATH
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
ROWS = 6  # of those that are computed in many digits


def wanted(kd: lw.KinDyn) -> list[Any]:
    """Every quantity, of the last frame where it is of one."""
    frame, other = kd.model.frame_names[-1], kd.model.frame_names[0]
    frames: dict[str, object] = {"frame": frame, "frames": [frame, other], "reference": other}
    frames |= {"origin": frame, "axes": other}
    every: list[Any] = [
        (name, *(frames[one] for one in row.frames)) for name, row in QUANTITIES.items()
    ]
    return [one for one in every if kd.function(one).program.results]


def compare(name: str, model: lw.Model, *, floating: bool) -> None:
    """Export a robot twice, and print the largest differences."""
    check.OPTIONS = ("-std=c99", "-O0")  # compiles fastest, and takes most stack
    for real in (DOUBLE, FLOAT):
        dtype = np.float64 if real is DOUBLE else np.float32
        kd, start = lw.KinDyn(model, dtype=dtype, floating=floating), time.perf_counter()
        functions = wanted(kd)
        with tempfile.TemporaryDirectory() as folder:
            report = lw.export(kd, folder, functions, prefix="robot")
        worst = max(report.rows, key=lambda row: row.difference or 0.0)
        seconds = time.perf_counter() - start
        stack = max(row.stack_bytes or 0 for row in report.rows)
        print(
            f"{name:30} {'floating' if floating else 'fixed':8} {real.name:6} {len(functions)} "
            f"functions, largest difference {worst.difference:.1e} "
            f"({worst.name.removeprefix('robot_')}), stack {stack:,} B, {seconds:.0f} s",
            flush=True,
        )
        for row, request in zip(report.rows, functions, strict=True):
            if row.difference and row.difference > DIFFERENCE[real.name]:
                own = errors_of_kernels(kd, request, real)
                print(
                    f"    {row.name.removeprefix('robot_')}: {row.difference:.1e}, allowed "
                    f"{row.allowed:.1e}; kernel of the same precision from exact: {own:.1e}",
                    flush=True,
                )


def errors_of_kernels(kd: lw.KinDyn, request: Any, real: Real) -> float:
    """How far the kernel of a precision is from the exact result, at random states."""
    names = Names()
    (one,) = exported(kd, [request], derivatives=False, prefix="robot", names=names)
    sample = sample_of(kd, one, real, rows=ROWS)
    kernel = kd.function(request)
    given = [
        rows.astype(kd.dtype).reshape(ROWS, *port.shape)
        for rows, port in zip(sample.inputs, kernel.signature.inputs, strict=True)
    ]
    results: Any = kernel(*given, threads=1)
    listed = results if isinstance(results, tuple) else (results,)
    found = [np.asarray(part, float).reshape(ROWS, -1) for part in listed if np.size(part)]
    return difference(found, _exact(one, sample.inputs, [part.shape[1] for part in found]))


def _exact(one: Any, inputs: Sequence[Any], sizes: Sequence[int]) -> list[Any]:
    """Results in 60 digits, rounded."""
    mp.mp.dps = 60
    rows: list[list[float]] = []
    for k in range(ROWS):
        given = [[mp.mpf(float(x)) for x in part[k]] for part in inputs]
        for unit in one.function.unit_norms:
            span = slice(unit.offset, unit.offset + unit.count)
            norm = mp.sqrt(sum(x * x for x in given[unit.input][span]))
            given[unit.input][span] = [x / norm for x in given[unit.input][span]]
        rows.append([float(x) for x in one.function.program.run(*given, functions=MPMATH)])
    return np.split(np.array(rows), np.cumsum(sizes)[:-1], axis=1)


def main() -> None:
    robots = {name: lw.robots.load(name) for name in lw.robots.names()}
    for ending in REAL:
        path = next((path for path in ROBOT_FILES if path.as_posix().endswith(ending)), None)
        if path is None:
            print(f"not installed: {ending}")
        else:
            robots[label(path)] = load_quietly(path)
    failures = 0
    for name, model in robots.items():
        if not sys.argv[1:] or any(part in name for part in sys.argv[1:]):
            for floating in (True, False) if name.split("/")[-1] in ARMS else (True,):
                try:
                    compare(name, model, floating=floating)
                except lw.LinkworkError as error:
                    failures += 1
                    print(f"{name}: {error}", flush=True)
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
