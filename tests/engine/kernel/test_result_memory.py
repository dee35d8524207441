"""Memory of large results: reused after they are freed, and kept for a limited time."""

from __future__ import annotations

import ctypes
import importlib
import itertools
import os
import pickle
import queue
import sys
import threading
import time
import tracemalloc

import numpy as np
import pytest
from tests.support.cells import random_cell, random_state
from tests.support.kernels import EMULATED, floater, output_of

import linkwork as lw
from linkwork import LinkworkWarning, errors
from linkwork.engine.kernel import extension

core = pytest.importorskip("numpy._core.multiarray", reason="has another name before NumPy 2")
get_handler_name = core.get_handler_name
_call = pytest.importorskip("linkwork.engine.kernel._call")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="NumPy's memory is used there")

ROWS = 3000  # mass matrices of 8 x 8: 1.5 MB
SHAPE = (ROWS, 8, 8)


@pytest.fixture(scope="module")
def mass_matrix():
    kernel = floater().function("mass_matrix")
    kernel.warmup()
    return kernel


@pytest.fixture
def q():
    return floater().random(ROWS, seed=1)


def start_of(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory of a process")
@pytest.mark.skipif(EMULATED, reason="QEMU ignores limits of memory (RLIMIT_AS)")
def test_spare_memory_is_released_if_there_is_no_other():
    code = """
    import resource
    from linkwork.engine.kernel._call import empty, spare_bytes
    from pathlib import Path
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + (600 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    array = empty((300 << 20) // 8, np.dtype(float))
    del array
    print(spare_bytes() >> 20, end=" ")
    array = empty((420 << 20) // 8, np.dtype(float))
    print(spare_bytes() >> 20)
    """
    assert output_of(code, LINKWORK_POOL="1000") == "300 0"


def test_memory_is_reused_after_an_array_is_freed(mass_matrix, q):
    first = mass_matrix(q)
    start, expected = start_of(first), first.copy()
    del first
    again = mass_matrix(q)
    assert start_of(again) == start
    np.testing.assert_array_equal(again, expected)
    assert start % 64 == 0


def test_live_arrays_never_share_memory(mass_matrix, q):
    alive = [mass_matrix(np.roll(q, k, axis=0)) for k in range(6)]
    del alive[1], alive[2]
    alive += [mass_matrix(q) for _ in range(4)]
    starts = sorted(map(start_of, alive))
    assert all(b - a >= alive[0].nbytes for a, b in itertools.pairwise(starts))
    np.testing.assert_array_equal(alive[2], mass_matrix(np.roll(q, 4, axis=0)))


VIEWS = {
    "slice": lambda array: array[5:7],
    "transpose": np.transpose,
    "memoryview": memoryview,
    "dlpack": np.from_dlpack,
}


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_keeps_the_memory(mass_matrix, q, view):
    full = mass_matrix(q)
    stored = VIEWS[view](full)
    start, expected = start_of(full), np.array(stored)
    del full
    others = [mass_matrix(q[::-1].copy()) for _ in range(3)]
    assert start not in map(start_of, others)
    np.testing.assert_array_equal(np.asarray(stored), expected)


def test_they_are_ordinary_arrays(mass_matrix, q):
    array = mass_matrix(q)
    assert get_handler_name(array) == "linkwork_pool"
    assert (array.flags.owndata, array.base, array.flags.writeable) == (True, None, True)
    assert sys.getsizeof(array) > array.nbytes
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(array)), array)
    expected = array.copy()
    for rows in (2 * ROWS, 10, 0, ROWS):
        array.resize((rows, 8, 8), refcheck=False)
        assert array.shape == (rows, 8, 8)
        n = min(rows, len(expected))
        np.testing.assert_array_equal(array[:n], expected[:n])
        assert not array[n:].any()
        expected = expected[:n]


@pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")  # since NumPy 2.5
def test_a_result_resized_in_place_is_freed_completely(mass_matrix, q):
    """NumPy passes a size to the allocator that may differ from that of the memory."""
    for change in ("shape", "dtype"):
        array = mass_matrix(q)
        start = start_of(array)
        if change == "shape":
            array.shape = (-1,)
        else:
            array.dtype = np.int32
        del array
        assert start_of(mass_matrix(q)) == start


def test_tracemalloc_counts_them(mass_matrix, q):
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        array = mass_matrix(q)
        size = array.nbytes
        assert 0 <= tracemalloc.get_traced_memory()[0] - before - size < 10_000
        del array
        assert tracemalloc.get_traced_memory()[0] - before < 10_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("way", ["slow path", "several results", "float32", "rollout", "workcell"])
def test_every_way_to_results_uses_it(way, q):
    kd = floater(dtype=np.float32 if way == "float32" else np.float64)
    many = np.concatenate([q] * 4).astype(kd.dtype)
    if way == "slow path":
        actual = [kd.mass_matrix([list(row) for row in q])]
    elif way == "several results":
        actual = kd.function("mass_matrix", "com_jacobian")(many)
    elif way == "rollout":
        doubled = lw.compile(x=(64,))(lambda x: 2 * x)
        actual = [lw.rollout(doubled, np.ones((ROWS, 64)), steps=3)]
    elif way == "workcell":
        rng = np.random.default_rng(0)
        cell = random_cell(rng, n_frames=8)
        actual = [cell.world_H_frames(cell.frame_names, random_state(cell, rng, (ROWS,)))]
    else:
        actual = [kd.mass_matrix(many)]
    for array in actual:
        owner = array if array.base is None else array.base
        assert get_handler_name(owner) == "linkwork_pool"


def test_small_results_and_out_arrays_use_numpy_memory(mass_matrix, q):
    out = np.empty(SHAPE)
    assert get_handler_name(mass_matrix(q[:10])) == "default_allocator"
    assert mass_matrix(q, out=out) is out


def test_another_allocator_of_the_program_is_used_instead(mass_matrix, q):
    """An allocator set through NumPy's C interface: here a copy with another name."""
    api = ctypes.pythonapi
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    api.PyCapsule_New.restype = ctypes.py_object
    api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    from numpy._core import _multiarray_umath

    table = api.PyCapsule_GetPointer(_multiarray_umath._ARRAY_API, None)
    entries = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(entries[304])
    default = ctypes.cast(entries[306], ctypes.POINTER(ctypes.py_object)).contents.value
    size = 127 + 1 + 5 * ctypes.sizeof(ctypes.c_void_p)
    own = ctypes.create_string_buffer(
        ctypes.string_at(api.PyCapsule_GetPointer(default, b"mem_handler"), size), size
    )
    own[0:5] = b"other"
    capsule = api.PyCapsule_New(ctypes.addressof(own), b"mem_handler", None)
    before = set_handler(capsule)
    try:
        actual = mass_matrix(q)
        assert get_handler_name(actual).startswith("other")
        assert get_handler_name(np.ones(3)).startswith("other")
        del actual
    finally:
        set_handler(before)
    assert get_handler_name(mass_matrix(q)) == "linkwork_pool"
    assert get_handler_name(np.ones(3)) == "default_allocator"


def test_spare_memory_is_bounded(mass_matrix, q, monkeypatch):
    monkeypatch.setenv("LINKWORK_POOL", "5")
    many = [mass_matrix(q) for _ in range(8)]
    many.clear()
    assert 0 < _call.spare_bytes() <= 5e6
    large = mass_matrix(np.concatenate([q] * 5))  # more than is kept
    del large
    assert _call.spare_bytes() <= 5e6
    monkeypatch.delenv("LINKWORK_POOL")
    alive = [_call.empty((300, 128), np.float64) for _ in range(200)]
    alive.clear()
    assert _call.spare_bytes() < 70 * 300 * 128 * 8  # nor more than some regions


@pytest.mark.parametrize("value", ["off", "0"])
def test_it_can_be_switched_off(mass_matrix, q, monkeypatch, value):
    monkeypatch.setenv("LINKWORK_POOL", "100")
    stored = mass_matrix(q)
    monkeypatch.setenv("LINKWORK_POOL", value)
    assert get_handler_name(mass_matrix(q)) == "default_allocator"
    before = _call.spare_bytes()
    del stored  # goes to the system
    assert _call.spare_bytes() <= before


def test_an_unknown_setting_is_named(mass_matrix, q, monkeypatch):
    monkeypatch.setenv("LINKWORK_POOL", "lots")
    monkeypatch.setattr(errors, "_warned_topics", set())
    with pytest.warns(LinkworkWarning, match=r"LINKWORK_POOL.*megabytes.*off.*'lots'"):
        importlib.reload(extension)
    assert get_handler_name(mass_matrix(q)) == "linkwork_pool"


def test_it_is_released_when_it_is_idle(mass_matrix, q):
    del q
    many = [_call.empty(SHAPE, np.float64) for _ in range(5)]
    many.clear()
    assert _call.spare_bytes() > 0
    until = time.monotonic() + 30
    while _call.spare_bytes() and time.monotonic() < until:
        time.sleep(0.05)
    assert _call.spare_bytes() == 0
    assert start_of(mass_matrix(floater().random(ROWS, seed=0)))  # and all of it starts again


def test_arrays_may_be_freed_in_other_threads():
    """Each thread writes different values to arrays; others check and free them."""
    made: queue.SimpleQueue[tuple[np.ndarray, int] | None] = queue.SimpleQueue()
    wrong: list[int] = []

    def make(number: int) -> None:
        for turn in range(200):
            array = _call.empty((40_000 + 5_000 * (turn % 3),), np.float64)
            array.fill(number)
            made.put((array, number))

    def check() -> None:
        while (item := made.get()) is not None:
            if item[0].min() != item[1] or item[0].max() != item[1]:
                wrong.append(item[1])
            del item

    makers = [threading.Thread(target=make, args=(number,)) for number in range(4)]
    checkers = [threading.Thread(target=check) for _ in range(3)]
    for thread in (*makers, *checkers):
        thread.start()
    for thread in makers:
        thread.join()
    for _ in checkers:
        made.put(None)
    for thread in checkers:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_starts_without_spare_memory():
    done = output_of(
        """
        from linkwork.engine.kernel import _call
        stop = []
        def work():
            while not stop: _call.empty((60_000,), np.float64)
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads: thread.start()
        shared = _call.empty((100_000,), np.float64)
        shared[:] = 7
        for _ in range(30):
            pid = os.fork()
            if pid == 0:
                good = _call.spare_bytes() == 0 and shared.min() == 7
                for _ in range(20):
                    own = _call.empty((100_000,), np.float64)
                    own[:] = 1
                good = good and shared.min() == 7
                del own
                good = good and _call.spare_bytes() > 0
                os._exit(0 if good else 1)
            assert os.waitpid(pid, 0)[1] == 0
        stop.append(1)
        for thread in threads: thread.join()
        assert shared.min() == shared.max() == 7
        print("done")
        """
    )
    assert done == "done"


def test_empty_rejects_other_types():
    with pytest.raises(ValueError, match="float64 or float32"):
        _call.empty((3,), np.int64)
    with pytest.raises((ValueError, MemoryError)):
        _call.empty((1 << 40, 1 << 30), np.float64)
    assert _call.empty((0, 3), np.float32).shape == (0, 3)
