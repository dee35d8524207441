"""Constraint equations: error, Jacobian and bias against definitions that share no code."""

from __future__ import annotations

from itertools import cycle, pairwise, product

import numpy as np
import pytest
from tests.support.linkages import LINKAGES, closed, four_bar, random_linkage
from tests.support.models import random_model, random_pose

import linkwork as lw
from linkwork.algorithms.constraints.equations import State, constraint_rows
from linkwork.algorithms.constraints.sizes import entry_sizes
from linkwork.mechanics.constraints import equations_of_joint
from linkwork.mechanics.problem import Problem
from linkwork.model.joints import KINDS
from linkwork.model.joints.motion import motion_subspace

REPRESENTATIONS = ("mixed", "body", "inertial")
CLOSING = [kind for kind in KINDS if KINDS[kind].closure(lw.model.joints.Axis()) is not None]


def null_space(J):
    _, s, vt = np.linalg.svd(J)
    rank = int((s > 1e-9 * s.max(initial=0.0)).sum())
    return vt[rank:].T


@pytest.mark.parametrize("kind", CLOSING)
@pytest.mark.parametrize("floating", [True, False])
def test_allowed_velocities_are_those_of_the_closing_joint(kind, floating):
    """The relative twist of its links is in the motion subspace of the joint, and nothing else."""
    kd, q = random_linkage(3, kind, floating=floating)
    constrained = kd.constrained()
    assert np.abs(constrained.error(q)).max(initial=0.0) < 1e-12
    J = constrained.jacobian(q)
    assert J.shape == (6 - KINDS[kind].nv, kd.nv)
    assert kind == "floating" or np.linalg.matrix_rank(J) == len(J)
    [joint] = kd.closing_joints
    first, second = joint.first, joint.second
    relative = kd.replace(representation="body").relative_jacobian(first, second, q)
    twists = relative @ null_space(J)[kd.nv - relative.shape[1] :]  # in the axes of `second`
    theta = _theta(kd, joint, q)
    S = motion_subspace(joint, theta, child=second)
    unexplained = twists - S @ np.linalg.lstsq(S, twists, rcond=None)[0]
    assert np.abs(unexplained).max(initial=0.0) < 1e-9


def _theta(kd, joint, q):
    """The position of the closing joint, by least squares from the pose of its links."""
    from linkwork.model.joints.motion import motion_pose

    first_H_second = np.linalg.inv(kd.transform(joint.first, q)) @ kd.transform(joint.second, q)
    M = np.linalg.inv(joint.first_H_joint.matrix()) @ first_H_second
    M = M @ np.linalg.inv(joint.joint_H_second.matrix())
    kind, theta = joint.motion_kind, np.array(joint.motion_kind.neutral)
    for _ in range(60):
        apart = np.linalg.inv(motion_pose(joint, theta)) @ M
        step = np.linalg.lstsq(
            motion_subspace(
                lw.Joint(
                    name="j",
                    kind=joint.kind,
                    first="a",
                    second="b",
                    axis=joint.axis,
                    pitch=joint.pitch,
                ),
                theta,
                child="b",
            ),
            lw.spatial.se3.log(apart),
            rcond=None,
        )[0]
        theta = np.array(kind.moved(theta.tolist(), step.tolist()), dtype=float)
    np.testing.assert_allclose(motion_pose(joint, theta), M, atol=1e-9)
    return theta


@pytest.mark.parametrize(
    ("kind", "representation"),
    [*zip(CLOSING, cycle(REPRESENTATIONS)), *product(["revolute", "spherical"], REPRESENTATIONS)],
)
def test_jacobian_and_bias_are_derivatives(kind, representation):
    kd, q = random_linkage(5, kind)
    kd = kd.replace(representation=representation)
    constrained = kd.constrained()
    nu = constrained.project_velocity(q, np.random.default_rng(1).normal(size=kd.nv))
    h = 1e-6
    by_steps = [
        (constrained.error(kd.integrate(q, e, h)) - constrained.error(kd.integrate(q, e, -h)))
        / (2 * h)
        for e in np.eye(kd.nv)
    ]
    J = constrained.jacobian(q)
    np.testing.assert_allclose(J, np.array(by_steps).T.reshape(J.shape), atol=2e-8)
    ahead, behind = (constrained.jacobian(kd.integrate(q, nu, t)) for t in (h, -h))
    np.testing.assert_allclose(constrained.bias(q, nu), (ahead - behind) @ nu / (2 * h), atol=1e-7)


@pytest.mark.parametrize("name", LINKAGES)
def test_linkages_have_their_degrees_of_freedom(name):
    make, freedom = LINKAGES[name]
    kd = lw.KinDyn(make(), floating=False)
    constrained = kd.constrained()
    q = closed(kd, 6, seed=1)
    assert np.abs(constrained.error(q)).max() < 1e-9
    G = constrained.independent_velocities(q)
    assert G.shape == (6, kd.nv, freedom)
    assert np.abs(constrained.jacobian(q) @ G).max() < 1e-8
    M = constrained.mass_matrix(q)
    np.testing.assert_allclose(M, np.swapaxes(G, 1, 2) @ kd.mass_matrix(q) @ G, atol=1e-9)


def test_couplings_are_polynomials():
    model = four_bar().with_constraint("coupling", "a", "d", coefficients=(0.1, 0.5, -0.3, 0.2))
    kd = lw.KinDyn(model, floating=False)
    constrained = kd.constrained()
    q = np.array([0.3, 0.4, 0.7])
    row = constrained.rows["a_to_d"]
    expected = q[0] - (0.1 + 0.5 * q[2] - 0.3 * q[2] ** 2 + 0.2 * q[2] ** 3)
    np.testing.assert_allclose(constrained.error(q)[row], expected, rtol=1e-14)
    slope, curvature = 0.5 - 0.6 * q[2] + 0.6 * q[2] ** 2, -0.6 + 1.2 * q[2]
    np.testing.assert_allclose(constrained.jacobian(q)[row], [[1.0, 0.0, -slope]], rtol=1e-14)
    nu = np.array([0.2, -0.1, 0.8])
    np.testing.assert_allclose(constrained.bias(q, nu)[row], -curvature * nu[2] ** 2, rtol=1e-13)


def chain(scale):
    """Four links with revolute joints in general directions; all lengths are scaled."""
    b, rng = lw.ModelBuilder("chain"), np.random.default_rng(3)
    links = ["ground", "a", "b", "c"]
    for link in links:
        b.add_link(link, inertia=lw.solid_box(1.0, (0.1 * scale,) * 3))
        b.add_frame(f"{link}_frame", link, lw.Pose(scale * rng.normal(size=3)))
    for ends in pairwise(links):
        axis = rng.normal(size=3)
        mounts = [lw.Pose(scale * rng.normal(size=3), rng.normal(size=3)) for _ in range(2)]
        b.add_joint(
            f"to_{ends[1]}",
            "revolute",
            *ends,
            axis=axis / np.linalg.norm(axis),
            first_H_joint=mounts[0],
            joint_H_second=mounts[1],
        )
    return b.build().with_constraint("coupling", "to_a", "to_b", coefficients=(0.0, 0.5))


@pytest.mark.parametrize("kind", CLOSING)
def test_rows_have_the_size_of_lengths_or_of_angles(kind):
    """In a robot a hundred times smaller, linear rows and their sizes are that much smaller."""
    norms, sizes = [], []
    for scale in (1.0, 0.01):
        kd = lw.KinDyn(chain(scale), floating=False)
        axis = {"axis": (0.6, 0.0, 0.8)} if KINDS[kind].has_axis else {}
        pitch = {"pitch": 0.3 * scale} if KINDS[kind].has_pitch else {}
        mount = lw.Pose((0.2 * scale, -0.3 * scale, 0.1 * scale), (0.1, 0.2, 0.3))
        closing = lw.Joint(
            name="closing", kind=kind, first="a", second="c", first_H_joint=mount, **axis, **pitch
        )
        contacts = [
            lw.Contact("c", reference="a"),
            lw.Contact("b", "point"),
            lw.Contact("b_frame", axes=("y", "rx")),
            lw.Contact("c_frame", "rolling", radius=0.2 * scale),
        ]
        others = kd.constrained(contacts=contacts).problem.equations
        problem = Problem(kd.tree, kd.layout, (equations_of_joint(closing), *others))
        rows = constraint_rows(problem, State((0.3, -0.2, 0.5)))
        norms.append([np.linalg.norm(list(row.jacobian.values())) for row in rows])
        sizes.append([sum(row.values()) for row in entry_sizes(problem)])

    assert len(sizes[0]) == len(norms[0]) == problem.n_equations
    ratios = np.divide(norms[1], norms[0])
    assert np.minimum(abs(ratios - 1.0), abs(ratios - 0.01)).max() < 1e-9
    np.testing.assert_allclose(np.divide(sizes[1], sizes[0]), ratios**2, rtol=1e-9)


@pytest.mark.parametrize("kind", CLOSING)
def test_rates_and_biases_where_both_sides_move(kind):
    """The anchors are on different branches of a floating robot, at velocities of any kind."""
    rng = np.random.default_rng(CLOSING.index(kind))
    model = random_model(rng, 9, ["revolute", "prismatic", "spherical"], mimic=False)
    kd = lw.KinDyn(model)
    ends = [name for joint in model.joints for name in (joint.first, joint.second)]
    leaves = [link for link in model.link_names if ends.count(link) == 1 and link != kd.base]
    closing = lw.Joint(
        name="closing",
        kind=kind,
        first=leaves[-1],
        second=leaves[-2],
        axis=(0.6, 0.0, 0.8) if KINDS[kind].has_axis else (0.0, 0.0, 1.0),
        first_H_joint=random_pose(rng),
    )
    contacts = [
        lw.Contact(leaves[-1], reference=leaves[-2]),
        lw.Contact(leaves[-3], "rolling", reference=leaves[-1], radius=0.2),
    ]
    others = kd.constrained(contacts=contacts).problem.equations
    problem = Problem(kd.tree, kd.layout, (equations_of_joint(closing), *others))
    q, nu = kd.random(seed=1), rng.normal(size=kd.nv)

    def rows(t):
        return constraint_rows(problem, State(kd.integrate(q, nu, t).tolist(), nu.tolist()))

    now, step = rows(0.0), 1e-5
    rates = np.array([row.rate for row in now])
    by_jacobian = [sum(x * nu[k] for k, x in row.jacobian.items()) for row in now]
    np.testing.assert_allclose(rates, by_jacobian, rtol=1e-12, atol=1e-13)
    ahead, behind = (np.array([row.rate for row in rows(t)]) for t in (step, -step))
    biases = np.array([row.bias for row in now])
    np.testing.assert_allclose(biases, (ahead - behind) / (2 * step), rtol=1e-7, atol=1e-7)
