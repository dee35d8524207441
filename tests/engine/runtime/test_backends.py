"""Backends: selection with `LINKWORK_BACKEND`, and registration of a new one."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from tests.support.kernels import floater, motion, output_of, wait_for_background

import linkwork as lw
from linkwork import errors
from linkwork.engine.runtime.backends import BACKENDS, FunctionBackend
from linkwork.engine.symbolic.operations import NUMPY_FUNCTIONS
from linkwork.engine.symbolic.program import per_port


class Interpreter(FunctionBackend):
    """Runs the steps of a program one after the other on columns."""

    def compile(self, program):
        def compute(*columns):
            results = program.run(*columns, functions=NUMPY_FUNCTIONS)
            return [part for _, part in per_port(program.outputs, results)]

        return compute


needs_c = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


@pytest.fixture(params=["toy", "numpy", pytest.param("c", marks=needs_c)])
def backend(request, monkeypatch):
    monkeypatch.setitem(BACKENDS, "toy", Interpreter())
    monkeypatch.setenv("LINKWORK_BACKEND", request.param)
    monkeypatch.setenv("LINKWORK_CACHE", "off")
    return request.param


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [(), 3, 2500])
def test_every_backend_computes_the_quantities_of_a_robot(backend, monkeypatch, n, dtype):
    kd = floater(dtype=dtype)
    q, nu, tau = motion(kd, n)
    actual = kd.forward_dynamics(q, nu, tau), kd.mass_matrix(q)
    assert kd.mass_matrix.status == (
        "quick" if backend == "c" else f"NumPy: LINKWORK_BACKEND={backend}"
    )
    kd.warmup("forward_dynamics")
    fast = kd.forward_dynamics(q, nu, tau)
    monkeypatch.delenv("LINKWORK_BACKEND")
    kd = floater(dtype=dtype)
    tolerance = 1e-11 if dtype == np.float64 else 1e-3
    expected = kd.forward_dynamics(q, nu, tau), kd.mass_matrix(q)
    for one, other in zip((*actual, fast), (*expected, expected[0]), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def test_every_backend_computes_loops(backend):
    """Nested loops with more iterations than could be unrolled."""

    @lw.compile(x=(3,))
    def function(x):
        def step(state):
            y = lw.repeat(3, lambda y: 0.5 * y + np.sin(x), state[0])
            return y, state[1] + 0.01 * y

        return lw.repeat(1000, step, (x, np.zeros(3)))

    x = np.random.default_rng(0).normal(size=(5, 3))
    y, total = function(x)
    expected = np.sin(x) * 2.0  # where each inner loop converges to
    np.testing.assert_allclose(y, expected, rtol=1e-12)
    np.testing.assert_allclose(total, 10.0 * expected, rtol=1e-2)


@needs_c
def test_code_of_the_c_compiler_is_kept_on_disk(monkeypatch, tmp_path):
    monkeypatch.setenv("LINKWORK_BACKEND", "c")
    monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path))
    first = floater()
    q = first.random(4, seed=0)
    first.warmup("com")
    wait_for_background()  # what other tests left to be compiled
    monkeypatch.setattr(BACKENDS["c"], "compile", lambda *_: pytest.fail("it was compiled"))
    second = floater()
    np.testing.assert_array_equal(second.com(q), first.com(q))
    assert second.com.status == "fast"


def test_numpy_is_used_without_a_c_compiler(monkeypatch):
    wait_for_background()  # what other tests left to be compiled
    monkeypatch.setenv("LINKWORK_BACKEND", "c")
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr(errors, "_warned_topics", set())
    kd = floater()
    with pytest.warns(lw.LinkworkWarning, match=r"no-such-compiler.*NumPy"):
        assert kd.com(kd.neutral()).shape == (3,)


COMPILERS = {
    "no program": "no program",
    "it writes nothing": "#!/bin/sh\nexit 0\n",
    "it fails": "#!/bin/sh\necho some reason >&2\nexit 3\n",
    "its library is none": """#!/bin/sh
for one; do
    [ "$before" = -o ] && echo x > "$one"
    before=$one
done
""",
}


@needs_c
@pytest.mark.parametrize("what", COMPILERS)
def test_numpy_is_used_if_the_c_compiler_fails(what, monkeypatch, tmp_path):
    compiler = tmp_path / "compiler"
    compiler.write_text(COMPILERS[what])
    compiler.chmod(0o700)
    monkeypatch.setenv("LINKWORK_BACKEND", "c")
    monkeypatch.setenv("LINKWORK_CACHE", "off")
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setattr(errors, "_warned_topics", set())
    kd = floater()
    with pytest.warns(lw.LinkworkWarning, match="NumPy"):
        assert kd.com(kd.neutral()).shape == (3,)
    assert kd.com.status.startswith("NumPy: ")
    assert what != "it fails" or "some reason" in kd.com.status


@needs_c
def test_the_c_compiler_may_have_options(monkeypatch):
    monkeypatch.setenv("LINKWORK_BACKEND", "c")
    monkeypatch.setenv("LINKWORK_CACHE", "off")
    monkeypatch.setenv("CC", "cc -g '-DA=1 + 1'")
    kd = floater()
    kd.warmup("com")
    assert kd.com.status == "fast"


@needs_c
def test_an_interrupt_does_not_end_the_c_compiler_of_the_background(tmp_path):
    """Ctrl-C in a terminal is sent to all processes of its group."""
    compiler = tmp_path / "compiler"
    compiler.write_text('#!/bin/sh\nsleep 0.5\nexec cc "$@"\n')
    compiler.chmod(0o700)
    text = """
import os, signal, time
if os.getpgid(0) != os.getpid():
    os.setpgid(0, 0)
import linkwork as lw
f = lw.compile(x=3)(lambda x: x + 1.0)
f([1.0, 2.0, 3.0])
time.sleep(0.2)
try:
    os.killpg(0, signal.SIGINT)
    time.sleep(10)
except KeyboardInterrupt:
    pass
while f.status == "quick":
    time.sleep(0.01)
print(f.status)
"""
    settings = {"LINKWORK_BACKEND": "c", "LINKWORK_CACHE": "off", "CC": str(compiler)}
    assert output_of(text, **settings) == "fast"


def test_an_unknown_backend_is_named_and_the_default_used(monkeypatch):
    monkeypatch.setenv("LINKWORK_BACKEND", "lvm")
    monkeypatch.setattr(errors, "_warned_topics", set())
    kd = floater()
    with pytest.warns(lw.LinkworkWarning, match="'llvm'"):
        kd.warmup("com")
    assert kd.com.status == "fast"
