"""The main job in one go: load a robot, look at it, move it."""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console

import linkwork as lw
from linkwork.algorithms.kinematics import frame_poses
from linkwork.cli.show import print_findings, print_table, print_tree, terminal
from linkwork.errors import count_findings
from linkwork.io.load import read
from linkwork.model.describe import summary, tables

BATCH = 10_000


def main(robot: str) -> int:
    console = terminal()
    bundled = not Path(robot).exists() and robot in lw.robots.names()
    path = lw.robots.path(robot) if bundled else Path(robot)

    title(console, f"linkwork {lw.__version__}: loading {robot}")
    start = time.perf_counter()
    reading = read(path)
    elapsed = time.perf_counter() - start
    print_findings(console, reading.findings)
    console.print(f"{count_findings(reading.findings)} in {elapsed * 1e3:.1f} ms")
    if reading.model is None:
        return 2
    model = reading.model
    console.print(summary(model))

    title(console, f"linkwork tree {robot}")
    print_tree(console, model, model.default_base)

    title(console, f"linkwork info {robot}")
    for table in tables(model):
        if table.rows:
            print_table(console, table)

    title(console, "where is everything? (forward kinematics)")
    show_kinematics(console, model)

    title(console, "written as URDF and read again")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said already
        again = lw.load(lw.dump_urdf(model))
    console.print(f"equal to the first, digit for digit: {again == model}")
    return 0 if again == model else 1


def title(console: Console, text: str) -> None:
    console.print()
    console.rule(text, align="left")


def show_kinematics(console: Console, model: lw.Model) -> None:
    """Poses at rest, the same from another base, and many at once."""
    layout = lw.Layout(model)
    tree = lw.tree_from(model)
    q = layout.rest()
    poses = frame_poses(tree, layout, q)
    last = model.link_names[-1]
    x, y, z = poses[model.frame_index(last), :3, 3]
    console.print(f"at rest, {last} is at x {x:.4f}, y {y:.4f}, z {z:.4f} m, seen from {tree.base}")

    other = lw.tree_from(model, last)
    q_other = layout.rest()
    from_other = frame_poses(other, layout, q_other)
    relative = np.linalg.inv(from_other[model.frame_index(tree.base)])
    difference = np.abs(relative - poses[model.frame_index(last)]).max()
    console.print(f"with {last} as the base, the same pose comes out to {difference:.1e} m")

    many = np.tile(q, (BATCH, 1))
    rng = np.random.default_rng(0)
    for name in layout.joint_names:
        if model.joint(name).nq == 1:
            many[:, layout.q[name]] = rng.uniform(-1, 1, (BATCH, 1))
    start = time.perf_counter()
    batch = frame_poses(tree, layout, many)
    elapsed = time.perf_counter() - start
    console.print(
        f"{BATCH:,} configurations at once: poses {batch.shape} in {elapsed * 1e3:.0f} ms, "
        f"{elapsed / BATCH * 1e6:.2f} µs each"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "arm"))
