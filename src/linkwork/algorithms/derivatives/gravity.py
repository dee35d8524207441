"""Derivative of the gravity force with respect to q: the Hessian of the potential energy.

With m and h the mass and the first moment of what a joint carries, about the joint, a column (s, z)
of its motion subspace moves the first moment of the robot by

    x = m s + z x h         and the gravity force along it is  a . x,   a = -gravity

A displacement along a coordinate j nearer to the base turns x by z_j, which gives

    d(a . x_i) / dq_j = z_j . (x_i x a) = d(a . x_j) / dq_i

The base is treated likewise; what it does to itself depends on the representation.
"""

from __future__ import annotations

from linkwork.algorithms.derivatives.subtrees import subspace_changes
from linkwork.algorithms.dynamics.crba import composites
from linkwork.algorithms.kinematics.frames import Matrix, Scalars, joint_poses
from linkwork.mechanics.base import Representation, base_of
from linkwork.mechanics.joints import JointPose
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import (
    ZERO,
    Scalar,
    Twist,
    Vec,
    add,
    apply,
    apply_t,
    cross,
    dot,
    matmul,
    neg,
    plus,
    scale,
    wedge,
)


def gravity_force_derivative(
    skeleton: Skeleton, q: Scalars, *, gravity: Vec, velocity: Representation
) -> Matrix:
    """(nv, nv) derivative of the gravity force with respect to q."""
    layout = skeleton.layout
    base = base_of(layout, q, velocity)
    joints = joint_poses(skeleton, q)
    carried = composites(skeleton, joints)
    mass = {number: inertia.mass for number, inertia in carried.items()}
    first = {number: inertia.first_moment for number, inertia in carried.items()}
    R, _ = base.expressed_at
    up = {0: apply_t(base.R, neg(gravity))}  # in the axes of each body
    to_rows = {0: R}  # rotation of the base, and of the bodies on it, in the axes of its rows
    hessian: Matrix = [[0.0] * layout.nv for _ in range(layout.nv)]
    for number, pose in joints.items():
        parent = skeleton.bodies[number].parent
        up[number] = apply_t(pose.R, up[parent])
        if not parent:
            to_rows[number] = matmul(R, pose.R)
    a = apply(R, up[0]) if velocity == "body" else neg(gravity)  # in the axes of the base's rows
    for number, pose in joints.items():
        moved = [_moved(column, mass[number], first[number]) for column in pose.columns]
        _add_own(hessian, pose, moved, (mass[number], first[number], up[number]))
        for i, start in zip(pose.mount.nu_indices, moved, strict=True):
            reached, x = number, start
            while parent := skeleton.bodies[reached].parent:
                x = apply(joints[reached].R, x)
                reached = parent
                turned = cross(x, up[reached])
                for j, (_, z) in _columns(joints[reached]):
                    value = dot(z, turned)
                    hessian[i][j] = plus(hessian[i][j], value)
                    hessian[j][i] = plus(hessian[j][i], value)
            if layout.floating:
                turned = cross(apply(to_rows[reached], x), a)
                for k, value in enumerate(turned, start=3):
                    hessian[i][k] = hessian[k][i] = plus(hessian[k][i], value)
    if layout.floating:
        h = apply(R, first[0])
        _add_base(hessian, velocity, (mass[0], h, a), base.o)
    return hessian


def _add_own(
    hessian: Matrix, pose: JointPose, moved: list[Vec], body: tuple[Scalar, Vec, Vec]
) -> None:
    """Entries of the coordinates of one joint among themselves."""
    mass, first, up = body
    changes = subspace_changes(pose, None, None, in_body=True)
    for place, (k, (_, z)) in enumerate(_columns(pose)):
        for other, (j, x) in enumerate(zip(pose.mount.nu_indices, moved, strict=True)):
            value = dot(x, cross(up, z))
            if changes:
                value = plus(value, dot(up, _moved(changes[place].columns[other], mass, first)))
            hessian[j][k] = plus(hessian[j][k], value)


def _add_base(
    hessian: Matrix, velocity: Representation, robot: tuple[Scalar, Vec, Vec], o: Vec
) -> None:
    """Entries of the base's coordinates among themselves."""
    mass, h, a = robot
    pushed = wedge(scale(mass, a))  # m [a]
    if velocity == "body":
        force, moment = pushed, matmul(wedge(h), wedge(a))
    else:
        arm = add(h, scale(mass, o)) if velocity == "inertial" else h
        force, moment = (ZERO, ZERO, ZERO), matmul(wedge(a), wedge(arm))
    for i in range(3):
        hessian[i][3:6] = force[i]
        hessian[3 + i][3:6] = moment[i]
        if velocity == "inertial":
            hessian[3 + i][:3] = neg(pushed[i])


def _columns(pose: JointPose) -> list[tuple[int, Twist]]:
    return list(zip(pose.mount.nu_indices, pose.columns, strict=True))


def _moved(column: Twist, mass: Scalar, first: Vec) -> Vec:
    """How a motion moves the first moment: m s + z x h."""
    s, z = column
    return add(scale(mass, s), cross(z, first))
