"""Batches of a small robot, and their expected results."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import zarr

from linkwork.batch.journal import read
from linkwork.batch.plan import Plan, make_plan
from linkwork.batch.run import Report, journal_path, run
from linkwork.batch.runners import Local
from linkwork.kindyn import KinDyn
from linkwork.robots import load

FUNCTION = "mass_matrix"


def robot(**options: object) -> KinDyn:
    """A floating base and two joints: q has 9 coordinates, nu 8."""
    return KinDyn(load("double_pendulum"), check=True, **options)


def random_plan(out: Path, rows: int = 1000, chunk: int = 100, function: str = FUNCTION) -> Plan:
    return make_plan(robot(), function, out, random=rows, seed=5, chunk=chunk)


def computed(plan: Plan, runner: object = None, **options: object) -> Report:
    report = Report(plan)
    run(plan, runner or Local(), report, **options)
    return report


def in_one_call(plan: Plan) -> dict[str, np.ndarray]:
    """All results by name, each computed by one call of the method for all rows."""
    actual = {}
    for function in plan.functions:
        function.kernel.warmup()
        arguments = [plan.states.read(port.name, 0, plan.rows) for port in function.inputs]
        results = function.kernel(*arguments)
        results = results if isinstance(results, tuple) else (results,)
        actual |= {p.name: array for p, array in zip(function.arrays, results, strict=True)}
    return actual


def check_all(plan: Plan) -> None:
    """Check that the results are bitwise equal to those of one call for all rows."""
    group = zarr.open_group(plan.out, mode="r")
    expected = in_one_call(plan)
    assert set(group.array_keys()) == set(expected)
    for name, array in expected.items():
        assert group[name].dtype == array.dtype
        assert group[name][:].tobytes() == array.tobytes(), name


def done(plan: Plan) -> set[int]:
    """The chunks that are recorded as done."""
    actual = read(journal_path(plan))
    return set(actual[1]) if actual else set()


def files(plan: Plan) -> dict[str, tuple[int, int]]:
    """The file and its modification time for each chunk that is done."""
    paths = [path for chunk in done(plan) for path in plan.out.glob(f"*/c.{chunk}.*")]
    return {str(path): (path.stat().st_ino, path.stat().st_mtime_ns) for path in paths}


def run_python(code: str, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a separate process."""
    called = [sys.executable, "-c", code, *map(str, words)]
    env = {**os.environ, **environment}
    return subprocess.run(called, capture_output=True, text=True, check=False, env=env, timeout=120)
