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
        kernel = self._by_name["com"]
        return kernel(q) if out is None else kernel(q, out=out)

    def com_velocity(self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None) -> Array:
        """Velocity of the centre of mass in the world.

        Returns:
            (..., 3) [m/s].
        """
        kernel = self._by_name["com_velocity"]
        return kernel(q, nu) if out is None else kernel(q, nu, out=out)

    def com_acceleration(
        self, q: ArrayLike, nu: ArrayLike, nu_dot: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """Acceleration of the centre of mass in the world.

        Returns:
            (..., 3) [m/s^2].
        """
        kernel = self._by_name["com_acceleration"]
        return kernel(q, nu, nu_dot) if out is None else kernel(q, nu, nu_dot, out=out)

    def com_bias_acceleration(
        self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """Acceleration of the centre of mass at nu_dot = 0, in the world.

        Returns:
            (..., 3) [m/s^2].
        """
        kernel = self._by_name["com_bias_acceleration"]
        return kernel(q, nu) if out is None else kernel(q, nu, out=out)

    def com_jacobian(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Jacobian of the centre of mass: its velocity is `J @ nu`.

        Returns:
            (..., 3, nv).
        """
        kernel = self._by_name["com_jacobian"]
        return kernel(q) if out is None else kernel(q, out=out)

    def momentum(self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None) -> Array:
        """Momentum of the robot, dual to the velocity of the base.

        Returns:
            (..., 6) [linear; angular].
        """
        kernel = self._by_name["momentum"]
        return kernel(q, nu) if out is None else kernel(q, nu, out=out)

    def momentum_jacobian(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Jacobian of the momentum: the momentum is `J @ nu`.

        Returns:
            (..., 6, nv).
        """
        kernel = self._by_name["momentum_jacobian"]
        return kernel(q) if out is None else kernel(q, out=out)

    def centroidal_momentum(
        self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """Momentum about the centre of mass.

        Returns:
            (..., 6), axes of the world (mixed, inertial) or of the base (body).
        """
        kernel = self._by_name["centroidal_momentum"]
        return kernel(q, nu) if out is None else kernel(q, nu, out=out)

    def centroidal_momentum_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Centroidal momentum matrix A: the centroidal momentum is `A @ nu`.

        Returns:
            (..., 6, nv).
        """
        kernel = self._by_name["centroidal_momentum_matrix"]
        return kernel(q) if out is None else kernel(q, out=out)

    def centroidal_momentum_bias(
        self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """Rate of the centroidal momentum at nu_dot = 0: A_dot nu.

        Returns:
            (..., 6).
        """
        kernel = self._by_name["centroidal_momentum_bias"]
        return kernel(q, nu) if out is None else kernel(q, nu, out=out)

    def average_velocity(self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None) -> Array:
        """Velocity of a rigid body that has the robot's inertia and momentum.

        Returns:
            (..., 6), written as the velocity of the base.
        """
        kernel = self._by_name["average_velocity"]
        return kernel(q, nu) if out is None else kernel(q, nu, out=out)

    def average_velocity_jacobian(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Jacobian of the average velocity: it is `J @ nu`.

        Returns:
            (..., 6, nv).
        """
        kernel = self._by_name["average_velocity_jacobian"]
        return kernel(q) if out is None else kernel(q, out=out)

    def centroidal_average_velocity(
        self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """Velocity of the centre of mass, and the average angular velocity.

        Returns:
            (..., 6), axes of the world (mixed, inertial) or of the base (body).
        """
        kernel = self._by_name["centroidal_average_velocity"]
        return kernel(q, nu) if out is None else kernel(q, nu, out=out)

    def centroidal_average_velocity_jacobian(
        self, q: ArrayLike, *, out: Array | None = None
    ) -> Array:
        """Jacobian of the centroidal average velocity: it is `J @ nu`.

        Returns:
            (..., 6, nv).
        """
        kernel = self._by_name["centroidal_average_velocity_jacobian"]
        return kernel(q) if out is None else kernel(q, out=out)

    def locked_inertia(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Inertia of the robot with its joints locked, dual to the velocity of the base.

        Returns:
            (..., 6, 6).
        """
        kernel = self._by_name["locked_inertia"]
        return kernel(q) if out is None else kernel(q, out=out)

    def centroidal_locked_inertia(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """The same about the centre of mass, in the axes of the centroidal momentum.

        Returns:
            (..., 6, 6).
        """
        kernel = self._by_name["centroidal_locked_inertia"]
        return kernel(q) if out is None else kernel(q, out=out)

    def kinetic_energy(self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None) -> Array:
        """Kinetic energy.

        Returns:
            (...) [J].
        """
        kernel = self._by_name["kinetic_energy"]
        return kernel(q, nu) if out is None else kernel(q, nu, out=out)

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
        if gravity is None:
            kernel = self._by_name["potential_energy"]
            return kernel(q) if out is None else kernel(q, out=out)
        return self._call(("potential_energy", None), (q,), out, None, gravity)
