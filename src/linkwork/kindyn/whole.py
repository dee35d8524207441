"""The robot as a whole: centre of mass, momentum, average velocity, energy."""

from __future__ import annotations

from numpy.typing import ArrayLike

from linkwork.arrays import Array
from linkwork.kindyn.core import KinDynCore


class WholeMethods(KinDynCore):
    """Quantities of the robot as one body."""

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

    def com_acceleration(
        self, q: ArrayLike, nu: ArrayLike, nu_dot: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """Acceleration of the centre of mass in the world.

        Returns:
            (..., 3) [m/s^2].
        """
        return self._call(("com_acceleration", None), (q, nu, nu_dot), out)

    def com_bias_acceleration(
        self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """Acceleration of the centre of mass at nu_dot = 0, in the world.

        Returns:
            (..., 3) [m/s^2].
        """
        return self._call(("com_bias_acceleration", None), (q, nu), out)

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

    def momentum_jacobian(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Jacobian of the momentum: the momentum is `J @ nu`.

        Returns:
            (..., 6, nv).
        """
        return self._call(("momentum_jacobian", None), (q,), out)

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

    def centroidal_momentum_bias(
        self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """Rate of the centroidal momentum at nu_dot = 0: A_dot nu.

        Returns:
            (..., 6).
        """
        return self._call(("centroidal_momentum_bias", None), (q, nu), out)

    def average_velocity(self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None) -> Array:
        """Velocity of a rigid body that has the robot's inertia and momentum.

        Returns:
            (..., 6), written as the velocity of the base.
        """
        return self._call(("average_velocity", None), (q, nu), out)

    def average_velocity_jacobian(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Jacobian of the average velocity: it is `J @ nu`.

        Returns:
            (..., 6, nv).
        """
        return self._call(("average_velocity_jacobian", None), (q,), out)

    def centroidal_average_velocity(
        self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """Velocity of the centre of mass, and the average angular velocity.

        Returns:
            (..., 6), axes of the world (mixed, inertial) or of the base (body).
        """
        return self._call(("centroidal_average_velocity", None), (q, nu), out)

    def centroidal_average_velocity_jacobian(
        self, q: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """Jacobian of the centroidal average velocity: it is `J @ nu`.

        Returns:
            (..., 6, nv).
        """
        return self._call(("centroidal_average_velocity_jacobian", None), (q,), out)

    def locked_inertia(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Inertia of the robot with its joints locked, dual to the velocity of the base.

        Returns:
            (..., 6, 6).
        """
        return self._call(("locked_inertia", None), (q,), out)

    def centroidal_locked_inertia(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """The same about the centre of mass, in the axes of the centroidal momentum.

        Returns:
            (..., 6, 6).
        """
        return self._call(("centroidal_locked_inertia", None), (q,), out)

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
