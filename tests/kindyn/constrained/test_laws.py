"""Laws that constrained motion obeys, and forces as wrenches."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.complex_steps import jacobian_by_steps
from tests.support.constrained import arguments, stance_of
from tests.support.linkages import LINKAGES, Y, at, closed, leg, random_linkage, rod
from tests.support.real_robots import load_quietly

import linkwork as lw


@pytest.fixture(scope="module")
def stance():
    return stance_of(lw.KinDyn)


def with_springs(name):
    """A robot, a closed configuration, its coordinates with springs and their stiffness.

    The springs keep mechanisms away from configurations in which their arms are stretched.
    """
    if name == "cassie":
        kd = lw.KinDyn(load_quietly("cassie_v2"), floating=True, gravity=(0.0, 0.0, 0.0))
        return kd, kd.layout.zero(), kd.joint_names, 20.0
    kd = lw.KinDyn(LINKAGES[name][0](), floating=False)
    motors = [joint for joint in kd.joint_names if joint.startswith("motor")]
    return kd, closed(kd, 1)[0], motors, 40.0


@pytest.mark.parametrize(
    ("name", "dt"),
    [("four_bar", 4e-3), ("delta", 4e-3), pytest.param("cassie", 1e-3, marks=pytest.mark.peers)],
)
def test_energy_is_conserved_for_ten_seconds(name, dt):
    kd, q, joints, stiffness = with_springs(name)
    constrained = kd.constrained(stabilization=30.0)
    springs = [kd.layout.q[one].start for one in joints]
    in_nu = [kd.layout.nu[one].start for one in joints]
    rest = q[springs]
    nu = constrained.project_velocity(q, np.full(kd.nv, 0.4))

    def energy(q, nu):
        stretched = q[springs] - rest
        potential = kd.potential_energy(q) + stiffness * stretched @ stretched / 2
        return kd.kinetic_energy(q, nu) + potential

    def rate(q, nu):
        tau = np.zeros(kd.nv)
        tau[in_nu] = -stiffness * (q[springs] - rest)
        return constrained.forward_dynamics(q, nu, tau).nu_dot

    start, largest = energy(q, nu), 0.0
    for step in range(round(10.0 / dt)):  # the classical Runge-Kutta method on the manifold
        k1, a1 = nu, rate(q, nu)
        k2 = nu + dt / 2 * a1
        a2 = rate(kd.integrate(q, k1, dt / 2), k2)
        k3 = nu + dt / 2 * a2
        a3 = rate(kd.integrate(q, k2, dt / 2), k3)
        k4 = nu + dt * a3
        a4 = rate(kd.integrate(q, k3, dt), k4)
        q = kd.integrate(q, (k1 + 2 * k2 + 2 * k3 + k4) / 6, dt)
        nu = nu + dt / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        if step % 100 == 99:
            nu = constrained.project_velocity(q, nu)
            largest = max(largest, kd.kinetic_energy(q, nu))
    assert np.abs(constrained.error(q)).max() < 1e-6
    assert largest > 0.05  # it moves
    assert abs(energy(q, nu) - start) < 5e-4 * largest


def test_gauss_principle():
    """Of all accelerations that the constraints allow, the actual ones are the least forced."""
    kd = lw.KinDyn(LINKAGES["delta"][0](), floating=False)
    constrained = kd.constrained()
    q = closed(kd, 4)
    rng = np.random.default_rng(0)
    nu = constrained.project_velocity(q, rng.normal(size=(4, kd.nv)))
    tau = rng.normal(size=(4, kd.nv))
    nu_dot = constrained.forward_dynamics(q, nu, tau).nu_dot
    M, h = kd.mass_matrix(q), kd.bias_force(q, nu)
    forced = np.einsum("bij,bj->bi", M, nu_dot) + h - tau  # M (nu_dot - nu_dot of the free robot)
    allowed = constrained.independent_velocities(q)  # changes of nu_dot with J change = 0
    np.testing.assert_allclose(
        np.einsum("bi,bik->bk", forced, allowed), 0.0, atol=1e-9 * np.abs(forced).max()
    )


def test_a_weld_is_a_fixed_joint():
    tree = leg()
    welded = lw.KinDyn(tree.with_constraint("pose", "thigh", "shank", first_xyz=(0.0, 0.1, -0.4)))
    fixed = lw.KinDyn(tree.reduced(["hip"], {"knee": 0.0}))
    q = np.append(fixed.random(seed=0), 0.0)
    assert np.abs(welded.constrained().error(q)).max() < 1e-12
    nu, tau = np.random.default_rng(0).normal(size=(2, 8))
    nu[7] = 0.0
    expected = fixed.forward_dynamics(q[:8], nu[:7], tau[:7])
    nu_dot = welded.forward_dynamics(q, nu, tau)
    np.testing.assert_allclose(nu_dot[:7], expected, atol=1e-10 * np.abs(expected).max())
    assert abs(nu_dot[7]) < 1e-10 * np.abs(expected).max()


def test_a_locked_mechanism_does_not_move():
    b = lw.ModelBuilder("truss")
    b.add_link("ground", inertia=lw.solid_box(1.0, (0.1, 0.1, 0.1)))
    for name, x in (("left", 0.0), ("right", 1.0)):
        b.add_link(name, inertia=rod(1.0, 1.0))
        b.add_joint(f"{name}_foot", "revolute", "ground", name, axis=Y, first_H_joint=at(x))
    mounts = {"first_H_joint": at(1.0), "joint_H_second": at(-1.0)}
    b.add_joint("top", "revolute", "left", "right", axis=Y, **mounts)
    kd = lw.KinDyn(b.build(), floating=False)
    truss = kd.constrained(actuated=["left_foot"])
    q, tau = kd.random(seed=0), np.array([1.0, 2.0])
    nu_dot, forces, residual = truss.forward_dynamics(q, np.zeros(2), tau)
    assert np.abs(nu_dot).max() < 1e-12
    assert np.abs(residual).max() < 1e-12
    needed = kd.bias_force(q, np.zeros(2)) - tau
    np.testing.assert_allclose(truss.jacobian(q).T @ forces, needed, atol=1e-12)
    assert truss.independent_velocities(q).shape == (2, 0)
    assert truss.mass_matrix(q).shape == (0, 0)
    assert np.abs(truss.project_velocity(q, np.ones(2))).max() < 1e-12
    np.testing.assert_allclose(truss.step(q, np.zeros(2), tau, 0.01).q, q, atol=1e-12)
    for array in (
        *truss.forward_dynamics_derivatives(q, np.zeros(2), tau),
        *truss.inverse_dynamics(q, np.zeros(2), np.zeros(2)),
    ):
        assert np.isfinite(array).all()


def test_derivatives_agree_with_complex_steps(stance):
    """The step runs through the program, iterations included, and the constraints are redundant."""
    q, nu, tau = arguments(stance, ("q", "nu", "tau"))
    exact = stance.forward_dynamics_derivatives(q, nu, tau)
    E = stance.kindyn.velocity_kinematics(q)
    for name in ("q", "nu", "tau"):
        stepped = jacobian_by_steps(stance.forward_dynamics, (q, nu, tau), name)[0]
        stepped = stepped @ E if name == "q" else stepped
        actual = getattr(exact, name)
        np.testing.assert_allclose(actual, stepped, atol=5e-7 * np.abs(stepped).max())


def test_forces_are_those_of_least_norm_for_velocities_that_contacts_do_not_allow(stance):
    """Then no forces satisfy the redundant equations; those without effect are still zero."""
    q, tau = arguments(stance, ("q", "tau"), (9,))
    nu = np.random.default_rng(0).normal(size=(9, stance.nv))
    result = stance.forward_dynamics(q, nu, tau)
    assert np.abs(result.residual).max() > 0.1
    for k in range(9):
        without_effect = np.linalg.svd(stance.jacobian(q[k]))[0][:, -1]  # J^T of it is 0
        weights = np.diag(stance.delassus(q[k]))
        part = without_effect @ (weights * result.forces[k])
        assert abs(part) < 1e-4 * np.linalg.norm(weights * result.forces[k])
        J, bias = stance.jacobian(q[k]), stance.bias(q[k], nu[k])
        missed = J @ result.nu_dot[k] + bias + 4.0 * stance.error(q[k]) + 4.0 * J @ nu[k]
        np.testing.assert_allclose(result.residual[k], missed, atol=1e-9 * np.abs(bias).max())
        single = stance.forward_dynamics(q[k], nu[k], tau[k])
        np.testing.assert_allclose(single.forces, result.forces[k], atol=1e-5)


def test_single_precision_with_redundant_constraints(stance):
    single = stance.replace(dtype=np.float32)
    values = arguments(stance, ("q", "nu", "tau"), (20,))
    expected = stance.forward_dynamics(*values)
    actual = single.forward_dynamics(*(value.astype(np.float32) for value in values))
    for one, other in zip(actual[:2], expected[:2], strict=True):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, other, atol=1e-4 * np.abs(other).max())


@pytest.mark.parametrize(
    ("kind", "representation"),
    [("helical", "mixed"), ("universal", "body"), ("universal", "inertial")],
)
def test_forces_are_wrenches_on_frames(kind, representation):
    """With the opposite ones on the references, they have the generalized forces J^T f."""
    kd, q = random_linkage(11, kind, n_links=5)
    kd = kd.replace(representation=representation)
    first, second = kd.model.link_names[1], kd.model.link_names[3]
    target = lw.Pose(xyz=(0.1, 0.2, 0.3), rpy=(0.3, 0.2, 0.1))
    constrained = kd.constrained(
        [
            lw.Contact(first, "pose", axes=("x", "rz"), reference=second, target=target),
            lw.Contact(second, "rolling", radius=0.3, target=target),
        ]
    )
    [joint] = kd.closing_joints
    frames = {
        "closing": (joint.second, joint.first),
        first: (first, second),
        second: (second, None),
    }
    forces = np.random.default_rng(0).normal(size=(2, constrained.m))
    J = constrained.jacobian(q)
    for name, (moving, reference) in frames.items():
        rows = constrained.rows[name]
        wrench = constrained.forces_of(name, q, forces)
        total = kd.external_force(q, wrenches={moving: wrench})
        if reference is not None:
            opposite = -_moved(kd, q, wrench, moving, reference)
            total += kd.external_force(q, wrenches={reference: opposite})
        expected = forces[:, rows] @ J[rows]
        np.testing.assert_allclose(total, expected, atol=1e-12 * np.abs(expected).max())


def _moved(kd, q, wrench, frame, other):
    """The same wrench, written as one on another frame."""
    at_origin = {}
    for name in (frame, other):  # T: wrench in world axes at the world's origin, from one on it
        pose, T = kd.transform(name, q), np.eye(6)
        if kd.representation != "inertial":
            T[3:, :3] = np.cross(np.eye(3), pose[:3, 3])
        if kd.representation == "body":
            T = T @ np.kron(np.eye(2), pose[:3, :3])
        at_origin[name] = T
    return wrench @ (np.linalg.inv(at_origin[other]) @ at_origin[frame]).T


def test_forces_of_what_is_no_frame():
    model = leg().with_constraint("coupling", "hip", "knee", coefficients=(0.0, 0.5))
    stance = lw.KinDyn(model).constrained({"toe": "point"})
    q, forces = stance.kindyn.random(seed=0), np.ones(stance.m)
    np.testing.assert_allclose(stance.forces_of("toe", q, forces), [1, 1, 1, 0, 0, 0])
    with pytest.raises(lw.ArgumentError, match="hip_to_knee"):
        stance.forces_of("hip_to_knee", q, forces)
    with pytest.raises(lw.NameNotFoundError, match="toe"):
        stance.forces_of("too", q, forces)
