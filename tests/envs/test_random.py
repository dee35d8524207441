"""Random numbers of environments: Philox, and distributions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import linkwork as lw
from linkwork.engine.kernel import extension
from linkwork.envs.random import RandomNumbers, philox, uniform

# of the authors of Philox: kat_vectors of Random123
KNOWN = [
    (0, (0, 0, 0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    (2**64 - 1, (2**32 - 1,) * 4, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        0x299F31D0A4093822,
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("key", "counter", "expected"), KNOWN)
def test_philox_has_its_published_values(key, counter, expected):
    assert tuple(philox(key, counter).tolist()) == expected


def test_numbers_are_uniform_and_depend_on_each_counter():
    n = 3000
    keys, rows, episodes, steps = np.full(n, 9), np.arange(n), np.zeros(n, int), np.ones(n)
    numbers = uniform(keys, rows, episodes, steps, 7)
    assert numbers.shape == (n, 7)
    assert len(np.unique(numbers)) == numbers.size
    assert stats.kstest(numbers.ravel(), "uniform").pvalue > 1e-3
    counters = [keys, rows, episodes, steps]
    for k in range(4):
        other = uniform(*(c + 5000 * (i == k) for i, c in enumerate(counters)), 7)
        assert not np.isin(other, numbers).any()
    assert (uniform(keys[5:6], rows[5:6], episodes[5:6], steps[5:6], 3) == numbers[5, :3]).all()


def test_numbers_have_the_same_bits_without_the_extension(monkeypatch):
    rng = np.random.default_rng(0)
    counters = (rng.integers(0, high, 100) for high in (2**63, 2**32, 2**32, 2**20))
    counters = [one.astype(np.uint64) for one in counters]
    assert extension.philox is not None
    numbers = [uniform(*counters, n) for n in (0, 1, 4, 11)]
    monkeypatch.setattr(extension, "philox", None)
    for n, expected in zip((0, 1, 4, 11), numbers, strict=True):
        assert uniform(*counters, n).tobytes() == expected.tobytes()


def test_the_extension_rejects_other_arrays():
    good = np.zeros((3, 5)), np.zeros((3, 4), np.uint64)
    extension.philox(*good)
    for bad in (
        (good[0].astype(np.float32), good[1]),
        (good[0][:, ::2], good[1]),
        (good[0], good[1].astype(np.int64)),
        (good[0], good[1][:2]),
        (good[0], good[1][:, :3].copy()),
        (good[0][0], good[1]),
    ):
        with pytest.raises(ValueError, match="philox"):
            extension.philox(*bad)


def test_distributions():
    random = RandomNumbers(uniform([1], [0], [0], [0], 40_000)[0])
    normal = random.normal(2.0, 3.0, (3, 2001))
    assert normal.shape == (3, 2001)
    assert stats.kstest(normal.ravel(), stats.norm(2.0, 3.0).cdf).pvalue > 1e-3
    span = random.uniform([-1.0, 5.0], [1.0, 6.0], (2000, 2))
    assert stats.kstest(span[:, 1], stats.uniform(5.0, 1.0).cdf).pvalue > 1e-3
    scales = np.log(random.log_uniform(0.1, 10.0, 3000))
    assert stats.kstest(scales, stats.uniform(np.log(0.1), np.log(100.0)).cdf).pvalue > 1e-3
    assert abs(np.mean([random.chance(0.3) for _ in range(5000)]) - 0.3) < 0.03
    with pytest.raises(lw.ArgumentError, match="random numbers"):
        random.uniform(0.0, 1.0, 40_000)
