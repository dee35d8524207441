"""A controller in C: export functions of a robot, and call them from a small C program.

python examples/13_c_controller.py

The exported C99 code allocates nothing and needs only libm. It is written to a temporary folder,
built with 13_c_controller.c by the system's compiler (or that in the variable CC), and run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import linkwork as lw

PROGRAM = Path(__file__).with_suffix(".c")


def main() -> dict[str, np.ndarray]:
    """Export, build and run; return the torques from C and from Python."""
    compiler = os.environ.get("CC") or shutil.which("cc")
    if compiler is None:
        sys.exit("no C compiler was found: install one, or set the variable CC")
    kd = lw.KinDyn(lw.robots.load("arm"), floating=False)
    q = kd.q(shoulder_pitch=0.6, elbow_pitch=1.2)
    with TemporaryDirectory() as name:
        folder = Path(name)
        functions = {"gravity_force": "gravity_force", "tool_jacobian": ("jacobian", "tool")}
        report = lw.export(kd, folder, functions, check=False)
        print("exported", ", ".join(file for file in report.files if file.startswith("arm")))
        sources = [PROGRAM, *folder.glob("arm_*.c")]
        build = [
            *compiler.split(),
            "-O2",
            "-std=c99",
            "-I",
            folder,
            *sources,
            "-lm",
            "-o",
            folder / "run",
        ]
        subprocess.run(build, check=True)
        values = "\n".join(f"{value:.17g}" for value in q)
        result = subprocess.run(
            [folder / "run"], input=values, capture_output=True, text=True, check=True
        )
    in_c = np.array([line.split() for line in result.stdout.splitlines()], dtype=float).T

    gravity = kd.gravity_force(q)
    pushed = gravity + kd.jacobian("tool", q).T @ np.array([0.0, 0.0, -10.0, 0.0, 0.0, 0.0])
    error = np.abs(in_c - [gravity, pushed]).max()
    print("gravity torques [N m]:", np.round(in_c[0, :4], 1) + 0.0)
    print("pushing with 10 N:    ", np.round(in_c[1, :4], 1) + 0.0)
    print(f"C and Python agree to 1e-12 N m: {error < 1e-12}")
    return {"C": in_c, "Python": np.array([gravity, pushed])}


if __name__ == "__main__":
    main()
