"""Results too large for the caches are written with non-temporal stores."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw

STREAMED = pytest.importorskip("linkwork.engine.kernel._call").STREAMED_BYTES


@pytest.fixture(scope="module", params=[np.float64, np.float32])
def kernel(request):
    """Two large outputs, one with an odd number of entries, and a small one."""

    @lw.compile(x=(3,), dtype=request.param)
    def outer(x):
        both = np.concatenate([x, 2 * x, x * x, x, x + 1, x[:2]])
        return both[:16, None] * both[:16], both[:, None] * both, both[:11]

    outer.warmup()
    return outer


def expected_of(x):
    both = np.concatenate([x, 2 * x, x * x, x, x + 1, x[..., :2]], axis=-1)
    some = both[..., :16]
    outer = both[..., :, None] * both[..., None, :]
    return some[..., :, None] * some[..., None, :], outer, both[..., :11]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("more", [0, 1, 3, 6])
@pytest.mark.parametrize("offset", [0, 1, 3, 5])
def test_streamed_rows_are_correct(kernel, threads, more, offset):
    """For any address of the array, and any number of remaining rows."""
    dtype = kernel.dtype
    n = STREAMED // (556 * dtype.itemsize) + 64 + more
    x = np.random.default_rng(0).uniform(1, 2, size=(n, 3)).astype(dtype)
    guard = np.full(n * 256 + 40, -7.0, dtype)
    start = -guard.ctypes.data % 64 // dtype.itemsize + offset
    stop = start + n * 256
    out = (
        guard[start:stop].reshape(n, 16, 16),
        np.empty((n, 17, 17), dtype),
        np.empty((n, 11), dtype),
    )

    kernel(x, out=out, threads=threads)

    for actual, expected in zip(out, expected_of(x), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=8 * np.finfo(dtype).eps)
    assert np.all(guard[:start] == -7.0)
    assert np.all(guard[stop:] == -7.0)


def test_a_large_batch_agrees_with_a_small_one():
    kd = lw.KinDyn(lw.robots.load("humanoid"))
    kd.warmup("mass_matrix")
    n = (STREAMED // (8 * kd.nv * kd.nv) // 96 + 1) * 96
    q = kd.random(n, seed=0)
    large = kd.mass_matrix(q)
    for start in range(0, n, 96):
        # whole blocks of lanes, so that rounding is the same too
        assert np.array_equal(large[start : start + 96], kd.mass_matrix(q[start : start + 96]))
