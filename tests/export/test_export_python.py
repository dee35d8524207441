"""The Python module that `make python` builds from an export, in a separate process."""

from __future__ import annotations

import sys

import numpy as np
from tests.support.exports import run
from tests.support.kernels import floater

import linkwork as lw

SCRIPT = """
import sys
import numpy as np
import dp

arrays = np.load("inputs.npz")
q, nu, nu_dot = (arrays[name] for name in ("q", "nu", "nu_dot"))
M, tau = np.full((5, 8, 8), np.nan), np.full((5, 8), np.nan)
dp.mass_matrix(q, M)
dp.inverse_dynamics(q, nu, nu_dot, tau)
np.savez("results.npz", M=M, tau=tau)
assert "ctypes" not in dp.__dict__
print(dp.inverse_dynamics.__doc__)
for arrays in (
    (q,), (q, M[:4]), (q.astype("f"), M), (q, M[:, ::2]), (M[:, :1, :8], M),
    (2 * q, M), (M.ravel()[:9], M[:1]),
):
    try:
        dp.mass_matrix(*arrays)
    except (TypeError, ValueError, BufferError) as error:
        print(error)
"""
OUTPUT = """\
inverse_dynamics(q, nu, nu_dot, out)
expected 2 arrays, got 1
out: expected 64 elements of C type double in each of 5 rows
q: expected 9 elements of C type double in each of 2 rows
ndarray is not C-contiguous
ndarray is not C-contiguous
row 0: the norm of a quaternion or (cos, sin) pair is not 1
q and out overlap
"""


def test_python_calls_the_compiled_functions(tmp_path, rng, monkeypatch):
    """Also one that is split into parts and therefore has a workspace."""
    monkeypatch.setattr("linkwork.engine.codegen.c.functions.LONGEST_UNCUT", 150)
    monkeypatch.setattr("linkwork.engine.codegen.c.functions.LONGEST_PART", 150)
    kd = floater()
    functions = ["mass_matrix", "inverse_dynamics"]
    report = lw.export(kd, tmp_path, functions, prefix="dp", check=False)
    assert any(row.work_bytes for row in report.rows)
    flags = "CFLAGS=-O0 -Wall -Wextra -Wconversion -Werror"
    run(["make", "python", flags, f"PYTHON={sys.executable}"], tmp_path)
    q, nu, nu_dot = kd.random(5, seed=1), *rng.normal(size=(2, 5, kd.nv))
    np.savez(tmp_path / "inputs.npz", q=q, nu=nu, nu_dot=nu_dot)
    path = {"PYTHONPATH": str(tmp_path / "python")}

    assert run([sys.executable, "-c", SCRIPT], tmp_path, env=path) == OUTPUT
    result = np.load(tmp_path / "results.npz")
    np.testing.assert_allclose(result["M"], kd.mass_matrix(q), rtol=1e-13, atol=1e-13)
    expected = kd.inverse_dynamics(q, nu, nu_dot)
    np.testing.assert_allclose(result["tau"], expected, rtol=1e-12, atol=1e-12)
