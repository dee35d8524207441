"""Closing loops: configurations of parallel robots that are perturbed and projected back."""

from __future__ import annotations

from typing import Any

import numpy as np
from against_pin import ROWS
from report import Section
from timing import Patience, Task, best

import linkwork as lw

PERTURBATION = 0.1  # largest change of a coordinate [rad] or [m]
TARGET = 5.0  # microseconds a row
LEGS = (2, 3, 6)


def add_closing(section: Section, patience: Patience) -> None:
    """Add the times of `project_configuration` in batches."""
    table = section.table(
        "Microseconds per row of `project_configuration` in batches, all threads",
        *("robot", "coordinates", "equations", "operations of a step", "time", "target", "met"),
    )
    for legs in LEGS:
        kd = lw.KinDyn(parallel_robot(legs), floating=False)
        constrained = kd.constrained()
        step: Any = constrained.closing_step
        steps = np.random.default_rng(0).uniform(-PERTURBATION, PERTURBATION, (ROWS, kd.nv))
        q = kd.integrate(kd.random(ROWS, seed=0), steps)
        task = Task(constrained.project_configuration, (q,))
        task.run()
        time = best({"time": task}, patience)["time"] / ROWS * 1e6
        name, n_ops = kd.model.name, step.program.n_ops
        table.add(
            *(name, kd.nv, constrained.m, f"{n_ops:,}", f"{time:.2f}", f"{TARGET:g}"),
            section.check(f"{name} project_configuration", time, TARGET, at_most=True),
        )
        section.data.append({"robot": name, "function": "project_configuration", "batch": time})
    section.notes.append(
        f"`project_configuration`: {ROWS:,} random configurations with closed loops, with each"
        f" coordinate changed by up to {PERTURBATION:g} rad or m."
    )


def parallel_robot(legs: int) -> lw.Model:
    """A platform on legs that change their length."""
    b = lw.ModelBuilder(f"{legs}_legs")
    b.add_link("ground", inertia=lw.solid_box(5.0, (1.0, 1.0, 0.1)))
    b.add_link("platform", inertia=lw.solid_box(4.0, (0.5, 0.5, 0.05)))
    for k in range(legs):
        angle = 2 * np.pi * k / legs
        foot, head = angle + 0.25 * (-1) ** k, angle - 0.25 * (-1) ** k
        for part in ("cylinder", "piston"):
            inertia = lw.solid_box(0.5, (0.04, 0.04, 0.4), com=(0, 0, 0.2))
            b.add_link(f"{part}{k}", inertia=inertia)
        mount = lw.Pose((0.6 * np.cos(foot), 0.6 * np.sin(foot), 0))
        ends = "ground", f"cylinder{k}"
        b.add_joint(f"foot{k}", "universal", *ends, axis=(1, 0, 0), first_H_joint=mount)
        ends, mount = (f"cylinder{k}", f"piston{k}"), lw.Pose((0, 0, 0.4))
        b.add_joint(f"leg{k}", "prismatic", *ends, first_H_joint=mount, lower=-0.3, upper=0.6)
        ends = f"piston{k}", "platform"
        anchor = lw.Pose((-0.35 * np.cos(head), -0.35 * np.sin(head), 0))
        b.add_joint(f"head{k}", "spherical", *ends, first_H_joint=mount, joint_H_second=anchor)
    return b.build()
