"""How linkwork's time changes with threads, precision, joints and rows."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
from ceiling import write_bandwidth
from functions import SHORT, arguments, kernel_of
from peers import Pinocchio
from report import Section
from timing import Patience, Task, best, best_of_variants

import linkwork as lw
from robots import CASES, TALOS, chain, kindyn_of, random_states

THREAD_ROWS = 65_536
THREAD_BYTES = 1 << 28  # of an output
NEAR = 0.75  # of the bandwidth of memory, above which a miss is marked
FLOAT_ROWS = 4096
DYNAMICS = ("rnea", "crba", "aba")
JOINTS = (2, 4, 8, 16, 32, 64, 128)
BATCHES = tuple(4**k for k in range(9))  # 1 to 65,536
MOST_BYTES = 1 << 30  # of one output
LONG = 64  # joints of chains that may take long to compile
MOST_SECONDS = 120  # to compile a chain
CHAIN_BYTES = 1 << 25  # of the output of a batch of chains


def threads(patience: Patience) -> Section:
    """Two threads against one."""
    section = Section("Two threads")
    table = section.table(
        "Microseconds per row, out= reused",
        *("robot", "function", "rows", "one thread", "two threads", "times faster"),
        *("written, GB/s", "target", ""),
    )
    patience = replace(patience, rounds=4 * patience.rounds)  # both processors must be left alone
    ceiling = write_bandwidth(1), write_bandwidth(2)
    for case in CASES:
        kd = kindyn_of(case)
        for function in DYNAMICS:
            kernel = kernel_of(kd, function, case.frame)
            size = 8 * kernel.signature.outputs[0].size
            n = min(THREAD_ROWS, THREAD_BYTES // size // 8 * 8)
            rows = arguments(function, random_states(kd, n))
            out = np.asarray(kernel(*rows))
            tasks = {str(n): Task(kernel, rows, {"out": out, "threads": n}) for n in (1, 2)}
            times = best(tasks, patience)
            ratio, written = times["1"] / times["2"], n * size / times["2"]
            name = f"{case.name} {SHORT[function]} on two threads"
            verdict = _verdict(section, name, ratio, 1.7, written / ceiling[1])
            shown = [f"{n:,}", *(f"{t / n * 1e6:.3f}" for t in times.values()), f"{ratio:.2f}"]
            table.add(case.name, SHORT[function], *shown, f"{written / 1e9:.1f}", "1.7", verdict)
            section.data.append({"robot": case.name, "function": function} | times)
    section.data.append({"write_bandwidth": ceiling})
    section.notes += ["This needs two processors with nothing else to do.", _about_memory(ceiling)]
    return section


def float32(patience: Patience) -> Section:
    """Single precision against double."""
    section = Section(f"float32, batches of {FLOAT_ROWS:,}")
    table = section.table(
        "Microseconds per row on one thread, out= reused",
        *("robot", "function", "float64", "float32", "times faster", "written, GB/s", "target", ""),
    )
    ceiling = write_bandwidth(1), write_bandwidth(2)
    for case in CASES:
        for function in DYNAMICS:
            tasks: dict[str, Task] = {}
            size = 0
            for dtype in (np.float64, np.float32):
                kd = kindyn_of(case).replace(dtype=dtype)
                rows = arguments(function, random_states(kd, FLOAT_ROWS))
                kernel = kernel_of(kd, function, case.frame)
                out = np.asarray(kernel(*rows, threads=1))
                size = out.nbytes
                tasks[dtype.__name__] = Task(kernel, rows, {"out": out, "threads": 1})
            times = best(tasks, patience)
            ratio, written = times["float64"] / times["float32"], size / times["float32"]
            name = f"{case.name} {SHORT[function]} in float32"
            verdict = _verdict(section, name, ratio, 1.6, written / ceiling[0])
            shown = [f"{t / FLOAT_ROWS * 1e6:.3f}" for t in times.values()]
            shown += [f"{ratio:.2f}", f"{written / 1e9:.1f}", "1.6", verdict]
            table.add(case.name, SHORT[function], *shown)
            section.data.append({"robot": case.name, "function": function} | times)
    section.notes.append(_about_memory(ceiling))
    return section


def _verdict(section: Section, name: str, ratio: float, target: float, share: float) -> str:
    """Whether a figure meets its target; a miss near the bandwidth of memory is marked."""
    verdict = section.check(name, ratio, target)
    return f"{verdict}, memory" if ratio < target and share > NEAR else verdict


def _about_memory(ceiling: tuple[float, float]) -> str:
    one, two = (f"{bandwidth / 1e9:.1f} GB/s" for bandwidth in ceiling)
    return (
        f"NO, memory: a miss whose results are written at {NEAR:.0%} or more of what a loop that "
        f"only writes reaches: {one} on one thread, {two} on two. That differs from run to run, "
        "and zeros may be written faster than other numbers."
    )


def growth(patience: Patience, *, most_joints: int = 128, most_rows: int = 65_536) -> Section:
    """Chains of more and more joints, batches of more and more rows."""
    section = Section("Cost as work grows")
    _growth_of_joints(section, patience, most_joints)
    _growth_of_rows(section, patience, most_rows)
    section.notes.append("One thread throughout; chains have a floating base, too.")
    return section


def _growth_of_joints(section: Section, patience: Patience, most: int) -> None:
    table = section.table(
        "Chains, microseconds per evaluation (batch: per row, out= reused)",
        *("function", "joints", "operations", "pin", "one call", "batch"),
    )
    for function in DYNAMICS:
        for joints in (n for n in JOINTS if n <= most):
            if joints >= LONG and not _compiles_in_time(joints, function):
                table.add(SHORT[function], joints, *(["-"] * 4))
                note = (
                    f"{SHORT[function]} of {joints} joints: not compiled within {MOST_SECONDS} s."
                )
                section.notes.append(note)
                continue
            model = chain(joints)
            kd = lw.KinDyn(model, floating=True)
            last = f"link{joints}"
            pin = Pinocchio(kd, lw.dump_urdf(model), last)
            kernel = kernel_of(kd, function, last)
            count = max(256, min(4096, CHAIN_BYTES // (kernel.signature.outputs[0].size * 8)))
            states = random_states(kd, count)
            rows, row = arguments(function, states), states.row(0)
            named = {"out": np.asarray(kernel(*rows, threads=1)), "threads": 1}
            groups = {
                "pin": pin.tasks(function, row),
                "one": [Task(kernel, arguments(function, row))],
                "batch": [Task(kernel, rows, named)],
            }
            times: dict[str, Any] = best_of_variants(groups, patience)
            times["batch"] /= count
            shown = [f"{t * 1e6:.3f}" for t in times.values()]
            table.add(SHORT[function], joints, f"{kernel.program.n_ops:,}", *shown)
            section.data.append({"grows": "joints", "function": function, "n": joints} | times)


def _compiles_in_time(joints: int, function: str) -> bool:
    """Compile in a separate process, which can be ended; the code is in the cache afterwards."""
    program = (
        "import sys, linkwork as lw\n"
        "from functions import kernel_of\n"
        "from robots import chain\n"
        "n = int(sys.argv[1])\n"
        "kernel_of(lw.KinDyn(chain(n), floating=True), sys.argv[2], f'link{n}')"
    )
    command = [sys.executable, "-c", program, str(joints), function]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    try:
        subprocess.run(command, env=environment, timeout=MOST_SECONDS, check=True)
    except subprocess.TimeoutExpired:
        return False
    return True


def _growth_of_rows(section: Section, patience: Patience, most: int) -> None:
    table = section.table(
        f"{TALOS.name}, microseconds per row",
        *("function", "rows", "pin", "linkwork, fresh", "linkwork, out=", "rows per second"),
    )
    kd = kindyn_of(TALOS)
    pin = Pinocchio(kd, str(TALOS.path), TALOS.frame)
    for function in DYNAMICS:
        kernel = kernel_of(kd, function, TALOS.frame)
        for rows in (n for n in BATCHES if n <= most):
            if rows * kernel.signature.outputs[0].size * 8 > MOST_BYTES:
                continue
            states = random_states(kd, rows)
            inputs = arguments(function, states)
            named = {"out": np.asarray(kernel(*inputs, threads=1)), "threads": 1}
            groups = {
                "pin": pin.tasks(function, states.row(0)),
                "fresh": [Task(kernel, inputs)],
                "batch": [Task(kernel, inputs, named)],
            }
            times: dict[str, Any] = best_of_variants(groups, patience)
            times |= {way: times[way] / rows for way in ("fresh", "batch")}
            shown = [f"{t * 1e6:.3f}" for t in times.values()]
            table.add(SHORT[function], f"{rows:,}", *shown, f"{1 / times['batch']:,.0f}")
            section.data.append({"grows": "rows", "function": function, "n": rows} | times)
