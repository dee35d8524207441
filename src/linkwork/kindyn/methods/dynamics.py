"""Dynamics of a robot: M nu_dot + h = tau + sum J^T f."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms.constraints import dynamics as constrained_dynamics
from linkwork.algorithms.constraints.derivatives import acceleration_derivatives
from linkwork.algorithms.derivatives.forward_dynamics import forward_dynamics_derivatives
from linkwork.algorithms.derivatives.gravity import gravity_force_derivative
from linkwork.algorithms.derivatives.inverse_dynamics import inverse_dynamics_derivatives
from linkwork.algorithms.dynamics import aba, coriolis, crba, rnea
from linkwork.algorithms.dynamics.inverse_mass_matrix import inverse_mass_matrix
from linkwork.algorithms.dynamics.joint_wrenches import joint_wrenches
from linkwork.algorithms.dynamics.regressor import PER_LINK, regressor
from linkwork.engine.symbolic.arrays import Array
from linkwork.kindyn.checks import singular_joint
from linkwork.kindyn.core import KinDynCore
from linkwork.kindyn.options import CallOptions, ForceOptions, GravityOptions, methods_of
from linkwork.kindyn.quantities import GENERALIZED_FORCES, INERTIA, Numbers, quantity
from linkwork.kindyn.results import ForwardDynamicsDerivatives, InverseDynamicsDerivatives
from linkwork.mechanics.base import Representation
from linkwork.mechanics.problem import Problem
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import ZERO

if TYPE_CHECKING:
    from typing_extensions import Unpack


def _coriolis_force(
    skeleton: Skeleton, q: Numbers, nu: Numbers, *, velocity: Representation
) -> Any:
    return rnea.inverse_dynamics(skeleton, q, nu, velocity=velocity, gravity=ZERO)


def _n_joints(problem: Problem) -> int:
    return len(problem.layout.model.joints)


def _n_inertial_parameters(problem: Problem) -> int:
    return PER_LINK * len(problem.layout.model.links)


@wraps(constrained_dynamics.forward_dynamics)
def _constrained_acceleration(*arguments: Any, **setting: Any) -> Any:
    """nu_dot of constrained forward dynamics, without the forces."""
    return constrained_dynamics.forward_dynamics(*arguments, **setting)[0]


def _respecting_loops(tree: Callable[..., Any], loops: Callable[..., Any]) -> Callable[..., Any]:
    """Combine an algorithm for trees and one with the same arguments for robots with loops."""

    @wraps(loops)
    def algorithm(problem: Problem, *arguments: Any, **setting: Any) -> Any:
        if problem.equations:
            return loops(problem, *arguments, **setting)
        return tree(problem.skeleton, *arguments, **setting)

    return algorithm


@methods_of("KinDyn")
class DynamicsMethods(KinDynCore):
    """Forces and accelerations, and the matrices between them."""

    @quantity(
        crba.mass_matrix, ("nv", "nv"), f"rows and columns as in nu {INERTIA}", ops_per_pair=21
    )
    def mass_matrix(self, q: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(..., nv, nv) mass matrix M, symmetric: the kinetic energy is `nu @ M @ nu / 2`.

        Examples:
            >>> kd = lw.KinDyn(lw.load("arm"), floating=False)
            >>> kd.mass_matrix(kd.random(1000, seed=0)).shape  # a batch of configurations
            (1000, 8, 8)
        """
        ...

    @quantity(
        inverse_mass_matrix,
        ("nv", "nv"),
        "rows and columns as in nu [1/kg, 1/(kg m), 1/(kg m^2)]",
        ops_per_pair=50,
        singular=singular_joint,
        hint_with_loops=(
            "kd.constrained().forward_dynamics_derivatives has the accelerations per unit of force"
            " as `tau`"
        ),
    )
    def inverse_mass_matrix(self, q: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(..., nv, nv) inverse of the mass matrix, symmetric: nu_dot per unit of tau."""
        ...

    @quantity(
        coriolis.mass_matrix_dot,
        ("nv", "nv"),
        "rows and columns as in nu [kg/s, kg m/s, kg m^2/s]",
        ops_per_pair=60,
    )
    def mass_matrix_dot(self, q: ArrayLike, nu: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(..., nv, nv) time derivative of the mass matrix, symmetric."""
        ...

    @quantity(
        coriolis.coriolis_matrix,
        ("nv", "nv"),
        "rows and columns as in nu [kg/s, kg m/s, kg m^2/s]",
        ops_per_pair=60,
    )
    def coriolis_matrix(self, q: ArrayLike, nu: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(..., nv, nv) Coriolis matrix C: `C @ nu` is the Coriolis force, Mdot = C + C^T."""
        ...

    @quantity(
        rnea.inverse_dynamics,
        ("nv",),
        GENERALIZED_FORCES,
        derivatives="inverse_dynamics_derivatives",
        hint_with_loops=(
            "kd.constrained(actuated=[...]).inverse_dynamics separates the torques of actuators"
            " from the forces of the constraints"
        ),
    )
    def inverse_dynamics(
        self, q: ArrayLike, nu: ArrayLike, nu_dot: ArrayLike, **options: Unpack[ForceOptions]
    ) -> Array:
        """(..., nv) generalized forces of a motion: tau = M nu_dot + h - sum J^T f.

        h is the bias force C nu + g, and f are the external wrenches on the frames. For a floating
        base, tau starts with the wrench on the base (6). The joint torques and forces follow.

        Examples:
            >>> kd = lw.KinDyn(lw.load("arm"), floating=False)
            >>> q, nu, nu_dot = kd.neutral(), np.zeros(kd.nv), np.ones(kd.nv)
            >>> push = {"tool": [0, 0, -5, 0, 0, 0]}  # 5 N downward
            >>> kd.inverse_dynamics(q, nu, nu_dot, wrenches=push).shape
            (8,)
        """
        ...

    @quantity(
        inverse_dynamics_derivatives,
        [("nv", "nv")] * 3,
        ops_per_pair=95,
        hint_with_loops="use kd.constrained(actuated=[...]).inverse_dynamics_derivatives",
    )
    def inverse_dynamics_derivatives(
        self, q: ArrayLike, nu: ArrayLike, nu_dot: ArrayLike, **options: Unpack[ForceOptions]
    ) -> InverseDynamicsDerivatives:
        """Derivatives of `inverse_dynamics`: row i belongs to tau_i.

        Returns:
            q (..., nv, nv), in the tangent space of `integrate`, with nu, nu_dot and the wrenches
            constant; nu (..., nv, nv); nu_dot (..., nv, nv), the mass matrix.
        """
        ...

    @quantity(
        _respecting_loops(aba.forward_dynamics, _constrained_acceleration),
        ("nv",),
        "nu_dot [m/s^2, rad/s^2]",
        derivatives="forward_dynamics_derivatives",
        singular=singular_joint,
        solves_constraints=True,
    )
    def forward_dynamics(
        self, q: ArrayLike, nu: ArrayLike, tau: ArrayLike, **options: Unpack[ForceOptions]
    ) -> Array:
        """(..., nv) accelerations that forces cause: nu_dot = M^-1 (tau + sum J^T f - h).

        Examples:
            >>> kd = lw.KinDyn(lw.load("arm"), floating=False)
            >>> q, nu = kd.neutral(), np.zeros(kd.nv)
            >>> kd.forward_dynamics(q, nu, kd.gravity_force(q)).round(9) + 0.0  # it stays at rest
            array([0., 0., 0., 0., 0., 0., 0., 0.])
        """
        ...

    @quantity(
        _respecting_loops(forward_dynamics_derivatives, acceleration_derivatives),
        [*[("nv", "nv")] * 3, ("wrenches", "nv", 6)],
        ops_per_pair=280,
        singular=singular_joint,
        solves_constraints=True,
    )
    def forward_dynamics_derivatives(
        self, q: ArrayLike, nu: ArrayLike, tau: ArrayLike, **options: Unpack[ForceOptions]
    ) -> ForwardDynamicsDerivatives:
        """Derivatives of `forward_dynamics`.

        Returns:
            A named tuple of the derivatives of nu_dot with respect to each input; row i of a matrix
            belongs to nu_dot_i. q (..., nv, nv), in the tangent space of `integrate`; nu
            (..., nv, nv); tau (..., nv, nv), the inverse of the mass matrix; wrenches
            (..., n, nv, 6), one matrix for each of the n wrenches, in the order of the dict.
        """
        ...

    @quantity(rnea.inverse_dynamics, ("nv",), GENERALIZED_FORCES)
    def bias_force(self, q: ArrayLike, nu: ArrayLike, **options: Unpack[GravityOptions]) -> Array:
        """(..., nv) bias forces h = C nu + g: the forces at nu_dot = 0.

        Examples:
            >>> kd = lw.KinDyn(lw.load("arm"), floating=False)
            >>> q, nu = kd.random(2, seed=0)
            >>> h = kd.inverse_dynamics(q, nu, np.zeros(kd.nv))
            >>> np.allclose(kd.bias_force(q, nu), h)
            True
        """
        ...

    @quantity(_coriolis_force, ("nv",), GENERALIZED_FORCES)
    def coriolis_force(self, q: ArrayLike, nu: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(..., nv) Coriolis forces C nu: the forces at nu_dot = 0 without gravity."""
        ...

    @quantity(
        rnea.inverse_dynamics, ("nv",), GENERALIZED_FORCES, derivatives="gravity_force_derivative"
    )
    def gravity_force(self, q: ArrayLike, **options: Unpack[GravityOptions]) -> Array:
        """(..., nv) gravity forces g: with them, gravity compensation holds the robot still.

        Examples:
            >>> kd = lw.KinDyn(lw.load("arm"), floating=False)
            >>> g = kd.gravity_force(kd.q(elbow_pitch=0.7))
            >>> print(f"{g[1]:.1f} N m in the shoulder")
            -15.3 N m in the shoulder
        """
        ...

    @quantity(
        gravity_force_derivative,
        ("nv", "nv"),
        "rows and columns as in nu [N, N m per m or rad]",
        ops_per_pair=10,
    )
    def gravity_force_derivative(self, q: ArrayLike, **options: Unpack[GravityOptions]) -> Array:
        """(..., nv, nv) derivative of `gravity_force` with respect to q.

        It is taken in the tangent space of `integrate`.
        """
        ...

    @quantity(rnea.external_force, ("nv",), GENERALIZED_FORCES)
    def external_force(
        self, q: ArrayLike, *, wrenches: Mapping[str, ArrayLike], **options: Unpack[CallOptions]
    ) -> Array:
        """(..., nv) generalized forces of wrenches on frames: sum J^T f."""
        ...

    @quantity(
        joint_wrenches,
        (_n_joints, 6),
        "for each joint: force (3) [N], moment (3) [N m]",
        hint_with_loops=(
            "the joints of a loop share the load in a way that depends on the forces of the"
            " constraints, see kd.constrained(...)"
        ),
    )
    def joint_wrenches(
        self, q: ArrayLike, nu: ArrayLike, nu_dot: ArrayLike, **options: Unpack[ForceOptions]
    ) -> Array:
        """(..., joints, 6) wrench through each joint of `model.joints`, fixed ones too.

        Of the two links of a joint, the one nearer to the base acts on the other; the wrench is
        written as one on the other's frame.
        """
        ...

    @quantity(
        regressor,
        ("nv", _n_inertial_parameters),
        "rows as in nu; 10 inertial parameters of each link",
        ops_per_pair=90,
        of_links=True,
    )
    def regressor(
        self, q: ArrayLike, nu: ArrayLike, nu_dot: ArrayLike, **options: Unpack[GravityOptions]
    ) -> Array:
        """(..., nv, 10 links) regressor Y: inverse dynamics is tau = Y phi, linear in phi.

        Columns are in the order of `inertial_parameters`. Armature, damping and friction of joints
        are not part of it.
        """
        ...

    def inertial_parameters(self) -> Array:
        """The inertial parameters phi, in which the dynamics is linear.

        Returns:
            (10 links,) for each link of the model its mass, mass times center of mass (3), and
            the tensor's xx, xy, xz, yy, yz, zz about the origin of the link, in its axes.
        """
        each = [link.inertia.parameters() for link in self.model.links]
        return np.concatenate([np.zeros(0), *each]).astype(self.dtype)
