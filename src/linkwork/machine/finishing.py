"""Fast code that was not ready when a program ended, made by a process that outlives it.

Orders    name the programs in the disk cache, and what to make of them; what is made is kept there
Process   a Python interpreter of its own, at the lowest priority, that is nobody's child. It
          imports llvmlite and those parts of linkwork that make code
One       process works on a cache at a time; others wait, and then find what it has made
End       when all is made, and after `LIMIT` at the latest
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

LIMIT = 60  # [s] the process ends after this time, whatever is left
MOST_ORDERS = 100  # more would not fit the buffer of a pipe, and take longer than `LIMIT`
_PACKAGE = Path(__file__).parents[1]
_LOCK = ".new-finishing"  # a file that no process removes before it is an hour old


@dataclass(frozen=True)
class Order:
    """Code to be made of a program that is in the cache."""

    program: str  # key of the program
    scalar: str  # `double` or `float`
    checks: bool  # whether the code tells if a result is not finite
    keys: tuple[tuple[int, str], ...]  # rows at a time, and the key of the code for them


def hand_over(orders: Sequence[Order], folder: Path, limit: int = LIMIT) -> None:
    """Start a process that makes what is ordered; errors are ignored, nobody waits for it."""
    told = {
        "folder": str(folder),
        "path": [entry for entry in sys.path if isinstance(entry, str) and entry],
        "limit": limit,
        "orders": [asdict(order) for order in orders[:MOST_ORDERS]],
    }
    with contextlib.suppress(OSError, AttributeError, NotImplementedError), ExitStack() as opened:
        reading, writing = os.pipe()
        null = os.open(os.devnull, os.O_RDWR)
        for handle in (reading, writing, null):
            opened.callback(os.close, handle)
        os.set_blocking(writing, False)
        os.write(writing, json.dumps(told).encode())
        os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", __file__],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, reading, 0),
                (os.POSIX_SPAWN_DUP2, null, 1),
                (os.POSIX_SPAWN_DUP2, null, 2),
            ],
            setsid=True,
            setsigmask=(),  # the alarm that ends it may be blocked or ignored here
            setsigdef=(signal.SIGALRM,),
        )


def finish(order: Order) -> None:
    """Make what is ordered, unless it is there; nothing if the program is gone."""
    from linkwork.expr.stored import from_bytes
    from linkwork.machine import cache
    from linkwork.machine.compiler import compiled
    from linkwork.machine.emission import emitted

    missing = [(width, key) for width, key in order.keys if cache.fetch(key) is None]
    program = from_bytes(cache.fetch(order.program, cache.PROGRAM) or b"") if missing else None
    if program is None:
        return
    for width, key in missing:
        cache.keep_fast(key, compiled(emitted(program, width, order.scalar, order.checks)), width)


def main() -> None:
    """Read the orders, and do one after the other."""
    import fcntl

    if os.fork():  # so that whoever started it need not wait for it
        os._exit(0)
    os.nice(19)
    os.closerange(3, 1 << 16)
    told: dict[str, Any] = json.loads(sys.stdin.buffer.read())
    signal.alarm(told["limit"])
    folder, sys.path = Path(told["folder"]), told["path"]
    os.environ["LINKWORK_CACHE"] = str(folder)
    from linkwork.machine import cache

    if not _PACKAGE.samefile(Path(cache.__file__).parents[1]):
        return  # another version would make other code
    with (folder / _LOCK).open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for given in told["orders"]:
            keys = tuple((width, key) for width, key in given.pop("keys"))
            if folder.is_dir():  # else the cache was removed: it is not to come back
                finish(Order(keys=keys, **given))


if __name__ == "__main__":
    main()
