"""Object files are loaded without LLVM; unsupported and damaged files are rejected."""

from __future__ import annotations

import ctypes
import math
import random
import struct
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
from tests.support.kernels import floater, motion, output_of

import linkwork as lw
from linkwork.engine.runtime import compiler as jit
from linkwork.engine.runtime.compiler import FAST, QUICK, LoadedByLlvm, compiled, load_code
from linkwork.engine.runtime.elf import ObjectError
from linkwork.engine.runtime.objects import LoadedObject
from linkwork.engine.runtime.processor import IS_LINUX_ON_X86_64, NoMachineCodeError, this_target

pytestmark = pytest.mark.skipif(not IS_LINUX_ON_X86_64, reason="other kinds of files")

PLUS_ONE = """
define double @f(double %x) {
  %y = fadd double %x, 1.5
  ret double %y
}
"""
WITH_LIBM = """
declare double @atan2(double, double)
declare double @exp(double)
define double @f(double %x) {
  %a = call double @atan2(double %x, double 2.0)
  %b = call double @exp(double %a)
  ret double %b
}
"""
WITH_DATA = """
@count = internal global double 2.0
@space = internal global [1000 x double] zeroinitializer, align 64
define double @f(double %x) {
  %old = load double, ptr @count
  %new = fadd double %old, %x
  store double %new, ptr @count
  %place = getelementptr double, ptr @space, i64 999
  %empty = load double, ptr %place
  store double %new, ptr %place
  %sum = fadd double %new, %empty
  ret double %sum
}
"""


def nearby(ir):
    """Code with offsets of 32 bits between its parts."""
    target = this_target()
    machine = llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, reloc="pic", codemodel="small"
    )
    return machine.emit_object(llvm.parse_assembly(ir))


def call(loaded, x):
    return ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(loaded.address("f"))(x)


def access_at(address):
    """The access rights of the memory at an address, as Linux prints them."""
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        addresses, access, *_ = line.split()
        start, stop = (int(text, 16) for text in addresses.split("-"))
        if start <= address < stop:
            return access
    return None


@lw.compile(x=(3,))
def with_libm(x):
    angles = np.arctan2(x[0], x[1]) + np.tan(x[2])
    return np.array([angles, np.exp(x[0]), np.log(x[1] * x[1]), np.sin(x[2]), x[0] ** 2.5])


def cases():
    double, single = floater(), floater(dtype=np.float32)
    return {
        "double": (double.function("forward_dynamics"), motion(double, 61)),
        "single": (single.function("forward_dynamics"), motion(single, 61)),
        "fused": (double.function("mass_matrix", "com"), motion(double, 7)[:1]),
        "atan2": (double.function("difference"), (double.random(9), double.random(9, seed=1))),
        "libm": (with_libm, (np.random.default_rng(0).uniform(0.1, 2.0, size=(21, 3)),)),
    }


@pytest.mark.parametrize("level", [FAST, QUICK])
@pytest.mark.parametrize("case", ["double", "single", "fused", "atan2", "libm"])
def test_code_gives_the_same_bits_as_when_llvm_loads_it(case, level):
    kernel, inputs = cases()[case]
    one, many = (compiled(kernel.code.emit(width), level) for width in (1, kernel.code.width))
    actual = []
    for load in (LoadedObject, LoadedByLlvm):
        kernel.code.install(load(one), load(many), FAST)
        results = kernel(*inputs)
        actual.append(np.concatenate([np.ravel(part) for part in results]).tobytes())
    assert actual[0] == actual[1]


def test_functions_of_libm_are_found():
    expected = math.exp(math.atan2(0.7, 2.0))
    assert call(LoadedObject(compiled(WITH_LIBM)), 0.7) == expected


def test_functions_of_libm_are_found_nearby():
    """In a small process: in a large one, libm may be more than 2 GB away from new memory."""
    code = """
        from tests.engine.runtime.test_objects import WITH_LIBM, LoadedObject, call, nearby
        from linkwork.engine.runtime.elf import ObjectError
        try:
            print(repr(call(LoadedObject(nearby(WITH_LIBM)), 0.7)))
        except ObjectError as error:
            print(error)
        """
    output = output_of(code)
    if "does not fit" in output:
        pytest.skip("libm is more than 2 GB away here")
    assert float(output) == math.exp(math.atan2(0.7, 2.0))


@pytest.mark.parametrize("make", [compiled, nearby])
def test_data_may_be_written_and_starts_as_the_file_says(make):
    loaded, other = LoadedObject(make(WITH_DATA)), LoadedObject(make(WITH_DATA))
    assert [call(loaded, 1.0), call(loaded, 1.0)] == [3.0, 4.0 + 3.0]
    assert call(other, 1.0) == 3.0


def test_code_cannot_be_written_to():
    loaded = LoadedObject(compiled(WITH_DATA))
    assert access_at(loaded.address("f")) == "r-xp"


def test_what_is_not_in_the_file_is_not_found():
    loaded = LoadedObject(compiled(PLUS_ONE))
    with pytest.raises(ObjectError, match=r"function.*'g'"):
        loaded.address("g")


# What is rejected.


def changed(data, offset, form, value):
    other = bytearray(data)
    struct.pack_into(form, other, offset, value)
    return bytes(other)


HEADER = {  # offset, form, value
    "no ELF": (0, "<B", 0x7E),
    "32 bits": (4, "<B", 1),
    "big end first": (5, "<B", 2),
    "a program": (16, "<H", 2),
    "another machine": (18, "<H", 183),
    "sections elsewhere": (0x28, "<Q", 1 << 63),
    "sections of another size": (0x3A, "<H", 40),
    "no sections": (0x3C, "<H", 0),
    "many sections": (0x3C, "<H", 0xFFFF),
}


@pytest.mark.parametrize("what", HEADER)
def test_other_kinds_of_files_are_rejected(what):
    with pytest.raises(ObjectError):
        LoadedObject(changed(compiled(WITH_LIBM), *HEADER[what]))


def entries(data, kind):
    """Offsets of all sections of a kind in a file, their flags, and their contents."""
    (start,) = struct.unpack_from("<Q", data, 0x28)
    (count,) = struct.unpack_from("<H", data, 0x3C)
    for header in range(start, start + 64 * count, 64):
        section_kind, flags, offset, size = struct.unpack_from("<4xIQ8xQQ", data, header)
        if section_kind == kind:
            yield header, flags, offset, size


def relocation(data):
    """Offset of the first relocation of the code."""
    return next(offset for _, _, offset, size in entries(data, 4) if size > 24)


@pytest.mark.parametrize(
    ("offset", "form", "value", "words"),
    [
        (0, "<Q", 1 << 40, "section"),
        (8, "<I", 9, r"type 9\b"),  # R_X86_64_GOTPCREL
        (12, "<I", 1000, r"symbol.*\b1000\b"),
        (12, "<I", 0, "function.*''"),
        (16, "<q", -(1 << 62), "8 bytes"),  # a negative address
    ],
)
def test_an_invalid_relocation_is_rejected(offset, form, value, words):
    data = compiled(WITH_LIBM)
    with pytest.raises(ObjectError, match=words):
        LoadedObject(changed(data, relocation(data) + offset, form, value))


def test_a_distance_that_is_too_large_is_rejected():
    data = nearby(WITH_LIBM)
    with pytest.raises(ObjectError, match="4 bytes"):
        LoadedObject(changed(data, relocation(data) + 16, "<q", 1 << 31))


def test_an_undefined_function_is_rejected():
    with pytest.raises(ObjectError, match=r"function.*'atan3'"):
        LoadedObject(compiled(WITH_LIBM.replace("atan2", "atan3")))


@pytest.mark.parametrize(
    ("offset", "form", "value", "words"),
    [
        (8, "<Q", 0x402, "flags 0x402"),  # one copy for each thread
        (8, "<Q", 0x807, "flags 0x807"),
        (8, "<Q", 7, "writable and executable"),
        (32, "<Q", 1 << 62, "end of the file"),
        (48, "<Q", 3, "alignment 3"),
        (48, "<Q", 1 << 20, "alignment 1048576"),
    ],
)
def test_an_invalid_section_is_rejected(offset, form, value, words):
    data = compiled(WITH_LIBM)
    code = next(point for point, flags, _, size in entries(data, 1) if flags & 4 and size)
    with pytest.raises(ObjectError, match=words):
        LoadedObject(changed(data, code + offset, form, value))


@pytest.mark.parametrize("size", [1 << 31, 1 << 50, (1 << 64) - 1])
def test_a_huge_section_is_rejected(size):
    data = compiled(WITH_DATA)
    space = next(point for point, *_ in entries(data, 8))
    with pytest.raises(ObjectError, match="bytes"):
        LoadedObject(changed(data, space + 32, "<Q", size))


@pytest.mark.parametrize("ir", [PLUS_ONE, WITH_LIBM, WITH_DATA])
@pytest.mark.parametrize("make", [compiled, nearby])
def test_a_damaged_file_is_rejected_or_loaded_but_never_ends_the_process(ir, make):
    """The loaded code is not run."""
    data, chance = make(ir), random.Random(0)
    refused = 0
    for size in range(0, len(data), 7):
        with pytest.raises(ObjectError):
            LoadedObject(data[:size])
    for turn in range(3000):
        damaged = bytearray(data)
        for _ in range(chance.choice((1, 1, 2, 8))):
            offset = chance.randrange(len(data))
            if turn % 2:
                damaged[offset] ^= 1 << chance.randrange(8)
            else:  # a number that is large, or next to one
                offset = min(offset // 4 * 4, len(data) - 8)
                number = chance.choice((0, 1, 0x7FFFFFFF, 0xFFFFFFFF, (1 << 63) - 1, 1 << 63))
                struct.pack_into("<Q", damaged, offset, number)
        try:
            LoadedObject(bytes(damaged))
        except ObjectError:
            refused += 1
    assert refused > 300
    for rubbish in (b"", b"\x7fELF", chance.randbytes(5000), bytes(5000)):
        with pytest.raises(ObjectError):
            LoadedObject(rubbish)


@pytest.mark.parametrize("damage", ["relocation", "name"])
def test_every_bit_of_a_relocation_or_symbol_may_be_wrong(damage):
    """Each bit of a relocation and of a symbol is flipped."""
    data = compiled(WITH_LIBM)
    start = relocation(data) if damage == "relocation" else next(entries(data, 2))[2] + 24
    for offset in range(start, start + 72):
        for bit in range(8):
            damaged = changed(data, offset, "<B", data[offset] ^ 1 << bit)
            try:
                LoadedObject(damaged)
            except ObjectError:
                continue


# LLVM takes what is rejected.


def test_llvm_loads_what_is_rejected():
    """In a small process: LLVM's own loader does not check that its table of addresses is near."""
    code = """
        from tests.engine.runtime.test_objects import *
        data = nearby(WITH_LIBM.replace("double)\\n", "double) nonlazybind\\n"))  # through a table
        with pytest.raises(ObjectError, match="relocation of type"):
            LoadedObject(data)
        code = load_code(data)
        assert isinstance(code, LoadedByLlvm)
        print(repr(call(code, 0.7)))
        """
    assert float(output_of(code)) == math.exp(math.atan2(0.7, 2.0))


def test_a_file_that_llvm_cannot_load_is_reported(monkeypatch):
    def refuse(*_):
        raise RuntimeError("no target")

    data = compiled(PLUS_ONE)
    monkeypatch.setenv("LINKWORK_LOADER", "llvm")
    monkeypatch.setattr(llvm, "create_mcjit_compiler", refuse)
    with pytest.raises(NoMachineCodeError, match=r"LLVM.*no target"):
        load_code(data)


def test_kernels_work_if_the_loader_rejects_everything(monkeypatch):
    def refuse(data):
        raise ObjectError("another system")

    monkeypatch.setattr(jit, "LoadedObject", refuse)
    kd = floater(gravity=(0.0, 0.0, -1.25))
    q, nu, tau = motion(kd, 21)
    first = kd.forward_dynamics(q, nu, tau)
    kd.warmup()
    assert isinstance(kd.function("forward_dynamics").code.many, LoadedByLlvm)
    np.testing.assert_allclose(kd.forward_dynamics(q, nu, tau), first, rtol=1e-12, atol=1e-12)


def test_kernels_do_not_load_llvm_otherwise(kernel):
    assert all(isinstance(code, LoadedObject) for code in (kernel.code.one, kernel.code.many))


def test_llvm_may_be_chosen_as_the_loader(monkeypatch):
    data = compiled(PLUS_ONE)
    for chosen, kind in (("llvm", LoadedByLlvm), ("own", LoadedObject), ("", LoadedObject)):
        monkeypatch.setenv("LINKWORK_LOADER", chosen)
        code = load_code(data)
        assert isinstance(code, kind)
        assert call(code, 1.0) == 2.5


# Processes and threads.


def test_code_works_in_a_forked_child_and_in_threads(tmp_path):
    story = """
    kd = floater()
    q, nu, tau = motion(kd, 4001)
    kd.warmup("mass_matrix", "bias_force", "forward_dynamics")
    """
    output_of(story, cache=tmp_path)
    done = output_of(
        story.replace("kd.warmup", "#")
        + """
    expected = kd.mass_matrix(q)
    pid = os.fork()
    if pid == 0:
        same = np.array_equal(kd.mass_matrix(q), expected)
        new = np.isfinite(kd.bias_force(q, nu)).all()
        os._exit(0 if same and new and "llvmlite" not in sys.modules else 1)
    assert os.waitpid(pid, 0)[1] == 0
    found = []
    def work():
        for _ in range(20):
            found.append(floater().forward_dynamics(q, nu, tau))
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert len(found) == 80
    assert all(np.array_equal(one, found[0]) for one in found)
    assert "llvmlite" not in sys.modules
    print("done")
    """,
        cache=tmp_path,
    )
    assert done == "done"


def test_exit_while_threads_run_code_is_clean():
    """Code stays in memory as long as a thread may run it."""
    done = output_of(
        """
        kd = floater()
        q, nu, tau = motion(kd, 20001)
        kd.warmup("forward_dynamics")
        def work():
            while True:
                kd.forward_dynamics(q, nu, tau)
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.2)
        print("done")
        """
    )
    assert done == "done"
