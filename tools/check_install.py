"""Whether linkwork works where it was installed; needs nothing but what was installed with it.

    python tools/check_install.py

It checks that all C extensions of setup.py are there, that this is not the source tree, and some
results of each.
"""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import linkwork as lw

SETUP = Path(__file__).parents[1] / "setup.py"
NEEDS_PACKAGE = "linkwork.bridges.casadi._casadi"  # importing it needs CasADi


def extensions() -> list[str]:
    """The modules that setup.py compiles. They are optional there, so a wheel may lack one."""
    return re.findall(r'extension\("([\w.]+)"', SETUP.read_text(encoding="utf-8"))


def check_files() -> None:
    folder = Path(lw.__file__).parent
    assert folder.parent.name != "src", f"{folder} is a source tree"
    assert not list(folder.rglob("*.[ch]")), "sources of the extensions are not for wheels"
    check_extensions(folder)


def check_extensions(folder: Path) -> None:
    for name in extensions():
        stem = folder.joinpath(*name.split(".")[1:])
        built = {path for end in ("so", "pyd") for path in stem.parent.glob(f"{stem.name}.*{end}")}
        assert built, f"{name} was not compiled"
        if name != NEEDS_PACKAGE:
            assert Path(import_module(name).__file__ or "") in built


def check_dynamics(name: str, dtype: type) -> None:
    """Forward dynamics is the inverse of inverse dynamics; equations agree with the mass matrix."""
    kd = lw.KinDyn(lw.robots.load(name), floating=True, dtype=dtype)
    rng = np.random.default_rng(0)
    q = kd.random(3000, seed=0)
    nu, nu_dot = (rng.normal(size=(3000, kd.nv)).astype(dtype) for _ in range(2))
    tau = kd.inverse_dynamics(q, nu, nu_dot)
    for _ in range(2):  # the code of the first call, then the fast one
        exact = 1e-8 if dtype == np.float64 else 2e-2
        scale = np.abs(nu_dot).max()
        assert np.abs(kd.forward_dynamics(q, nu, tau) - nu_dot).max() < exact * scale
        M, h = kd.mass_matrix(q), kd.bias_force(q, nu)
        found = np.einsum("nij,nj->ni", M, nu_dot) + h
        assert np.abs(found - tau).max() < exact * np.abs(tau).max()
        kd.warmup()


def check_workcell() -> None:
    """A gripped object moves with the arm; `workcell._poses` computes the poses."""
    cell = lw.load_workcell("two_arms")
    state = cell.state()
    hand_H_bar = cell.frame_H_frame("left.TCP", "bar", state)
    moved = cell.device("left").set_q(cell.grip(state, "bar", "left.TCP"), np.full(6, 0.3))
    expected = cell.world_H_frame("left.TCP", moved) @ hand_H_bar
    assert np.abs(cell.world_H_frame("bar", moved) - expected).max() < 1e-12


def check_plan() -> None:
    """A path of an arm around a sphere; `collision._motions` tests its motions."""
    builder = lw.ModelBuilder("arm")
    builder.add_link("base", inertia=lw.solid_sphere(1.0, 0.1))
    shape = lw.Shape(lw.Sphere(0.1), lw.Pose((0.5, 0.0, 0.0)))
    builder.add_link("hand", inertia=lw.solid_sphere(1.0, 0.1), collisions=[shape])
    builder.add_joint("turn", "revolute", "base", "hand", axis=(0, 0, 1), lower=-2.0, upper=2.0)
    robot = lw.CollisionModel(builder.build(), floating=False)
    for z, reason in ((0.5, "found"), (0.0, "")):
        plan = lw.plan(robot, [-1.0], [1.0], lw.Obstacles(spheres=[[0.5, 0.0, z, 0.1]]))
        assert bool(plan) == bool(reason), plan.reason


def check_command() -> None:
    """The command prints the version, or the packages that it needs."""
    command = [sys.executable, "-m", "linkwork", "--version"]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    if find_spec("typer") and find_spec("rich"):
        assert shown.stdout.strip() == f"linkwork {lw.__version__}", shown
    else:
        assert shown.returncode == 1, shown
        assert "pip install typer rich" in shown.stderr, shown


def main() -> None:
    check_files()
    check_workcell()
    check_plan()
    for name in ("arm", "quadruped"):
        for dtype in (np.float64, np.float32):
            check_dynamics(name, dtype)
    kd = lw.KinDyn(lw.robots.load("arm"), floating=False)
    q = kd.neutral()
    J = kd.com.jacobian("q")(q)
    assert J.shape == (3, kd.nq)
    check_command()
    print(f"linkwork {lw.__version__} works on Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
