"""Whether linkwork works where it was installed; needs nothing but what was installed with it.

    python tools/check_install.py

It checks that the C extensions are there, that this is not the source tree, and some results.
"""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np

import linkwork as lw


def check_files() -> None:
    folder = Path(lw.__file__).parent
    assert folder.parent.name != "src", f"{folder} is a source tree"
    for name in ("engine.kernel._call", "workcell._poses", "bridges.jax._xla"):
        module = import_module(f"linkwork.{name}")
        assert Path(module.__file__ or "").is_relative_to(folder)
    # importing it would need CasADi
    assert list(folder.glob("bridges/casadi/_casadi.*")), "the extension for CasADi is missing"
    assert not list(folder.rglob("*.[ch]")), "sources of the extensions are not for wheels"


def check_dynamics(name: str, dtype: type) -> None:
    """Forward dynamics is the inverse of inverse dynamics; equations agree with the mass matrix."""
    kd = lw.KinDyn(lw.robots.load(name), dtype=dtype)
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


def main() -> None:
    check_files()
    for name in ("arm", "quadruped"):
        for dtype in (np.float64, np.float32):
            check_dynamics(name, dtype)
    kd = lw.KinDyn(lw.robots.load("arm"))
    q = kd.neutral()
    J = kd.com.jacobian("q")(q)
    assert J.shape == (3, kd.nq)
    command = [sys.executable, "-c", "from linkwork.cli.main import main; main()", "--version"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert shown == f"linkwork {lw.__version__}", shown
    print(f"{shown} works on Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
