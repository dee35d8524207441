"""The results of a batch: a Zarr group with one array for each result.

Chunks   each chunk of rows is one file, uncompressed, with a checksum that every reader of Zarr
         verifies (crc32c). Zarr writes it under another name and renames it, so a file is complete
         or does not exist; it is synchronized with the disk before it counts as done
Empty    an array whose rows have no elements has no chunk files
Missing  rows that are not computed yet are read as NaN
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.batch import import_zarr, optional_package
from linkwork.batch.plan import Plan
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Port
from linkwork.errors import LinkworkError, WriteError, escaped

CHECKSUM_BYTES = 4
METADATA = "zarr.json"  # Zarr's name for the description of a group or an array
PARTIAL = "*.partial"  # Zarr's name for a file that is being written


def create(plan: Plan) -> None:
    """Create the group, and those of its arrays that do not exist yet."""
    zarr = import_zarr()
    checksum = optional_package("zarr.codecs").Crc32cCodec()
    with writing(plan.out):
        attributes = {
            "robot": plan.kd.model.name,
            "linkwork": plan.facts["linkwork"],
            "options": repr(plan.kd),
            "states": plan.states.identity(),
        }
        group = zarr.open_group(plan.out, mode="a", attributes=attributes)
        for function in plan.functions:
            for port in function.arrays:
                if port.name in group:
                    continue
                group.create_array(
                    port.name,
                    shape=(plan.rows, *port.shape),
                    chunks=_chunk_shape(plan, port),
                    dtype=np.dtype(plan.kd.dtype).name,
                    filters=None,
                    compressors=[checksum],
                    fill_value=float("nan"),
                    chunk_key_encoding={"name": "default", "separator": "."},
                    attributes={"function": function.text},
                )
                synchronize(plan.out / port.name / METADATA)
                synchronize(plan.out / port.name)
        for path in (plan.out / METADATA, plan.out, plan.out.parent):
            synchronize(path)


def open_arrays(plan: Plan) -> dict[str, Any]:
    """Open the arrays for reading and writing, by name."""
    zarr = import_zarr()
    if not plan.out.is_dir():
        message = f"{escaped(str(plan.out))}: this worker has no access to such a folder"
        raise WriteError(f"{message}; use an --out folder that all workers share")
    with zarr.config.set({"array.write_empty_chunks": True}):  # also write chunks of only NaN
        group = zarr.open_group(plan.out, mode="r+")
        return {port.name: group[port.name] for f in plan.functions for port in f.arrays}


def write(plan: Plan, array: Any, port: Port, chunk: int, rows: Array) -> None:
    """Write a chunk of an array, and wait until it is on the disk."""
    start, stop = plan.span(chunk)
    with writing(plan.out):
        array[start:stop] = rows
        if rows.size:
            synchronize(chunk_file(plan, port, chunk))
            synchronize(plan.out / port.name)


def is_complete(plan: Plan, chunk: int) -> bool:
    """Whether all files of a chunk exist with their full size."""
    item = np.dtype(plan.kd.dtype).itemsize
    for function in plan.functions:
        for port in (port for port in function.arrays if port.size):
            size = item * int(np.prod(_chunk_shape(plan, port))) + CHECKSUM_BYTES
            try:
                if chunk_file(plan, port, chunk).stat().st_size != size:
                    return False
            except OSError:
                return False
    return True


def remove_partial(plan: Plan) -> None:
    """Remove partial files of writers that were killed."""
    with writing(plan.out):
        for path in plan.out.glob(f"*/{PARTIAL}"):
            path.unlink(missing_ok=True)


def chunk_file(plan: Plan, port: Port, chunk: int) -> Path:
    """Return the path of a chunk of an array."""
    return plan.out / port.name / ".".join(["c", str(chunk), *"0" * len(port.shape)])


def synchronize(path: Path) -> None:
    """Wait until the content of a file, or the names in a folder, are on the disk."""
    is_folder = path.is_dir()
    if is_folder and os.name != "posix":  # on other systems folders cannot be opened
        return
    handle = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def writing(path: Path) -> Generator[None, None, None]:
    """Convert errors of the operating system to one that names what cannot be written."""
    try:
        yield
    except LinkworkError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise WriteError(f"{escaped(str(path))}: cannot be written: {reason}") from error


def _chunk_shape(plan: Plan, port: Port) -> tuple[int, ...]:
    return max(1, min(plan.chunk, plan.rows)), *(max(1, size) for size in port.shape)
