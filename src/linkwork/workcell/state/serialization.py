r"""Conversion of states to and from JSON and bytes.

JSON has the names of the frames and is readable. Bytes are compact; both keep the full precision of
all values. Both contain the layout, so a state can be read without its cell; the cell checks it.

    bytes = b"linkwork state 1\n", SHA-256 of all following bytes (32), length of the header (8),
            header (JSON: cell, frames, batch), values (float64), parents (int32); little-endian
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from math import prod
from typing import Any, TypeAlias

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import LinkworkError, StateError, clipped
from linkwork.model.graph import cycles
from linkwork.model.joints import KINDS
from linkwork.workcell.state.layout import Slot, StateLayout

Contents: TypeAlias = tuple[StateLayout, Array, Array]
"""The layout, values and parents of a state."""

FORMAT = "linkwork state 1"
_MAGIC = FORMAT.encode() + b"\n"
_SIZES = {"movable": 7} | {name: kind.nq for name, kind in KINDS.items()}
_DIGEST_BYTES, _LENGTH_BYTES = 32, 8
# Limit of a batch of states without values, whose size the length of the data cannot confirm.
_MAX_EMPTY_ROWS = 1 << 20


def to_json(layout: StateLayout, values: Array, parents: Array) -> str:
    """Convert a state to JSON."""
    names = [slot.name for slot in layout.slots]
    data = {
        "format": FORMAT,
        "digest": layout.digest,
        **_header(layout, values),
        "values": {
            slot.name: values[..., layout.span(k)].tolist()
            for k, slot in enumerate(layout.slots)
            if slot.size
        },
        "attached": {
            names[k]: np.array(names, dtype=object)[parents[..., column]].tolist()
            if parents.ndim > 1
            else names[int(parents[column])]
            for column, k in enumerate(layout.attachable)
        },
    }
    return json.dumps(data)


def from_json(text: str | bytes) -> Contents:
    """Read a state from JSON, within `state_errors`."""
    data = json.loads(text)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise StateError(f"expected the format {FORMAT!r}")
    layout, batch = _layout(data)
    if data["digest"] != layout.digest:
        raise StateError("its digest does not match its frames")
    values = [_block(data["values"], slot, batch) for slot in layout.slots if slot.size]
    attached = [_attached(data["attached"], layout, k, batch) for k in layout.attachable]
    # Arrays are allocated only after the size of the batch is confirmed.
    parents = np.stack(attached, axis=-1) if attached else np.empty((*batch, 0), dtype=np.int32)
    return layout, np.concatenate([np.empty((*batch, 0)), *values], axis=-1), parents


def to_bytes(layout: StateLayout, values: Array, parents: Array) -> bytes:
    """Convert a state to bytes."""
    header = json.dumps(_header(layout, values)).encode()
    arrays = values.astype("<f8").tobytes() + parents.astype("<i4").tobytes()
    content = len(header).to_bytes(_LENGTH_BYTES, "little") + header + arrays
    return _MAGIC + hashlib.sha256(content).digest() + content


def from_bytes(data: bytes) -> Contents:
    """Read a state from bytes, within `state_errors`."""
    data = bytes(memoryview(data))
    if not data.startswith(_MAGIC):
        raise StateError(f"it does not start with {FORMAT!r}")
    start = len(_MAGIC) + _DIGEST_BYTES
    content = data[start:]
    if hashlib.sha256(content).digest() != data[len(_MAGIC) : start]:
        raise StateError("it is damaged or truncated")
    length = int.from_bytes(content[:_LENGTH_BYTES], "little")
    body = content[_LENGTH_BYTES + length :]
    layout, batch = _layout(json.loads(content[_LENGTH_BYTES : _LENGTH_BYTES + length]))
    n, m, rows = layout.n_values, len(layout.attachable), prod(batch)
    if len(body) != rows * (8 * n + 4 * m):
        raise StateError("its length does not match its frames")
    values = np.frombuffer(body, dtype="<f8", count=rows * n).reshape(*batch, n)
    parents = np.frombuffer(body, dtype="<i4", offset=8 * rows * n).reshape(*batch, m)
    return layout, values, parents


@contextmanager
def state_errors() -> Generator[None, None, None]:
    """Convert all errors that invalid data can cause to a StateError."""
    try:
        yield
    except (LinkworkError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        is_missing = isinstance(error, KeyError) and not isinstance(error, LinkworkError)
        reason = f"{error} is missing" if is_missing else clipped(str(error), 300)
        raise StateError(f"the state cannot be read: {reason}") from None


def _header(layout: StateLayout, values: Array) -> dict[str, Any]:
    batch = list(values.shape[:-1])
    return {"cell": layout.cell, "batch": batch, "frames": [astuple(one) for one in layout.slots]}


def _layout(data: Mapping[str, Any]) -> tuple[StateLayout, tuple[int, ...]]:
    """Return the layout and the batch axes of a header, checked."""
    batch = tuple(_integer(n, "batch") for n in data["batch"])
    if not isinstance(data["cell"], str):
        raise StateError("cell must be a string")
    slots: list[Slot] = []
    for k, entry in enumerate(data["frames"]):
        name, kind, size, parent, attachable = entry
        if not (isinstance(name, str) and isinstance(attachable, bool)):
            raise StateError(f"frame {k} is invalid")
        if kind not in _SIZES or size not in (0, _SIZES[kind]) or (kind == "movable" and not size):
            raise StateError(f"frame {name!r} has the kind {kind!r}")
        parent_index = _integer(parent, "parent", least=-1)
        if (parent_index < 0) != (attachable or k == 0) or parent_index >= len(data["frames"]):
            raise StateError(f"frame {name!r} has an invalid parent")
        slots.append(Slot(name, kind, int(size), parent_index, attachable))
    layout = StateLayout(data["cell"], tuple(slots))
    parents = {slot.name: slots[slot.parent].name for slot in slots if slot.parent >= 0}
    if not slots or len(layout.index) != len(slots) or any(cycles(parents)):
        raise StateError("its frames do not form a tree")
    if not (layout.n_values or layout.attachable) and prod(batch) > _MAX_EMPTY_ROWS:
        raise StateError(f"batch {batch} of states without any values")
    return layout, batch


def _integer(value: Any, name: str, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise StateError(f"{name}: expected an integer >= {least}, got {value!r}")
    return value


def _block(values: Mapping[str, Any], slot: Slot, batch: tuple[int, ...]) -> Array:
    """Return the values of a frame."""
    block = np.array(values[slot.name], dtype=np.float64)
    return _shaped(block, (*batch, slot.size), slot.name)


def _attached(
    attached: Mapping[str, Any], layout: StateLayout, k: int, batch: Sequence[int]
) -> Array:
    """Return the parents of an attachable frame, as indices."""
    name = layout.slots[k].name
    names = _shaped(np.array(attached[name], dtype=object), tuple(batch), name)
    indices = [layout.frame(parent) for parent in names.reshape(-1).tolist()]
    return np.array(indices, dtype=np.int32).reshape(batch)


def _shaped(block: Array, shape: tuple[int, ...], name: str) -> Array:
    if not prod(shape) and not block.size:
        return np.zeros(shape, dtype=block.dtype)
    if block.shape != shape:
        raise StateError(f"{name!r}: expected the shape {shape}, got {block.shape}")
    return block
