"""What the machine allows: how much faster two threads write to memory than one."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable

import numpy as np

from linkwork.engine.runtime.compiler import compiled, load_code

BYTES = 1 << 26  # that each thread writes, more than caches hold
ROUNDS = 15

_STREAM = """
define void @f(ptr %to, i64 %count) {
entry:
  %some = insertelement <4 x double> zeroinitializer, double 1.5, i32 0
  %numbers = shufflevector <4 x double> %some, <4 x double> %some, <4 x i32> zeroinitializer
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr <4 x double>, ptr %to, i64 %k
  store <4 x double> %numbers, ptr %at, align 32, !nontemporal !0
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %end
end:
  ret void
}
!0 = !{i32 1}
"""


def write_bandwidth(threads: int) -> float:
    """Bytes per second that so many threads write past the caches, at their best."""
    code = load_code(compiled(_STREAM))
    write = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(code.address("f"))
    room = np.ones(threads * BYTES // 8 + 8)
    start = room.ctypes.data + -room.ctypes.data % 64
    works = [lambda k=k: write(start + k * BYTES, BYTES // 32) for k in range(threads)]
    return threads * BYTES / min(_together(works) for _ in range(ROUNDS))


def _together(works: list[Callable[[], None]]) -> float:
    """Seconds that threads take that begin at the same time."""
    begin = threading.Barrier(len(works) + 1)

    def run(work: Callable[[], None]) -> None:
        begin.wait()
        work()

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    begin.wait()
    started = time.perf_counter()
    for thread in threads:
        thread.join()
    return time.perf_counter() - started
