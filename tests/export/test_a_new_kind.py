"""A joint kind defined in a test, exported to C, compiled and compared with the kernels."""

from __future__ import annotations

import pytest
from tests.support.kindyn import random_case
from tests.support.rolling_joint import Rolling

import linkwork as lw
from linkwork.export import check
from linkwork.model import joints as kinds

pytestmark = pytest.mark.slow

FUNCTIONS = ["transforms", "mass_matrix", "inverse_dynamics", "forward_dynamics", "integrate"]


@pytest.fixture(autouse=True)
def _register(monkeypatch):
    monkeypatch.setitem(kinds._ALL, "rolling", Rolling())
    monkeypatch.setattr(check, "OPTIONS", ("-std=c99", "-O0"))


@pytest.mark.parametrize(("floating", "dtype"), [(True, "float64"), (False, "float32")])
def test_values_and_derivatives(floating, dtype, tmp_path):
    """The export compares each function, and its analytic or reverse-mode derivative."""
    model = random_case(17, n_links=5, kinds=("rolling", "universal", "fixed")).model
    kd = lw.KinDyn(model, floating=floating)
    functions = [("transforms", tuple(model.frame_names)), *FUNCTIONS[1:]]
    report = lw.export(kd, tmp_path, functions, derivatives=True, dtype=dtype, prefix="toy")

    assert len(report.rows) == 2 * len(FUNCTIONS)
    assert all(row.difference <= row.allowed for row in report.rows)
    header = (tmp_path / "toy.h").read_text("ascii")
    joints = [joint.name for joint in model.joints if joint.kind == "rolling"]
    assert joints
    assert all(f"{name}, rolling: rolled angle [rad]" in header for name in joints)
