"""Random numbers that depend on a counter only: Philox 4x32 with 10 rounds.

    key      the seed, 64 bits
    counter  (row, episode, step, block) of 32 bits each; a block has four numbers

So an environment computes the same numbers in any order, on any number of threads, and whatever the
other environments do. Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.kernel import extension
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.traced import is_traced
from linkwork.errors import ArgumentError

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
LOW = np.uint64(0xFFFFFFFF)
SHIFT = np.uint64(32)


def philox(key: ArrayLike, counter: Sequence[ArrayLike]) -> Array:
    """Return four 32-bit numbers for each counter: (4, ...) of uint64.

    Args:
        key: 64 bits.
        counter: four arrays of 32-bit numbers, which are broadcast with the key.
    """
    keys = [np.asarray(key, np.uint64) & LOW, np.asarray(key, np.uint64) >> SHIFT]
    shape = np.broadcast_shapes(np.shape(key), *map(np.shape, counter))
    x = [np.broadcast_to(np.asarray(word, np.uint64), shape) for word in counter]
    for _ in range(ROUNDS):
        first, second = (x[2 * k] * np.uint64(MULTIPLIERS[k]) for k in range(2))
        x = [
            (second >> SHIFT) ^ x[1] ^ keys[0],
            second & LOW,
            (first >> SHIFT) ^ x[3] ^ keys[1],
            first & LOW,
        ]
        keys = [(k + np.uint64(step)) & LOW for k, step in zip(keys, KEY_STEPS, strict=True)]
    return np.stack(x)


def uniform(
    keys: ArrayLike, rows: ArrayLike, episodes: ArrayLike, steps: ArrayLike, n: int
) -> Array:
    """Return n random numbers in (0, 1) for each row: (rows, n).

    Args:
        keys: (rows,) the seed, 64 bits.
        rows, episodes, steps: (rows,) the counters of each row.
        n: how many.
    """
    counters = np.stack(
        [np.asarray(one).astype(np.uint64) for one in (keys, rows, episodes, steps)], 1
    )
    numbers = np.empty((len(counters), n))
    if extension.philox is not None:
        extension.philox(numbers, counters)
    else:
        key, *counter = (counters[:, k, None] for k in range(4))
        blocks = philox(key, (*counter, np.arange(-(-n // 4))))
        numbers[:] = (np.moveaxis(blocks, 0, -1).reshape(len(counters), -1)[:, :n] + 0.5) * 2.0**-32
    return numbers


class RandomNumbers:
    """Draws of one row, for functions that are traced: each call uses further numbers."""

    def __init__(self, numbers: Any) -> None:
        """Draw from uniform random numbers in (0, 1).

        Args:
            numbers: (n,) traced, or of NumPy.
        """
        self._numbers = numbers
        self.used = 0

    def uniform(self, low: Any = 0.0, high: Any = 1.0, shape: int | tuple[int, ...] = ()) -> Any:
        """Return numbers between two bounds, which may be arrays."""
        shape = np.broadcast_shapes(np.shape(low), np.shape(high), _axes(shape))
        low, high = _array(low), _array(high)
        return low + (high - low) * self._drawn(shape)

    def log_uniform(self, low: Any, high: Any, shape: int | tuple[int, ...] = ()) -> Any:
        """Return positive numbers whose logarithms are uniform between two bounds."""
        return np.exp(self.uniform(np.log(low), np.log(high), shape))

    def normal(self, mean: Any = 0.0, scale: Any = 1.0, shape: int | tuple[int, ...] = ()) -> Any:
        """Return numbers with a normal distribution."""
        shape = np.broadcast_shapes(np.shape(mean), np.shape(scale), _axes(shape))
        n = int(np.prod(shape))
        first, second = self._drawn((2, (n + 1) // 2))  # Box and Muller: two from two
        radius, angle = np.sqrt(-2.0 * np.log(first)), 2.0 * np.pi * second
        pairs = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])
        return _array(mean) + _array(scale) * pairs[:n].reshape(shape)

    def chance(self, probability: Any) -> Any:
        """Return a condition that is true with a probability."""
        return self._drawn(()) < probability

    def _drawn(self, shape: tuple[int, ...]) -> Any:
        start, self.used = self.used, self.used + int(np.prod(shape))
        if self.used > len(self._numbers):
            raise ArgumentError(
                f"a function of an environment draws more than {len(self._numbers)} random numbers"
            )
        return self._numbers[start : self.used].reshape(shape)


def _array(value: Any) -> Any:
    return value if is_traced(value) else np.asarray(value, np.float64)


def _axes(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)
