"""Functions applied to the blocks of dask arrays, and sent to other processes."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest
from dask.base import tokenize
from tests.support.kernels import floater

CHUNK = 32  # a multiple of the lanes of every processor
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def kd():
    return floater()


def per_block(function, rows, *shape):
    chunks = (rows.chunks[0], *shape)
    meta = np.empty((0,) * len(chunks))
    axes = list(range(1, len(chunks)))
    return da.map_blocks(function, rows, chunks=chunks, drop_axis=1, new_axis=axes, meta=meta)


def test_blocks_on_threads_have_the_bits_of_one_call(kd):
    q = kd.random(8 * CHUNK + 5, seed=0)
    kd.mass_matrix.warmup()
    lazy = per_block(kd.mass_matrix, da.from_array(q, chunks=(CHUNK, -1)), kd.nv, kd.nv)
    with dask.config.set(scheduler="threads", num_workers=4):
        assert np.array_equal(lazy.compute(), kd.mass_matrix(q))


def test_functions_work_in_other_processes(kd):
    """A function arrives with its robot and its options, whatever process creates it again."""
    rotated = kd.replace(gravity=(0.0, -9.0, 1.0), dtype=np.float32)
    q = rotated.random(CHUNK, seed=1)
    functions = [
        rotated.gravity_force,
        rotated.gravity_force.jacobian("q"),
        rotated.function("com"),
    ]
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawn) as pool:
        for function in functions:
            result = pool.submit(function, q).result()
            assert result.dtype == np.float32
            np.testing.assert_allclose(result, function(q), rtol=1e-5, atol=1e-5)


NAMES = """
import dask.array as da
from dask.base import tokenize
from tests.support.kernels import floater
kd = floater()
print(tokenize(kd), tokenize(kd.function("com")), tokenize(kd.mass_matrix.jacobian("q")))
"""


def test_names_depend_on_content_and_are_the_same_in_every_process(kd):
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    run = [sys.executable, "-c", NAMES]
    environment = {**os.environ, "PYTHONPATH": paths}
    printed = subprocess.run(run, capture_output=True, text=True, check=True, env=environment)
    names = [tokenize(one) for one in (kd, kd.function("com"), kd.mass_matrix.jacobian("q"))]
    assert printed.stdout.split() == names
    others = [kd.replace(gravity=(0, 0, -1)), kd.replace(dtype=np.float32), kd.replace(check=True)]
    assert len({tokenize(one) for one in (kd, *others)}) == 4
    assert len({tokenize(one.function("com")) for one in (kd, *others)}) == 4
