"""Robots too large to unroll: NumPy computes what compiled code would."""

from __future__ import annotations

import resource
import warnings

import numpy as np
import pytest
from tests.support.models import assert_close, random_model, random_q

import linkwork as lw
from linkwork.kindyn import programs

METHODS = ("mass_matrix", "coriolis_matrix", "inverse_dynamics", "forward_dynamics", "regressor")


def chain(joints):
    builder = lw.ModelBuilder(f"chain{joints}")
    inertia = lw.Inertia(1.0, (0.01, 0.02, 0.1), (0.02, 0, 0, 0.02, 0, 0.01))
    builder.add_link("link0", inertia=inertia)
    for k in range(joints):
        builder.add_link(f"link{k + 1}", inertia=inertia)
        builder.add_joint(
            f"joint{k}",
            "revolute",
            f"link{k}",
            f"link{k + 1}",
            axis=np.eye(3)[k % 3],
            first_H_joint=lw.Pose((0.01, 0.0, 0.2)),
        )
    return builder.build()


def test_a_chain_of_5000_links_moves_without_exhausting_memory():
    with pytest.warns(lw.LinkworkWarning, match=r"4999 moving joints"):
        kd = lw.KinDyn(chain(4999))
    rng = np.random.default_rng(0)
    q, nu, nu_dot = kd.random(seed=1), rng.normal(size=kd.nv), rng.normal(size=kd.nv)
    nu[6:] *= 0.01
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tau = kd.inverse_dynamics(q, nu, nu_dot)
    found = kd.forward_dynamics(q, nu, tau)
    com = kd.com(q)
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before  # in kilobytes
    assert more < 500_000
    assert_close(kd.inverse_dynamics(q, nu, found), tau, rtol=1e-8)
    assert np.isfinite(com).all()
    H = kd.transform("link4999", q)
    assert_close(H[:3, :3] @ H[:3, :3].T, np.eye(3), rtol=1e-11)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_numpy_gives_what_compiled_code_gives(name, batch, monkeypatch):
    """On a robot with every kind of joint, taken for too large."""
    model = random_model(np.random.default_rng(4), 9)
    compiled = lw.KinDyn(model)
    rng = np.random.default_rng(5)
    q = random_q(compiled.layout, rng, batch)
    rows = [q, *rng.normal(size=(2, *batch, compiled.nv))]
    rows = rows[: len(lw.KinDyn.quantities[name].inputs)]
    expected = getattr(compiled, name)(*rows)
    monkeypatch.setattr(programs, "MOST_UNROLLED", 1)
    plain = compiled.replace()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_close(getattr(plain, name)(*rows), expected, rtol=1e-10)
    assert plain.function(name).code.column_function is not None


def test_a_quantity_with_too_many_operations_is_left_to_numpy():
    """Of one robot, the mass matrix may be too long and inverse dynamics not."""
    kd = lw.KinDyn(chain(200), floating=False)
    q = kd.random(seed=2)
    with pytest.warns(lw.LinkworkWarning, match=r"mass_matrix.*\d+,\d+ operations"):
        M = kd.mass_matrix(q)
    assert kd.function("inverse_dynamics").code.column_function is None
    zero = np.zeros(kd.nv)
    columns = np.eye(kd.nv)[::50]
    found = kd.inverse_dynamics(q, zero, columns, gravity=np.zeros(3))
    assert_close(found, M[::50], rtol=1e-11)


def test_a_warning_points_to_the_line_that_called(monkeypatch):
    with pytest.warns(lw.LinkworkWarning, match="257 moving joints") as caught:
        lw.KinDyn(chain(257))
    assert caught[0].filename == __file__
    monkeypatch.setattr(programs, "MOST_STEPS", 10)
    kd = lw.KinDyn(chain(2))
    for call in (lambda: kd.mass_matrix, lambda: kd.function("regressor")):
        with pytest.warns(lw.LinkworkWarning, match="operations") as caught:
            call()
        assert caught[0].filename == __file__
