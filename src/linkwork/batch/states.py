"""Sources of states: arrays in files, or random numbers.

Files    .npy     one array (rows, size), for functions of one input, such as q; read through a
                  memory map, so it may be larger than the memory
         .npz     arrays by the names of the inputs; read completely
         .h5      datasets by the names of the inputs, or one dataset for functions of one input
         .zarr    a group of arrays by the names of the inputs, or one array; version 2 or 3
Rows     each array has one row for each state; scalar inputs (dt) have no second axis
Random   rows are drawn in blocks of `RANDOM_ROWS`, each from the seed, the name of the input and
         the index of the block: any row can be drawn again without those before it
"""

from __future__ import annotations

import os
import uuid
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from linkwork.batch import import_zarr, optional_package
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
from linkwork.io.folders import AllowedFolders
from linkwork.kindyn.configurations import Ranges

RANDOM_ROWS = 1024  # rows of a block of random states; changing it changes all states of a seed
SAMPLED_ROWS = 64  # rows of each array that a resumed run checks for changes
# The arrays of an .npz file, which is read completely, may have MAX_UNPACKED bytes, or MAX_RATIO
# times the size of the file: a compressed file can contain any number of zeros.
MAX_UNPACKED = 1 << 30
MAX_RATIO = 4
LONGEST_DT = 0.1  # [s] upper limit of random time steps


class States(Protocol):
    """Rows of the inputs of some functions."""

    can_change: ClassVar[bool]  # whether the states may change between runs

    @property
    def rows(self) -> int:
        """Number of states."""
        ...

    def read(self, name: str, start: int, stop: int) -> Array:
        """(stop - start, *shape) rows of an input."""
        ...

    def identity(self) -> dict[str, Any]:
        """Return what distinguishes these states from others, as JSON."""
        ...

    def stamp(self) -> list[int] | None:
        """Return values that change when the file is written; None if there is no file."""
        ...


@dataclass(frozen=True)
class RandomStates:
    """States drawn from a seed: configurations within the limits, other inputs from a normal."""

    can_change: ClassVar[bool] = False

    ranges: Ranges
    inputs: tuple[Port, ...]
    rows: int
    seed: int

    def read(self, name: str, start: int, stop: int) -> Array:
        """Return rows of an input; a row does not depend on the range in which it is read."""
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
        """Return the seed, and a digest of the first block: NumPy versions may draw differently."""
        drawn = [self._block(port, 0) for port in self.inputs]
        return {"random": self.rows, "seed": self.seed, "first": digest_of_arrays(drawn)}

    def stamp(self) -> None:
        """Return None: there is no file."""


@dataclass(frozen=True)
class StoredStates:
    """States in a file."""

    can_change: ClassVar[bool] = True

    path: Path
    inputs: tuple[Port, ...]
    rows: int
    opening: str  # identifies one run: arrays stay open during it, and another run reopens the file

    def read(self, name: str, start: int, stop: int) -> Array:
        """Return rows of an input."""
        array = self._arrays()[name]
        try:
            return np.ascontiguousarray(array[start:stop])
        except Exception as error:  # noqa: BLE001 - damaged files raise many types of errors
            message = f"{escaped(str(self.path))}: rows {start:,} to {stop - 1:,} of {name}"
            raise SourceError(f"{message} cannot be read: {first_line(error)}") from None

    def _arrays(self) -> dict[str, Any]:
        return _opened(str(self.path), tuple(port.name for port in self.inputs), self.opening)

    def identity(self) -> dict[str, Any]:
        """Return shapes and types, and a digest of some rows of each array."""
        names, arrays = [port.name for port in self.inputs], self._arrays()
        last = max(self.rows - 1, 0)
        sampled = np.unique(np.linspace(0, last, SAMPLED_ROWS).astype(int)) if self.rows else []
        rows = [self.read(name, int(k), int(k) + 1) for name in names for k in sampled]
        described = {name: [list(arrays[name].shape), str(arrays[name].dtype)] for name in names}
        return {"arrays": described, "sample": digest_of_arrays(rows)}

    def stamp(self) -> list[int]:
        """Return the size in bytes, and the time of the last modification [ns]."""
        if not self.path.is_dir():
            status = self.path.stat()
            return [status.st_size, status.st_mtime_ns]
        files = [
            Path(folder, name).stat() for folder, _, names in os.walk(self.path) for name in names
        ]
        return [sum(s.st_size for s in files), max((s.st_mtime_ns for s in files), default=0)]


def stored_states(path: Path, inputs: Sequence[Port], meanings: Mapping[str, str]) -> StoredStates:
    """Open the states in a file, and check that they match the inputs.

    Args:
        path: .npy, .npz, .h5 or .hdf5, or a Zarr folder.
        inputs: inputs of the functions.
        meanings: description of each input, for messages.
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
            expected = ", ".join(["rows", *map(str, port.shape)])
            message = f"{port.name}: expected ({expected}), got {tuple(array.shape)}"
            raise ShapeError(f"{message}; {meanings.get(port.name, '')}".rstrip("; "))
        rows[port.name] = array.shape[0]
    if len(set(rows.values())) > 1:
        counted = ", ".join(f"{name} {count:,}" for name, count in rows.items())
        message = f"{escaped(str(path))}: the arrays have different numbers of rows: {counted}"
        raise ShapeError(message)
    return StoredStates(path.resolve(), tuple(inputs), next(iter(rows.values())), opening)


def digest_of_arrays(arrays: Iterable[Array]) -> str:
    """Return a checksum of all bits of some arrays."""
    digest = 0
    for array in arrays:
        digest = zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, digest)
    return f"{digest:08x}"


@lru_cache(maxsize=8)  # each process opens a file once for a run
def _opened(path: str, names: tuple[str, ...], opening: str) -> dict[str, Any]:
    """Return the arrays of a file by the names of the inputs."""
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
        raise SourceError(f"{shown}: expected a file that ends in {', '.join(readers)}")
    try:
        content = reader(path)
    except LinkworkError:
        raise
    except Exception as error:  # noqa: BLE001 - the type depends on the reader
        raise SourceError(f"{shown}: cannot be read: {first_line(error)}") from None
    if not isinstance(content, dict):  # one array without a name
        if len(names) != 1:
            message = f"{shown} has one array, but the functions need {', '.join(names)}"
            raise SourceError(f"{message}; use .npz, .h5 or .zarr with arrays of these names")
        return {names[0]: content}
    for name in names:
        if name not in content:
            raise name_not_found(f"array in {shown}", name, content)
    return content


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or its type if the message is empty."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _npy(path: str) -> Any:
    return np.load(path, mmap_mode="r", allow_pickle=False)


def _npz(path: str) -> Any:
    with zipfile.ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
        if size > max(MAX_UNPACKED, MAX_RATIO * Path(path).stat().st_size):
            message = f"its arrays have {size:,} bytes, which is too much for a compressed file"
            raise ValueError(f"{message}; use .npy or .zarr")
        for member in archive.infolist():
            _check_size(archive, member)
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)


def _check_size(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Compare the size of an array with its file: NumPy allocates memory before it reads."""
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
        message = f"{member.filename}: {member.file_size} bytes are too few for shape {shape}"
        raise ValueError(message)


def _hdf5(path: str) -> Any:
    h5py = optional_package("h5py")
    folders = AllowedFolders([Path(path).parent])
    file = h5py.File(path, "r", locking=False)  # many processes read it; some systems cannot lock
    if any(isinstance(file.get(name, getlink=True), h5py.ExternalLink) for name in file):
        raise ValueError("it has links to other files, which are not followed")
    datasets = {name: item for name, item in file.items() if isinstance(item, h5py.Dataset)}
    for name, dataset in datasets.items():
        sources = dataset.virtual_sources() if dataset.is_virtual else ()
        others = [source.file_name for source in sources if source.file_name != "."]
        if dataset.external or any(Path(path).parent / one not in folders for one in others):
            raise ValueError(f"{name}: its data are in other files, outside of {folders}")
    has_one = len(datasets) == 1 and "q" not in datasets
    return next(iter(datasets.values())) if has_one else datasets


def _zarr(path: str) -> Any:
    zarr = import_zarr()
    content = zarr.open(path, mode="r")
    return dict(content.arrays()) if isinstance(content, zarr.Group) else content
