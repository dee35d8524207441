"""Constrained dynamics: the laws, and a dense solution in extended precision."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import partial

import mpmath
import numpy as np
import pytest
from tests.support.linkages import five_bar, four_bar, random_linkage

import linkwork as lw


def state_of(kd, q, seed=0):
    """A velocity that the constraints allow, and torques."""
    rng = np.random.default_rng(seed)
    nu = kd.constrained().project_velocity(q, rng.normal(size=(*q.shape[:-1], kd.nv)))
    return nu, rng.normal(size=nu.shape)


def solved_exactly(kd, constrained, q, nu, tau):
    """nu_dot and J^T forces of the dense system, by a decomposition with 40 digits."""
    M, h = kd.mass_matrix(q), kd.bias_force(q, nu)
    J, bias = constrained.jacobian(q), constrained.bias(q, nu)
    with mpmath.workdps(40):
        inverse = mpmath.matrix(M.tolist()) ** -1
        Jm = mpmath.matrix(J.tolist())
        G = Jm * inverse * Jm.T
        u, s, v = mpmath.svd_r(G)
        free = inverse * mpmath.matrix((tau - h).tolist())
        r = -mpmath.matrix(bias.tolist()) - Jm * free
        scaled = u.T * r
        y = mpmath.matrix(
            [x / d if d > 1e-12 * s[0] else 0 for x, d in zip(scaled, s, strict=True)]
        )
        forces = v.T * y
        nu_dot = free + inverse * (Jm.T * forces)
    return np.array(nu_dot.tolist(), dtype=float).ravel()


@pytest.mark.parametrize(
    "kind", ["fixed", "revolute", "prismatic", "helical", "universal", "planar", "spherical"]
)
def test_random_linkages_agree_with_a_dense_solution(kind):
    kd, q = random_linkage(11, kind)
    constrained = kd.constrained()
    nu, tau = state_of(kd, q)
    nu_dot, forces, residual = constrained.forward_dynamics(q, nu, tau)
    exact = solved_exactly(kd, constrained, q, nu, tau)
    np.testing.assert_allclose(nu_dot, exact, atol=1e-11 * np.abs(exact).max())
    assert np.abs(residual).max() < 1e-10
    # the equations of motion, and no work of the constraint forces
    J = constrained.jacobian(q)
    left = kd.mass_matrix(q) @ nu_dot + kd.bias_force(q, nu)
    np.testing.assert_allclose(left, tau + J.T @ forces, atol=1e-10 * np.abs(left).max())
    assert abs(forces @ (J @ nu)) < 1e-10 * np.abs(forces).max()
    np.testing.assert_allclose(kd.forward_dynamics(q, nu, tau), nu_dot, atol=1e-9)


def test_representations_agree():
    mixed, q = random_linkage(2, "revolute")
    nu, tau = state_of(mixed, q)
    wrench = np.arange(6.0)
    base, body, inertial = (mixed.transform(mixed.base, q), *[np.eye(mixed.nv) for _ in range(2)])
    body[:3, :3] = body[3:6, 3:6] = base[:3, :3]
    inertial[:3, 3:6] = -np.cross(np.eye(3), base[:3, 3])  # w x o = -o x w

    def forces_of(kd, T):
        """T: mixed velocity of the base, from that of the other representation."""
        constrained = kd.constrained({mixed.model.link_names[3]: "point"}, stabilization=2.0)
        named = {mixed.base: T[:6, :6].T @ wrench}
        arguments = q, np.linalg.solve(T, nu), T.T @ tau
        result = constrained.forward_dynamics(*arguments, wrenches=named)
        derivatives = constrained.forward_dynamics_derivatives(*arguments, wrenches=named)
        backwards = np.linalg.inv(T)
        return result.forces, derivatives.forces_nu @ backwards, constrained.jacobian(q) @ backwards

    expected = forces_of(mixed, np.eye(mixed.nv))
    for representation, T in (("body", body), ("inertial", inertial)):
        found = forces_of(mixed.replace(representation=representation), T)
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_allclose(b, a, atol=1e-8 * np.abs(a).max())


def test_a_loop_cut_elsewhere_moves_in_the_same_way():
    model = five_bar()
    first = lw.KinDyn(model, floating=False, cut=["tip"])
    second = lw.KinDyn(model, floating=False, cut=["left_elbow"])
    q = first.random(seed=2)
    shared = ["left_motor", "right_motor", "right_elbow"]
    start = second.neutral()
    for name in shared:
        start[second.layout.q[name]] = q[first.layout.q[name]]
    there = lw.assemble(second, start, fixed=shared)
    assert there.converged
    nu, _ = state_of(first, q)
    motors = np.array([0.7, -0.4])
    results = []
    for kd, at in ((first, q), (second, there.q)):
        constrained = kd.constrained()
        rows = [kd.layout.nu[name].start for name in shared]
        # the same velocity of the shared joints
        unknown = [k for k in range(kd.nv) if k not in rows]
        J = constrained.jacobian(at)
        speed = np.zeros(kd.nv)
        speed[rows] = [nu[first.layout.nu[name].start] for name in shared]
        speed[unknown] = np.linalg.lstsq(J[:, unknown], -J[:, rows] @ speed[rows], rcond=None)[0]
        tau = np.zeros(kd.nv)
        tau[[kd.layout.nu[name].start for name in shared[:2]]] = motors
        results.append(kd.forward_dynamics(at, speed, tau)[rows])
    np.testing.assert_allclose(results[0], results[1], atol=1e-9 * np.abs(results[0]).max())


def test_a_joint_held_by_a_coupling_is_a_locked_joint():
    tree = lw.load("quadruped")
    name = lw.KinDyn(tree).joint_names[1]
    held = lw.KinDyn(tree.with_constraint("coupling", name, coefficients=(0.3,)))
    locked = lw.KinDyn(tree.reduced([n for n in held.joint_names if n != name], {name: 0.3}))
    q = held.random(seed=0)
    assert abs(q[held.layout.q[name]][0] - 0.3) < 1e-10
    k = held.layout.nu[name].start
    rng = np.random.default_rng(0)
    nu, tau = rng.normal(size=held.nv), rng.normal(size=held.nv)
    nu[k] = 0.0
    nu_dot = held.forward_dynamics(q, nu, tau)
    others = [j for j in range(held.nv) if j != k]
    q_locked = np.delete(q, held.layout.q[name].start)
    expected = locked.forward_dynamics(q_locked, nu[others], tau[others])
    np.testing.assert_allclose(nu_dot[others], expected, atol=1e-9 * np.abs(expected).max())
    assert abs(nu_dot[k]) < 1e-9


def test_redundant_and_contradictory_constraints():
    kd = lw.KinDyn(lw.load("quadruped"))
    feet = [name for name in kd.model.frame_names if name.endswith("foot")]
    once = kd.constrained(dict.fromkeys(feet, "point"))
    model = kd.model
    for foot in feet:  # the same points once more, as frames of other names
        model = model.with_frame(f"{foot}_again", foot)
    twice = lw.KinDyn(model).constrained(
        dict.fromkeys([*feet, *(f"{f}_again" for f in feet)], "point")
    )
    q = kd.random(seed=0)
    nu = once.project_velocity(q, np.random.default_rng(0).normal(size=kd.nv))
    tau = np.random.default_rng(1).normal(size=kd.nv)
    a, b = once.forward_dynamics(q, nu, tau), twice.forward_dynamics(q, nu, tau)
    np.testing.assert_allclose(b.nu_dot, a.nu_dot, atol=1e-9 * np.abs(a.nu_dot).max())
    np.testing.assert_allclose(b.forces[:12], a.forces / 2, atol=1e-6 * np.abs(a.forces).max())
    np.testing.assert_allclose(b.forces[12:], a.forces / 2, atol=1e-6 * np.abs(a.forces).max())
    assert np.abs(b.residual).max() < 1e-9
    # two stabilized contacts of one point with different targets cannot both be satisfied
    contacts = [
        lw.Contact(feet[0], "point", target=lw.Pose()),
        lw.Contact(f"{feet[0]}_again", "point", target=lw.Pose(xyz=(0.0, 0.0, 0.1))),
    ]
    torn = lw.KinDyn(model).constrained(contacts, stabilization=10.0)
    result = torn.forward_dynamics(q, nu, tau)
    assert np.isfinite(result.nu_dot).all()
    assert np.isfinite(result.forces).all()
    assert np.abs(result.residual).max() > 1.0  # about half of 100 / s^2 times 0.1 m


def test_derivatives_agree_with_differences():
    kd, q = random_linkage(4, "universal", n_links=6)
    contact = lw.Contact(kd.model.link_names[2], "pose", axes=("x", "z", "ry"))
    constrained = kd.constrained([contact], stabilization=3.0)
    nu, tau = state_of(kd, q)
    d = constrained.forward_dynamics_derivatives(q, nu, tau)
    h, eye = 1e-5, np.eye(kd.nv)

    def differences(function):
        pairs = [(function(h * e), function(-h * e)) for e in eye]
        return [np.stack([(a[k] - b[k]) / (2 * h) for a, b in pairs], axis=-1) for k in (0, 1)]

    forward = constrained.forward_dynamics
    for by, function in {
        "q": lambda s: forward(kd.integrate(q, s), nu, tau),
        "nu": lambda s: forward(q, nu + s, tau),
        "tau": lambda s: forward(q, nu, tau + s),
    }.items():
        of_nu_dot, of_forces = differences(function)
        exact = getattr(d, by), getattr(d, f"forces_{by}")
        for analytic, stepped in zip(exact, (of_nu_dot, of_forces), strict=True):
            np.testing.assert_allclose(
                analytic, stepped, atol=1e-7 * max(1.0, np.abs(stepped).max())
            )
    i = constrained.impact_derivatives(q, nu, 0.3)
    by_q = differences(lambda s: constrained.impact(kd.integrate(q, s), nu, 0.3))
    by_nu = differences(lambda s: constrained.impact(q, nu + s, 0.3))
    for analytic, stepped in zip(
        (i.q, i.impulses_q, i.nu, i.impulses_nu), (*by_q, *by_nu), strict=True
    ):
        np.testing.assert_allclose(analytic, stepped, atol=1e-7 * max(1.0, np.abs(stepped).max()))


@pytest.mark.parametrize("n_feet", [3, 4])
def test_derivatives_of_inverse_dynamics_agree_with_differences(n_feet):
    kd = lw.KinDyn(lw.load("quadruped"))
    feet = [name for name in kd.model.frame_names if name.endswith("foot")][:n_feet]
    stance = kd.constrained(dict.fromkeys(feet, "point"), actuated=kd.joint_names)
    rng = np.random.default_rng(0)
    q, (nu, nu_dot) = kd.random(seed=1), rng.normal(size=(2, kd.nv))
    d = stance.inverse_dynamics_derivatives(q, nu, nu_dot)
    h, inverse = 1e-5, stance.inverse_dynamics
    for by, function in {
        "q": lambda s: inverse(kd.integrate(q, s), nu, nu_dot),
        "nu": lambda s: inverse(q, nu + s, nu_dot),
        "nu_dot": lambda s: inverse(q, nu, nu_dot + s),
    }.items():
        pairs = [(function(h * e), function(-h * e)) for e in np.eye(kd.nv)]
        for k, name in enumerate((by, f"forces_{by}")):
            stepped = np.stack([(a[k] - b[k]) / (2 * h) for a, b in pairs], axis=-1)
            np.testing.assert_allclose(
                getattr(d, name), stepped, atol=1e-6 * max(1.0, np.abs(stepped).max())
            )


def test_impacts_reverse_constraint_velocities():
    kd = lw.KinDyn(lw.load("quadruped"))
    feet = [name for name in kd.model.frame_names if name.endswith("foot")]
    constrained = kd.constrained(dict.fromkeys(feet, "point"))
    q, nu = kd.random(4, seed=0), np.random.default_rng(0).normal(size=(4, kd.nv))
    J = constrained.jacobian(q)
    for restitution in (0.0, 0.4):
        after, impulses = constrained.impact(q, nu, restitution)
        speeds = np.einsum("bij,bj->bi", J, nu), np.einsum("bij,bj->bi", J, after)
        np.testing.assert_allclose(speeds[1], -restitution * speeds[0], atol=1e-9)
        change = np.einsum("bij,bj->bi", kd.mass_matrix(q), after - nu)
        np.testing.assert_allclose(change, np.einsum("bij,bi->bj", J, impulses), atol=1e-9)
        assert (kd.kinetic_energy(q, after) <= kd.kinetic_energy(q, nu)).all()


def test_inverse_dynamics_finds_the_torques_of_actuators():
    kd = lw.KinDyn(lw.load("quadruped"))
    feet = [name for name in kd.model.frame_names if name.endswith("foot")]
    stance = kd.constrained(dict.fromkeys(feet, "point"), actuated=kd.joint_names)
    q = kd.random(seed=0)
    nu = stance.project_velocity(q, np.random.default_rng(0).normal(size=kd.nv))
    tau = np.zeros(kd.nv)
    tau[6:] = np.random.default_rng(1).normal(size=kd.nv - 6)
    nu_dot = stance.forward_dynamics(q, nu, tau).nu_dot
    torques, forces, residual = stance.inverse_dynamics(q, nu, nu_dot)
    assert np.abs(residual).max() < 1e-7
    again = np.zeros(kd.nv)
    again[6:] = torques
    moved = stance.forward_dynamics(q, nu, again)
    np.testing.assert_allclose(moved.nu_dot, nu_dot, atol=1e-7 * np.abs(nu_dot).max())
    J = stance.jacobian(q)
    np.testing.assert_allclose(
        kd.inverse_dynamics(q, nu, nu_dot) - J.T @ forces, again, atol=1e-7 * np.abs(forces).max()
    )
    flying = kd.constrained(actuated=kd.joint_names)
    _, _, missing = flying.inverse_dynamics(q, nu, nu_dot)
    np.testing.assert_allclose(missing, kd.inverse_dynamics(q, nu, nu_dot)[:6], atol=1e-9)


def test_a_ball_rolls_down_a_slope():
    builder = lw.ModelBuilder("ball")
    builder.add_link("ball", inertia=lw.solid_sphere(2.0, 0.1))
    slope = 0.3
    gravity = (9.81 * np.sin(slope), 0.0, -9.81 * np.cos(slope))
    kd = lw.KinDyn(builder.build(), floating=True, gravity=gravity)
    rolling = kd.constrained([lw.Contact("ball", "rolling", radius=0.1)])
    q = kd.neutral()
    result = rolling.forward_dynamics(q, np.zeros(6), np.zeros(6))
    speedup = 5 / 7 * 9.81 * np.sin(slope)
    np.testing.assert_allclose(result.nu_dot, [speedup, 0, 0, 0, speedup / 0.1, 0], atol=1e-10)


def test_steps_keep_the_constraints():
    kd = lw.KinDyn(four_bar(), floating=False)
    constrained = kd.constrained(stabilization=20.0)
    q = kd.random(3, seed=0)
    nu, tau = state_of(kd, q)
    for _ in range(200):
        q, nu = constrained.step(q, nu, tau, 1e-3)
    assert np.abs(constrained.error(q)).max() < 1e-4
    assert np.abs(constrained.step(q, nu, tau, 1e-3).nu - nu).max() < 1.0


def test_calling_rules_are_those_of_kindyn():
    kd, q = random_linkage(6, "revolute", n_links=5)
    constrained = kd.constrained()
    rng = np.random.default_rng(0)
    Q = lw.assemble(constrained, kd.integrate(q, 0.02 * rng.normal(size=(7, kd.nv)))).q
    nu, tau = rng.normal(size=(2, 7, kd.nv))
    batch = constrained.forward_dynamics(Q, nu, tau)
    for k in range(7):
        one = constrained.forward_dynamics(Q[k], nu[k], tau[k])
        for a, b in zip(one, batch, strict=True):
            np.testing.assert_allclose(a, b[k], atol=1e-9 * max(1.0, np.abs(b).max()))
    out = tuple(np.empty_like(x) for x in batch)
    constrained.forward_dynamics(Q, nu, tau, out=out, threads=2)
    np.testing.assert_allclose(out[0], batch.nu_dot, rtol=1e-9, atol=1e-9)
    broken = nu.copy()
    broken[3] = np.nan
    partly = constrained.forward_dynamics(Q, broken, tau)
    keep = np.arange(7) != 3
    np.testing.assert_allclose(partly.nu_dot[keep], batch.nu_dot[keep], rtol=1e-9, atol=1e-9)
    assert np.isnan(partly.nu_dot[3]).any()
    again = pickle.loads(pickle.dumps(constrained))
    assert again == constrained
    assert hash(again) == hash(constrained)
    assert constrained != kd.constrained(stabilization=1.0)
    f = constrained.function("forward_dynamics", "jacobian")
    np.testing.assert_allclose(f(Q[0], nu[0], tau[0])[-1], constrained.jacobian(Q[0]), atol=1e-12)

    @lw.compile(q=kd.nq, nu=kd.nv)
    def power(q, nu):
        return constrained.jacobian(q) @ nu

    np.testing.assert_allclose(power(Q[0], nu[0]), constrained.jacobian(Q[0]) @ nu[0], atol=1e-11)


def contacts_of(described):
    """Contacts from frames, kinds and options in a list; anything else as it is."""
    if not isinstance(described, list):
        return described
    parts = [one if isinstance(one, tuple) else (one, "pose") for one in described]
    return [lw.Contact(frame, kind, **dict(*options)) for frame, kind, *options in parts]


@pytest.mark.parametrize(
    ("contacts", "options", "error", "fact"),
    [
        (["crnk"], {}, lw.NameNotFoundError, "crnk"),
        (["crank", ("crank", "point")], {}, lw.ArgumentError, "'crank' is constrained twice"),
        ({"crank": "glue"}, {}, lw.ArgumentError, "glue"),
        ({"crank": "rolling"}, {}, lw.ArgumentError, "radius"),
        ([("crank", "rolling", {"radius": -1.0})], {}, lw.ArgumentError, "radius.*-1"),
        ([("crank", "rolling", {"radius": np.nan})], {}, lw.ArgumentError, "radius.*nan"),
        ([("crank", "rolling", {"axes": ("x",)})], {}, lw.ArgumentError, "no axes"),
        ([("crank", "pose", {"axes": "xz"})], {}, lw.ArgumentError, "axes.*'xz'"),
        ([("crank", "pose", {"axes": 3})], {}, lw.ArgumentError, "axes.*3"),
        ([("crank", "pose", {"reference": "crank"})], {}, lw.ArgumentError, "same frame"),
        ([("crank", "pose", {"reference": "world"})], {}, lw.NameNotFoundError, "None is the wo"),
        ([("crank", "pose", {"reference": "pin"})], {}, lw.ArgumentError, "rigidly.*'pin'"),
        (["ground"], {}, lw.ArgumentError, "rigidly connected to the world"),
        ([(None, "pose")], {}, lw.ArgumentError, "None"),
        (None, {}, lw.ArgumentError, "None"),
        (["c"], {}, lw.ArgumentError, "'c' is also the name of a loop"),
        ([], {"stabilization": -1.0}, lw.ArgumentError, "stabilization"),
        ([], {"stabilization": np.array([1.0, np.nan])}, lw.ArgumentError, "stabilization"),
        ([], {"actuated": ["motor"]}, lw.NameNotFoundError, "motor"),
        ([], {"actuated": ["c"]}, lw.ArgumentError, "'c' closes a loop"),
    ],
)
def test_bad_contacts_and_options_are_reported(contacts, options, error, fact):
    model = four_bar().with_frame("c", "crank").with_frame("pin", "crank", lw.Pose((0.1, 0, 0)))
    kd = lw.KinDyn(model, floating=False)
    for create in (kd.constrained, partial(lw.ConstrainedKinDyn, model, floating=False)):
        with pytest.raises(error, match=fact):
            create(contacts=contacts_of(contacts), **options)


def test_representation_as_text_is_short():
    kd = lw.KinDyn(lw.load("quadruped"))
    contacts = [lw.Contact("FL_foot"), lw.Contact("FR_foot", "point", axes=("z",))]
    assert repr(contacts[1]) == "Contact('FR_foot', kind='point', axes=('z',))"
    text = repr(kd.constrained(contacts, actuated=kd.joint_names))
    assert "contacts=(Contact('FL_foot'), Contact('FR_foot', " in text
    assert "actuated=<tuple of 12>" in text
    assert "actuated=('FL_knee',)" in repr(kd.constrained(actuated=["FL_knee"]))


def test_searches_are_not_part_of_compiled_functions():
    loop = lw.KinDyn(four_bar(), floating=False).constrained()
    with pytest.raises(lw.ArgumentError, match="closing_step"):
        lw.compile(q=3)(loop.project_configuration)(np.zeros(3))


def test_names_that_are_repeated_count_once():
    kd = lw.KinDyn(four_bar(), floating=False)
    q, nu = kd.random(seed=0), np.zeros(3)
    assert lw.Contact("crank", axes=("rz", "z", "x", "z")).axes == ("x", "z", "rz")
    driven = kd.constrained(actuated=["a", "a"])
    assert driven == kd.constrained(actuated=["a"])
    assert driven.inverse_dynamics(q, nu, nu).torques.shape == (1,)
    one = kd.constrained().replace(independent=np.array([0, 0]))
    assert one.independent_velocities(q).shape == (3, 1)
    for wrong in ([3], [-1], ["a"], 0):
        with pytest.raises(lw.ArgumentError, match="independent"):
            one.replace(independent=wrong)


def test_what_a_cut_joint_cannot_do_is_reported():
    """Its pose and damping have no effect as parameters; the damping of the file is ignored."""
    model = four_bar()
    for parameter in (lw.parameters.JointPose("c"), lw.parameters.JointDamping("c")):
        with pytest.raises(lw.ArgumentError, match="'c', which closes a loop"):
            lw.KinDyn(model, floating=False, joint_dynamics=True, parameters=[parameter])
        options = {"joint_dynamics": True, "parameters": [parameter], "cut": ["b"]}
        assert lw.KinDyn(model, floating=False, **options).parameters.size
    joints = [replace(joint, damping=0.1) for joint in model.joints]
    damped = lw.Model(name="damped_bar", links=model.links, joints=joints)
    with pytest.warns(lw.LinkworkWarning, match="damping.*loops: c;"):
        lw.KinDyn(damped, floating=False, joint_dynamics=True)


def test_what_cannot_be_answered_raises():
    kd = lw.KinDyn(four_bar(), floating=False)
    q, nu = kd.random(seed=0), np.zeros(3)
    for name in ("inverse_dynamics", "inverse_dynamics_derivatives"):
        method = getattr(kd, name)  # reading raises nothing, so that `inspect` works
        with pytest.raises(lw.ArgumentError, match="actuated"):
            method(q, nu, nu)
    with pytest.raises(lw.ArgumentError, match="closed loops"):
        kd.inverse_mass_matrix(q)
    with pytest.raises(lw.ArgumentError, match="actuated"):
        kd.constrained().inverse_dynamics(q, nu, nu)
    with pytest.raises(AttributeError, match=r"ConstrainedKinDyn.*kindyn\.transform"):
        kd.constrained().transform("crank", q)
    kd.replace().warmup()  # compiles what can be answered
    massless = lw.ModelBuilder("massless")
    for name in "abc":
        massless.add_link(name, inertia=lw.solid_sphere(1.0, 0.1) if name == "a" else lw.Inertia())
    for ends in ("ab", "bc", "ca"):
        massless.add_joint(ends, "revolute", *ends, axis=(0, 1, 0))
    with pytest.raises(lw.SingularJointError):
        lw.KinDyn(massless.build(), floating=False).forward_dynamics([0.0, 0.0], [0, 0], [0, 0])


def test_parameters_of_the_geometry_are_inputs():
    plain = lw.KinDyn(four_bar(), floating=False)
    kd = plain.replace(
        parameters=[lw.parameters.JointPose("b"), lw.parameters.LinkInertia("rocker")]
    )
    q = plain.random(seed=0)
    nu, tau = state_of(plain, q)
    for name in ("forward_dynamics", "forward_dynamics_derivatives"):
        expected = getattr(plain.constrained(), name)(q, nu, tau)
        found = getattr(kd.constrained(), name)(q, nu, tau, parameters=kd.parameter_values())
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-10 * max(1.0, np.abs(b).max()))
    heavier = kd.parameter_values(
        {"inertia.rocker": 2 * plain.model.link("rocker").inertia.parameters()}
    )
    changed = kd.constrained().forward_dynamics(q, nu, tau, parameters=heavier).nu_dot
    assert not np.allclose(changed, plain.forward_dynamics(q, nu, tau))


def test_configurations_are_closed_for_parameters_of_the_model():
    """Rows with other distances between the pivots of a four-bar on the ground."""
    described = [lw.parameters.JointPose("d")]
    loop = lw.KinDyn(four_bar(), floating=False, parameters=described).constrained()
    distances = np.array([0.6, 0.7, 0.8])
    poses = np.array([[x, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0] for x in distances])
    values = loop.parameter_values({"joint_pose.d": poses})
    q = loop.project_configuration([0.5, -0.2, 0.8], fixed=["a"], parameters=values)
    crank, coupler, rocker = q[:, 0], q[:, 0] + q[:, 1], q[:, 2]
    x = 0.4 * np.cos(crank) + 0.8 * np.cos(coupler) - 0.6 * np.cos(rocker)
    z = 0.4 * np.sin(crank) + 0.8 * np.sin(coupler) - 0.6 * np.sin(rocker)
    np.testing.assert_allclose(x, distances, atol=1e-10)
    np.testing.assert_allclose(z, 0.0, atol=1e-10)
    np.testing.assert_array_equal(crank, 0.5)
    with pytest.raises(lw.ShapeError, match="parameters"):
        loop.project_configuration(q[:2], parameters=values)
