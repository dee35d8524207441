"""Executable memory: a mapping for each object, and errors if the system denies it."""

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
from linkwork.engine.runtime.memory import CodeMemory, check_executable
from linkwork.engine.runtime.objects import LoadedObject
from linkwork.engine.runtime.processor import IS_LINUX_ON_X86_64, NoMachineCodeError

pytestmark = pytest.mark.skipif(not IS_LINUX_ON_X86_64, reason="LLVM loads code there")

PAGE = mmap.PAGESIZE
ADD = "define double @f(double %x) {{\n  %y = fadd double %x, {:.1f}\n  ret double %y\n}}\n"


def call(loaded: LoadedObject, x: float) -> float:
    return ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(loaded.address("f"))(x)


def access_to(address: int) -> str:
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        if start <= address < end:
            return line.split()[1][:3]
    raise AssertionError(hex(address))


def test_thousands_of_objects_fit_and_their_memory_is_freed():
    """Each object has a mapping, of which Linux merges neighbors; its limit is 65,530."""
    done = output_of(
        """
        import ctypes
        from pathlib import Path
        from linkwork.engine.runtime.compiler import load_code, compiled
        ir = "define double @f(double %x) {\\n %y = fadd double %x, 1.5\\n ret double %y\\n}\\n"
        data = compiled(ir)
        def mappings(): return len(Path("/proc/self/maps").read_text().splitlines())
        before = mappings()
        codes = [load_code(data) for _ in range(8_000)]
        assert len({code.address("f") for code in codes}) == 8_000
        for code in codes[::999]:
            assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(code.address("f"))(1.0) == 2.5
        print("fit" if mappings() < before + 8_100 else mappings())
        del code, codes
        print("freed" if mappings() < before + 50 else mappings())
        """
    )
    assert done == "fit\nfreed"


def test_code_is_unchanged_while_other_objects_are_loaded_and_freed():
    files = {k: compiled(ADD.format(k)) for k in range(8)}
    chance, held = random.Random(0), {}
    for turn in range(3000):
        number = chance.randrange(200)
        if held.pop(number, None) is None:
            kind = chance.randrange(8)
            held[number] = kind, LoadedObject(files[kind])
        if turn % 100 == 0:
            assert all(call(loaded, 0.5) == kind + 0.5 for kind, loaded in held.values())
    assert len({one.address("f") for _, one in held.values()}) == len(held) > 50


def test_memory_is_never_writable_and_executable():
    block = CodeMemory(2 * PAGE, PAGE)
    block.memory[:4] = b"code"
    assert access_to(block.start) == "rw-"
    block.make_executable()
    assert [access_to(block.start + k * PAGE) for k in range(3)] == ["r-x", "r-x", "rw-"]
    block.memory[2 * PAGE] = 1


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
def test_denied_memory_is_reported(monkeypatch, refused):
    def refuse(*_: object) -> None:
        raise OSError(13, os.strerror(13))

    data = compiled(ADD.format(1))
    monkeypatch.setattr(memory, {"mprotect": "protect", "mmap": "_mapped"}[refused], refuse)
    with pytest.raises(NoMachineCodeError, match=r"executable.*Permission denied"):
        check_executable()
    with pytest.raises(NoMachineCodeError, match="Permission denied"):
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
    other = lw.KinDyn(kd.model, floating=True)
    found = other.forward_dynamics(q, nu, tau)
    other.mass_matrix(q)
held.clear()
np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
print(*(f"{w.category.__name__} {w.message} {os.path.basename(w.filename)}" for w in caught))
third = lw.KinDyn(kd.model, floating=True)
np.testing.assert_allclose(third.forward_dynamics(q, nu, tau), expected, rtol=1e-12, atol=1e-12)
print(third.function("forward_dynamics").code.one is not None)
""",
        LINKWORK_LOADER=loader,
    )
    warning, is_compiled_again = done.split("\n")
    assert warning.startswith("LinkworkWarning")
    assert warning.endswith("<string>")
    for fact in ("Cannot allocate memory", "vm.max_map_count", "NumPy"):
        assert fact in warning
    assert is_compiled_again == "True"
