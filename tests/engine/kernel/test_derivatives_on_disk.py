"""Derivatives in the cache: reused without tracing or differentiating, unless damaged."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.kernels import floater, wait_for_background

from linkwork.engine.kernel import derive
from linkwork.engine.kernel import kernel as kernel_module
from linkwork.errors import LinkworkError
from linkwork.kindyn import programs


class TracedError(LinkworkError):
    """A program was traced or differentiated."""


@pytest.fixture
def folder(empty_cache):
    wait_for_background()
    return empty_cache


@pytest.fixture
def nothing_is_made(monkeypatch):
    """Make tracing and differentiating raise."""

    def refused(*args, **named):
        raise TracedError("made again")

    def start():
        monkeypatch.setattr(programs, "trace", refused)
        monkeypatch.setattr(kernel_module, "jacobian_steps", refused)
        for kind in derive.PROGRAMS:
            monkeypatch.setitem(derive.PROGRAMS, kind, refused)

    return start


def arguments(kernel, kd):
    rng = np.random.default_rng(5)
    return [
        kd.random(1, seed=2)[0] if port.name == "q" else rng.normal(size=port.shape)
        for port in kernel.signature.inputs
    ]


MADE = {
    "vjp": lambda kd: kd.inverse_dynamics.vjp(),
    "jvp": lambda kd: kd.function("mass_matrix", ("transform", "tip")).jvp("q"),
    "jacobian": lambda kd: kd.gravity_force.jacobian("q"),
    "of a derivative": lambda kd: kd.kinetic_energy.gradient("q").vjp("nu"),
    "hessian": lambda kd: kd.potential_energy.hessian("q"),
}


@pytest.mark.parametrize("name", MADE)
def test_code_is_reused(folder, nothing_is_made, name):
    kd = floater()
    kernel = MADE[name](kd)
    kernel.warmup()
    expected = kernel(*arguments(kernel, kd))
    nothing_is_made()
    again = MADE[name](floater())
    got = again(*arguments(again, kd))
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", MADE)
def test_a_stored_program_is_reused_without_code(folder, nothing_is_made, name):
    kernel = MADE[name](floater())
    program = kernel.program
    assert not list(folder.glob("*.o"))
    assert list(folder.glob("*.program"))
    nothing_is_made()
    assert MADE[name](floater()).program == program


def test_the_marker_of_a_long_jacobian_is_reused(folder, nothing_is_made, monkeypatch):
    monkeypatch.setattr(kernel_module, "MOST_UNROLLED_STEPS", 0)
    kd = floater()
    kernel = kd.gravity_force.jacobian("q")
    given = arguments(kernel, kd)
    kernel.warmup()
    expected = kernel(*given)
    nothing_is_made()
    monkeypatch.setattr(kernel_module, "MOST_UNROLLED_STEPS", 1 << 40)
    np.testing.assert_array_equal(floater().gravity_force.jacobian("q")(*given), expected)


def test_a_damaged_program_is_compiled_again(folder):
    expected = floater().inverse_dynamics.vjp("q").program
    (path,) = folder.glob("*.program")
    full = path.read_bytes()
    for damaged in (b"", full[:100], full[:-1], full[:-9] + b"x" + full[-8:]):
        path.write_bytes(damaged)
        assert floater().inverse_dynamics.vjp("q").program == expected
        assert path.read_bytes() == full


def test_keys_differ_by_function_kind_and_inputs():
    kd = floater()
    kernels_of = (
        kd.inverse_dynamics,
        kd.inverse_dynamics.vjp("q"),
        kd.inverse_dynamics.vjp("nu"),
        kd.inverse_dynamics.vjp("q", "nu"),
        kd.inverse_dynamics.vjp("nu", "q"),
        kd.inverse_dynamics.jvp("q"),
        kd.inverse_dynamics.jacobian("q"),
        kd.inverse_dynamics.vjp("q").vjp("q"),
        kd.forward_dynamics.vjp("q"),
        kd.replace(representation="body").inverse_dynamics.vjp("q"),
    )
    assert len({kernel.key for kernel in kernels_of}) == len(kernels_of)
    assert floater().inverse_dynamics.vjp("q").key == kernels_of[1].key
