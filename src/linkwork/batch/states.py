"""Where the states come from: arrays in files, or random numbers.

Files    .npy     one array (rows, size), for functions of one input, such as q; read through a
                  memory map, so it may be larger than the memory
         .npz     arrays by the names of the inputs; read as a whole
         .h5      datasets by the names of the inputs, or one dataset for functions of one input
         .zarr    a group of arrays by the names of the inputs, or one array; version 2 or 3
Rows     each array has one row for each state; inputs that are one number (dt) have no second axis
Random   rows are drawn in blocks of `RANDOM_ROWS`, each from the seed, the input and the number of
         the block: any row can be drawn again anywhere, without those before it
"""

from __future__ import annotations

import os
import uuid
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from linkwork.batch.digests import digest_of
from linkwork.batch.packages import package
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Port
from linkwork.errors import (
    ArgumentError,
    LinkworkError,
    MissingFileError,
    ShapeError,
    SourceError,
    escaped,
    name_not_found,
)
from linkwork.kindyn.configurations import Ranges

RANDOM_ROWS = 1024  # of a block of random states; changing it changes all states of a seed
SAMPLED_ROWS = 64  # of each array: a run that goes on checks that they are still the same
LONGEST_DT = 0.1  # [s] of random times


class States(Protocol):
    """Rows of the inputs of some functions."""

    can_change: ClassVar[bool]  # whether the same states may be others at another time

    @property
    def rows(self) -> int:
        """How many there are."""
        ...

    def read(self, name: str, start: int, stop: int) -> Array:
        """(stop - start, *shape) rows of an input."""
        ...

    def identity(self) -> dict[str, Any]:
        """What tells these states from others, as JSON."""
        ...

    def stamp(self) -> list[int] | None:
        """What changes when the file is written to; None if there is none."""
        ...


@dataclass(frozen=True)
class RandomStates:
    """States drawn from a seed: configurations within the limits, all else normally distributed."""

    can_change: ClassVar[bool] = False

    ranges: Ranges
    inputs: tuple[Port, ...]
    rows: int
    seed: int

    def read(self, name: str, start: int, stop: int) -> Array:
        """Rows of an input, each the same in whatever range it is read."""
        port = next(port for port in self.inputs if port.name == name)
        first, last = start // RANDOM_ROWS, -(-stop // RANDOM_ROWS)
        blocks = [self._block(port, block) for block in range(first, last)]
        if not blocks:
            return np.empty((0, *port.shape))
        offset = first * RANDOM_ROWS
        return np.concatenate(blocks)[start - offset : stop - offset]

    def _block(self, port: Port, block: int) -> Array:
        label = int.from_bytes(port.name.encode(), "little")
        rng = np.random.default_rng(np.random.SeedSequence([self.seed, label, block]))
        if port.name.startswith("q"):
            return self.ranges.draw(RANDOM_ROWS, rng)
        if port.name == "dt":
            return rng.uniform(0.0, LONGEST_DT, (RANDOM_ROWS, *port.shape))
        return rng.standard_normal((RANDOM_ROWS, *port.shape))

    def identity(self) -> dict[str, Any]:
        """The seed, and the first block: another version of NumPy may draw other numbers."""
        drawn = [self._block(port, 0) for port in self.inputs]
        return {"random": self.rows, "seed": self.seed, "first": digest_of(drawn)}

    def stamp(self) -> None:
        """There is no file."""


@dataclass(frozen=True)
class StoredStates:
    """States in a file."""

    can_change: ClassVar[bool] = True

    path: Path
    inputs: tuple[Port, ...]
    rows: int
    opening: str  # the arrays are kept open under this name, so another run opens the file anew

    def read(self, name: str, start: int, stop: int) -> Array:
        """Rows of an input."""
        array = self._arrays()[name]
        try:
            return np.ascontiguousarray(array[start:stop])
        except Exception as error:  # noqa: BLE001 - damaged files are rejected in many ways
            text = f"{escaped(str(self.path))}: rows {start:,} to {stop - 1:,} of {name}"
            raise SourceError(f"{text} cannot be read: {_first_line(error)}") from None

    def _arrays(self) -> dict[str, Any]:
        return _opened(str(self.path), tuple(port.name for port in self.inputs), self.opening)

    def identity(self) -> dict[str, Any]:
        """Shapes and types, and some rows of each array."""
        names, arrays = [port.name for port in self.inputs], self._arrays()
        last = max(self.rows - 1, 0)
        sampled = np.unique(np.linspace(0, last, SAMPLED_ROWS).astype(int)) if self.rows else []
        rows = [self.read(name, int(k), int(k) + 1) for name in names for k in sampled]
        described = {name: [list(arrays[name].shape), str(arrays[name].dtype)] for name in names}
        return {"arrays": described, "sample": digest_of(rows)}

    def stamp(self) -> list[int]:
        """Bytes, and when the last of them was written [ns]."""
        if not self.path.is_dir():
            status = self.path.stat()
            return [status.st_size, status.st_mtime_ns]
        found = [
            Path(folder, name).stat() for folder, _, names in os.walk(self.path) for name in names
        ]
        return [sum(s.st_size for s in found), max((s.st_mtime_ns for s in found), default=0)]


def stored_states(path: Path, inputs: Sequence[Port], meanings: Mapping[str, str]) -> StoredStates:
    """The states in a file, if it has what the inputs need.

    Args:
        path: .npy, .npz, .h5 or .hdf5, or a folder of Zarr.
        inputs: what the functions take.
        meanings: of the entries of each input, for messages.
    """
    if not path.exists():
        raise MissingFileError(f"{escaped(str(path))}: there is no such file")
    opening = uuid.uuid4().hex
    arrays = _opened(str(path.resolve()), tuple(port.name for port in inputs), opening)
    rows: dict[str, int] = {}
    for port in inputs:
        array = arrays[port.name]
        if array.dtype.kind not in "fiu":
            raise ArgumentError(f"{port.name}: expected numbers, got an array of {array.dtype}")
        if len(array.shape) != 1 + len(port.shape) or tuple(array.shape[1:]) != port.shape:
            wanted = ", ".join(["rows", *map(str, port.shape)])
            text = f"{port.name}: expected ({wanted}), got {tuple(array.shape)}"
            raise ShapeError(f"{text}; {meanings.get(port.name, '')}".rstrip("; "))
        rows[port.name] = array.shape[0]
    if len(set(rows.values())) > 1:
        counted = ", ".join(f"{name} {count:,}" for name, count in rows.items())
        raise ShapeError(f"{escaped(str(path))}: arrays of different numbers of rows: {counted}")
    return StoredStates(path.resolve(), tuple(inputs), next(iter(rows.values())), opening)


@lru_cache(maxsize=8)  # each process opens a file once for a run
def _opened(path: str, names: tuple[str, ...], opening: str) -> dict[str, Any]:
    """The arrays of a file by the names of the inputs."""
    del opening
    readers: dict[str, Callable[[str], Any]] = {
        ".npy": _npy,
        ".npz": _npz,
        ".h5": _hdf5,
        ".hdf5": _hdf5,
        ".zarr": _zarr,
    }
    shown = escaped(path)
    ending = Path(path).suffix.lower()
    reader = _zarr if Path(path).is_dir() else readers.get(ending)
    if reader is None:
        text = f"{shown}: expected a file that ends in {', '.join(readers)}"
        raise SourceError(text)
    try:
        found = reader(path)
    except LinkworkError:
        raise
    except Exception as error:  # noqa: BLE001 - readers raise what they like
        raise SourceError(f"{shown}: cannot be read: {_first_line(error)}") from None
    if not isinstance(found, dict):  # one array without a name
        if len(names) != 1:
            text = f"{shown} holds one array, and the functions take {', '.join(names)}"
            raise SourceError(f"{text}; give .npz, .h5 or .zarr with arrays of these names")
        return {names[0]: found}
    for name in names:
        if name not in found:
            raise name_not_found(f"array in {shown}", name, found)
    return found


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _npy(path: str) -> Any:
    return np.load(path, mmap_mode="r", allow_pickle=False)


def _npz(path: str) -> Any:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            _check_size(archive, member)
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)


def _check_size(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Compare an array with its file: NumPy allocates what a header asks for before it reads."""
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        readers = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }
        if version not in readers:  # 3.0 is for arrays with named fields
            raise ValueError(f"{member.filename}: .npy version {version} is not supported")
        shape, _, dtype = readers[version](file)
    if prod(shape) * dtype.itemsize > member.file_size:
        text = f"{member.filename}: {member.file_size} bytes cannot hold an array of shape {shape}"
        raise ValueError(text)


def _hdf5(path: str) -> Any:
    h5py = package("h5py")
    file = h5py.File(path, "r", locking=False)  # many processes read it; some systems cannot lock
    found = {name: one for name, one in file.items() if isinstance(one, h5py.Dataset)}
    return next(iter(found.values())) if len(found) == 1 and "q" not in found else found


def _zarr(path: str) -> Any:
    zarr = package("zarr")
    opened = zarr.open(path, mode="r")
    return dict(opened.arrays()) if isinstance(opened, zarr.Group) else opened
