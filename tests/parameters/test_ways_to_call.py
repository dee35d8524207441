"""Calls with parameters: compiled, in batches, by name, omitted, traced, pickled, exported."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.support.models import assert_close

import linkwork as lw
from linkwork import parameters as lp

LOAD = lw.solid_box(1.5, (0.1, 0.2, 0.3), com=(0.01, 0.02, 0.1))


def arm(**options):
    listed = [lp.Payload("tool", mount=True), lp.Gravity()]
    return lw.KinDyn(lw.robots.load("arm"), floating=False, parameters=listed, **options)


@pytest.fixture(scope="module")
def kd():
    return arm()


@pytest.fixture(scope="module")
def plain():
    return lw.KinDyn(lw.robots.load("arm"), floating=False)


@pytest.fixture(scope="module")
def loaded():
    return lw.KinDyn(lw.robots.load("arm").with_payload("tool", LOAD), floating=False)


@pytest.fixture
def motion(kd):
    rng = np.random.default_rng(5)
    return kd.random(6, seed=4), *rng.normal(size=(2, 6, kd.nv))


def test_names_and_nominal_values(kd):
    assert dict(kd.parameters) == {
        "payload.tool": slice(0, 10),
        "mount.tool": slice(10, 17),
        "gravity": slice(17, 20),
    }
    assert kd.parameters.size == 20
    text = """\
payload.tool   0:10  mass, mass times CoM (3), tensor xx, xy, xz, yy, yz, zz about the origin
mount.tool    10:17  position (3) [m], quaternion wxyz (4)
gravity       17:20  [m/s^2] in the world"""
    assert repr(kd.parameters) == text
    np.testing.assert_array_equal(kd.parameter_values(), [0] * 13 + [1, 0, 0, 0] + [0, 0, -9.80665])
    assert repr(lw.KinDyn(kd.model).parameters) == "no parameters"
    assert lw.KinDyn(kd.model).parameter_values().shape == (0,)
    expected = "<Kernel mass_matrix: q (8,), parameters (20,) -> mass_matrix (8, 8)>"
    assert repr(kd.mass_matrix) == expected


def test_parameters_by_keyword_by_position_or_omitted(kd, plain, loaded, motion):
    q, nu, nu_dot = motion
    p = kd.parameter_values({"payload.tool": LOAD.parameters()})
    expected = loaded.inverse_dynamics(q, nu, nu_dot)
    for result in (
        kd.inverse_dynamics(q, nu, nu_dot, parameters=p),
        kd.inverse_dynamics(q, nu, nu_dot, p),
        kd.inverse_dynamics(q, nu=nu, nu_dot=nu_dot, parameters=p.tolist()),
        kd.inverse_dynamics(parameters=p, q=q, nu=nu, nu_dot=nu_dot),
        kd.function("inverse_dynamics")(q, nu, nu_dot, p),
    ):
        assert_close(result, expected)
    assert_close(kd.inverse_dynamics(q, nu, nu_dot), plain.inverse_dynamics(q, nu, nu_dot))
    assert_close(kd.inverse_dynamics(q, nu=nu, nu_dot=nu_dot), plain.inverse_dynamics(*motion))
    by = kd.function("inverse_dynamics").jacobian("nu_dot")
    assert_close(by(q=q, nu=nu, nu_dot=nu_dot), plain.mass_matrix(q))
    assert_close(by(q, nu, nu_dot, p), loaded.mass_matrix(q))


def test_one_parameter_vector_per_row_broadcasts(kd, plain, loaded, motion):
    q = motion[0]
    loads = np.zeros((6, 10))
    loads[::2] = LOAD.parameters()
    p = kd.parameter_values({"payload.tool": loads})
    assert p.shape == (6, 20)
    result = kd.mass_matrix(q, parameters=p)
    assert_close(result[::2], loaded.mass_matrix(q[::2]))
    assert_close(result[1::2], plain.mass_matrix(q[1::2]))
    assert_close(kd.mass_matrix(q[0], parameters=p)[2], loaded.mass_matrix(q[0]))
    assert kd.mass_matrix(q[:, None], parameters=p).shape == (6, 6, 8, 8)
    assert kd.mass_matrix(q[:0], parameters=p[:0]).shape == (0, 8, 8)
    out = np.empty((6, 8, 8))
    assert kd.mass_matrix(q, parameters=p, out=out, threads=2) is out
    np.testing.assert_array_equal(out, result)


def test_gravity_and_wrenches_together_with_parameters(kd, loaded, motion):
    q, nu, nu_dot = motion
    p = kd.parameter_values({"payload.tool": LOAD.parameters()})
    forces = {"gravity": (1.0, 2.0, 3.0), "wrenches": {"hand": np.arange(6.0)}}
    expected = loaded.inverse_dynamics(q, nu, nu_dot, **forces)
    assert_close(kd.inverse_dynamics(q, nu, nu_dot, parameters=p, **forces), expected)
    assert_close(kd.inverse_dynamics(q, nu, nu_dot, p, **forces), expected)
    assert_close(kd.inverse_dynamics(q, nu, nu_dot=nu_dot, parameters=p, **forces), expected)
    p = kd.parameter_values({"payload.tool": LOAD.parameters(), "gravity": (1.0, 2.0, 3.0)})
    del forces["gravity"]
    assert_close(kd.inverse_dynamics(q, nu, nu_dot, parameters=p, **forces), expected)


def test_fused_functions_and_functions_of_frames(kd, loaded, motion):
    q, nu, _ = motion
    p = kd.parameter_values({"payload.tool": LOAD.parameters()})
    both = kd.function("mass_matrix", "bias_force", ("jacobian", "tool"))
    M, h, J = both(q, nu, parameters=p)
    assert_close(M, loaded.mass_matrix(q))
    assert_close(h, loaded.bias_force(q, nu))
    assert_close(J, loaded.jacobian("tool", q))
    assert_close(both.named(q, nu, p)["bias_force"], h)
    assert_close(kd.jacobian("tool", q, parameters=p), J)
    assert_close(kd.transforms(q, frames=["tool"], parameters=p), kd.transforms(q, frames=["tool"]))


def test_inside_a_compiled_function(kd, plain, motion):
    q, nu, _ = motion

    @lw.compile(q=(8,), nu=(8,), m=())
    def energy(q, nu, m):
        load = np.concatenate([[m], m * np.array([0.01, 0.02, 0.1]), np.zeros(6)])
        p = np.concatenate([load, kd.parameter_values()[10:]])
        return kd.kinetic_energy(q, nu, parameters=p), kd.kinetic_energy(q, nu)

    result, bare = energy(q, nu, 0.7)
    p = kd.parameter_values({"payload.tool": [0.7, 0.007, 0.014, 0.07, 0, 0, 0, 0, 0, 0]})
    assert_close(result, kd.kinetic_energy(q, nu, parameters=p))
    assert_close(bare, plain.kinetic_energy(q, nu))


def test_equality_hash_copy_and_pickle(kd, motion):
    again = pickle.loads(pickle.dumps(kd))
    assert again == kd
    assert hash(again) == hash(kd)
    assert again.parameters == kd.parameters
    assert pickle.loads(pickle.dumps(kd.parameters)) == kd.parameters
    assert kd != kd.replace(parameters=())
    assert kd.replace(parameters=kd.parameters) == kd
    assert kd.replace(gravity=(0, 0, 1)).parameter_values()[-1] == 1.0
    assert "parameters=(Payload(frame='tool', mount=True, name=None), Gravity())" in repr(kd)
    kernel = pickle.loads(pickle.dumps(kd.function("mass_matrix")))
    q = motion[0]
    np.testing.assert_array_equal(kernel(q), kd.mass_matrix(q))
    with pytest.raises(lw.FrozenError, match="size"):
        kd.parameters.size = 3


def test_single_precision(kd, motion):
    q = motion[0]
    single = kd.replace(dtype=np.float32)
    p = single.parameter_values({"payload.tool": LOAD.parameters()})
    assert p.dtype == np.float32
    result = single.mass_matrix(q, parameters=p)
    assert result.dtype == np.float32
    assert_close(result, kd.mass_matrix(q, parameters=p.astype(float)), 1e-5)


def test_functions_of_coordinates_take_no_parameters(kd, motion):
    q, nu, _ = motion
    assert_close(kd.integrate(q, nu, 0.1), q + 0.1 * nu)
    with pytest.raises(lw.ArgumentError, match="'parameters'"):
        kd.function("difference")(q, q, parameters=kd.parameter_values())


@pytest.mark.compiler
def test_exported_functions_have_an_input_for_parameters(kd, tmp_path):
    report = lw.export(kd, tmp_path, ["mass_matrix", "gravity_force"])
    for row in report.rows:  # compared with the kernels, at random values near those of the model
        assert row.difference <= row.allowed
    assert "const double *parameters" in next(tmp_path.glob("*.h")).read_text()
