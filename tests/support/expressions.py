"""Ways to run a program: exactly, with many digits, with the C library, and as machine code."""

from __future__ import annotations

import ctypes
import math
from functools import lru_cache

import mpmath as mp
import numpy as np

from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.codegen.llvm.emit import emit_llvm
from linkwork.engine.codegen.schedule import pieces, rows
from linkwork.engine.runtime.compiler import FAST, compiled, load_code
from linkwork.engine.runtime.processor import has_short_offsets
from linkwork.engine.symbolic.operations import NUMPY_FUNCTIONS, OPERATIONS, Op
from linkwork.engine.symbolic.program import Port
from linkwork.engine.symbolic.tracing import trace

UNARY = tuple(op for op, row in OPERATIONS.items() if row.arity == 1)
BINARY = tuple(op for op, row in OPERATIONS.items() if row.arity == 2)

ALGEBRA = {
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda a, b: a * b,
    Op.DIV: lambda a, b: a / b,
    Op.NEG: lambda a: -a,
    Op.LESS: lambda a, b: 1 if a < b else 0,
    Op.LESS_EQUAL: lambda a, b: 1 if a <= b else 0,
    Op.SELECT: lambda c, a, b: a if c != 0 else b,
    Op.FMA: lambda a, b, c: a * b + c,
}
MPMATH = {
    **ALGEBRA,
    Op.SQRT: mp.sqrt,
    Op.SIN: mp.sin,
    Op.COS: mp.cos,
    Op.ATAN2: mp.atan2,
    Op.EXP: mp.exp,
    Op.LOG: mp.log,
    Op.FLOOR: mp.floor,
    Op.EXPM1: mp.expm1,
    Op.LOG1P: mp.log1p,
    Op.EXP2: lambda a: mp.mpf(2) ** a,
    Op.POW: mp.power,
    Op.HYPOT: mp.hypot,
    Op.FMOD: lambda a, b: a - b * (mp.floor(a / b) if a * b >= 0 else mp.ceil(a / b)),
    Op.COPYSIGN: lambda a, b: -abs(a) if b < 0 else abs(a),
    Op.IMPLICIT: lambda a, b: a,
}
LIBM = {
    **ALGEBRA,
    Op.SQRT: math.sqrt,
    Op.SIN: math.sin,
    Op.COS: math.cos,
    Op.ATAN2: math.atan2,
    Op.EXP: math.exp,
    Op.LOG: math.log,
    Op.FLOOR: math.floor,
    Op.EXPM1: math.expm1,
    Op.LOG1P: math.log1p,
    Op.EXP2: lambda x: 2.0**x,  # math.exp2 came with Python 3.11
    Op.POW: math.pow,
    Op.HYPOT: math.hypot,
    Op.FMOD: math.fmod,
    Op.COPYSIGN: math.copysign,
    Op.IMPLICIT: lambda a, b: a,
}


def program_for(function, *shapes):
    """The program of a function of arrays named a, b, c, ..."""
    ports = [Port(name, shape) for name, shape in zip("abcdef", shapes, strict=False)]
    return trace(function, ports, "out")


def values(program, *inputs):
    """Compute the outputs of a program as arrays, without warnings about infinities."""
    flat = [np.ravel(np.asarray(array, float)) for array in inputs]
    with np.errstate(all="ignore"):
        numbers = np.array(program.run(*flat, functions=NUMPY_FUNCTIONS), dtype=float)
    sizes = np.cumsum([port.size for port in program.outputs])[:-1]
    parts = np.split(numbers, sizes)
    return [p.reshape(port.shape) for p, port in zip(parts, program.outputs, strict=True)]


STEPS = (
    lambda x, y, c: x + y * c,
    lambda x, y, c: x * y - c,
    lambda x, y, c: x.sin() / (2.0 + y.cos()),
    lambda x, y, c: (x * x + 1.0).sqrt().arctan2(y),
    lambda x, y, c: (x < y).select(x, -y),
    lambda x, y, c: (-(x * x)).exp() + (y * y + 0.5).log(),
    lambda x, y, c: (c <= x).select(x.cos(), y / (1.0 + x * x)),
    lambda x, y, c: x.cos() * y - x.sin() * (y + c),
)


def random_program(seed, steps=STEPS):
    """A program of a (3,) and b (2, 2) with outputs (3, 2) and (), and arguments for it."""
    draw = np.random.default_rng(seed)

    def function(a, b):
        nodes = [*a, *b.ravel()]
        for _ in range(40):
            x, y = (nodes[k] for k in draw.integers(0, len(nodes), 2))
            nodes.append(steps[draw.integers(len(steps))](x, y, draw.normal()))
        return np.array(nodes[-6:], dtype=object).reshape(3, 2), nodes[-7] * nodes[-9]

    program = program_for(function, (3,), (2, 2))
    return program, (draw.uniform(-1, 1, 3), draw.uniform(-1, 1, (2, 2)))


def run_compiled(
    program,
    *inputs,
    width=1,
    scalar="double",
    strides=None,
    large=False,
    offset=0,
    level=FAST,
    columns=False,
):
    """Run machine code on (rows, size) arrays; return a (rows, size) array for each output."""
    lanes = Lanes(width, scalar, has_short_offsets(), columns)
    code = _code(emit_llvm(program, "f", lanes), level)
    dtype = np.float64 if scalar == "double" else np.float32
    arrays = [np.ascontiguousarray(array, dtype=dtype) for array in inputs]
    n_rows = max((len(array) for array in arrays), default=width)
    assert n_rows % width == 0
    outputs = [_aligned(n_rows + 1, port.size, dtype, offset) for port in program.outputs]
    if strides is None:
        strides = [0 if len(array) == 1 else array.shape[1] for array in arrays]
    kinds = [*[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_void_p]
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(code.address("f"))
    workspace = _guarded(function(None, None, None, 0, None))
    function(
        (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays)),
        (ctypes.c_void_p * len(outputs))(*(array.ctypes.data for array in outputs)),
        (ctypes.c_int64 * (len(strides) + 1))(*strides, large),
        n_rows,
        workspace.ctypes.data + 64,
    )
    guards = workspace[:64], workspace[-64:]
    assert all((guard == 7).all() for guard in guards), "outside of the workspace"
    assert all((array[-1] == 77.0).all() for array in outputs), "written past the end"
    return [array[:-1] for array in outputs]


def cut_into_pieces(monkeypatch, steps, uncut=None):
    """Cut programs with more than `uncut` steps into pieces of at most `steps`."""
    monkeypatch.setattr(pieces, "LONGEST_UNCUT", uncut or steps)
    monkeypatch.setattr(pieces, "LONGEST_PIECE", steps)
    monkeypatch.setattr(rows, "LONGEST_CACHED", steps)


@lru_cache(maxsize=64)
def _code(ir, level):
    """Compile machine code, once for calls that differ only in their arrays."""
    return load_code(compiled(ir, level))


def _guarded(size):
    """Bytes aligned to a cache line, between 64 bytes on each side that must not be written."""
    room = np.full(size + 192, 7, np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + size + 128]


def _aligned(rows, size, dtype, offset):
    """An array that starts on a cache line, or some elements after one."""
    flat = np.full(rows * size + 64, 77.0, dtype)
    start = -flat.ctypes.data % 64 // flat.itemsize + offset
    return flat[start : start + rows * size].reshape(rows, size)


def mp_derivative(program, inputs, number, step=1e-20):
    """Derivatives of all results in one flattened input element, by central differences."""
    flat = [mp.mpf(float(x)) for array in inputs for x in np.ravel(array)]
    results = []
    for sign in (1, -1):
        moved = list(flat)
        moved[number] += sign * mp.mpf(step)
        results.append(program.run(moved, functions=MPMATH))
    return [(high - low) / (2 * mp.mpf(step)) for high, low in zip(*results, strict=True)]


def mp_jacobian(program, inputs, numbers):
    """Jacobian (results, elements) by differences with many digits."""
    with mp.workdps(60):
        columns = [mp_derivative(program, inputs, number) for number in numbers]
    return np.array(columns, dtype=float).T.reshape(len(program.results), len(numbers))
