"""GRiD's published protocol in single precision, with the figures published for a GPU.

The bias force of 1,024 states and the derivatives of forward dynamics of 256 states, for an arm on
a fixed base and two robots with floating bases.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from report import Section
from timing import Patience, Task, best

import linkwork as lw
from linkwork.errors import LinkworkError
from robots import GRID_ROBOTS, load_quietly, random_states

GRAVITY = (0.0, 0.0, -9.81)
INPUTS = {"bias_force": ("q", "nu"), "forward_dynamics_derivatives": ("q", "nu", "tau")}
ROWS = {"bias_force": 1024, "forward_dynamics_derivatives": 256}
TITLES = {
    "bias_force": "bias force",
    "forward_dynamics_derivatives": "derivatives of forward dynamics",
}


@dataclass(frozen=True)
class Published:
    """Microseconds per batch on an RTX 5090: data on the device, and from and to NumPy arrays."""

    grid: tuple[float, float]
    mjx: tuple[float, float]


# a2r-lab.org/GRiD, "Release measurements" of September 2026: CUDA host calls of GRiD, and MJX.
PUBLISHED = {
    ("iiwa14", "bias_force"): Published((12.5, 21.3), (133, 441)),
    ("go2", "bias_force"): Published((54.2, 72.0), (407, 775)),
    ("g1", "bias_force"): Published((125, 152), (608, 1050)),
    ("iiwa14", "forward_dynamics_derivatives"): Published((23.5, 36.2), (673, 1039)),
    ("go2", "forward_dynamics_derivatives"): Published((56.2, 98.1), (1660, 2259)),
    ("g1", "forward_dynamics_derivatives"): Published((243, 369), (4264, 5084)),
}


def grid(patience: Patience) -> Section:
    """The protocol on one core and on all."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    section = Section("GRiD's published protocol, float32, with published figures of a GPU")
    table = section.table(
        "Microseconds per batch",
        *("robot", "function", "rows", "one core", f"{cores} cores"),
        *("GRiD, on the GPU", "GRiD, full call", "MJX, on the GPU", "MJX, full call"),
    )
    for name, file, floating in GRID_ROBOTS:
        model, label = _model(section, name, file)
        kd = lw.KinDyn(model, floating=floating, gravity=GRAVITY, dtype=np.float32)
        for function, inputs in INPUTS.items():
            times = _times(kd, function, inputs, cores or 1, patience)
            published = PUBLISHED[name, function]
            table.add(
                *(label, TITLES[function], f"{ROWS[function]:,}"),
                *(f"{times[way] * 1e6:.0f}" for way in ("one core", "all cores")),
                *(f"{value:g}" for value in (*published.grid, *published.mjx)),
            )
            section.data.append({"robot": label, "function": function} | times)
    section.notes += [
        "linkwork: measured on this machine, from and to NumPy arrays, out= reused.",
        "GRiD and MJX: as published for an NVIDIA RTX 5090 (a2r-lab.org/GRiD); not measured here.",
        "On the GPU: inputs and results stay in its memory. Full call: from and to NumPy arrays.",
    ]
    return section


def _model(section: Section, name: str, file: str) -> tuple[lw.Model, str]:
    """A robot and the name to print; another arm of seven joints where the iiwa14 is missing."""
    try:
        return load_quietly(file), name
    except LinkworkError:
        other = "xarm7"
        section.notes.append(f"{name} is not installed: {other}, with as many joints, is measured.")
        return load_quietly(other), f"{other} for {name}"


def _times(
    kd: lw.KinDyn, function: Any, inputs: tuple[str, ...], cores: int, patience: Patience
) -> dict[str, float]:
    """Seconds per batch on one core and on all."""
    kernel: Any = kd.function(function)
    kernel.warmup()
    states = random_states(kd, ROWS[function])
    rows = tuple(getattr(states, name) for name in inputs)
    out = kernel(*rows, threads=1)
    tasks = {
        way: Task(kernel, rows, {"out": out, "threads": threads})
        for way, threads in (("one core", 1), ("all cores", cores))
    }
    return best(tasks, patience)
