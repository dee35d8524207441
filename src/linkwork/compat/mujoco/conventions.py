"""Maps between the vectors and matrices of linkwork and those of MuJoCo.

The two differ by the positions qpos0 of the model and a linear map T of velocities:

    qpos - qpos0 = theta      qvel = T nu          qacc = T nu_dot + T_dot nu
    tau = T^T qfrc            M = T^T M_mj T       h = T^T (h_mj + M_mj T_dot nu)

T reorders the joints by name, repeats the leaders of dependent ones, and converts the velocity of
free bodies. Each method is named after its result.

A free body with rotation R, origin o and angular velocity w has in MuJoCo

    qvel = [velocity of o in the world; angular velocity in the body's axes]

Its block of T, with ^ the matrix of the cross product, and w and v the components of nu:

              T                       T^-1                     T_dot nu
    mixed     [1, 0; 0, R^T]          [1, 0; 0, R]             0
    body      [R, 0; 0, 1]            [R^T, 0; 0, 1]           [R (w x v); 0]
    inertial  [1, -o^; 0, R^T]        [1, o^ R; 0, R]          [w x (v + w x o); 0]

Batch     any leading axes, broadcast as NumPy does
Armature  included in MuJoCo's M (`mj_fullM`), and in linkwork's only with `joint_dynamics=True`;
          otherwise subtract `np.diag(dof_armature)`
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array, as_array, cross, matvec, transpose
from linkwork.errors import (
    ArgumentError,
    Finding,
    ModelError,
    model_error,
    nearest,
    shown,
)
from linkwork.io.mjcf.model import floating_body
from linkwork.io.mjcf.package import MjModel, Names, kind_of, names_of, need_mjmodel
from linkwork.kindyn import KinDyn
from linkwork.mechanics.base import Representation
from linkwork.model.joints import KINDS
from linkwork.model.layout import Layout
from linkwork.model.model import Model
from linkwork.model.numbers import settle
from linkwork.model.parts import Joint
from linkwork.model.pose import IDENTITY
from linkwork.spatial.source import motion, quat, se3, so3


@dataclass(frozen=True, init=False)
class Conventions:
    """Maps between the vectors and matrices of linkwork and those of MuJoCo, for one robot.

    Args:
        robot: a `KinDyn`, whose velocity representation is the one converted; or a `Model`, for
            mixed velocities, with a floating base if MuJoCo's model has one.
        mj_model: a `mujoco.MjModel` with the same moving joints, by name.

    Raises:
        ModelError: the moving joints are not the same.
    """

    representation: Representation  # of velocities in linkwork
    pairs: tuple[Pair, ...]  # one for each joint in MuJoCo
    nq: int  # lengths in linkwork
    nv: int
    mj_nq: int  # lengths in MuJoCo
    mj_nv: int

    def __init__(self, robot: KinDyn | Model, mj_model: MjModel) -> None:
        need_mjmodel(mj_model)
        kd = robot
        if isinstance(robot, Model):
            kd = KinDyn(robot, floating=floating_body(mj_model) is not None)
        if not isinstance(kd, KinDyn):
            raise ArgumentError(f"robot: expected a KinDyn or a Model, got {shown(robot)}")
        settle(self, representation=kd.representation, nq=kd.nq, nv=kd.nv)
        settle(self, mj_nq=int(mj_model.nq), mj_nv=int(mj_model.nv))
        settle(self, pairs=paired(kd.layout, str(kd.base), mj_model))

    def qpos(self, q: ArrayLike) -> Array:
        """(..., mj_nq) MuJoCo's positions; those of dependent joints follow their leaders."""
        q = _vector("q", q, self.nq)
        qpos = np.zeros((*q.shape[:-1], self.mj_nq))
        for pair in self.pairs:
            theta = q[..., pair.q]
            if pair.is_dependent:
                theta = pair.multiplier * theta + pair.offset
            qpos[..., pair.qpos] = theta + pair.qpos0
        return qpos

    def q(self, qpos: ArrayLike) -> Array:
        """(..., nq) linkwork's positions; those of dependent joints are ignored."""
        qpos = _vector("qpos", qpos, self.mj_nq)
        q = np.zeros((*qpos.shape[:-1], self.nq))
        for pair in self.pairs:
            if not pair.is_dependent:
                q[..., pair.q] = qpos[..., pair.qpos] - pair.qpos0
        return q

    def qvel(self, q: ArrayLike, nu: ArrayLike) -> Array:
        """(..., mj_nv) T nu."""
        return matvec(self.velocity_map(q), _vector("nu", nu, self.nv))

    def nu(self, qpos: ArrayLike, qvel: ArrayLike) -> Array:
        """(..., nv) T^-1 qvel; the velocities of dependent joints are ignored."""
        return matvec(self.velocity_map_inverse(self.q(qpos)), _vector("qvel", qvel, self.mj_nv))

    def qacc(self, q: ArrayLike, nu: ArrayLike, nu_dot: ArrayLike) -> Array:
        """(..., mj_nv) T nu_dot + T_dot nu."""
        return matvec(self.velocity_map(q), _vector("nu_dot", nu_dot, self.nv)) + self.drift(q, nu)

    def nu_dot(self, qpos: ArrayLike, qvel: ArrayLike, qacc: ArrayLike) -> Array:
        """(..., nv) T^-1 (qacc - T_dot nu)."""
        q, nu = self.q(qpos), self.nu(qpos, qvel)
        return matvec(
            self.velocity_map_inverse(q), _vector("qacc", qacc, self.mj_nv) - self.drift(q, nu)
        )

    def qfrc(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """(..., mj_nv) T^-T tau; forces of dependent joints are 0, included in their leaders'."""
        return matvec(transpose(self.velocity_map_inverse(q)), _vector("tau", tau, self.nv))

    def tau(self, qpos: ArrayLike, qfrc: ArrayLike) -> Array:
        """(..., nv) T^T qfrc."""
        return matvec(transpose(self.velocity_map(self.q(qpos))), _vector("qfrc", qfrc, self.mj_nv))

    def full_m(self, q: ArrayLike, mass_matrix: ArrayLike) -> Array:
        """(..., mj_nv, mj_nv) M_mj = T^-T M T^-1, without armature.

        Raises:
            ModelError: there are dependent joints, which have no rows in M.
        """
        self._reject_dependent_joints("M of MuJoCo")
        inverse = self.velocity_map_inverse(q)
        return transpose(inverse) @ _matrix("mass_matrix", mass_matrix, self.nv) @ inverse

    def mass_matrix(self, qpos: ArrayLike, full_m: ArrayLike) -> Array:
        """(..., nv, nv) M = T^T M_mj T."""
        T = self.velocity_map(self.q(qpos))
        return transpose(T) @ _matrix("full_m", full_m, self.mj_nv) @ T

    def qfrc_bias(
        self, q: ArrayLike, nu: ArrayLike, bias_force: ArrayLike, mass_matrix: ArrayLike
    ) -> Array:
        """(..., mj_nv) h_mj = T^-T (h - M T^-1 T_dot nu).

        Raises:
            ModelError: there are dependent joints, which have no entries in h.
        """
        self._reject_dependent_joints("qfrc_bias")
        M = _matrix("mass_matrix", mass_matrix, self.nv)
        correction = matvec(M, matvec(self.velocity_map_inverse(q), self.drift(q, nu)))
        return self.qfrc(q, _vector("bias_force", bias_force, self.nv) - correction)

    def bias_force(
        self, qpos: ArrayLike, qvel: ArrayLike, qfrc_bias: ArrayLike, full_m: ArrayLike
    ) -> Array:
        """(..., nv) h = T^T (h_mj + M_mj T_dot nu); M_mj without armature."""
        drift = self.drift(self.q(qpos), self.nu(qpos, qvel))
        correction = matvec(_matrix("full_m", full_m, self.mj_nv), drift)
        return self.tau(qpos, _vector("qfrc_bias", qfrc_bias, self.mj_nv) + correction)

    def jac(
        self, q: ArrayLike, jacobian: ArrayLike, world_H_frame: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """MuJoCo's two Jacobians of a frame's origin, as from `mj_jac` and `mj_jacBody`.

        Args:
            q: (..., nq) configuration.
            jacobian: (..., 6, nv) linkwork's Jacobian, in this representation.
            world_H_frame: (..., 4, 4) pose of the frame; not needed if velocities are mixed.

        Returns:
            (..., 3, mj_nv) jacp and (..., 3, mj_nv) jacr.

        Raises:
            ModelError: there are dependent joints, which have no columns in `jacobian`.
        """
        self._reject_dependent_joints("mj_jac")
        J = _matrix("jacobian", jacobian, 6, self.nv)
        mixed = _to_mixed(self.representation, world_H_frame) @ J @ self.velocity_map_inverse(q)
        return mixed[..., :3, :], mixed[..., 3:, :]

    def jacobian(
        self,
        qpos: ArrayLike,
        jacp: ArrayLike,
        jacr: ArrayLike,
        world_H_frame: ArrayLike | None = None,
    ) -> Array:
        """(..., 6, nv) linkwork's Jacobian, from those of `mj_jacBody`; the inverse of `jac`."""
        parts = [_matrix(name, J, 3, self.mj_nv) for name, J in (("jacp", jacp), ("jacr", jacr))]
        batch = np.broadcast_shapes(*(part.shape[:-2] for part in parts))
        rows = np.concatenate(
            [np.broadcast_to(part, (*batch, 3, self.mj_nv)) for part in parts], axis=-2
        )
        return (
            _to_mixed(self.representation, world_H_frame, inverse=True)
            @ rows
            @ self.velocity_map(self.q(qpos))
        )

    def velocity_map(self, q: ArrayLike) -> Array:
        """(..., mj_nv, nv) T with qvel = T nu."""
        q = _vector("q", q, self.nq)
        T = np.zeros((*q.shape[:-1], self.mj_nv, self.nv))
        for pair in self.pairs:
            factor = 1.0 if pair.is_free else pair.multiplier
            T[..., pair.qvel, pair.nu] = factor * self._block(pair, q)
        return T

    def velocity_map_inverse(self, q: ArrayLike) -> Array:
        """(..., nv, mj_nv) T^-1 with nu = T^-1 qvel; columns of dependent joints are 0."""
        q = _vector("q", q, self.nq)
        inverse = np.zeros((*q.shape[:-1], self.nv, self.mj_nv))
        for pair in self.pairs:
            if not pair.is_dependent:
                inverse[..., pair.nu, pair.qvel] = self._block(pair, q, inverse=True)
        return inverse

    def _block(self, pair: Pair, q: Array, *, inverse: bool = False) -> Array:
        """Return the block of T for a joint without its multiplier, or its inverse."""
        if pair.is_free:
            return _free_map(q[..., pair.q], self._free_velocity(pair), inverse=inverse)
        return np.eye(pair.nu.stop - pair.nu.start)

    def drift(self, q: ArrayLike, nu: ArrayLike) -> Array:
        """(..., mj_nv) T_dot nu; zero except for free bodies with body or inertial velocities."""
        q, nu = _vector("q", q, self.nq), _vector("nu", nu, self.nv)
        drift = np.zeros((*np.broadcast_shapes(q.shape[:-1], nu.shape[:-1]), self.mj_nv))
        for pair in self.pairs:
            if pair.is_free:
                block = _free_drift(q[..., pair.q], nu[..., pair.nu], self._free_velocity(pair))
                drift[..., pair.qvel] = block
        return drift

    def _free_velocity(self, pair: Pair) -> Representation:
        """Return the representation of a free body's velocity; body for a floating joint."""
        return "body" if pair.kind == "floating" else self.representation

    def _reject_dependent_joints(self, quantity: str) -> None:
        if any(pair.is_dependent for pair in self.pairs):
            message = f"{quantity} has elements for dependent joints, unlike linkwork's vectors"
            raise model_error(f"{message}; read the model with mimic=False")


def _vector(name: str, value: ArrayLike, size: int) -> Array:
    return as_array(value, name, (size,))


def _matrix(name: str, value: ArrayLike, rows: int, columns: int | None = None) -> Array:
    return as_array(value, name, (rows, rows if columns is None else columns))


def _to_mixed(
    representation: Representation, world_H_frame: ArrayLike | None, *, inverse: bool = False
) -> Array:
    """(..., 6, 6) transform of a frame's velocity to the mixed representation, or its inverse.

    body      [R v; R w]         inverse: [R^T v; R^T w]
    inertial  [v + w x o; w]     inverse: [v - w x o; w]
    """
    if representation == "mixed":
        return np.eye(6)
    if world_H_frame is None:
        raise ArgumentError(f"world_H_frame: required for {representation} velocities")
    pose = _matrix("world_H_frame", world_H_frame, 4)
    if representation == "body":
        mixed_H_frame = se3.pose(se3.rotation_of(pose), np.zeros(3))
    else:
        mixed_H_frame = se3.pose(np.eye(3), -se3.position_of(pose))
    return motion.motion_transform(se3.inverse(mixed_H_frame) if inverse else mixed_H_frame)


def _free_map(position_wxyz: Array, representation: Representation, *, inverse: bool) -> Array:
    """(..., 6, 6) T with qvel = T nu, at a pose (..., 7); or its inverse."""
    o, R = _position_and_rotation(position_wxyz)
    T = np.broadcast_to(np.eye(6), (*R.shape[:-2], 6, 6)).copy()
    if representation == "body":
        T[..., :3, :3] = transpose(R) if inverse else R
        return T
    T[..., 3:, 3:] = R if inverse else transpose(R)
    if representation == "inertial":
        T[..., :3, 3:] = so3.wedge(o) @ R if inverse else -so3.wedge(o)
    return T


def _free_drift(position_wxyz: Array, nu: Array, representation: Representation) -> Array:
    """(..., 6) T_dot nu: the part of qacc that is not T nu_dot."""
    o, R = _position_and_rotation(position_wxyz)
    v, w = motion.split(nu)
    match representation:
        case "body":
            linear = matvec(R, cross(w, v))
        case "inertial":
            linear = cross(w, v + cross(w, o))
        case "mixed":
            linear = np.zeros(np.broadcast_shapes(o.shape, v.shape))
    return motion.join(linear, np.zeros_like(linear))


def _position_and_rotation(position_wxyz: Array) -> tuple[Array, Array]:
    return position_wxyz[..., :3], quat.to_rotation(position_wxyz[..., 3:])


# Joints of both, matched by name.

BASE = "base"  # kind of the pair of the floating base and its free joint


@dataclass(frozen=True, slots=True)
class Pair:
    """A joint in MuJoCo, and its coordinates in both vectors.

    A dependent joint has the coordinates of its leader: theta = multiplier * theta_leader + offset.
    """

    kind: str  # kind of the joint in linkwork, or BASE
    q: slice
    nu: slice
    qpos: slice
    qvel: slice
    qpos0: float = 0.0  # of a joint with one coordinate
    multiplier: float = 1.0
    offset: float = 0.0
    is_dependent: bool = False

    @property
    def is_free(self) -> bool:
        """Whether it has six degrees of freedom."""
        return self.kind in (BASE, "floating")


def paired(layout: Layout, base: str, mj: MjModel) -> tuple[Pair, ...]:
    """Match all moving joints.

    Args:
        layout: the robot's coordinates.
        base: the frame of the floating base, if there is one.
        mj: a `mujoco.MjModel`.

    Returns:
        One pair for each joint in MuJoCo, in MuJoCo's order.

    Raises:
        ModelError: a joint has no counterpart, or one of another kind.
    """
    names = names_of(mj)
    base_joint, findings = _base_joint(layout, base, mj, names)
    if findings:
        raise ModelError(findings)
    moving = {joint.name: joint for joint in layout.model.joints if joint.kind != "fixed"}
    mj_names = [name for joint, name in enumerate(names.joints) if joint != base_joint]
    findings = [
        *(f for j in range(mj.njnt) if j != base_joint for f in _mismatch(mj, names, j, moving)),
        *(_missing_there(name, mj_names) for name in moving if name not in mj_names),
    ]
    if findings:
        raise ModelError(findings)
    return tuple(
        _base_pair(mj, joint) if joint == base_joint else _pair(layout, mj, joint, name)
        for joint, name in enumerate(names.joints)
    )


def _base_joint(
    layout: Layout, base: str, mj: MjModel, names: Names
) -> tuple[int | None, list[Finding]]:
    """Return the free joint of the floating base, or the reason why there is none."""
    if not layout.floating:
        return None, []
    if base not in names.bodies:
        message = f"the base is not a body in MuJoCo; {nearest(base, names.bodies)}"
        return None, [Finding("error", f"link {base!r}", message)]
    body = names.bodies.index(base)
    joint = int(mj.body_jntadr[body])
    if joint < 0 or kind_of(mj, joint) != "floating":
        message = "the base floats here but has no free joint in MuJoCo; use floating=False"
        return None, [Finding("error", f"link {base!r}", message)]
    return joint, []


def _mismatch(mj: MjModel, names: Names, joint: int, moving: dict[str, Joint]) -> Iterator[Finding]:
    name, kind = names.joints[joint], kind_of(mj, joint)
    here = moving.get(name)
    element = f"joint {name!r}"
    if here is None and kind == "floating":
        body = names.bodies[int(mj.jnt_bodyid[joint])]
        message = f"moves {shown(body)} freely in MuJoCo, but that is not the floating base here"
        yield Finding("error", element, message)
    elif here is None:
        message = f"moves in MuJoCo, but no joint of this name does here; {nearest(name, moving)}"
        yield Finding("error", element, message)
    elif here.kind != kind:
        yield Finding("error", element, f"is {here.kind} here, but {kind} in MuJoCo")
    elif kind == "floating" and (here.first_H_joint, here.joint_H_second) != (IDENTITY, IDENTITY):
        message = "has poses on its links here, which a free joint of MuJoCo does not support"
        yield Finding("error", element, message)


def _missing_there(name: str, mj_names: list[str]) -> Finding:
    message = f"moves here, but MuJoCo has no such joint; {nearest(name, mj_names)}"
    return Finding("error", f"joint {name!r}", message)


def _base_pair(mj: MjModel, joint: int) -> Pair:
    return Pair(BASE, slice(0, 7), slice(0, 6), *_slices(mj, joint, 7, 6))


def _pair(layout: Layout, mj: MjModel, joint: int, name: str) -> Pair:
    kind = kind_of(mj, joint)
    nq, nv = KINDS[kind].nq, KINDS[kind].nv
    qpos0 = float(mj.qpos0[mj.jnt_qposadr[joint]]) if nq == 1 else 0.0
    slices = _slices(mj, joint, nq, nv)
    follower = layout.followers.get(name)
    if follower is None:
        return Pair(kind, layout.q[name], layout.nu[name], *slices, qpos0)
    leader = (layout.q[follower.leader], layout.nu[follower.leader])
    factors = follower.multiplier, follower.offset
    return Pair(kind, *leader, *slices, qpos0, *factors, is_dependent=True)


def _slices(mj: MjModel, joint: int, nq: int, nv: int) -> tuple[slice, slice]:
    position, velocity = int(mj.jnt_qposadr[joint]), int(mj.jnt_dofadr[joint])
    return slice(position, position + nq), slice(velocity, velocity + nv)
