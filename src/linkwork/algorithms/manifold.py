"""Steps on the manifold of configurations.

A step is six numbers of the base and the coordinates of the joints, as nu: the motion at constant
nu during one second.

    base        mixed      o + v,                 exp(w) R
                body       (R, o) exp(v, w)
                inertial   exp(v, w) (R, o)
    joints      spherical  R exp(w)
                floating, planar   as a body base, in space and in the plane
                others     their coordinate grows; (cos, sin) turns

`difference` undoes `integrate`, by the shortest rotation. Quaternions and (cos, sin) come out with
norm 1. Arrays (..., n), written for any kind of entry.
"""

from __future__ import annotations

from collections.abc import Callable

from linkwork.arrays import Array, atan2, cos, join, matvec, sin, stack
from linkwork.mechanics.base import Representation
from linkwork.model.kinds import KINDS
from linkwork.model.layout import Layout
from linkwork.spatial.source import quat, so3


def integrate(layout: Layout, q: Array, step: Array, *, velocity: Representation) -> Array:
    """(..., nq) configuration after a step (..., nv) from q (..., nq)."""
    parts: list[Array] = []
    if layout.floating:
        moved = _base_moved(q[..., :7], step[..., :6], velocity)
        parts.append(KINDS["floating"].normalized(moved))
    for name in layout.joint_names:
        kind = layout.model.joint(name).kind
        move = _MOVES.get(kind, _added)
        moved = move(q[..., layout.q[name]], step[..., layout.nu[name]])
        parts.append(KINDS[kind].normalized(moved))
    return join(parts) if parts else q


def difference(layout: Layout, start: Array, end: Array, *, velocity: Representation) -> Array:
    """(..., nv) the step that leads from one configuration (..., nq) to another."""
    parts: list[Array] = []
    if layout.floating:
        parts.append(_base_between(start[..., :7], end[..., :7], velocity))
    for name in layout.joint_names:
        between = _BETWEEN.get(layout.model.joint(name).kind, _subtracted)
        parts.append(between(start[..., layout.q[name]], end[..., layout.q[name]]))
    return join(parts) if parts else start


def normalize(layout: Layout, q: Array) -> Array:
    """(..., nq) configuration with quaternions and (cos, sin) scaled to norm 1."""
    parts = [KINDS["floating"].normalized(q[..., :7])] if layout.floating else []
    for name in layout.joint_names:
        kind = KINDS[layout.model.joint(name).kind]
        parts.append(kind.normalized(q[..., layout.q[name]]))
    return join(parts) if parts else q


def _base_moved(pose: Array, step: Array, velocity: Representation) -> Array:
    if velocity == "body":
        return _floating_moved(pose, step)
    o, wxyz = pose[..., :3], pose[..., 3:]
    v, w = step[..., :3], step[..., 3:]
    turn = quat.exp(w)
    if velocity == "inertial":
        o, v = quat.rotate(turn, o), matvec(so3.left_jacobian(w), v)
    return join([o + v, quat.multiply(turn, wxyz)])


def _base_between(start: Array, end: Array, velocity: Representation) -> Array:
    if velocity == "body":
        return _floating_between(start, end)
    turn = quat.multiply(end[..., 3:], quat.conjugate(start[..., 3:]))
    w = quat.log(turn)
    if velocity == "mixed":
        return join([end[..., :3] - start[..., :3], w])
    moved = end[..., :3] - quat.rotate(turn, start[..., :3])
    return join([matvec(so3.left_jacobian_inverse(w), moved), w])


def _floating_moved(pose: Array, step: Array) -> Array:
    o, wxyz = pose[..., :3], pose[..., 3:]
    v, w = step[..., :3], step[..., 3:]
    o = o + quat.rotate(wxyz, matvec(so3.left_jacobian(w), v))
    return join([o, quat.multiply(wxyz, quat.exp(w))])


def _floating_between(start: Array, end: Array) -> Array:
    back = quat.conjugate(start[..., 3:])
    w = quat.log(quat.multiply(back, end[..., 3:]))
    apart = quat.rotate(back, end[..., :3] - start[..., :3])
    return join([matvec(so3.left_jacobian_inverse(w), apart), w])


def _spherical_moved(wxyz: Array, w: Array) -> Array:
    return quat.multiply(wxyz, quat.exp(w))


def _spherical_between(start: Array, end: Array) -> Array:
    return quat.log(quat.multiply(quat.conjugate(start), end))


def _cos_sin_moved(theta: Array, step: Array) -> Array:
    c, s = cos(step[..., 0]), sin(step[..., 0])
    x, y = theta[..., 0], theta[..., 1]
    return stack([c * x - s * y, s * x + c * y])


def _cos_sin_between(start: Array, end: Array) -> Array:
    x, y = start[..., 0], start[..., 1]
    sine, cosine = x * end[..., 1] - y * end[..., 0], x * end[..., 0] + y * end[..., 1]
    return atan2(sine, cosine)[..., None]


def _planar_moved(theta: Array, step: Array) -> Array:
    w = _about_z(step[..., 2])
    slid = matvec(so3.left_jacobian(w), _in_plane(step))
    slid = matvec(so3.exp(_about_z(theta[..., 2])), slid)
    return join([theta[..., :2] + slid[..., :2], theta[..., 2:] + step[..., 2:]])


def _planar_between(start: Array, end: Array) -> Array:
    turn = end[..., 2:] - start[..., 2:]
    apart = matvec(so3.exp(_about_z(-start[..., 2])), _in_plane(end - start))
    slid = matvec(so3.left_jacobian_inverse(_about_z(turn[..., 0])), apart)
    return join([slid[..., :2], turn])


def _in_plane(xy: Array) -> Array:
    return stack([xy[..., 0], xy[..., 1], 0 * xy[..., 0]])


def _about_z(angle: Array) -> Array:
    return stack([0 * angle, 0 * angle, angle])


def _added(theta: Array, step: Array) -> Array:
    return theta + step


def _subtracted(start: Array, end: Array) -> Array:
    return end - start


_Two = Callable[[Array, Array], Array]
_MOVES: dict[str, _Two] = {
    "revolute_cos_sin": _cos_sin_moved,
    "planar": _planar_moved,
    "spherical": _spherical_moved,
    "floating": _floating_moved,
}
_BETWEEN: dict[str, _Two] = {
    "revolute_cos_sin": _cos_sin_between,
    "planar": _planar_between,
    "spherical": _spherical_between,
    "floating": _floating_between,
}
