"""Typical calls of PinnZoo's functions: the zoo, batches, array types, errors."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.support.complex_steps import jacobian_by_steps
from tests.support.models import random_model
from tests.support.pinnzoo import BRANCHED, STICK, close, joint, link, model, unit_states

import linkwork as lw
from linkwork.compat import pinnzoo as pz
from linkwork.compat.pinnzoo import zoo as zoo_module
from linkwork.export.pinnzoo.state_space import StateSpace

FUNCTIONS = (  # with their arguments after the model
    ("M_func", "x"),
    ("C_func", "x"),
    ("forward_dynamics_deriv", "x tau"),
    ("inverse_dynamics", "x v_dot"),
    ("kinematics_jacobian", "x"),
    ("kinematics_force_jacobian", "x force"),
    ("state_error", "x x0"),
    ("apply_delta_x", "x delta_x"),
    ("error_jacobian_T_jvp_deriv", "x x2"),
)
SIZES = {  # of the zoo: nq, nv, nu, bodies
    "pendulum": (1, 1, 1, 1),
    "double_pendulum": (2, 2, 2, 1),
    "cartpole": (2, 2, 2, 1),
    "double_cartpole": (3, 3, 3, 1),
    "quadrotor": (7, 6, 6, 1),
    "go1": (19, 18, 12, 4),
    "go2": (19, 18, 12, 4),
    "bolt": (13, 12, 6, 2),
}


def test_the_zoo():
    assert pz.zoo_names() == tuple(SIZES)
    for name, sizes in SIZES.items():
        zoo = model(name)
        assert (zoo.nq, zoo.nv, zoo.nu, zoo.nc) == sizes
        assert (zoo.nx, zoo.nx_dot) == (zoo.nq + zoo.nv, 2 * zoo.nv)
        assert zoo.name == name
        assert pz.Model(name).joint_names == zoo.joint_names  # without a warning
    assert model("unitree_go1").joint_names == model("go1").joint_names
    assert model("go1").joint_names[:4] == (
        *("FL_hip_joint", "FL_thigh_joint", "FL_calf_joint", "FR_hip_joint"),
    )


def test_the_pendulums_of_the_zoo_are_point_masses_on_rods():
    """1 kg, 1 m, upright at zero, about x: the textbook equations."""
    angle, rate = 0.4, -1.3
    single = model("pendulum")
    close(single.M_func([angle, rate]), [[1.0]])
    close(single.C_func([angle, rate]), [-9.81 * np.sin(angle)])
    close(single.kinematics([angle, rate]), [0, -np.sin(angle), np.cos(angle)])

    cart = model("cartpole")  # the y coordinate of the tip is y - sin
    M = [[2.0, -np.cos(angle)], [-np.cos(angle), 1.0]]
    C = [np.sin(angle) * rate**2, -9.81 * np.sin(angle)]
    close(cart.M_func([0.1, angle, 2.0, rate]), M)
    close(cart.C_func([0.1, angle, 2.0, rate]), C)


def test_the_quadrotor_hovers_and_rotates():
    zoo = model("quadrotor")
    B = zoo.B_func(kf=2.0)
    x = zoo.zero_state()

    close(zoo.forward_dynamics(x, B @ np.full(4, 9.81 / 8)), np.zeros(6))
    assert zoo.M_func(x)[3:, 3:].diagonal() == pytest.approx([0.0046, 0.0046, 0.008])
    assert np.linalg.matrix_rank(B) == 4
    for rotor, (x_at, y_at) in enumerate([(1, 0), (0, 1), (-1, 0), (0, -1)]):
        wrench = np.cross([0.175 * x_at, 0.175 * y_at, 0], [0, 0, 2.0])
        close(B[3:5, rotor], wrench[:2])


def test_actuator_inputs():
    go1 = model("go1")
    assert np.array_equal(go1.B_func(), np.vstack([np.zeros((6, 12)), np.eye(12)]))
    driven = pz.Model("cartpole", actuated=["slider_to_cart"])
    assert driven.nu == 1
    assert driven.B_func().tolist() == [[1.0], [0.0]]
    assert driven.orders["mujoco"].torque_names == ("slider_to_cart",)


@pytest.mark.parametrize(("name", "names"), FUNCTIONS)
def test_batches_of_any_shape(name, names, rng):
    """Rows agree with single calls, methods with functions, and arguments are broadcast."""
    zoo = model("stick")
    sizes = {"tau": zoo.nv, "v_dot": zoo.nv, "force": 3, "delta_x": 2 * zoo.nv}
    arguments = [
        unit_states(zoo, rng, (2, 3))[0] if one in ("x", "x0") else None for one in names.split()
    ]
    for k, one in enumerate(names.split()):
        if arguments[k] is None:
            arguments[k] = rng.normal(size=sizes.get(one, zoo.nx))
    result = getattr(pz, name)(zoo, *arguments)
    parts = result if isinstance(result, tuple) else (result,)
    alone = getattr(zoo, name)(*(part[1, 2] if part.ndim == 3 else part for part in arguments))

    for part, row in zip(parts, alone if isinstance(alone, tuple) else (alone,), strict=True):
        close(part[1, 2], row, 1e-13)
        assert part.shape[:2] == (2, 3)
    empty = getattr(zoo, name)(*(part[:0] if part.ndim == 3 else part for part in arguments))
    assert (empty[0] if isinstance(empty, tuple) else empty).shape[:2] == (0, 3)


def test_arguments_of_any_array_type(rng):
    zoo = model("stick")
    x, _ = unit_states(zoo, rng)
    expected = zoo.C_func(x)

    close(zoo.C_func(x.tolist()), expected)
    close(zoo.C_func(np.repeat(x, 2)[::2]), expected)
    close(zoo.C_func(x.astype(np.float32)), expected, 1e-5)
    assert zoo.C_func(x.astype(np.float32)).dtype == np.float64
    assert pz.M_func(model("cartpole"), [0, 1, 0, 0]).shape == (2, 2)
    out = np.empty(zoo.nv)
    assert zoo.kernel("C_func")(x, out=out) is out


def test_quaternions_are_not_normalized(rng):
    """As in PinnZoo, drifted quaternions are neither normalized nor rejected."""
    zoo = model("stick")
    x, tau = unit_states(zoo, rng)
    scaled = x.copy()
    scaled[3:7] *= 1.5
    R = pz.quat_to_rot(scaled[3:7])

    felt = R.T @ [0, 0, -9.81] - pz.quat_to_rot(x[3:7]).T @ [0, 0, -9.81]
    close(
        zoo.inverse_dynamics(scaled, tau),
        zoo.inverse_dynamics(x, tau) - zoo.M_func(x)[:, :3] @ felt,
    )
    forward = zoo.forward_dynamics(scaled, tau) - zoo.forward_dynamics(x, tau)
    close(forward, [*felt, *np.zeros(zoo.nv - 3)])


def test_robots_from_files_strings_and_models(tmp_path, rng):
    (tmp_path / "robot.urdf").write_text(BRANCHED)
    from_file = pz.Model(tmp_path / "robot.urdf", ["c"], floating=True)
    from_text = pz.Model(BRANCHED, ["c"], "quaternion", floating=True)
    from_model = pz.Model(lw.load(BRANCHED), ["c"], floating=True, gravity=(0, 0, -1.62))
    x, _ = unit_states(from_file, rng)

    assert from_file.urdf_path == str(tmp_path / "robot.urdf")
    assert from_text.urdf_path is None
    assert np.array_equal(from_file.M_func(x), from_text.M_func(x))
    assert from_text.kinematics_size() == 7
    assert not np.allclose(from_file.C_func(x), from_model.C_func(x))
    fixed = pz.Model(BRANCHED)
    assert not fixed.is_floating()
    assert (fixed.nq, fixed.kinematics_bodies) == (4, ())
    mimicked = BRANCHED.replace('velocity="1"/>', 'velocity="1"/><mimic joint="k"/>', 1)
    assert pz.Model(mimicked).nq == 4  # joints that mimic are free, as in PinnZoo


def test_models_survive_pickling(rng):
    zoo = pz.Model(STICK, ["a"], "axis_angle", floating=True, actuated=["ang_v_x"])
    again = pickle.loads(pickle.dumps(zoo))
    x, _ = unit_states(zoo, rng)

    assert np.array_equal(again.kinematics(x), zoo.kinematics(x))
    assert again.orders == zoo.orders
    assert repr(again) == "<pinnzoo.Model 'stick': nq 8, nv 7, nu 1, kinematics of a>"


def test_kernels_have_further_derivatives(rng):
    """Kernels of a model have the methods of all kernels."""
    zoo = model("stick")
    x, tau = unit_states(zoo, rng)
    cotangent = rng.normal(size=zoo.nv)
    back = zoo.kernel("forward_dynamics").vjp("x")(x, tau, cotangent)

    close(back, cotangent @ zoo.forward_dynamics_deriv(x, tau)[0], 1e-9)


def test_functions_inside_a_compiled_function(rng):
    """A step of Euler's method on the manifold, and its derivative with respect to the state."""
    zoo = model("stick")

    @lw.compile(x=zoo.nx, tau=zoo.nv)
    def step(x, tau):
        return zoo.apply_delta_x(x, 0.01 * zoo.dynamics(x, tau))

    x, tau = unit_states(zoo, rng, (5,))
    close(step(x, tau), zoo.apply_delta_x(x, 0.01 * zoo.dynamics(x, tau)), 1e-13)
    (expected,) = jacobian_by_steps(step, [x[0], tau[0]], "x")
    close(step.jacobian("x")(x[0], tau[0]), expected)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: pz.Model("go3"), lw.NameNotFoundError, "'go3'; known: "),
        (lambda: pz.Model("cartpol"), lw.NameNotFoundError, "did you mean 'cartpole'"),
        (
            lambda: pz.Model("Nadia"),
            lw.NameNotFoundError,
            "no package has its file",
        ),
        (
            lambda: pz.Model("arm"),
            lw.NameNotFoundError,
            r"Model\(linkwork.robots.load\('arm'\)\)",
        ),
        (lambda: pz.Model("no/such.urdf"), lw.MissingFileError, "no/such.urdf"),
        (lambda: pz.Model(3), lw.ArgumentError, "name of the zoo.*path.*3"),
        (lambda: pz.Model(STICK, ["b"]), lw.NameNotFoundError, "body.*'b'"),
        (lambda: pz.Model(STICK, "a"), lw.ArgumentError, "bodies.*list.*'a'"),
        (lambda: pz.Model(STICK, ["a"], "rpy"), lw.ArgumentError, "'none'.*'quaternion'.*'rpy'"),
        (lambda: pz.Model(STICK, actuated=["y"]), lw.NameNotFoundError, "velocity.*'y'"),
        (
            lambda: pz.Model(STICK).kinematics([0, 0]),
            lw.ArgumentError,
            "kinematics.*bodies",
        ),
        (lambda: model("stick").M_func([1, 2]), lw.ShapeError, r"x.*15\).*\(2"),
        (lambda: model("stick").kernel("M"), lw.NameNotFoundError, "'M'"),
        (
            lambda: pz.Model(f"<robot name='r'>{link('a')}</robot>"),
            lw.ArgumentError,
            "r.*floating=True",
        ),
        (
            lambda: model("stick").change_order(np.zeros(4), "nominal", "mujoco"),
            lw.ShapeError,
            r"4.*8 \(config\).*7 \(velocity\).*15 \(state\)",
        ),
    ],
)
def test_wrong_arguments_raise_with_the_facts(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_joints_with_several_coordinates_raise():
    robot = random_model(np.random.default_rng(4), 3, ("spherical",))
    with pytest.raises(lw.ModelError, match="spherical"):
        pz.Model(robot)
    with pytest.raises(lw.ArgumentError, match=r"representation.*'body'.*'mixed'"):
        StateSpace(lw.KinDyn(lw.load(STICK)))


def test_a_joint_without_inertia_raises():
    tip = f'<robot name="r">{link("a")}<link name="b"/>{joint("loose", "a", "b")}</robot>'
    with pytest.warns(lw.LinkworkWarning, match="mass"):
        zoo = pz.Model(tip, floating=True)
    with pytest.raises(lw.SingularJointError, match="'loose'"):
        zoo.forward_dynamics(zoo.zero_state(), np.zeros(zoo.nv))


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(zoo_module, "robots_folder", lambda: None)
    with pytest.raises(
        lw.MissingPackageError,
        match="pip install example-robot-data",
    ):
        pz.Model("go1")
    assert pz.zoo_names() == (
        "pendulum",
        "double_pendulum",
        "cartpole",
        "double_cartpole",
        "quadrotor",
    )
