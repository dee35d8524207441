"""Executable memory: few mappings for many kernels, and no system that refuses it is a surprise."""

from __future__ import annotations

import ctypes
import mmap
import os
import random
import threading
from pathlib import Path

import pytest
from tests.support.kernels import output_of

from linkwork.engine.runtime import memory
from linkwork.engine.runtime.compiler import compiled
from linkwork.engine.runtime.memory import REGION_BYTES, Slabs, check_executable
from linkwork.engine.runtime.objects import LoadedObject
from linkwork.engine.runtime.processor import IS_LINUX_ON_X86_64, NoMachineCodeError

pytestmark = pytest.mark.skipif(not IS_LINUX_ON_X86_64, reason="LLVM loads code there")

PAGE = mmap.PAGESIZE
ADD = "define double @f(double %x) {{\n  %y = fadd double %x, {:.1f}\n  ret double %y\n}}\n"


def call(loaded: LoadedObject, x: float) -> float:
    return ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(loaded.address("f"))(x)


def mappings() -> int:
    return len(Path("/proc/self/maps").read_text(encoding="utf-8").splitlines())


def test_many_objects_need_few_mappings():
    """One mapping or more for each reaches the limit of the system, and LLVM ends the process."""
    done = output_of(
        """
        import ctypes
        from pathlib import Path
        from linkwork.engine.runtime.compiler import Code, compiled
        ir = "define double @f(double %x) {\\n %y = fadd double %x, 1.5\\n ret double %y\\n}\\n"
        data = compiled(ir)
        def mappings(): return len(Path("/proc/self/maps").read_text().splitlines())
        before = mappings()
        codes = [Code(data) for _ in range(8_000)]
        assert len({code.address("f") for code in codes}) == 8_000
        for code in codes[::999]:
            assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(code.address("f"))(1.0) == 2.5
        print("few" if mappings() < before + 200 else mappings())
        del code, codes
        print("gone" if mappings() < before + 50 else mappings())
        """
    )
    assert done == "few\ngone"


def test_pages_are_used_again_and_code_stays_as_it_is():
    """Objects come and go in any order; what is still there computes what it did."""
    files = {k: compiled(ADD.format(k)) for k in range(8)}
    chance, held = random.Random(0), {}
    before = mappings()
    for turn in range(3000):
        number = chance.randrange(200)
        if held.pop(number, None) is None:
            kind = chance.randrange(8)
            held[number] = kind, LoadedObject(files[kind])
        if turn % 100 == 0:
            assert all(call(loaded, 0.5) == kind + 0.5 for kind, loaded in held.values())
    addresses = {one._block.start + one._block.offsets[0] for _, one in held.values()}
    assert len(addresses) == len(held) > 50
    assert mappings() < before + 10


def test_what_is_dropped_is_free_again():
    slabs = Slabs()
    sizes = (3 * PAGE, PAGE, 0)
    blocks = [slabs.take(sizes) for _ in range(3)]
    address, (offset, *_) = blocks[1].start, blocks[1].offsets
    blocks[1].memory[offset : offset + 4] = b"code"
    blocks[1].make_executable()
    del blocks[1]
    again = slabs.take(sizes)
    assert (again.start, again.offsets[0]) == (address, offset)
    assert again.memory[offset : offset + 4] == bytes(4)  # nothing of the old code is left
    again.memory[offset : offset + 4] = b"next"  # it may be written to again
    (slab,) = slabs._slabs
    del blocks, again
    assert slab.blocks == 0
    assert not slabs._slabs
    assert [sum(size for _, size in free) for free in slab._free] == [REGION_BYTES] * 3


def test_an_object_larger_than_a_slab_has_a_slab_of_its_size():
    slabs = Slabs()
    large = slabs.take((3 * REGION_BYTES, PAGE, PAGE))
    small = slabs.take((PAGE, PAGE, PAGE))
    assert large.start != small.start
    large.memory[3 * REGION_BYTES - 1] = 1
    large.make_executable()


def test_nobody_waits_for_slabs_that_are_in_use():
    """Whoever holds the lock may be the same thread, interrupted, or a thread that is not here."""
    slabs = Slabs()
    slabs._lock.acquire()
    block = slabs.take((PAGE, PAGE, 0))
    block.memory[block.offsets[0]] = 1
    block.make_executable()
    assert not slabs._slabs
    del block
    slabs._lock.release()
    slabs.take((PAGE, 0, 0))


def test_many_threads_may_load_at_once():
    data = compiled(ADD.format(3))
    wrong: list[object] = []

    def work() -> None:
        for _ in range(200):
            loaded = [LoadedObject(data) for _ in range(3)]
            wrong.extend(one for one in loaded if call(one, 1.0) != 4.0)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("refused", ["mprotect", "mmap"])
def test_memory_that_is_refused_is_an_error_that_says_so(monkeypatch, refused):
    def refuse(*_: object) -> None:
        raise OSError(13, os.strerror(13))

    data = compiled(ADD.format(1))
    monkeypatch.setattr(memory, {"mprotect": "protect", "mmap": "_mapped"}[refused], refuse)
    monkeypatch.setattr(memory, "_state", {})
    text = r"memory cannot be made executable \(Permission denied\)"
    with pytest.raises(NoMachineCodeError, match=text):
        check_executable()
    with pytest.raises(NoMachineCodeError, match=r"\(Permission denied\)"):
        LoadedObject(data)


AT_THE_LIMIT = """
import ctypes, mmap, warnings
kd = floater()
q, nu, tau = motion(kd, 5)
kd.warmup("forward_dynamics")
expected = kd.forward_dynamics(q, nu, tau)
libc, held = ctypes.CDLL(None, use_errno=True), []
def fill():   # every other page with another access: no two of them are one mapping
    memory = mmap.mmap(-1, 80_000 * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    held.append(memory)
    def protect(page, access):
        return libc.mprotect(ctypes.c_void_p(start + page * 4096), ctypes.c_size_t(4096), access)
    last = next(page for page in range(0, 80_000, 2) if protect(page, 1))
    for page in range(0, 10, 2): protect(page, 3)   # a little room for Python itself
"""


@pytest.mark.parametrize("loader", ["own", "llvm"])
def test_too_many_mappings_are_no_end_of_the_process(loader):
    done = output_of(
        AT_THE_LIMIT
        + """
fill()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    other = lw.KinDyn(kd.model)
    found = other.forward_dynamics(q, nu, tau)
    other.mass_matrix(q)
held.clear()
np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
print(*(f"{w.category.__name__} {w.message} {os.path.basename(w.filename)}" for w in caught))
third = lw.KinDyn(kd.model)
np.testing.assert_allclose(third.forward_dynamics(q, nu, tau), expected, rtol=1e-12, atol=1e-12)
print(third.function("forward_dynamics")._code[0] is not None)
""",
        LINKWORK_LOADER=loader,
    )
    reason = "memory cannot be made executable (Cannot allocate memory)"
    text = f"no machine code here: {reason}; NumPy computes instead, slower"
    assert done.split("\n") == [f"LinkworkWarning {text} <string>", "True"]
