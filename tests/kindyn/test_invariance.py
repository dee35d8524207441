"""What must not change: the same robot described otherwise, or seen from elsewhere.

The base, the order of joints and links, fixed joints, links in pieces, the place of the world and
the units are choices of whoever looks. Motion, torques and energies are not.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.support.kindyn import (
    GRAVITY,
    Case,
    Interpreted,
    base_X,
    on_numpy,
    random_case,
    rotation_of,
    wedge,
    wxyz_of,
)
from tests.support.models import (
    assert_close,
    random_inertia,
    random_model,
    random_pose,
    random_q,
    random_wxyz,
)

import linkwork as lw
from linkwork.mechanics.base import REPRESENTATIONS
from linkwork.model.pose import inverted

SEEDS = range(3)
on_many_robots = pytest.mark.parametrize("seed", SEEDS)
in_every_representation = pytest.mark.parametrize("velocity", REPRESENTATIONS)
KINDS_WITH_LENGTH = ("revolute", "revolute_cos_sin", "spherical", "fixed", "prismatic")


@on_many_robots
@in_every_representation
def test_another_base_gives_the_same_torques_energies_and_center_of_mass(seed, velocity):
    """The wrench on the old base is a wrench like any other for the new one, whose own is zero."""
    case = random_case(seed, velocity=velocity)
    kd, q, nu, nu_dot = case.kd, case.q, case.nu, case.nu_dot
    bases = [case.model.link_names[3], case.model.frames[-1].name]
    tau = kd.inverse_dynamics(q, nu, nu_dot)
    for base in bases:
        there = on_numpy(kd.kd.replace(base=base))
        H = kd.transform(base, q)
        Q = np.concatenate([H[:3, 3], wxyz_of(H[:3, :3]), q[7:]])
        V = np.concatenate([kd.velocity(base, q, nu), nu[6:]])
        A = np.concatenate([kd.acceleration(base, q, nu, nu_dot), nu_dot[6:]])
        T = np.eye(kd.nv)
        T[:6] = kd.jacobian(base, q)
        on_old_base = {kd.base: tau[:6]}
        scale = np.abs(tau).max()

        found = there.inverse_dynamics(Q, V, A, wrenches=on_old_base)

        assert_close(found, np.concatenate([np.zeros(6), tau[6:]]), rtol=1e-12, scale=scale)
        assert_close(T.T @ there.inverse_dynamics(Q, V, A), tau, rtol=1e-12)
        assert_close(T.T @ there.mass_matrix(Q) @ T, kd.mass_matrix(q), rtol=1e-12)
        back = there.forward_dynamics(Q, V, found, wrenches=on_old_base)
        assert_close(back, A, rtol=1e-10)
        for name in ("com", "potential_energy"):
            assert_close(getattr(there, name)(Q), getattr(kd, name)(q), rtol=1e-13, scale=10.0)
        for name in ("com_velocity", "kinetic_energy"):
            assert_close(getattr(there, name)(Q, V), getattr(kd, name)(q, nu), rtol=1e-12)
        if velocity != "body":
            assert_close(there.centroidal_momentum(Q, V), kd.centroidal_momentum(q, nu), rtol=1e-12)


def same_state_elsewhere(case, model):
    """The state of a case for a model with the same joints in another order.

    Returns its quantities, q, nu, nu_dot, and where each entry of its nu stands in the case's.
    """
    kd = case.kd
    there = on_numpy(
        lw.KinDyn(model, base=kd.base, floating=kd.floating, representation=kd.representation)
    )
    q_at, nu_at = list(range(7 * kd.floating)), list(range(6 * kd.floating))
    for name in there.layout.joint_names:
        q_at += range(kd.nq)[kd.layout.q[name]]
        nu_at += range(kd.nv)[kd.layout.nu[name]]
    return there, case.q[q_at], case.nu[nu_at], case.nu_dot[nu_at], nu_at


def assert_same_robot(case, model):
    """Dynamics of the other model are those of the case, up to the order of joints."""
    kd, q, nu, nu_dot = case.kd, case.q, case.nu, case.nu_dot
    there, Q, V, A, at = same_state_elsewhere(case, model)
    tau = kd.inverse_dynamics(q, nu, nu_dot, wrenches=case.wrenches)

    found = there.inverse_dynamics(Q, V, A, wrenches=case.wrenches)

    assert_close(found, tau[at], rtol=1e-13, scale=10 * np.abs(tau).max())
    assert_close(there.mass_matrix(Q), kd.mass_matrix(q)[np.ix_(at, at)], rtol=1e-13)
    assert_close(there.forward_dynamics(Q, V, found, wrenches=case.wrenches), A, rtol=1e-10)
    assert_close(there.kinetic_energy(Q, V), kd.kinetic_energy(q, nu), rtol=1e-13)
    assert_close(there.com(Q), kd.com(q), rtol=1e-13, scale=10.0)
    assert_close(
        there.centroidal_momentum_matrix(Q), kd.centroidal_momentum_matrix(q)[:, at], rtol=1e-13
    )
    for frame in case.frames:
        assert_close(there.transform(frame, Q), kd.transform(frame, q), rtol=1e-13)


@on_many_robots
@pytest.mark.parametrize("floating", [True, False])
def test_the_order_of_joints_and_links_only_orders_the_entries(seed, floating):
    case = random_case(seed, floating=floating)
    rng = np.random.default_rng(seed)
    model = case.model
    links = tuple(model.links[k] for k in rng.permutation(len(model.links)))
    joints = tuple(model.joints[k] for k in rng.permutation(len(model.joints)))

    assert_same_robot(case, replace(model, links=links, joints=joints))


@on_many_robots
def test_a_joint_read_from_its_other_side_is_the_same_joint(seed):
    """Of kinds whose motion about -axis is the inverse motion; the others have other numbers."""
    case = random_case(seed, kinds=("revolute", "prismatic", "helical", "fixed"))
    joints = tuple(
        replace(
            joint,
            first=joint.second,
            second=joint.first,
            first_H_joint=inverted(joint.joint_H_second),
            joint_H_second=inverted(joint.first_H_joint),
            axis=tuple(-x for x in joint.axis),
        )
        for joint in case.model.joints
    )

    assert_same_robot(case, replace(case.model, joints=joints))


@on_many_robots
@pytest.mark.parametrize("floating", [True, False])
def test_fixed_joints_and_links_without_mass_between_do_not_matter(seed, floating):
    """Every joint gets two massless links before its second link, held by fixed joints."""
    case = random_case(seed, floating=floating)
    rng = np.random.default_rng(seed)
    links, joints = list(case.model.links), []
    for joint in case.model.joints:
        a, b = f"{joint.name}_a", f"{joint.name}_b"
        links += [lw.Link(name=a), lw.Link(name=b)]
        pose = random_pose(rng)
        joints += [
            replace(joint, second=a),
            lw.Joint(name=f"{a}_to_b", kind="fixed", first=a, second=b, first_H_joint=pose),
            # this one points against the tree, and undoes what the other one did
            lw.Joint(
                name=f"{b}_end", kind="fixed", first=joint.second, second=b, first_H_joint=pose
            ),
        ]

    assert_same_robot(case, replace(case.model, links=tuple(links), joints=tuple(joints)))


@on_many_robots
@pytest.mark.parametrize("floating", [True, False])
def test_a_link_in_two_pieces_moves_as_the_whole(seed, floating):
    """Each link gives part of its inertia to a new one that is fixed to it somewhere."""
    case = random_case(seed, floating=floating)
    rng = np.random.default_rng(seed)
    links, joints = [], list(case.model.joints)
    whole = case.model
    for link in case.model.links:
        part, pose = random_inertia(rng), random_pose(rng)
        piece = lw.Link(name=f"{link.name}_piece", inertia=part)
        links += [link, piece]
        joints.append(
            lw.Joint(
                name=f"{piece.name}_hold",
                kind="fixed",
                first=link.name,
                second=piece.name,
                first_H_joint=pose,
            )
        )
        at = f"{link.name}_at"
        whole = whole.with_frame(at, link.name, pose).with_payload(at, part)
    split = replace(case.model, links=tuple(links), joints=tuple(joints))

    assert_same_robot(
        Case(whole, rng, floating=floating, base=case.kd.base),
        replace(split, frames=whole.frames),
    )


@on_many_robots
@in_every_representation
def test_moving_the_whole_world_turns_vectors_and_changes_nothing_else(seed, velocity):
    case = random_case(seed, velocity=velocity)
    kd, q, nu, nu_dot = case.kd, case.q, case.nu, case.nu_dot
    rng = np.random.default_rng(seed)
    wxyz, shift = random_wxyz(rng), 3 * rng.normal(size=3)
    R = rotation_of(wxyz)
    Q, V, A = q.copy(), nu.copy(), nu_dot.copy()
    Q[:3] = R @ q[:3] + shift
    Q[3:7] = wxyz_of(R @ rotation_of(q[3:7]))
    X = np.eye(6)  # on the six numbers of the base
    if velocity != "body":
        X[:3, :3] = X[3:, 3:] = R
    if velocity == "inertial":
        X[:3, 3:] = wedge(shift) @ R
    V[:6], A[:6] = X @ nu[:6], X @ nu_dot[:6]
    gravity = R @ GRAVITY
    tau = kd.inverse_dynamics(q, nu, nu_dot)
    found = kd.inverse_dynamics(Q, V, A, gravity=gravity)
    T = np.eye(kd.nv)
    T[:6, :6] = X

    assert_close(T.T @ found, tau, rtol=1e-12)
    assert_close(T.T @ kd.mass_matrix(Q) @ T, kd.mass_matrix(q), rtol=1e-12)
    assert_close(kd.forward_dynamics(Q, V, found, gravity=gravity), A, rtol=1e-10)
    assert_close(kd.kinetic_energy(Q, V), kd.kinetic_energy(q, nu), rtol=1e-12)
    assert_close(kd.com(Q), R @ kd.com(q) + shift, rtol=1e-13, scale=10.0)
    assert_close(
        kd.potential_energy(Q, gravity=gravity) + kd.total_mass * gravity @ shift,
        kd.potential_energy(q),
        rtol=1e-12,
        scale=1e3,
    )


@on_many_robots
@pytest.mark.parametrize("floating", [True, False])
def test_energies_and_momenta_are_sums_over_links(seed, floating):
    case = random_case(seed, floating=floating, velocity="body")
    kd, q, nu = case.kd, case.q, case.nu
    kinetic = potential = 0.0
    first, momentum = np.zeros(3), np.zeros(6)
    for link in case.model.links:
        inertia = link.inertia
        H, V = kd.transform(link.name, q), kd.velocity(link.name, q, nu)
        v, w = V[:3] + np.cross(V[3:], inertia.com), V[3:]
        c = H[:3, :3] @ inertia.com + H[:3, 3]
        kinetic += (inertia.mass * v @ v + w @ inertia.matrix() @ w) / 2
        potential -= inertia.mass * GRAVITY @ c
        first += inertia.mass * c
        p = H[:3, :3] @ (inertia.mass * v)
        momentum += [*p, *(np.cross(c, p) + H[:3, :3] @ inertia.matrix() @ w)]
    com = first / case.model.total_mass
    in_world = Interpreted(kd.kd.replace(representation="mixed"))
    mixed = nu.copy()
    if floating:
        mixed[:6] = np.linalg.inv(base_X(q, "mixed")) @ nu[:6]
    about_com = momentum - [0, 0, 0, *np.cross(com, momentum[:3])]

    assert_close(kd.kinetic_energy(q, nu), kinetic, rtol=1e-13)
    assert_close(kd.potential_energy(q), potential, rtol=1e-13, scale=1e3)
    assert_close(kd.com(q), com, rtol=1e-13, scale=10.0)
    assert_close(in_world.centroidal_momentum(q, mixed), about_com, rtol=1e-12)


def test_two_robots_on_a_floating_joint_have_the_energies_of_both():
    """Robots that nothing holds together: M is made of two blocks where neither moves the other."""
    rng = np.random.default_rng(5)
    one, two = random_model(rng, 6), random_model(rng, 5, name="two")
    joined = one.attached(two, to=one.default_base, joint="between", kind="floating", prefix="b_")
    case = Case(joined, rng, floating=True, representation="body")
    kd, q, nu = case.kd, case.q, case.nu
    first, second = (Interpreted(lw.KinDyn(m, representation="body")) for m in (one, two))
    base_of_two = f"b_{two.default_base}"
    H, V = kd.transform(base_of_two, q), kd.velocity(base_of_two, q, nu)
    at, v_at = kd.layout.q["between"], kd.layout.nu["between"]
    q2 = np.concatenate([H[:3, 3], wxyz_of(H[:3, :3]), q[at.stop :]])
    nu2 = np.concatenate([V, nu[v_at.stop :]])

    kinetic = first.kinetic_energy(q[: at.start], nu[: v_at.start]) + second.kinetic_energy(q2, nu2)
    potential = first.potential_energy(q[: at.start]) + second.potential_energy(q2)

    assert_close(kd.kinetic_energy(q, nu), kinetic, rtol=1e-13)
    assert_close(kd.potential_energy(q), potential, rtol=1e-12, scale=1e3)


def test_dependent_joints_move_as_free_ones_that_are_held_together():
    """With s_all = G s + c and rates G: M = G^T M_free G, tau = G^T tau_free."""
    rng = np.random.default_rng(1)
    for seed in SEEDS:
        model = random_model(np.random.default_rng(seed), 8, kinds=["revolute", "prismatic"])
        bound = Case(model, rng)
        joints = tuple(replace(joint, mimic=None) for joint in model.joints)
        free = Interpreted(lw.KinDyn(replace(model, joints=joints)))
        layout = bound.kd.layout
        assert layout.followers
        G = np.zeros((free.nv, bound.kd.nv))
        G[:6, :6] = np.eye(6)
        q = random_q(free.layout, rng)
        q[:7] = bound.q[:7]
        for name in free.layout.joint_names:
            follower = layout.followers.get(name)
            leader = follower.leader if follower else name
            G[free.layout.nu[name], layout.nu[leader]] = follower.multiplier if follower else 1.0
            q[free.layout.q[name]] = layout.theta(bound.q, name)
        tau = free.inverse_dynamics(q, G @ bound.nu, G @ bound.nu_dot)

        M = bound.kd.mass_matrix(bound.q)
        found = bound.kd.inverse_dynamics(bound.q, bound.nu, bound.nu_dot)

        assert_close(M, G.T @ free.mass_matrix(q) @ G, rtol=1e-13)
        assert_close(found, G.T @ tau, rtol=1e-12)


@on_many_robots
def test_units_of_length_mass_and_time_scale_torques_as_they_must(seed):
    """With lengths L, masses m, times t: torques scale as m L^2 / t^2, forces as m L / t^2."""
    L, m, t = 3.0, 0.25, 0.5
    case = random_case(seed, kinds=KINDS_WITH_LENGTH, floating=False, mimic=False)
    links = tuple(replace(link, inertia=_scaled(link.inertia, L, m)) for link in case.model.links)
    joints = tuple(
        replace(
            joint,
            first_H_joint=_longer(joint.first_H_joint, L),
            joint_H_second=_longer(joint.joint_H_second, L),
        )
        for joint in case.model.joints
    )
    frames = tuple(
        replace(frame, link_H_frame=_longer(frame.link_H_frame, L)) for frame in case.model.frames
    )
    large = Case(
        replace(case.model, links=links, joints=joints, frames=frames),
        np.random.default_rng(seed),
        floating=False,
        base=case.kd.base,
    )
    layout = case.kd.layout
    q_scale, nu_scale, tau_scale = np.ones(layout.nq), np.ones(layout.nv), np.ones(layout.nv) * L
    for name in layout.joint_names:
        if case.model.joint(name).kind == "prismatic":
            q_scale[layout.q[name]] = nu_scale[layout.nu[name]] = L
            tau_scale[layout.nu[name]] = 1.0

    found = large.kd.inverse_dynamics(
        q_scale * case.q,
        nu_scale * case.nu / t,
        nu_scale * case.nu_dot / t**2,
        gravity=GRAVITY * L / t**2,
    )

    tau = case.kd.inverse_dynamics(case.q, case.nu, case.nu_dot)
    assert_close(found, tau * tau_scale * m * L / t**2, rtol=1e-12)


def _scaled(inertia, L, m):
    tensor = tuple(m * L**2 * x for x in inertia.tensor)
    return lw.Inertia(m * inertia.mass, tuple(L * x for x in inertia.com), tensor)


def _longer(pose, L):
    return replace(pose, xyz=tuple(L * x for x in pose.xyz))
