r"""States as JSON and as bytes, and back.

JSON names every frame, so that people can read it. Bytes hold every bit of every number. Both carry
the layout, so a state can be read without its cell; a cell then refuses it if it is not its own.

    bytes = b"linkwork state 1\n", SHA-256 of the rest (32), length of the header (8),
            header (JSON: cell, frames, batch), values (float64), parents (int32); little-endian
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, cast

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import LinkworkError, StateError, clipped
from linkwork.model.joints import KINDS
from linkwork.workcell.layout import Slot, StateLayout
from linkwork.workcell.state import State

FORMAT = "linkwork state 1"
_MAGIC = FORMAT.encode() + b"\n"
_SIZES = {"movable": 7} | {name: kind.nq for name, kind in KINDS.items()}
_DIGEST_BYTES, _LENGTH_BYTES = 32, 8
_MOST_EMPTY_ROWS = 1 << 20  # of a batch without values, which no length of the data can confirm


def to_json(state: State) -> str:
    """A state as JSON text."""
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
    """A state from JSON text."""
    try:
        data = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise StateError(f"the state cannot be read: no JSON ({clipped(str(error))})") from None
    with _Reading():
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise StateError(f"the state cannot be read: expected the format {FORMAT!r}")
        layout, batch = _layout(cast("Mapping[str, Any]", data))
        if data["digest"] != layout.digest:
            raise StateError("the state cannot be read: its digest does not fit its frames")
        values = [_block(data["values"], slot, batch) for slot in layout.slots if slot.size]
        parents = [_attached(data["attached"], layout, k, batch) for k in layout.column]
        # Only now is the batch known to be as large as the text says.
        return State(
            layout,
            np.concatenate([np.empty((*batch, 0)), *values], axis=-1),
            np.stack(parents, axis=-1) if parents else np.empty((*batch, 0), dtype=np.int32),
        )


def to_bytes(state: State) -> bytes:
    """A state as bytes."""
    header = json.dumps(_header(state)).encode()
    rest = b"".join(
        [
            len(header).to_bytes(_LENGTH_BYTES, "little"),
            header,
            np.ascontiguousarray(state.values, dtype="<f8").tobytes(),
            np.ascontiguousarray(state.parents, dtype="<i4").tobytes(),
        ]
    )
    return _MAGIC + hashlib.sha256(rest).digest() + rest


def from_bytes(data: bytes) -> State:
    """A state from bytes."""
    try:
        data = bytes(memoryview(data))
    except TypeError:
        raise StateError(
            f"the state cannot be read: expected bytes, got {type(data).__name__}"
        ) from None
    if not data.startswith(_MAGIC):
        raise StateError(f"the state cannot be read: it does not start with {FORMAT!r}")
    start = len(_MAGIC) + _DIGEST_BYTES
    rest = data[start:]
    if hashlib.sha256(rest).digest() != data[len(_MAGIC) : start]:
        raise StateError("the state cannot be read: it is damaged or cut off")
    with _Reading():
        length = int.from_bytes(rest[:_LENGTH_BYTES], "little")
        body = rest[_LENGTH_BYTES + length :]
        layout, batch = _layout(json.loads(rest[_LENGTH_BYTES : _LENGTH_BYTES + length]))
        n, m, rows = layout.n_values, len(layout.attachable), prod(batch)
        if len(body) != rows * (8 * n + 4 * m):
            raise StateError("the state cannot be read: its length does not fit its frames")
        values = np.frombuffer(body, dtype="<f8", count=rows * n).reshape(*batch, n)
        parents = np.frombuffer(body, dtype="<i4", offset=8 * rows * n).reshape(*batch, m)
        return State(layout, values, parents)


class _Reading:
    """Turns whatever is wrong with the data into a StateError."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, StateError) or error is None:
            return
        if isinstance(
            error,
            (LinkworkError, KeyError, TypeError, ValueError, OverflowError, RecursionError),
        ):
            missing = isinstance(error, KeyError) and not isinstance(error, LinkworkError)
            why = f"{error} is missing" if missing else str(error)
            raise StateError(f"the state cannot be read: {clipped(why, 300)}") from None


def _header(state: State) -> dict[str, Any]:
    frames = [
        [slot.name, slot.kind, slot.size, slot.parent, slot.attachable]
        for slot in state.layout.slots
    ]
    return {"cell": state.layout.cell, "batch": list(state.batch_shape), "frames": frames}


def _layout(data: Mapping[str, Any]) -> tuple[StateLayout, tuple[int, ...]]:
    """The layout and the batch axes that a header tells, checked."""
    batch = tuple(_whole(n, "batch") for n in data["batch"])
    if not isinstance(data["cell"], str):
        raise StateError("the state cannot be read: cell must be a text")
    slots: list[Slot] = []
    for k, entry in enumerate(data["frames"]):
        name, kind, size, parent, attachable = entry
        if not (isinstance(name, str) and isinstance(attachable, bool)):
            raise StateError(f"the state cannot be read: frame {k} is not understood")
        if kind not in _SIZES or size not in (0, _SIZES[kind]) or (kind == "movable" and not size):
            raise StateError(f"the state cannot be read: frame {name!r} has no kind {kind!r}")
        above = _whole(parent, "parent", least=-1)
        if (above < 0) != (attachable or k == 0) or above >= len(data["frames"]):
            raise StateError(f"the state cannot be read: frame {name!r} has no such parent")
        slots.append(Slot(name, kind, int(size), above, attachable))
    layout = StateLayout(data["cell"], tuple(slots))
    if not slots or len(layout.index) != len(slots) or _has_loop(slots):
        raise StateError("the state cannot be read: its frames do not form a tree")
    if not (layout.n_values or layout.attachable) and prod(batch) > _MOST_EMPTY_ROWS:
        raise StateError(f"the state cannot be read: batch {batch} of states without any values")
    return layout, batch


def _has_loop(slots: Sequence[Slot]) -> bool:
    depth = [0] * len(slots)
    for k in range(len(slots)):
        above, steps = slots[k].parent, 0
        while above >= 0 and not depth[above]:
            above, steps = slots[above].parent, steps + 1
            if steps > len(slots):
                return True
        depth[k] = 1
    return False


def _whole(value: Any, what: str, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise StateError(f"the state cannot be read: {what} {value!r} is no such number")
    return value


def _block(values: Mapping[str, Any], slot: Slot, batch: tuple[int, ...]) -> Array:
    """The values of a frame."""
    block = np.array(values[slot.name], dtype=np.float64)
    return _shaped(block, (*batch, slot.size), slot.name)


def _attached(
    attached: Mapping[str, Any], layout: StateLayout, k: int, batch: tuple[int, ...]
) -> Array:
    """The frames that an attachable frame is attached to, by their indices."""
    name = layout.slots[k].name
    names = _shaped(np.array(attached[name], dtype=object), batch, name)
    indices = [layout.frame(parent) for parent in names.reshape(-1).tolist()]
    return np.array(indices, dtype=np.int32).reshape(batch)


def _shaped(block: Any, shape: tuple[int, ...], name: str) -> Any:
    if not prod(shape) and not block.size:
        return np.zeros(shape, dtype=block.dtype)
    if block.shape != shape:
        raise StateError(
            f"the state cannot be read: {name!r} has the shape {block.shape}, not {shape}"
        )
    return block


def _named(indices: Any, names: Sequence[str]) -> Any:
    return [_named(one, names) for one in indices] if isinstance(indices, list) else names[indices]
