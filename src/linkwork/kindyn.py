"""Kinematics and dynamics of one robot, compiled for that robot.

q       [base position (3), base quaternion wxyz (4), s], or just s if the base is fixed
nu      [base velocity (6), s_dot], or just s_dot
Frames  are named; velocities, Jacobians and wrenches are in the representation of the `KinDyn`
Batch   any leading axes, broadcast as NumPy does
out     an array to write to, instead of a new one
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from linkwork.arrays import Array
from linkwork.kindyn_core import KinDynCore


class KinDyn(KinDynCore):
    """Every quantity of one robot, as compiled functions. Stateless, thread-safe, picklable.

    Args:
        model: the robot.
        base: the link or frame whose pose and velocity are those of the base; the model's default
            if not given.
        floating: whether the base moves freely; if not, it is fixed to the world's origin.
        velocity: how velocities of the base and of frames are written: mixed, body or inertial.
        gravity: acceleration of free fall in the world [m/s^2].
        dtype: numpy.float64 or numpy.float32.
        check: whether to look for NaN and infinity in what is given, and name the joint.
    """

    def transform(self, frame: str, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Pose of a frame in the world, world_H_frame.

        Returns:
            (..., 4, 4)
        """
        return self._call(("transform", frame), (q,), out)

    def jacobian(self, frame: str, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Jacobian J of a frame: its velocity is `J @ nu`.

        Returns:
            (..., 6, nv), rows [linear; angular], columns as nu.
        """
        return self._call(("jacobian", frame), (q,), out)

    def jacobian_dot(
        self, frame: str, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """Time derivative of the Jacobian of a frame.

        Returns:
            (..., 6, nv).
        """
        return self._call(("jacobian_dot", frame), (q, nu), out)

    def bias_acceleration(
        self, frame: str, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """Acceleration of a frame at nu_dot = 0, Jdot nu.

        Returns:
            (..., 6).
        """
        return self._call(("bias_acceleration", frame), (q, nu), out)

    def mass_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Mass matrix M: the kinetic energy is `nu @ M @ nu / 2`.

        Returns:
            (..., nv, nv), symmetric.
        """
        return self._call(("mass_matrix", None), (q,), out)

    def inverse_dynamics(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        nu_dot: ArrayLike,
        *,
        wrenches: Mapping[str, ArrayLike] | None = None,
        gravity: ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """Forces behind a motion: tau = M nu_dot + h - sum J^T f.

        Args:
            q, nu, nu_dot: rows, or batches of rows.
            wrenches: (..., 6) on frames by name, dual to the frame's velocity.
            gravity: (..., 3) in the world; the one of this KinDyn if not given.
            out: array to write to.

        Returns:
            (..., nv): wrench on the base (6), then joint torques and forces.
        """
        return self._call(("inverse_dynamics", None), (q, nu, nu_dot), out, wrenches, gravity)

    def forward_dynamics(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Mapping[str, ArrayLike] | None = None,
        gravity: ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """Motion behind forces: nu_dot = M^-1 (tau + sum J^T f - h).

        Args:
            q, nu, tau: rows, or batches of rows.
            wrenches: (..., 6) on frames by name, dual to the frame's velocity.
            gravity: (..., 3) in the world; the one of this KinDyn if not given.
            out: array to write to.

        Returns:
            (..., nv).
        """
        return self._call(("forward_dynamics", None), (q, nu, tau), out, wrenches, gravity)

    def bias_force(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        *,
        gravity: ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """Bias forces h = C nu + g: the forces at nu_dot = 0.

        Args:
            q, nu: rows, or batches of rows.
            gravity: (..., 3) in the world; the one of this KinDyn if not given.
            out: array to write to.

        Returns:
            (..., nv).
        """
        return self._call(("bias_force", None), (q, nu), out, None, gravity)

    def coriolis_force(self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None) -> Array:
        """C nu: the forces at nu_dot = 0 without gravity.

        Returns:
            (..., nv).
        """
        return self._call(("coriolis_force", None), (q, nu), out)

    def gravity_force(
        self,
        q: ArrayLike,
        *,
        gravity: ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """g: the forces at rest.

        Args:
            q: rows, or batches of rows.
            gravity: (..., 3) in the world; the one of this KinDyn if not given.
            out: array to write to.

        Returns:
            (..., nv).
        """
        return self._call(("gravity_force", None), (q,), out, None, gravity)

    def com(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Centre of mass in the world.

        Returns:
            (..., 3) [m].
        """
        return self._call(("com", None), (q,), out)

    def com_velocity(self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None) -> Array:
        """Velocity of the centre of mass in the world.

        Returns:
            (..., 3) [m/s].
        """
        return self._call(("com_velocity", None), (q, nu), out)

    def com_jacobian(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Jacobian of the centre of mass: its velocity is `J @ nu`.

        Returns:
            (..., 3, nv).
        """
        return self._call(("com_jacobian", None), (q,), out)

    def momentum(self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None) -> Array:
        """Momentum of the robot, dual to the velocity of the base.

        Returns:
            (..., 6) [linear; angular].
        """
        return self._call(("momentum", None), (q, nu), out)

    def centroidal_momentum(
        self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """Momentum about the centre of mass.

        Returns:
            (..., 6), axes of the world (mixed, inertial) or of the base (body).
        """
        return self._call(("centroidal_momentum", None), (q, nu), out)

    def centroidal_momentum_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Centroidal momentum matrix A: the centroidal momentum is `A @ nu`.

        Returns:
            (..., 6, nv).
        """
        return self._call(("centroidal_momentum_matrix", None), (q,), out)

    def kinetic_energy(self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None) -> Array:
        """Kinetic energy.

        Returns:
            (...) [J].
        """
        return self._call(("kinetic_energy", None), (q, nu), out)

    def potential_energy(
        self,
        q: ArrayLike,
        *,
        gravity: ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """Potential energy of gravity, 0 with the centre of mass at the world's origin.

        Args:
            q: rows, or batches of rows.
            gravity: (..., 3) in the world; the one of this KinDyn if not given.
            out: array to write to.

        Returns:
            (...) [J].
        """
        return self._call(("potential_energy", None), (q,), out, None, gravity)

    def frame_velocity(
        self, frame: str, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """Velocity of a frame, in this KinDyn's representation.

        Returns:
            (..., 6) [linear; angular].
        """
        return self._call(("velocity", frame), (q, nu), out)

    def frame_acceleration(
        self,
        frame: str,
        q: ArrayLike,
        nu: ArrayLike,
        nu_dot: ArrayLike,
        *,
        out: Array | None = None,
    ) -> Array:
        """Time derivative of the velocity of a frame, in the same representation.

        Returns:
            (..., 6) [linear; angular].
        """
        return self._call(("acceleration", frame), (q, nu, nu_dot), out)

    def transforms(
        self, q: ArrayLike, *, frames: Sequence[str] | None = None, out: Array | None = None
    ) -> Array:
        """Poses of several frames in the world.

        Args:
            q: (..., nq) configuration.
            frames: their names; all of `model.frame_names` if not given.
            out: array to write to.

        Returns:
            (..., frames, 4, 4) world_H_frame.
        """
        names: Any = self.model.frame_names if frames is None else frames
        if isinstance(names, list):
            names = tuple(map(str, names)) if all(isinstance(n, str) for n in names) else names
        return self._call(("transforms", names), (q,), out)
