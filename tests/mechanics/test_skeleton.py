"""A robot as algorithms see it moves and weighs as its model does, wherever its frames are."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from tests.support.kindyn import spatial_inertia
from tests.support.models import MOVING_KINDS, assert_close, random_inertia
from tests.support.skeletons import Case, random_case, walked_poses

import linkwork as lw
from linkwork.algorithms.dynamics.crba import mass_matrix
from linkwork.algorithms.dynamics.rnea import inverse_dynamics
from linkwork.algorithms.kinematics import frames, jacobians
from linkwork.mechanics.skeleton import skeleton_of
from linkwork.spatial.blocks import Vec
from linkwork.spatial.source import so3

GRAVITY = np.array([0.3, -0.7, -9.8])
AXES = {
    "x": (1.0, 0.0, 0.0),
    "against y": (0.0, -1.0, 0.0),
    "z": (0.0, 0.0, 1.0),
    "tilted": (2 / 3, -1 / 3, 2 / 3),
}
EXCHANGED = np.roll(np.eye(3), 1, axis=0)  # x to y, y to z, z to x


def mounted_at_an_angle(kind, axis, rng):
    """Three links; mounts exchange the axes, and rotate about that of the joint."""
    builder = lw.ModelBuilder("chain")
    names = ["first", "middle", "last"]
    for name in names:
        builder.add_link(name, inertia=random_inertia(rng))
    for number, (above, link) in enumerate(pairwise(names)):
        rotation = so3.exp(rng.uniform(0.3, 1.2) * np.array(axis))
        mounts = [np.eye(4), np.eye(4)]
        for mount, turn in zip(mounts, (EXCHANGED, np.eye(3)), strict=True):
            mount[:3, :3], mount[:3, 3] = turn @ rotation, rng.normal(size=3)
        builder.add_joint(
            f"joint{number}",
            kind,
            above,
            link,
            axis=axis,
            pitch=0.2 if kind == "helical" else 0.0,
            first_H_joint=lw.Pose.from_matrix(mounts[0]),
            joint_H_second=lw.Pose.from_matrix(mounts[1]),
        )
    return builder.build()


def link_jacobians(case):
    """(links, 6, nv) of the model's links, each in its own axes."""
    links = range(len(case.model.links))
    return [case.at(jacobians.jacobian, frame=link, velocity="body") for link in links]


def weighed(case):
    """The mass matrix as the sum of what each link of the model weighs."""
    inertias = [spatial_inertia(link.inertia) for link in case.model.links]
    return sum(J.T @ I_k @ J for J, I_k in zip(link_jacobians(case), inertias, strict=True))


def gravity_force(case):
    """The forces that hold the links of the model."""
    force = np.zeros(case.layout.nv)
    q = list(case.q)
    for index, (link, J) in enumerate(zip(case.model.links, link_jacobians(case), strict=True)):
        R = np.array(frames.frame_pose(case.skeleton, q, index), dtype=float)[:3, :3]
        fall = np.concatenate([R.T @ GRAVITY, np.zeros(3)])
        force -= J.T @ spatial_inertia(link.inertia) @ fall
    return force


@pytest.mark.parametrize("base", ["first", "last"])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("kind", MOVING_KINDS)
def test_mounts_rotated_about_the_axis_of_their_joint(kind, axis, base, rng):
    """Some kinds take the angle as an offset of theirs; for others it stays in the mount."""
    case = Case(mounted_at_an_angle(kind, AXES[axis], rng), rng, floating=True, base=base)

    poses = frames.frame_poses(case.skeleton, list(case.q), *case.frames)
    M = case.at(mass_matrix, velocity="body")

    assert_close(poses, walked_poses(case.model, base, case.q, floating=True), rtol=1e-13)
    assert_close(M, weighed(case), rtol=1e-12)


@pytest.mark.parametrize("floating", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_inertia_lumped_into_the_parent_changes_nothing(seed, floating):
    case = random_case(seed, floating=floating)
    bodies = range(1, len(case.skeleton.bodies))
    M, q = weighed(case), list(case.q)

    for not_lumped in ((), bodies, bodies[::2]):
        skeleton = skeleton_of(case.tree, case.layout, not_lumped=not_lumped)
        parameters = {"velocity": "body", "gravity": Vec(*GRAVITY.tolist())}
        held = inverse_dynamics(skeleton, q, None, None, **parameters)

        assert_close(mass_matrix(skeleton, q, velocity="body"), M, rtol=1e-12)
        assert_close(held, gravity_force(case), rtol=1e-11)
        for body in not_lumped:
            mass = case.tree.inertias[body, 0]
            assert skeleton.bodies[body].inertia.mass >= mass - 1e-12
