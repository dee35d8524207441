"""The robot as one body: center of mass, momentum, average velocity, energy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from linkwork.algorithms.centroidal import com as com_algorithms
from linkwork.algorithms.centroidal import momentum as momentum_algorithms
from linkwork.engine.symbolic.arrays import Array
from linkwork.kindyn.checks import singular_body
from linkwork.kindyn.core import KinDynCore
from linkwork.kindyn.options import CallOptions, GravityOptions, methods_of
from linkwork.kindyn.quantities import INERTIA, JACOBIAN, MOMENTUM, VELOCITY, quantity

if TYPE_CHECKING:
    from typing_extensions import Unpack


@methods_of("KinDyn")
class CentroidalMethods(KinDynCore):
    """Quantities of the robot as one body.

    Centroidal quantities are about the center of mass (CoM), in the axes of the world, or of the
    base in the body representation.
    """

    @quantity(com_algorithms.com, (3,), "position [m]")
    def com(self, q: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(..., 3) center of mass in the world [m].

        Examples:
            >>> kd = lw.KinDyn(lw.load("arm"), floating=False)
            >>> kd.com(kd.neutral()).shape
            (3,)
        """
        ...

    @quantity(com_algorithms.com_velocity, (3,), "[m/s]", derivatives="com_velocity_derivatives")
    def com_velocity(self, q: ArrayLike, nu: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(..., 3) velocity of the center of mass in the world [m/s]."""
        ...

    @quantity(com_algorithms.com_acceleration, (3,), "[m/s^2]")
    def com_acceleration(
        self, q: ArrayLike, nu: ArrayLike, nu_dot: ArrayLike, **options: Unpack[CallOptions]
    ) -> Array:
        """(..., 3) acceleration of the center of mass in the world [m/s^2]."""
        ...

    @quantity(com_algorithms.com_acceleration, (3,), "[m/s^2]")
    def com_bias_acceleration(
        self, q: ArrayLike, nu: ArrayLike, **options: Unpack[CallOptions]
    ) -> Array:
        """(..., 3) acceleration of the center of mass at nu_dot = 0, in the world [m/s^2]."""
        ...

    @quantity(com_algorithms.com_jacobian, (3, "nv"), "columns as in nu")
    def com_jacobian(self, q: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(..., 3, nv) Jacobian J of the center of mass: its velocity is `J @ nu`."""
        ...

    @quantity(momentum_algorithms.momentum, (6,), MOMENTUM)
    def momentum(self, q: ArrayLike, nu: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(..., 6) momentum of the robot, [linear; angular], dual to the velocity of the base."""
        ...

    @quantity(
        momentum_algorithms.momentum_jacobian,
        (6, "nv"),
        f"linear, then angular rows; columns as in nu {INERTIA}",
    )
    def momentum_jacobian(self, q: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(..., 6, nv) Jacobian J of the momentum: the momentum is `J @ nu`."""
        ...

    @quantity(
        momentum_algorithms.centroidal_momentum,
        (6,),
        MOMENTUM,
        derivatives="centroidal_momentum_derivatives",
    )
    def centroidal_momentum(
        self, q: ArrayLike, nu: ArrayLike, **options: Unpack[CallOptions]
    ) -> Array:
        """(..., 6) momentum about the center of mass, [linear; angular]."""
        ...

    @quantity(
        momentum_algorithms.centroidal_momentum_matrix,
        (6, "nv"),
        f"linear, then angular rows; columns as in nu {INERTIA}",
    )
    def centroidal_momentum_matrix(self, q: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(..., 6, nv) centroidal momentum matrix A: the momentum is `A @ nu`."""
        ...

    @quantity(momentum_algorithms.centroidal_momentum_rate, (6,), "force [N], moment [N m]")
    def centroidal_momentum_bias(
        self, q: ArrayLike, nu: ArrayLike, **options: Unpack[CallOptions]
    ) -> Array:
        """(..., 6) rate of the centroidal momentum at nu_dot = 0: A_dot nu."""
        ...

    @quantity(momentum_algorithms.average_velocity, (6,), VELOCITY, singular=singular_body)
    def average_velocity(
        self, q: ArrayLike, nu: ArrayLike, **options: Unpack[CallOptions]
    ) -> Array:
        """(..., 6) velocity of one rigid body that has the robot's inertia and momentum.

        It is written as the velocity of the base is.
        """
        ...

    @quantity(
        momentum_algorithms.average_velocity_jacobian, (6, "nv"), JACOBIAN, singular=singular_body
    )
    def average_velocity_jacobian(self, q: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(..., 6, nv) Jacobian J of the average velocity, which is `J @ nu`."""
        ...

    @quantity(
        momentum_algorithms.centroidal_average_velocity, (6,), VELOCITY, singular=singular_body
    )
    def centroidal_average_velocity(
        self, q: ArrayLike, nu: ArrayLike, **options: Unpack[CallOptions]
    ) -> Array:
        """(..., 6) velocity of the center of mass, and the average angular velocity."""
        ...

    @quantity(
        momentum_algorithms.centroidal_average_velocity_jacobian,
        (6, "nv"),
        JACOBIAN,
        singular=singular_body,
    )
    def centroidal_average_velocity_jacobian(
        self, q: ArrayLike, **options: Unpack[CallOptions]
    ) -> Array:
        """(..., 6, nv) Jacobian J of the centroidal average velocity, which is `J @ nu`."""
        ...

    @quantity(momentum_algorithms.locked_inertia, (6, 6), INERTIA)
    def locked_inertia(self, q: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(..., 6, 6) inertia with all joints locked, dual to the velocity of the base."""
        ...

    @quantity(momentum_algorithms.centroidal_locked_inertia, (6, 6), INERTIA)
    def centroidal_locked_inertia(self, q: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(..., 6, 6) inertia with all joints locked, about the center of mass."""
        ...

    @quantity(momentum_algorithms.kinetic_energy, (), "[J]")
    def kinetic_energy(self, q: ArrayLike, nu: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(...) kinetic energy [J]."""
        ...

    @quantity(momentum_algorithms.potential_energy, (), "[J]")
    def potential_energy(self, q: ArrayLike, **options: Unpack[GravityOptions]) -> Array:
        """(...) potential energy of gravity [J]; zero with the CoM at the world's origin."""
        ...
