"""The robot as one body under iDynTree's names."""

from __future__ import annotations

from typing import Any

from linkwork.compat.idyntree.arrays import Vector3
from linkwork.compat.idyntree.inertias import SpatialInertia
from linkwork.compat.idyntree.outputs import give, give_matrix
from linkwork.compat.idyntree.state import StateMethods
from linkwork.compat.idyntree.vectors import Position, SpatialMomentum, Twist


class CentroidalMethods(StateMethods):
    """Centre of mass, momentum and average velocity.

    Each gives its result, or writes it to `out` and gives True. Jacobians are (..., 6 + n).
    Centroidal quantities are about the centre of mass, in the axes of the world, or of the base if
    body-fixed; the others are written as the velocity of the base is, or dual to it.
    """

    def getCenterOfMassPosition(self, out: Any = None) -> Any:
        """Centre of mass in the world, (3,)."""
        return give(self._kd.com(self._q), out, Position)

    def getCenterOfMassVelocity(self, out: Any = None) -> Any:
        """Its velocity in the world, (3,)."""
        return give(self._kd.com_velocity(self._q, self._nu), out, Vector3)

    def getCenterOfMassJacobian(self, out: Any = None) -> Any:
        """Jacobian of that velocity."""
        return give_matrix(self._kd.com_jacobian(self._q), out)

    def getCenterOfMassBiasAcc(self, out: Any = None) -> Any:
        """Its acceleration with those of the base and the joints 0, (3,)."""
        return give(self._kd.com_bias_acceleration(self._q, self._nu), out, Vector3)

    def getAverageVelocity(self, out: Any = None) -> Any:
        """Velocity of a rigid body of the same inertia and momentum, (6,)."""
        return give(self._kd.average_velocity(self._q, self._nu), out, Twist)

    def getAverageVelocityJacobian(self, out: Any = None) -> Any:
        """Jacobian of the average velocity."""
        return give_matrix(self._kd.average_velocity_jacobian(self._q), out)

    def getCentroidalAverageVelocity(self, out: Any = None) -> Any:
        """Velocity of the centre of mass and average angular velocity, (6,)."""
        return give(self._kd.centroidal_average_velocity(self._q, self._nu), out, Twist)

    def getCentroidalAverageVelocityJacobian(self, out: Any = None) -> Any:
        """Jacobian of the centroidal average velocity."""
        return give_matrix(self._kd.centroidal_average_velocity_jacobian(self._q), out)

    def getLinearAngularMomentum(self, out: Any = None) -> Any:
        """Momentum, (6,)."""
        return give(self._kd.momentum(self._q, self._nu), out, SpatialMomentum)

    def getLinearAngularMomentumJacobian(self, out: Any = None) -> Any:
        """Jacobian of the momentum."""
        return give_matrix(self._kd.momentum_jacobian(self._q), out)

    def getCentroidalTotalMomentum(self, out: Any = None) -> Any:
        """Centroidal momentum, (6,)."""
        return give(self._kd.centroidal_momentum(self._q, self._nu), out, SpatialMomentum)

    def getCentroidalTotalMomentumJacobian(self, out: Any = None) -> Any:
        """Centroidal momentum matrix."""
        return give_matrix(self._kd.centroidal_momentum_matrix(self._q), out)

    def getRobotLockedInertia(self, out: Any = None) -> Any:
        """Inertia of the robot with its joints locked, (6, 6)."""
        return give(self._kd.locked_inertia(self._q), out, SpatialInertia)

    def getCentroidalRobotLockedInertia(self, out: Any = None) -> Any:
        """The same about the centre of mass, (6, 6)."""
        return give(self._kd.centroidal_locked_inertia(self._q), out, SpatialInertia)
