"""Dynamics of a robot under iDynTree's names: M nu_dot + h = tau + sum J^T f."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.idyntree.containers import FreeFloatingGeneralizedTorques, LinkWrenches
from linkwork.compat.idyntree.order import walk
from linkwork.compat.idyntree.outputs import give, give_matrix, write
from linkwork.compat.idyntree.state import StateMethods
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ShapeError
from linkwork.model.pose import as_floats


class DynamicsMethods(StateMethods):
    """Forces, and the matrices behind them.

    Each gives its result, or writes it to `out` and gives True. Generalized forces are (6 + n,):
    the wrench on the base, then the joint torques. Wrenches are (links, 6), one on each link in its
    order, dual to the velocity of the link's frame.
    """

    def getFreeFloatingMassMatrix(self, out: Any = None) -> Any:
        """Mass matrix, (6 + n, 6 + n)."""
        return give_matrix(self._kd.mass_matrix(self._q), out)

    def getCoriolisAndMassMatrices(self, *out: Any) -> Any:
        """Coriolis matrix C, mass matrix M and its derivative, each (6 + n, 6 + n).

        `C @ nu` is the bias force without gravity, and the derivative of M is C + C^T.

        Returns:
            C, M and the derivative of M; or True, if there are three arrays `out` to write to.
        """
        C = self._kd.coriolis_matrix(self._q, self._nu)
        three = (C, self._kd.mass_matrix(self._q), C + C.T)
        if not out:
            return tuple(give_matrix(matrix, None) for matrix in three)
        if len(out) != 3:
            raise ArgumentError(f"expected 3 arrays or none, got {len(out)}")
        for matrix, array in zip(three, out, strict=True):
            write(matrix, array)
        return True

    def inverseDynamics(
        self,
        baseAcceleration: ArrayLike,
        jointAccelerations: ArrayLike,
        linkWrenches: ArrayLike | None = None,
        out: Any = None,
    ) -> Any:
        """Forces behind a motion: M nu_dot + h - sum J^T f."""
        nu_dot = self._nu_dot(baseAcceleration, jointAccelerations)
        tau = self._kd.inverse_dynamics(
            self._q,
            self._nu,
            nu_dot,
            wrenches=self._wrenches(linkWrenches),
            gravity=self._gravity,
        )
        return give(tau, out, FreeFloatingGeneralizedTorques)

    def inverseDynamicsWithInternalJointForceTorques(
        self,
        baseAcceleration: ArrayLike,
        jointAccelerations: ArrayLike,
        linkWrenches: ArrayLike | None = None,
        out: Any = None,
        internalWrenches: Any = None,
    ) -> Any:
        """The same, and the wrench on each link by the one from which it is reached.

        That on the base is 0, as nothing holds it.

        Returns:
            forces and (links, 6) wrenches; or True, if there are two arrays to write to.
        """
        nu_dot = self._nu_dot(baseAcceleration, jointAccelerations)
        wrenches = self._wrenches(linkWrenches)
        state, g = (self._q, self._nu, nu_dot), self._gravity
        tau = self._kd.inverse_dynamics(*state, wrenches=wrenches, gravity=g)
        through = self._kd.joint_wrenches(*state, wrenches=wrenches, gravity=g)
        inside = self._by_link(through)
        if out is None and internalWrenches is None:
            return give(tau, None, FreeFloatingGeneralizedTorques), give(inside, None, LinkWrenches)
        write(tau, out)
        write(inside, internalWrenches)
        return True

    def generalizedBiasForces(self, out: Any = None) -> Any:
        """Forces with the accelerations 0: h = C nu + g."""
        h = self._kd.bias_force(self._q, self._nu, gravity=self._gravity)
        return give(h, out, FreeFloatingGeneralizedTorques)

    def generalizedGravityForces(self, out: Any = None) -> Any:
        """Forces at rest: g."""
        g = self._kd.gravity_force(self._q, gravity=self._gravity)
        return give(g, out, FreeFloatingGeneralizedTorques)

    def generalizedExternalForces(
        self, linkExtForces: ArrayLike, generalizedExternalForces: Any = None
    ) -> Any:
        """What wrenches on links add to the forces behind a motion: MINUS sum J^T f."""
        wrenches = self._wrenches(linkExtForces)
        size = 6 + self.getNrOfDegreesOfFreedom()
        found = -self._kd.external_force(self._q, wrenches=wrenches) if wrenches else np.zeros(size)
        return give(found, generalizedExternalForces, FreeFloatingGeneralizedTorques)

    def inverseDynamicsInertialParametersRegressor(
        self,
        baseFrameAcc: ArrayLike,
        s_ddot: ArrayLike,
        baseForceAndJointTorquesRegressor: Any = None,
    ) -> Any:
        """Y with Y phi = M nu_dot + h, (6 + n, 10 links), phi as `getInertialParameters`."""
        nu_dot = self._nu_dot(baseFrameAcc, s_ddot)
        Y = self._kd.regressor(self._q, self._nu, nu_dot, gravity=self._gravity)
        return give_matrix(Y, baseForceAndJointTorquesRegressor)

    def _wrenches(self, given: ArrayLike | None) -> dict[str, Array] | None:
        """Wrenches by name of the link; none if all are 0, which saves their work."""
        if given is None:
            return None
        numbers = np.array(as_floats(given, "linkWrenches"), subok=False)
        if numbers.shape != (self.getNrOfLinks(), 6):
            text = f"linkWrenches: expected {(self.getNrOfLinks(), 6)}, got {numbers.shape}"
            raise ShapeError(text)
        return dict(zip(self._robot.link_names, numbers, strict=True)) if numbers.any() else None

    def _by_link(self, through_joints: Array) -> Array:
        """Wrenches through joints in the order of the links they act on."""
        robot, found = self._robot, np.zeros((self.getNrOfLinks(), 6))
        for link, _, joint in walk(robot, robot.frame(self._base).link):
            if joint:
                found[robot.link_index(link)] = through_joints[robot.joint_index(joint.name)]
        return found
