"""Derivatives in exported C: analytic where available, else vector-Jacobian products."""

from __future__ import annotations

import pytest
from tests.support.kernels import floater
from tests.support.models import random_model

import linkwork as lw
from linkwork.errors import ArgumentError
from linkwork.export import check


@pytest.fixture(autouse=True)
def _compiled_quickly(monkeypatch):
    monkeypatch.setattr(check, "OPTIONS", ("-std=c99", "-O0"))


def rows(report):
    return {row.name: row for row in report.rows}


def test_the_derivatives_of_each_function_are_exported(tmp_path):
    kd = floater(representation="body")
    expected = ["inverse_dynamics", "forward_dynamics", "com", "velocity:tip"]
    report = lw.export(kd, tmp_path, expected, derivatives=True, prefix="dp")

    result = rows(report)
    assert len(result) == 8
    for name in ("inverse_dynamics", "forward_dynamics", "com", "velocity_tip"):
        quantity = name.removesuffix("_tip")
        ending = "derivatives" if f"{quantity}_derivatives" in lw.KinDyn.quantities else "vjp"
        assert result[f"dp_{name}_{ending}"].difference < 1e-12
    assert "dp_com_vjp" in result


def test_analytic_derivatives_have_an_output_for_each_input(tmp_path):
    kd = floater()
    lw.export(kd, tmp_path, ["inverse_dynamics_derivatives"], prefix="dp", check=False)
    header = (tmp_path / "dp.h").read_text("ascii")

    assert "double *out_q, double *out_nu, double *out_nu_dot" in " ".join(header.split())
    assert " * out_q       8 x 8: derivative with respect to" in header
    assert " * out_nu_dot  8 x 8: derivative with respect to nu_dot\n" in header


def test_a_derivative_with_respect_to_wrenches_needs_wrenches(tmp_path):
    kd = floater(floating=False)
    plain = kd.function("forward_dynamics_derivatives")
    pushed = kd.function("forward_dynamics_derivatives", wrenches=["tip"])
    report = lw.export(kd, tmp_path, {"plain": plain, "pushed": pushed}, prefix="dp")
    header = (tmp_path / "dp.h").read_text("ascii")

    assert header.count("out_wrenches,") + header.count("out_wrenches)") == 1
    assert max(row.difference for row in report.rows) < 1e-12


def test_jacobians_of_kernels_are_kernels_too(tmp_path):
    kd = floater()
    report = lw.export(kd, tmp_path, {"of_com": kd.function("com").jacobian("q")})

    assert max(row.difference for row in report.rows) < 1e-13


def test_a_robot_too_long_to_compile_raises(tmp_path, rng):
    with pytest.warns(lw.LinkworkWarning, match="too many to compile"):
        kd = lw.KinDyn(random_model(rng, 300, ("revolute",), mimic=False))
    with pytest.raises(ArgumentError, match=r"\bcom\b"):
        lw.export(kd, tmp_path, ["com"])
