"""Stack frames of compiled code, compared with the estimate and with a stack of 64 KB."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from tests.support.loop_programs import loop_program

import linkwork as lw
from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.codegen.llvm.emit import emit_llvm
from linkwork.engine.codegen.schedule.rows import schedule_of
from linkwork.engine.codegen.schedule.stack_frames import (
    MOST_STACK_BYTES,
    NOT_COUNTED,
    QUICK_FACTOR,
)
from linkwork.engine.runtime.compiler import FAST, QUICK
from linkwork.engine.runtime.processor import has_short_offsets, this_machine

MOST = 48 * 1024  # bytes of all frames together: a quarter of 64 KB is for the caller, and for libm
CALL = 8 + 64 + 128  # bytes of a call: the return address, alignment, and the red zone of x86
COMPILE = """
import sys
from linkwork.engine.runtime.compiler import compiled
compiled(sys.stdin.read(), int(sys.argv[1]))
"""
SIMD = this_machine().lanes
CODE = [
    (1, "double", QUICK),
    (1, "double", FAST),
    (SIMD, "double", FAST),
    (2 * SIMD, "float", FAST),
]


@cache
def program_of(name):
    if name == "staged":
        return lw.KinDyn(lw.robots.load("humanoid")).mass_matrix.program
    if name == "tiled":
        return lw.KinDyn(lw.robots.load("arm")).forward_dynamics.program
    if name == "staged in pieces":
        return lw.KinDyn(lw.robots.load("quadruped")).inverse_dynamics.jacobian("q").program
    if name == "a loop of many values":
        return many_values.program
    return loop_program(1, n=9, length=900)


@lw.compile(x=200)
def many_values(x):
    """A loop that 200 earlier values are copied to, one by one, in a long program."""
    y = x * np.roll(x, 1)
    for _ in range(6):
        y = y + 0.1 * np.sin(np.roll(y, 7))
    a, _ = lw.repeat(
        9,
        lambda s: (s[0] * y[:3] + y.sum(), s[1] + 1.0),
        (x[:3], x[0]),
        condition=lambda s: s[1] < 3.0,
    )
    return a


def frames(ir, level):
    """The stack frame of each function in bytes, as reported by LLVM."""
    asking = re.sub(r"^(define .*) \{$", r'\1 "warn-stack-size"="0" {', ir, flags=re.MULTILINE)
    command = [sys.executable, "-c", COMPILE, str(level)]
    done = subprocess.run(command, input=asking, capture_output=True, text=True, check=True)
    actual = re.findall(r"frame size \((\d+)\) exceeds limit \(0\) in function '(.*)'", done.stderr)
    assert actual
    return {name: int(size) for size, name in actual}


def longest_path(ir, sizes, name):
    """Bytes of stack of a function and of those that it calls."""
    text = re.search(rf"^define [^\n]*@{re.escape(name)}\(.*?^}}", ir, re.DOTALL | re.MULTILINE)
    called = set(re.findall(r"call [^@\n]*@([\w.]+)\(", text[0])) if text else set()
    inner = (longest_path(ir, sizes, one) for one in called)
    return CALL + sizes.get(name, 0) + max(inner, default=0)


def pieces_of(cut, prefix="", full="f"):
    """Each piece with the name of its function; bodies of loops, too."""
    is_cut = len(cut.pieces) > 1
    for index, piece in enumerate(cut.pieces):
        yield f"{prefix}piece{index}" if is_cut else full, piece
    for step, part in cut.loops.items():
        name = f"{prefix}loop{step}"
        yield from pieces_of(part.body, f"{name}.", name)


@pytest.mark.parametrize(
    "name", ["staged", "tiled", "staged in pieces", "loops", "a loop of many values"]
)
@pytest.mark.parametrize(("width", "scalar", "level"), CODE)
def test_frames_are_no_larger_than_estimated(name, width, scalar, level):
    program, lanes = program_of(name), Lanes(width, scalar, has_short_offsets())
    ir = emit_llvm(program, "f", lanes)
    sizes = frames(ir, level)
    for function, piece in pieces_of(schedule_of(program, lanes).cut):
        estimate = QUICK_FACTOR * piece.stack_bytes if level == QUICK else piece.stack_bytes
        if level == QUICK and platform.machine() == "aarch64":
            estimate = lanes.bytes * (piece.stop - piece.start + len(piece.fetched))
        assert sizes.get(function, 0) <= estimate + NOT_COUNTED, function
    assert longest_path(ir, sizes, "f") <= MOST


@lw.compile(x=400)
def crowded_then_calm(x):
    """Steps with many values at a time, then many steps with one."""
    y = x * np.roll(x, 1)
    for _ in range(4):
        y = y + np.roll(y, 7) * np.roll(y, 3)
    s = y.sum()
    for _ in range(3000):
        s = s * s + 0.5
    return s


def test_only_crowded_pieces_are_cut_again():
    pieces = schedule_of(crowded_then_calm.program, Lanes(8)).cut.pieces
    lengths = [piece.stop - piece.start for piece in pieces]
    assert sum(lengths) == len(crowded_then_calm.program.steps)
    assert lengths[-1] > 4 * min(lengths)
    assert max(piece.stack_bytes for piece in pieces[1:]) <= MOST_STACK_BYTES
