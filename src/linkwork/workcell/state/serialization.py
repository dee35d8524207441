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
from math import prod
from typing import Any, cast

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import LinkworkError, StateError, clipped
from linkwork.model.joints import KINDS
from linkwork.workcell.cell.layout import Slot, StateLayout
from linkwork.workcell.state.state import State

FORMAT = "linkwork state 1"
_MAGIC = FORMAT.encode() + b"\n"
_SIZES = {"movable": 7} | {name: kind.nq for name, kind in KINDS.items()}
_DIGEST_BYTES, _LENGTH_BYTES = 32, 8
# Limit of a batch of states without values, whose size the length of the data cannot confirm.
_MAX_EMPTY_ROWS = 1 << 20


def to_json(state: State) -> str:
    """Convert a state to JSON."""
    layout = state.layout
    names = [slot.name for slot in layout.slots]
    data = {
        "format": FORMAT,
        "digest": layout.digest,
        **_header(state),
        "values": {
            slot.name: state.values[..., layout.span(k)].tolist()
            for k, slot in enumerate(layout.slots)
            if slot.size
        },
        "attached": {
            names[k]: _named(state.parents[..., column].tolist(), names)
            for k, column in layout.column.items()
        },
    }
    return json.dumps(data)


def from_json(text: str | bytes) -> State:
    """Read a state from JSON."""
    try:
        data = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        reason = f"invalid JSON ({clipped(str(error))})"
        raise StateError(f"the state cannot be read: {reason}") from None
    with _as_state_errors():
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise StateError(f"the state cannot be read: expected the format {FORMAT!r}")
        layout, batch = _layout(cast("Mapping[str, Any]", data))
        if data["digest"] != layout.digest:
            raise StateError("the state cannot be read: its digest does not match its frames")
        values = [_block(data["values"], slot, batch) for slot in layout.slots if slot.size]
        parents = [_attached(data["attached"], layout, k, batch) for k in layout.column]
        # Arrays are allocated only after the size of the batch is confirmed.
        return State(
            layout,
            np.concatenate([np.empty((*batch, 0)), *values], axis=-1),
            np.stack(parents, axis=-1) if parents else np.empty((*batch, 0), dtype=np.int32),
        )


def to_bytes(state: State) -> bytes:
    """Convert a state to bytes."""
    header = json.dumps(_header(state)).encode()
    content = b"".join(
        [
            len(header).to_bytes(_LENGTH_BYTES, "little"),
            header,
            np.ascontiguousarray(state.values, dtype="<f8").tobytes(),
            np.ascontiguousarray(state.parents, dtype="<i4").tobytes(),
        ]
    )
    return _MAGIC + hashlib.sha256(content).digest() + content


def from_bytes(data: bytes) -> State:
    """Read a state from bytes."""
    try:
        data = bytes(memoryview(data))
    except TypeError:
        raise StateError(
            f"the state cannot be read: expected bytes, got {type(data).__name__}"
        ) from None
    if not data.startswith(_MAGIC):
        raise StateError(f"the state cannot be read: it does not start with {FORMAT!r}")
    start = len(_MAGIC) + _DIGEST_BYTES
    content = data[start:]
    if hashlib.sha256(content).digest() != data[len(_MAGIC) : start]:
        raise StateError("the state cannot be read: it is damaged or truncated")
    with _as_state_errors():
        length = int.from_bytes(content[:_LENGTH_BYTES], "little")
        body = content[_LENGTH_BYTES + length :]
        layout, batch = _layout(json.loads(content[_LENGTH_BYTES : _LENGTH_BYTES + length]))
        n, m, rows = layout.n_values, len(layout.attachable), prod(batch)
        if len(body) != rows * (8 * n + 4 * m):
            raise StateError("the state cannot be read: its length does not match its frames")
        values = np.frombuffer(body, dtype="<f8", count=rows * n).reshape(*batch, n)
        parents = np.frombuffer(body, dtype="<i4", offset=8 * rows * n).reshape(*batch, m)
        return State(layout, values, parents)


@contextmanager
def _as_state_errors() -> Generator[None, None, None]:
    """Convert all errors that invalid data can cause to a StateError."""
    try:
        yield
    except StateError:
        raise
    except (
        *(LinkworkError, KeyError, TypeError, ValueError, OverflowError, RecursionError),
    ) as error:
        is_missing = isinstance(error, KeyError) and not isinstance(error, LinkworkError)
        reason = f"{error} is missing" if is_missing else str(error)
        raise StateError(f"the state cannot be read: {clipped(reason, 300)}") from None


def _header(state: State) -> dict[str, Any]:
    frames = [
        [slot.name, slot.kind, slot.size, slot.parent, slot.attachable]
        for slot in state.layout.slots
    ]
    return {"cell": state.layout.cell, "batch": list(state.batch_shape), "frames": frames}


def _layout(data: Mapping[str, Any]) -> tuple[StateLayout, tuple[int, ...]]:
    """The layout and the batch axes of a header, checked."""
    batch = tuple(_integer(n, "batch") for n in data["batch"])
    if not isinstance(data["cell"], str):
        raise StateError("the state cannot be read: cell must be a string")
    slots: list[Slot] = []
    for k, entry in enumerate(data["frames"]):
        name, kind, size, parent, attachable = entry
        if not (isinstance(name, str) and isinstance(attachable, bool)):
            raise StateError(f"the state cannot be read: frame {k} is invalid")
        if kind not in _SIZES or size not in (0, _SIZES[kind]) or (kind == "movable" and not size):
            raise StateError(f"the state cannot be read: frame {name!r} has the kind {kind!r}")
        parent_index = _integer(parent, "parent", least=-1)
        if (parent_index < 0) != (attachable or k == 0) or parent_index >= len(data["frames"]):
            raise StateError(f"the state cannot be read: frame {name!r} has an invalid parent")
        slots.append(Slot(name, kind, int(size), parent_index, attachable))
    layout = StateLayout(data["cell"], tuple(slots))
    if not slots or len(layout.index) != len(slots) or _has_cycle(slots):
        raise StateError("the state cannot be read: its frames do not form a tree")
    if not (layout.n_values or layout.attachable) and prod(batch) > _MAX_EMPTY_ROWS:
        raise StateError(f"the state cannot be read: batch {batch} of states without any values")
    return layout, batch


def _has_cycle(slots: Sequence[Slot]) -> bool:
    is_checked = [False] * len(slots)
    for k in range(len(slots)):
        parent_index, steps = slots[k].parent, 0
        while parent_index >= 0 and not is_checked[parent_index]:
            parent_index, steps = slots[parent_index].parent, steps + 1
            if steps > len(slots):
                return True
        is_checked[k] = True
    return False


def _integer(value: Any, name: str, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        expected = f"an integer >= {least}"
        raise StateError(f"the state cannot be read: {name}: expected {expected}, got {value!r}")
    return value


def _block(values: Mapping[str, Any], slot: Slot, batch: tuple[int, ...]) -> Array:
    """The values of a frame."""
    block = np.array(values[slot.name], dtype=np.float64)
    return _shaped(block, (*batch, slot.size), slot.name)


def _attached(
    attached: Mapping[str, Any], layout: StateLayout, k: int, batch: tuple[int, ...]
) -> Array:
    """The parents of an attachable frame, as indices."""
    name = layout.slots[k].name
    names = _shaped(np.array(attached[name], dtype=object), batch, name)
    indices = [layout.frame(parent) for parent in names.reshape(-1).tolist()]
    return np.array(indices, dtype=np.int32).reshape(batch)


def _shaped(block: Any, shape: tuple[int, ...], name: str) -> Any:
    if not prod(shape) and not block.size:
        return np.zeros(shape, dtype=block.dtype)
    if block.shape != shape:
        raise StateError(
            f"the state cannot be read: {name!r}: expected the shape {shape}, got {block.shape}"
        )
    return block


def _named(indices: Any, names: Sequence[str]) -> Any:
    """Replace indices in nested lists by names."""
    return [_named(k, names) for k in indices] if isinstance(indices, list) else names[indices]
