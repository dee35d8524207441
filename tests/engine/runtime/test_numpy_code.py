"""NumPy computes the same results without machine code, which is reported once."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.support.kernels import EMULATED, Never, motion, output_of
from tests.support.models import random_model

import linkwork as lw
from linkwork import errors
from linkwork.engine.codegen.python import emit_python
from linkwork.engine.kernel.compile import CompiledFunction
from linkwork.engine.runtime import compiled_program, compiler
from linkwork.engine.runtime.numpy_code import NumpyCode
from linkwork.engine.runtime.processor import NoMachineCodeError
from linkwork.engine.symbolic.operations import Op
from linkwork.engine.symbolic.program import Port
from linkwork.engine.symbolic.tracing import trace

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="a setting of Linux")


FRAMES = ("frame1", "link2", "frame0", "link5")


@pytest.fixture
def no_code(monkeypatch):
    """Machine code cannot be compiled, and that was already reported."""

    def refuse(*_: object) -> None:
        raise NoMachineCodeError("refused")

    monkeypatch.setenv("LINKWORK_CACHE", "off")
    monkeypatch.setattr(compiler, "compiled", refuse)
    monkeypatch.setattr(errors, "_warned_topics", {"machine code"})


def request_for(name: str) -> object:
    quantity = lw.KinDyn.quantities[name]
    if quantity.of_many:
        return name, FRAMES
    return (name, *FRAMES[: len(quantity.frames)]) if quantity.frames else name


def agree(actual: np.ndarray, expected: np.ndarray, tolerance: float = 1e-12) -> None:
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    scale = max(np.abs(expected).max(initial=0.0), 1.0)
    assert np.abs(actual - expected).max(initial=0.0) <= tolerance * scale


@cache
def robot(dtype: type) -> lw.KinDyn:
    """The robot of `tests/kindyn/test_batches.py`, whose machine code is in the cache."""
    return lw.KinDyn(random_model(np.random.default_rng(3), 9), base="frame0", dtype=dtype)


def results(kernel: lw.Kernel, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """Results of a batch, of one row, and of a batch with a broadcast last input."""
    actual = (
        kernel(*inputs),
        kernel(*(array[0] for array in inputs)),
        kernel(*inputs[:-1], inputs[-1][1]),
    )
    return [x for own in actual for x in (own if isinstance(own, tuple) else (own,))]


SINGLE = ("mass_matrix", "forward_dynamics", "difference")  # in float32, too
CASES = [(name, np.float64) for name in lw.KinDyn.quantities] + [
    (name, np.float32) for name in SINGLE
]


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_every_quantity_agrees_with_machine_code(name, dtype, no_code, monkeypatch):
    kd = robot(dtype)
    request = request_for(name)
    slow, rng = kd.replace().function(request), np.random.default_rng(0)
    inputs = [
        kd.random(7, seed=k) if port.size == kd.nq else rng.normal(size=(7, port.size))
        for k, port in enumerate(slow.signature.inputs)
    ]
    inputs = [array.astype(dtype) for array in inputs]
    actual = results(slow, inputs)
    assert slow.code.column_function is not None
    assert slow.code.one is None
    monkeypatch.undo()
    fast = kd.function(request)
    fast.warmup()
    assert fast.code.is_fast
    for one, other in zip(actual, results(fast, inputs), strict=True):
        agree(one, other, 1e-12 if dtype == np.float64 else 2e-4)


@lw.compile(x=(4,))
def odd(x):
    """Operations whose results may be infinite, NaN, or a selection."""
    angle = lw.engine.symbolic.arrays.where(
        x[3] * x[3] < 1e10, x[3], np.inf
    )  # larger ones lose all digits
    large = lw.engine.symbolic.arrays.where(x[0] < x[1], x[0], np.maximum(x[2], 1.0))
    return np.array(
        [
            x[0] / x[1],
            1.0 / x[2],
            np.sqrt(x[0]),
            np.log(x[1]),
            np.exp(x[3]),
            np.sin(angle),
            np.arctan2(x[0], x[1]),
            large * -2.5,
            np.clip(x[3], -1.0, 1.0),
            -x[0] - -0.5,
            np.inf,
        ]
    )


ODD = [0.0, -0.0, 1.0, -1.0, 2.5, 800.0, 1e200, -1e308, np.inf, -np.inf, np.nan]


def test_extreme_values_agree_with_machine_code(no_code, monkeypatch):
    """Also for single rows, where Python's floats would raise."""
    rng = np.random.default_rng(0)
    x = rng.choice(ODD, size=(400, 4))
    slow = CompiledFunction("odd", odd.program, np.float64)
    batch = slow(x)
    rows = np.array([slow(row) for row in x])
    assert isinstance(slow.code.column_function, NumpyCode)
    monkeypatch.undo()
    odd.warmup()
    expected = odd(x)
    np.testing.assert_allclose(batch, expected, rtol=1e-12)
    np.testing.assert_allclose(rows, expected, rtol=1e-12)


def test_large_batches_are_computed_in_threads_and_parts(no_code):
    kd = lw.KinDyn(lw.robots.load("double_pendulum"), floating=True)
    q = kd.random(10_000, seed=0)
    actual = kd.mass_matrix(q)
    np.testing.assert_array_equal(actual[::997], kd.mass_matrix(q[::997].copy()))
    out = np.empty_like(actual)
    assert kd.function("mass_matrix")(q, out=out, threads=2) is out
    np.testing.assert_array_equal(out, actual)
    assert kd.mass_matrix(q[:0]).shape == (0, 8, 8)


def test_printed_python_reuses_variables():
    def function(x):
        a, b = x
        return np.array([np.sqrt(a * a + b * b), (a - b) / 2.0, 3.0])

    source = emit_python(trace(function, [Port("x", (2,))], "y"))
    assert source.split("\n") == [
        "def f(x):",
        " v0=x[0]",
        " v1=x[1]",
        " v2=v0*v0",
        " v3=v1*v1",
        " v3=v2+v3",
        " v3=sqrt(v3)",
        " v1=v0-v1",
        " v1=0.5*v1",
        " return [v3,v1,3.0]",
    ]


def test_constants_that_divide_by_zero_are_infinite():
    def function(x):
        return np.array([x[0] + x[1]])

    program = trace(function, [Port("x", (2,))], "y")
    steps = ((Op.CONST, 1.0), (Op.CONST, 0.0), (Op.DIV, 0, 1), (Op.INPUT, 0), (Op.ADD, 2, 3))
    code = NumpyCode(replace(program, steps=steps, results=(4,)))
    with np.errstate(all="ignore"):
        assert code([np.zeros(1), np.zeros(1)])[0][0] == np.inf


# How it is said.

MISSING = """
import warnings
class Missing:
    def find_spec(self, name, *_):
        if name.startswith("llvmlite"): raise ModuleNotFoundError("no such package")
sys.meta_path.insert(0, Missing())
import linkwork.engine.runtime.processor as processor
class Nowhere:
    def find_spec(name): return None
processor.PathFinder = Nowhere
"""
REFUSED = """
import ctypes, warnings
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(65, 1, 0, 0, 0) == 0   # PR_SET_MDWE: no page is made executable any more
"""
NO_REFUSAL = "QEMU does not know PR_SET_MDWE"
STORY = """
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    kd = floater()
    q, nu, tau = motion(kd, 5)
    found = [kd.forward_dynamics(q, nu, tau), kd.mass_matrix(q[0]), kd.com(q)]
    kd.warmup()
    kd.warmup("bias_force")

    @lw.compile(x=3)
    def square(x): return x * x
    assert square.jacobian("x")([1.0, 2.0, 3.0])[1, 1] == 4.0
for w in caught: print(w.category.__name__, os.path.basename(w.filename), w.message)
print([part.tolist() for part in found])
"""
REASONS = {
    "missing": (
        MISSING,
        "llvmlite cannot be imported (no such package); install it with `pip install llvmlite`",
    ),
    "refused": (REFUSED, "memory cannot be made executable (Permission denied)"),
    "refused to llvm": (REFUSED, "memory cannot be made executable (Permission denied)"),
}


@on_linux
@pytest.mark.parametrize("case", REASONS)
def test_a_missing_requirement_is_reported_once_and_numpy_is_used(case):
    preparation, reason = REASONS[case]
    if EMULATED and preparation is REFUSED:
        pytest.skip(NO_REFUSAL)
    loader = "llvm" if case.endswith("llvm") else "own"
    message, actual = output_of(preparation + STORY, LINKWORK_LOADER=loader).split("\n")
    assert message.startswith("LinkworkWarning <string> ")
    assert reason in message
    assert "NumPy" in message
    kd = lw.KinDyn(lw.robots.load("double_pendulum"), floating=True)
    q, nu, tau = motion(kd, 5)
    expected = [kd.forward_dynamics(q, nu, tau), kd.mass_matrix(q[0]), kd.com(q)]
    for numbers, array in zip(json.loads(actual), expected, strict=True):
        agree(np.array(numbers), array)


@on_linux
@pytest.mark.skipif(EMULATED, reason=NO_REFUSAL)
def test_cached_code_that_cannot_be_run_is_ignored(tmp_path):
    output_of("floater().warmup('mass_matrix')", cache=tmp_path)
    done = output_of(
        REFUSED
        + """
warnings.simplefilter("ignore")
kd = floater()
print(kd.mass_matrix(kd.neutral()).shape)
""",
        cache=tmp_path,
    )
    assert done == "(8, 8)"


def test_a_warning_that_is_an_error_is_raised_once():
    done = output_of(
        MISSING
        + """
kd = floater()
try:
    kd.com(kd.neutral())
except lw.LinkworkWarning:
    print("raised")
print(kd.com(kd.neutral()).shape)
"""
    )
    assert done == "raised\n(3,)"


def test_quick_code_stays_in_use_if_fast_code_cannot_be_compiled(no_code, monkeypatch):
    monkeypatch.setattr(errors, "_warned_topics", set())
    refuse = compiler.compiled
    monkeypatch.undo()
    monkeypatch.setattr(errors, "_warned_topics", set())
    monkeypatch.setenv("LINKWORK_CACHE", "off")
    monkeypatch.setattr(compiled_program, "background", Never)
    kd = lw.KinDyn(lw.robots.load("double_pendulum"), floating=True)
    first = kd.com(kd.neutral())
    monkeypatch.setattr(compiler, "compiled", refuse)
    with pytest.warns(lw.LinkworkWarning, match=r"refused.*first call"):
        kd.warmup()
    np.testing.assert_array_equal(kd.com(kd.neutral()), first)
    assert kd.function("com").code.column_function is None
