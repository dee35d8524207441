"""Machine code works at any distance between its parts in memory."""

from __future__ import annotations

import platform
import struct

import pytest

import linkwork as lw
from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.codegen.llvm.emit import emit_llvm
from linkwork.engine.runtime import compiler_process as worker
from linkwork.engine.runtime.compiler import FAST, QUICK, compiled
from linkwork.engine.runtime.processor import this_target

WIDE = {1, 24}  # R_X86_64_64, R_X86_64_PC64: addresses of 64 bits
RELOCATIONS = 4  # the type of a section that holds them


def relocation_types(data):
    """The types of relocations in an ELF object file."""
    (start,) = struct.unpack_from("<Q", data, 0x28)
    (count,) = struct.unpack_from("<H", data, 0x3C)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, start + 64 * k) for k in range(count)]
    return {
        struct.unpack_from("<I", data, section[4] + 24 * k + 8)[0]
        for section in sections
        if section[1] == RELOCATIONS
        for k in range(section[5] // 24)
    }


def by_worker(ir):
    machine = this_target()
    return worker._compile(FAST, machine.cpu, machine.features, machine.triple, ir)


WAYS = {
    "fast": lambda ir: compiled(ir, FAST),
    "quick": lambda ir: compiled(ir, QUICK),
    "worker": by_worker,
}


@pytest.mark.skipif(
    platform.machine() != "x86_64" or platform.system() != "Linux", reason="other kinds of files"
)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("width", [1, 4])
def test_code_may_be_far_from_its_constants(way, width):
    """Offsets of 32 bits would crash if the system maps code and constants far apart."""
    kd = lw.KinDyn(lw.robots.load("quadruped"))
    program = kd.function("mass_matrix", "difference").program  # with constants, tables and libm
    actual = relocation_types(WAYS[way](emit_llvm(program, "f", Lanes(width))))
    assert actual
    assert actual <= WIDE
