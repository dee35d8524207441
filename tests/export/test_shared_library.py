"""The shared library that `make` builds from an export, called in a separate process."""

from __future__ import annotations

import sys

import numpy as np
from tests.support.exports import run
from tests.support.kernels import floater

import linkwork as lw

SCRIPT = """
import ctypes
import numpy as np

array = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")
library = np.ctypeslib.load_library("libdp", ".")
library.dp_mass_matrix.argtypes = [array, array]
q = np.load("q.npy")
M = np.full((8, 8), np.nan)
assert library.dp_mass_matrix(q, M) == 0
assert library.dp_mass_matrix(2 * q, M) == 1  # the quaternion has norm 2
np.save("M.npy", M)
"""


def test_ctypes_calls_the_shared_library(tmp_path):
    kd = floater()
    lw.export(kd, tmp_path, ["mass_matrix"], prefix="dp")
    sources = sorted(tmp_path.glob("dp_*.c"))
    run(["cc", "-shared", "-fPIC", *sources, "-lm", "-o", "libdp.so"], tmp_path)
    q = kd.random(seed=0)
    np.save(tmp_path / "q.npy", q)
    run([sys.executable, "-c", SCRIPT], tmp_path)
    np.testing.assert_allclose(np.load(tmp_path / "M.npy"), kd.mass_matrix(q), rtol=1e-12)
