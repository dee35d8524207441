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
from linkwork.spatial.blocks import ZERO_MATRIX, Motion, Scalar, Vec


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
    up = {0: base.R.T @ -gravity}  # in the axes of each body
    to_rows = {0: R}  # rotation of the base, and of the bodies on it, in the axes of its rows
    hessian: Matrix = [[0.0] * layout.nv for _ in range(layout.nv)]
    for number, pose in joints.items():
        parent = skeleton.bodies[number].parent
        up[number] = pose.R.T @ up[parent]
        if not parent:
            to_rows[number] = R @ pose.R
    a = R @ up[0] if velocity == "body" else -gravity  # in the axes of the base's rows
    for number, pose in joints.items():
        moved = [_moved(column, mass[number], first[number]) for column in pose.columns]
        _add_own(hessian, pose, moved, (mass[number], first[number], up[number]))
        for i, start in zip(pose.mount.nu_indices, moved, strict=True):
            reached, x = number, start
            while parent := skeleton.bodies[reached].parent:
                x = joints[reached].R @ x
                reached = parent
                turned = x.cross(up[reached])
                for j, (_, z) in _columns(joints[reached]):
                    value = z.dot(turned)
                    hessian[i][j] = hessian[i][j] + value
                    hessian[j][i] = hessian[j][i] + value
            if layout.floating:
                turned = (to_rows[reached] @ x).cross(a)
                for k, value in enumerate(turned, start=3):
                    hessian[i][k] = hessian[k][i] = hessian[k][i] + value
    if layout.floating:
        h = R @ first[0]
        _add_base(hessian, velocity, (mass[0], h, a), base.o)
    return hessian


def _add_own(
    hessian: Matrix, pose: JointPose, moved: list[Vec], body: tuple[Scalar, Vec, Vec]
) -> None:
    """Add the entries of the coordinates of one joint among themselves."""
    mass, first, up = body
    changes = subspace_changes(pose, None, None, in_body=True)
    for place, (k, (_, z)) in enumerate(_columns(pose)):
        for other, (j, x) in enumerate(zip(pose.mount.nu_indices, moved, strict=True)):
            value = x.dot(up.cross(z))
            if changes:
                value = value + up.dot(_moved(changes[place].columns[other], mass, first))
            hessian[j][k] = hessian[j][k] + value


def _add_base(
    hessian: Matrix, velocity: Representation, robot: tuple[Scalar, Vec, Vec], o: Vec
) -> None:
    """Set the entries of the base's coordinates among themselves."""
    mass, h, a = robot
    pushed = (mass * a).wedge  # m [a]
    if velocity == "body":
        force, moment = pushed, h.wedge @ a.wedge
    else:
        arm = h + mass * o if velocity == "inertial" else h
        force, moment = ZERO_MATRIX, a.wedge @ arm.wedge
    for i in range(3):
        hessian[i][3:6] = force[i]
        hessian[3 + i][3:6] = moment[i]
        if velocity == "inertial":
            hessian[3 + i][:3] = -pushed[i]


def _columns(pose: JointPose) -> list[tuple[int, Motion]]:
    return list(zip(pose.mount.nu_indices, pose.columns, strict=True))


def _moved(column: Motion, mass: Scalar, first: Vec) -> Vec:
    """Return how a motion moves the first moment: m s + z x h."""
    s, z = column
    return mass * s + z.cross(first)
