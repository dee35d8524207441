"""Derivatives of the velocity and acceleration of a frame with respect to q, nu and nu_dot.

Derivatives with respect to q are taken in the tangent space of `integrate`, with the entries of nu
and nu_dot held constant. A unit step along one coordinate of a joint displaces all bodies beyond it
by the column s of the Jacobian. With V, A the velocity and acceleration of some body, and V_r, A_r
those of the frame as seen from the body:

    inertial   dV = s x V_r               dA = s x A_r + V x (s x V_r)
    body       dV = V x s                 dA = A x s + (V x s) x V_r
    mixed      dV = (a x v_r + w x d,     dA = (a x a_r + 2 w x (a x v_r) + W d,
                     a x w_r)                   a x u_r + w x (a x w_r))

with s = (d, a), V = (v, w), A_r = (a_r, u_r) and W = [u] + [w]^2. The body is the joint's parent if
S is constant in the axes of the body that the joint holds, and that body itself if S is constant
in those of the parent, as of joints read backwards; either of them, if S is one constant column.
With respect to nu, with p the parent and k the body that the joint holds,

    inertial, body    dA = s x V_kr + V_p x s
    mixed             dA = (a x (v_kr + v_pr) + (w_k + w_p) x d,  a x w_kr + w_p x a)

For kinds whose S depends on the position, the change of S itself is added. Only joints between the
base and the frame have columns that are not zero.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from linkwork.algorithms.derivatives.subtrees import SubspaceChange, subspace_changes
from linkwork.algorithms.dynamics.rnea import body_motion
from linkwork.algorithms.kinematics.frames import Matrix, Scalars, path_poses
from linkwork.algorithms.kinematics.jacobians import (
    PathColumns,
    assembled,
    path_columns,
    path_velocities,
    velocities_of_frame,
    written_as_columns,
)
from linkwork.mechanics.base import Base, Representation, base_of
from linkwork.mechanics.joints import JointPose, combined
from linkwork.mechanics.skeleton import Body, Skeleton
from linkwork.spatial.blocks import ZERO, ZERO_MOTION, Motion, Vec


def velocity_derivatives(
    skeleton: Skeleton, q: Scalars, nu: Scalars, frame: int, *, velocity: Representation
) -> tuple[Matrix, Matrix]:
    """(6, nv) derivatives of `frame_velocity` w.r.t. q, and nu: the Jacobian."""
    formulas = _REPRESENTATIONS[velocity]
    path = _path(skeleton, q, nu, None, frame=frame, velocity=velocity)
    by_q: list[list[Motion]] = []
    for joint in path.joints:
        by_q.append([formulas.velocity_by_q(s, joint.pivot) for s in joint.columns])
        for k, change in enumerate(joint.changes):
            by_q[-1][k] = by_q[-1][k] + change.velocity
    of_base = [formulas.base_velocity_by_q(s, path.base) for s in path.of_base]
    return path.matrix(of_base, by_q), path.jacobian


def acceleration_derivatives(
    skeleton: Skeleton,
    q: Scalars,
    nu: Scalars,
    nu_dot: Scalars,
    frame: int,
    *,
    velocity: Representation,
) -> tuple[Matrix, Matrix, Matrix]:
    """(6, nv) derivatives of `frame_acceleration` w.r.t. q, nu, and nu_dot: the Jacobian."""
    formulas = _REPRESENTATIONS[velocity]
    path = _path(skeleton, q, nu, nu_dot, frame=frame, velocity=velocity)
    by_q: list[list[Motion]] = []
    by_nu: list[list[Motion]] = []
    for joint in path.joints:
        views = joint.parent, joint.child
        by_q.append([formulas.acceleration_by_q(s, joint.pivot) for s in joint.columns])
        by_nu.append([formulas.carried(s, *views) for s in joint.columns])
        for k, change in enumerate(joint.changes):
            changed = formulas.carried(change.velocity, *views) + change.acceleration
            by_q[-1][k] = by_q[-1][k] + changed
            by_nu[-1][k] = by_nu[-1][k] + change.bias
    of_base = [formulas.base_acceleration_by_q(s, path.base) for s in path.of_base]
    driven = [formulas.base_acceleration_by_nu(s, path.base, path.arm) for s in path.of_base]
    return path.matrix(of_base, by_q), path.matrix(driven, by_nu), path.jacobian


@dataclass(frozen=True, slots=True)
class _BodyView:
    """A body on the way to the frame, and the frame seen from there, written as the columns are."""

    V: Motion  # velocity of the body; in mixed, its angular part alone
    A: Motion  # derivative of V
    V_r: Motion  # velocity of the frame as seen from the body
    A_r: Motion  # its acceleration as seen from there; in mixed, that of the frame's origin


@dataclass(frozen=True, slots=True)
class _Joint:
    """A joint on the way to the frame."""

    columns: Sequence[Motion]
    parent: _BodyView
    child: _BodyView  # the body that the joint holds
    pivot: _BodyView  # the one of the two in the formulas w.r.t. q
    changes: Sequence[SubspaceChange]  # none for a constant S


@dataclass(frozen=True, slots=True)
class _Path:
    """The joints that move a frame, from the frame inward, and the base."""

    skeleton: Skeleton
    columns: PathColumns
    of_base: Sequence[Motion]
    arm: Vec  # from the base's origin to where columns are written
    joints: Sequence[_Joint]
    base: _BodyView

    @property
    def jacobian(self) -> Matrix:
        """(6, nv) the columns."""
        return assembled(self.skeleton, self.of_base, self.columns)

    def matrix(self, of_base: Sequence[Motion], columns: Sequence[list[Motion]]) -> Matrix:
        """(6, nv) of other columns in the same order."""
        bodies = [body for body, _ in self.columns]
        return assembled(self.skeleton, of_base, list(zip(bodies, columns, strict=True)))


class _Representation(ABC):
    """The formulas of one representation, for a column s."""

    uses_child_motion = True  # for one constant column: whether the pivot is the joint's body

    def of_base(self, base: Base, columns: Sequence[Motion], values: Scalars | None) -> Motion:
        """Return V of the base from nu, or A from nu_dot."""
        return combined(values[:6], columns) if base.floating and values else ZERO_MOTION

    def seen(self, v_J: Motion, V_r: Motion, beyond: Motion) -> Motion:
        """Return what the velocity v_J of a joint adds to A_r; V_r is seen from parent and body."""
        return v_J.cross(beyond)

    @abstractmethod
    def velocity_by_q(self, s: Motion, at: _BodyView) -> Motion:
        """Return the derivative w.r.t. the position of a joint."""

    @abstractmethod
    def acceleration_by_q(self, s: Motion, at: _BodyView) -> Motion:
        """Return the derivative w.r.t. the position of a joint."""

    def carried(self, s: Motion, parent: _BodyView, child: _BodyView) -> Motion:
        """Return the change of the acceleration by a change s of S nu."""
        return s.cross(child.V_r) + parent.V.cross(s)

    def base_velocity_by_q(self, s: Motion, at: _BodyView) -> Motion:
        """Return the derivative w.r.t. the pose of the base."""
        return self.velocity_by_q(s, at)

    def base_acceleration_by_q(self, s: Motion, at: _BodyView) -> Motion:
        """Return the derivative w.r.t. the pose of the base."""
        return self.acceleration_by_q(s, at)

    def base_acceleration_by_nu(self, s: Motion, at: _BodyView, arm: Vec) -> Motion:
        """Return the derivative w.r.t. the velocity of the base."""
        return s.cross(at.V_r)


class _Inertial(_Representation):
    def velocity_by_q(self, s: Motion, at: _BodyView) -> Motion:
        return s.cross(at.V_r)

    def acceleration_by_q(self, s: Motion, at: _BodyView) -> Motion:
        return s.cross(at.A_r) + at.V.cross(s.cross(at.V_r))


class _Body(_Representation):
    uses_child_motion = False

    def velocity_by_q(self, s: Motion, at: _BodyView) -> Motion:
        return at.V.cross(s)

    def acceleration_by_q(self, s: Motion, at: _BodyView) -> Motion:
        return at.A.cross(s) + at.V.cross(s).cross(at.V_r)

    def base_velocity_by_q(self, s: Motion, at: _BodyView) -> Motion:
        return ZERO_MOTION

    def base_acceleration_by_q(self, s: Motion, at: _BodyView) -> Motion:
        return ZERO_MOTION


class _Mixed(_Representation):
    def of_base(self, base: Base, columns: Sequence[Motion], values: Scalars | None) -> Motion:
        return Motion(ZERO, base.own_part(values)[1])

    def seen(self, v_J: Motion, V_r: Motion, beyond: Motion) -> Motion:
        # of the frame's origin: w_J x v_J of the joint, and 2 w_J x v_r of Coriolis
        return Motion(v_J[1].cross(V_r[0] + beyond[0]), v_J[1].cross(beyond[1]))

    def velocity_by_q(self, s: Motion, at: _BodyView) -> Motion:
        (d, a), (v_r, w_r), w = s, at.V_r, at.V[1]
        return Motion(a.cross(v_r) + w.cross(d), a.cross(w_r))

    def acceleration_by_q(self, s: Motion, at: _BodyView) -> Motion:
        (d, a), (v_r, w_r), (a_r, u_r), w = s, at.V_r, at.A_r, at.V[1]
        swept, W = w.cross(a.cross(v_r)), body_motion(w, at.A[1], ZERO).W
        linear = a.cross(a_r) + (swept + swept) + W @ d
        return Motion(linear, a.cross(u_r) + w.cross(a.cross(w_r)))

    def carried(self, s: Motion, parent: _BodyView, child: _BodyView) -> Motion:
        (d, a), (v_p, _), (v_k, w_k) = s, parent.V_r, child.V_r
        linear = a.cross(v_k + v_p) + (child.V[1] + parent.V[1]).cross(d)
        return Motion(linear, a.cross(w_k) + parent.V[1].cross(a))

    def base_velocity_by_q(self, s: Motion, at: _BodyView) -> Motion:
        return ZERO_MOTION if s[1].is_zero else self.velocity_by_q(s, at)

    def base_acceleration_by_q(self, s: Motion, at: _BodyView) -> Motion:
        return ZERO_MOTION if s[1].is_zero else self.acceleration_by_q(s, at)

    def base_acceleration_by_nu(self, s: Motion, at: _BodyView, arm: Vec) -> Motion:
        if s[1].is_zero:
            return ZERO_MOTION
        # 2 a x v_r + a x (w x arm) + w x (a x arm)
        (d, a), (v_r, w_r), w = s, at.V_r, at.V[1]
        linear = a.cross(v_r + v_r + w.cross(arm)) + w.cross(d)
        return Motion(linear, a.cross(w_r))


_REPRESENTATIONS: dict[Representation, _Representation] = {
    "mixed": _Mixed(),
    "body": _Body(),
    "inertial": _Inertial(),
}


def _path(
    skeleton: Skeleton,
    q: Scalars,
    nu: Scalars,
    nu_dot: Scalars | None,
    *,
    frame: int,
    velocity: Representation,
) -> _Path:
    formulas, base = _REPRESENTATIONS[velocity], base_of(skeleton.layout, q, velocity)
    poses = path_poses(skeleton, q, skeleton.frames[frame][0])
    columns, of_base, arm = path_columns(skeleton, base, poses, frame, velocity)
    of_joints = {number: _changing_twists(pose, nu, nu_dot) for number, pose in poses.items()}
    changing = written_as_columns(skeleton, base, poses, of_joints, frame=frame, velocity=velocity)
    written = [twists for _, twists in changing] or [[] for _ in columns]
    v_J = [_times(body, S, nu) for body, S in columns]
    a_J = [
        _times(body, S, nu_dot, twists[0] if twists else ZERO_MOTION)
        for (body, S), twists in zip(columns, written, strict=True)
    ]
    V = path_velocities(v_J, formulas.of_base(base, of_base, nu))
    V_r = velocities_of_frame(v_J)
    A = [formulas.of_base(base, of_base, nu_dot)]  # from the base outward
    for k, (body, S) in reversed([*enumerate(columns)]):
        # A = A_p + S nu_dot + S_dot nu + V_p x S nu
        A.append(_times(body, [V[k + 1].cross(s) for s in S], nu, A[-1] + a_J[k]))
    A_r = [ZERO_MOTION]
    for k in range(len(columns)):
        added = formulas.seen(v_J[k], V_r[k + 1], V_r[k])
        A_r.append(A_r[-1] + a_J[k] + added)
    views = [_BodyView(*view) for view in zip(V, reversed(A), V_r, A_r, strict=True)]
    joints: list[_Joint] = []
    for (body, S), twists, (child, parent) in zip(columns, written, pairwise(views), strict=True):
        parts = [twists[k : k + 3] for k in range(1, len(twists), 3)]
        changes = [SubspaceChange(v, a, bias) for v, a, bias in parts]
        is_child = body.is_backwards if len(S) > 1 or changes else formulas.uses_child_motion
        joints.append(_Joint(S, parent, child, child if is_child else parent, changes))
    return _Path(skeleton, columns, of_base, arm, joints, views[-1])


def _changing_twists(pose: JointPose, nu: Scalars, nu_dot: Scalars | None) -> list[Motion]:
    """Return S_dot nu, and three twists for the change of S along each coordinate; or []."""
    changes = subspace_changes(pose, nu, nu_dot, in_body=False)
    twists = [x for c in changes for x in (c.velocity, c.acceleration, c.bias)]
    return [pose.bias(nu), *twists] if changes else []


def _times(
    body: Body, columns: Sequence[Motion], values: Scalars | None, start: Motion = ZERO_MOTION
) -> Motion:
    """Add columns of a joint, times its part of nu or nu_dot, to a twist; None for zeros."""
    if values is None:
        return start
    return combined([values[k] for k in body.nu_indices], columns, start)
