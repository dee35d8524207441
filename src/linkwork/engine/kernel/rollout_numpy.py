"""Rollouts by a loop in Python, used without the C extension or without machine code.

All steps for one tile of rows after the other, as in `csrc/rollout.c`, but backwards without
checkpoints: the states of a tile are kept. Python handles signals between the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np

from linkwork.engine.kernel.norms import Span, limits
from linkwork.engine.symbolic.arrays import Array

TILE_ROWS = 1024  # maximum number of rows of a tile

# Computes rows: arrays of inputs with contiguous rows, arrays for the outputs, the number of rows.
Run: TypeAlias = Callable[[tuple[Array, ...], tuple[Array, ...], int], object]
Frame: TypeAlias = tuple[Array, ...]  # the states of a tile at one time, (rows, size) each


@dataclass(frozen=True)
class Step:
    """A step as a function of frames."""

    run: Run
    spans: Sequence[Span]  # elements of its inputs whose norm is 1
    n_states: int
    dtype: np.dtype[Any]

    def normalized(self, frame: Frame) -> Frame:
        """Normalize the unit-norm parts of the states, in copies if necessary."""
        return self.divided(frame, frame)

    def divided(self, frame: Frame, by: Frame) -> Frame:
        """Divide the unit-norm parts of a frame by the norms of the same parts of another one."""
        result, noise = list(frame), limits(self.dtype)[0]
        for index, offset, count in self.spans:
            if index >= self.n_states:
                continue
            part = slice(offset, offset + count)
            elements = by[index][:, part].astype(np.float64)
            with np.errstate(all="ignore"):
                squares = (elements * elements).sum(axis=1)
                drifted = np.abs(squares - 1.0) > noise
                if drifted.any():
                    if result[index] is frame[index]:
                        result[index] = frame[index].copy()
                    result[index][drifted, part] /= np.sqrt(squares[drifted])[:, None]
        return tuple(result)

    def after(self, frame: Frame, others: Sequence[Array], time: int) -> Frame:
        """Compute the states after a step."""
        rows = len(frame[0])
        next_frame = tuple(np.empty_like(state) for state in frame)
        self.run((*self.normalized(frame), *_at(others, time)), next_frame, rows)
        return next_frame


@dataclass(frozen=True)
class Tracks:
    """The arrays of a rollout, (rows, steps, size) each; some have one step, some are missing."""

    starts: Sequence[Array]
    others: Sequence[Array]
    states: Sequence[Array] = ()
    cotangents: Sequence[Array] = ()
    finals: Sequence[Array] = ()
    results: Sequence[Array] = ()  # states forwards, gradients backwards

    def tiles(self) -> Iterator[Tracks]:
        """Yield the arrays of one tile of rows after the other."""
        rows = len(self.results[0])
        for start in range(0, rows, TILE_ROWS):
            tile = slice(start, min(start + TILE_ROWS, rows))
            yield Tracks(*([array[tile] for array in getattr(self, f.name)] for f in fields(self)))


def roll(step: Step, tracks: Tracks, steps: int) -> None:
    """Compute a rollout, as `Call._roll` of the C extension."""
    is_final = tracks.results[0].shape[1] == 1
    for tile in tracks.tiles():
        frame = _at(tile.starts, 0)
        for time in range(steps + 1):
            if time:
                frame = step.after(frame, tile.others, time - 1)
            if not is_final or time == steps:
                for target, state in zip(tile.results, frame, strict=True):
                    target[:, 0 if is_final else time] = state


def roll_back(step: Step, vjp: Run, tracks: Tracks, steps: int) -> None:
    """Compute a rollout backwards, as `Call._roll_back` of the C extension."""
    for tile in tracks.tiles():
        _tile_back(step, vjp, tile, steps)


def _tile_back(step: Step, vjp: Run, tile: Tracks, steps: int) -> None:
    after = tuple(np.zeros_like(state) for state in _at(tile.starts, 0))
    after = _sum(_sum(after, tile.cotangents, steps), tile.finals, 0)
    targets = tile.results[len(after) :]
    for time, frame in _backwards(step, tile, steps):
        unit = step.normalized(frame)
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


def _backwards(step: Step, tile: Tracks, steps: int) -> Iterator[tuple[int, Frame]]:
    """Yield the states before each step, from the last step to the first."""
    if tile.states:
        for time in reversed(range(steps)):
            yield time, _at(tile.states, time)
        return
    frames = [_at(tile.starts, 0)]
    for time in range(steps - 1):
        frames.append(step.after(frames[-1], tile.others, time))
    for time in reversed(range(steps)):
        yield time, frames.pop()


def _at(tracks: Sequence[Array], time: int) -> Frame:
    """Return the frame of arrays (rows, steps, size) at one time, with contiguous rows."""
    return tuple(np.ascontiguousarray(track[:, time]) for track in tracks)


def _sum(frame: Frame, tracks: Sequence[Array], time: int) -> Frame:
    if not tracks:
        return frame
    return tuple(state + track[:, time] for state, track in zip(frame, tracks, strict=True))
