"""Rollouts by a loop in Python, where the C extension or machine code is missing.

As in `csrc/rollout.c`: all steps for one tile of rows after the other; backwards with checkpoints.
Python handles signals between the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from math import isqrt
from typing import Any, TypeAlias

import numpy as np

from linkwork.engine.kernel.norms import Span, limits
from linkwork.engine.symbolic.arrays import Array

TILE_ROWS = 1024  # most rows of a tile

# Computes rows: arrays of inputs with contiguous rows, arrays for the outputs, the number of rows.
Run: TypeAlias = Callable[[tuple[Array, ...], tuple[Array, ...], int], object]
Frame: TypeAlias = tuple[Array, ...]  # the states of a tile at one time, (rows, size) each


@dataclass(frozen=True)
class Step:
    """A step as a function of frames."""

    run: Run
    spans: Sequence[Span]  # numbers of its inputs whose norm is 1
    n_states: int
    dtype: np.dtype[Any]

    def normalised(self, frame: Frame) -> Frame:
        """The states with unit norms, however far they are from 1; copied where they are."""
        return self.divided(frame, frame)

    def divided(self, frame: Frame, by: Frame) -> Frame:
        """A frame with its unit-norm parts divided by the norms that another one has there."""
        found, noise = list(frame), limits(self.dtype)[0]
        for index, offset, count in self.spans:
            if index >= self.n_states:
                continue
            part = slice(offset, offset + count)
            numbers = by[index][:, part].astype(np.float64)
            with np.errstate(all="ignore"):
                squares = (numbers * numbers).sum(axis=1)
                drifted = np.abs(squares - 1.0) > noise
                if drifted.any():
                    if found[index] is frame[index]:
                        found[index] = frame[index].copy()
                    found[index][drifted, part] /= np.sqrt(squares[drifted])[:, None]
        return tuple(found)

    def after(self, frame: Frame, others: Sequence[Array], time: int) -> Frame:
        """The states after a step."""
        rows = len(frame[0])
        found = tuple(np.empty_like(state) for state in frame)
        self.run((*self.normalised(frame), *_at(others, time)), found, rows)
        return found


@dataclass(frozen=True)
class Tracks:
    """The arrays of a rollout, (rows, steps, size) each; some of one step, and some missing."""

    starts: Sequence[Array]
    others: Sequence[Array]
    states: Sequence[Array] = ()
    cotangents: Sequence[Array] = ()
    finals: Sequence[Array] = ()
    results: Sequence[Array] = ()  # states forwards, gradients backwards

    def tiles(self) -> Iterator[Tracks]:
        """The same for some rows after the other."""
        rows = len(self.results[0])
        for start in range(0, rows, TILE_ROWS):
            tile = slice(start, min(start + TILE_ROWS, rows))
            yield Tracks(*([array[tile] for array in getattr(self, f.name)] for f in fields(self)))


def roll(step: Step, tracks: Tracks, steps: int) -> None:
    """Like `Call._roll` of the C extension."""
    is_final = tracks.results[0].shape[1] == 1
    for tile in tracks.tiles():
        frame = _at(tile.starts, 0)
        for time in range(steps + 1):
            if time:
                frame = step.after(frame, tile.others, time - 1)
            if not is_final or time == steps:
                for target, state in zip(tile.results, frame, strict=True):
                    target[:, 0 if is_final else time] = state


def roll_back(step: Step, vjp: Run, tracks: Tracks, steps: int, most_bytes: int) -> None:
    """Like `Call._roll_back` of the C extension."""
    for tile in tracks.tiles():
        _tile_back(step, vjp, tile, steps, most_bytes)


def _tile_back(step: Step, vjp: Run, tile: Tracks, steps: int, most_bytes: int) -> None:
    after = tuple(np.zeros_like(state) for state in _at(tile.starts, 0))
    after = _sum(_sum(after, tile.cotangents, steps), tile.finals, 0)
    targets = tile.results[len(after) :]
    for time, frame in _backwards(step, tile, steps, most_bytes):
        unit = step.normalised(frame)
        before = tuple(np.empty_like(state) for state in frame)
        products = tuple(np.empty((len(a), a.shape[2]), step.dtype) for a in targets)
        vjp((*unit, *_at(tile.others, time), *after), (*before, *products), len(frame[0]))
        for target, product in zip(targets, products, strict=True):
            if target.shape[1] == 1 and steps != 1:
                target[:, 0] += product
            else:
                target[:, time] = product
        after = _sum(step.divided(before, frame), tile.cotangents, time)
    for target, cotangent in zip(tile.results, after, strict=False):
        target[:, 0] = cotangent


def _backwards(
    step: Step, tile: Tracks, steps: int, most_bytes: int
) -> Iterator[tuple[int, Frame]]:
    """The states before each step, from the last step to the first."""
    if tile.states:
        for time in reversed(range(steps)):
            yield time, _at(tile.states, time)
        return
    frame = _at(tile.starts, 0)
    length = max(steps, 1)
    if steps * sum(state.nbytes for state in frame) > most_bytes:
        length = isqrt(steps - 1) + 1
    checkpoints = [frame]
    for time in range((steps - 1) // length * length if steps else 0):
        frame = step.after(frame, tile.others, time)
        if (time + 1) % length == 0:
            checkpoints.append(frame)
    for number in reversed(range(len(checkpoints))):
        first = number * length
        frames = [checkpoints.pop()]
        for time in range(first, min(first + length, steps) - 1):
            frames.append(step.after(frames[-1], tile.others, time))
        for time in reversed(range(first, min(first + length, steps))):
            yield time, frames.pop()


def _at(tracks: Sequence[Array], time: int) -> Frame:
    """Arrays of (rows, steps, size) at one time, with contiguous rows."""
    return tuple(np.ascontiguousarray(track[:, time]) for track in tracks)


def _sum(frame: Frame, tracks: Sequence[Array], time: int) -> Frame:
    if not tracks:
        return frame
    return tuple(state + track[:, time] for state, track in zip(frame, tracks, strict=True))
