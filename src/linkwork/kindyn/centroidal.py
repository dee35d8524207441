"""The robot as one body: centre of mass, momentum, average velocity, energy."""

from __future__ import annotations

from numpy.typing import ArrayLike

from linkwork.arrays import Array
from linkwork.kindyn.core import KinDynCore
from linkwork.kindyn.methods import quantity


class CentroidalMethods(KinDynCore):
    """Quantities of the robot as one body."""

    @quantity
    def com(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Centre of mass in the world.

        Returns:
            (..., 3) [m].
        """
        ...

    @quantity
    def com_velocity(
        self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Velocity of the centre of mass in the world.

        Returns:
            (..., 3) [m/s].
        """
        ...

    @quantity
    def com_acceleration(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        nu_dot: ArrayLike,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Acceleration of the centre of mass in the world.

        Returns:
            (..., 3) [m/s^2].
        """
        ...

    @quantity
    def com_bias_acceleration(
        self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Acceleration of the centre of mass at nu_dot = 0, in the world.

        Returns:
            (..., 3) [m/s^2].
        """
        ...

    @quantity
    def com_jacobian(
        self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Jacobian of the centre of mass: its velocity is `J @ nu`.

        Returns:
            (..., 3, nv).
        """
        ...

    @quantity
    def momentum(
        self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Momentum of the robot, dual to the velocity of the base.

        Returns:
            (..., 6) [linear; angular].
        """
        ...

    @quantity
    def momentum_jacobian(
        self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Jacobian of the momentum: the momentum is `J @ nu`.

        Returns:
            (..., 6, nv).
        """
        ...

    @quantity
    def centroidal_momentum(
        self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Momentum about the centre of mass.

        Returns:
            (..., 6), axes of the world (mixed, inertial) or of the base (body).
        """
        ...

    @quantity
    def centroidal_momentum_matrix(
        self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Centroidal momentum matrix A: the centroidal momentum is `A @ nu`.

        Returns:
            (..., 6, nv).
        """
        ...

    @quantity
    def centroidal_momentum_bias(
        self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Rate of the centroidal momentum at nu_dot = 0: A_dot nu.

        Returns:
            (..., 6).
        """
        ...

    @quantity
    def average_velocity(
        self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Velocity of a rigid body that has the robot's inertia and momentum.

        Returns:
            (..., 6), written as the velocity of the base.
        """
        ...

    @quantity
    def average_velocity_jacobian(
        self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Jacobian of the average velocity: it is `J @ nu`.

        Returns:
            (..., 6, nv).
        """
        ...

    @quantity
    def centroidal_average_velocity(
        self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Velocity of the centre of mass, and the average angular velocity.

        Returns:
            (..., 6), axes of the world (mixed, inertial) or of the base (body).
        """
        ...

    @quantity
    def centroidal_average_velocity_jacobian(
        self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Jacobian of the centroidal average velocity: it is `J @ nu`.

        Returns:
            (..., 6, nv).
        """
        ...

    @quantity
    def locked_inertia(
        self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Inertia of the robot with its joints locked, dual to the velocity of the base.

        Returns:
            (..., 6, 6).
        """
        ...

    @quantity
    def centroidal_locked_inertia(
        self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """The same about the centre of mass, in the axes of the centroidal momentum.

        Returns:
            (..., 6, 6).
        """
        ...

    @quantity
    def kinetic_energy(
        self, q: ArrayLike, nu: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Kinetic energy.

        Returns:
            (...) [J].
        """
        ...

    @quantity
    def potential_energy(
        self,
        q: ArrayLike,
        *,
        gravity: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Potential energy of gravity, 0 with the centre of mass at the world's origin.

        Args:
            q: rows, or batches of rows.
            gravity: (..., 3) in the world; the one of this KinDyn if not given.
            out: array to write to.
            threads: how many to use for a large batch.

        Returns:
            (...) [J].
        """
        ...
