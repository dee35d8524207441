"""Constrained kinematics and dynamics of one robot: closed loops and contacts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms.centroidal.momentum import kinetic_energy
from linkwork.algorithms.constraints import derivatives, dynamics, kinematics
from linkwork.algorithms.constraints.wrenches import constraint_wrenches
from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array, as_array
from linkwork.engine.symbolic.traced import is_traced
from linkwork.errors import ArgumentError, ValueRangeError, name_not_found, shown
from linkwork.kindyn.checks import singular_joint
from linkwork.kindyn.constrained.contacts import (
    Contact,
    ContactKind,
    check_relative_motion,
    contacts_of,
)
from linkwork.kindyn.core import KinDynCore, joint_names, options_of_call
from linkwork.kindyn.loops import no_coordinate
from linkwork.kindyn.options import CallOptions, ForceOptions, GravityOptions, methods_of
from linkwork.kindyn.quantities import INERTIA, quantity
from linkwork.kindyn.requests import Spec
from linkwork.kindyn.results import (
    ClosingStep,
    ConstrainedForwardDynamics,
    ConstrainedForwardDynamicsDerivatives,
    ConstrainedInverseDynamics,
    ConstrainedInverseDynamicsDerivatives,
    ConstrainedState,
    Impact,
    ImpactDerivatives,
)
from linkwork.mechanics.constraints import Equations
from linkwork.mechanics.problem import Problem
from linkwork.model.model import Model

if TYPE_CHECKING:
    from typing_extensions import Unpack


def _n_equations(problem: Problem) -> int:
    return problem.n_equations


def _n_wrenches(problem: Problem) -> int:
    return len(problem.frame_equations)


def n_actuated(problem: Problem) -> int:
    """Return the number of coordinates of nu that have an actuator."""
    return len(problem.actuated_indices)


def n_unactuated(problem: Problem) -> int:
    """Return the number of coordinates of nu that have no actuator."""
    return len(problem.unactuated_indices)


def n_independent(problem: Problem) -> int:
    """Return the number of coordinates of nu that determine the others."""
    return len(problem.independent_indices)


@methods_of("ConstrainedKinDyn")
class ConstrainedMethods(KinDynCore):
    """Quantities of robots with constraints; `ConstrainedKinDyn` has the arguments."""

    contacts: tuple[Contact, ...]
    actuated: tuple[str, ...] | None
    stabilization: tuple[float, float]
    independent: tuple[int, ...] | None

    _WARMED_FIRST = ("jacobian", "forward_dynamics")
    _OPTIONS = (*KinDynCore._OPTIONS, "contacts", "actuated", "stabilization", "independent")

    def __init__(
        self,
        model: Model,
        base: str | None = None,
        *,
        contacts: Iterable[str | Contact] | Mapping[str, ContactKind | Contact] = (),
        actuated: Iterable[str] | None = None,
        stabilization: float | tuple[float, float] = 0.0,
        independent: Iterable[int] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(model, base, **options)
        self.__dict__["contacts"] = contacts_of(contacts)
        self.__dict__["actuated"] = actuated_joints(actuated)
        self.__dict__["stabilization"] = gains_of(stabilization)
        self.__dict__["independent"] = None if independent is None else _indices(independent)
        if actuated is None:
            self.__dict__["actuated"] = self._motors()
        n_loops = len(self._equations) - len(self.contacts)
        loops = {group.name for group in self._equations[:n_loops]}
        for contact in self.contacts:
            if contact.frame in loops:
                text = f"contacts: {contact.frame!r} is also the name of a loop or constraint"
                raise ArgumentError(f"{text}; model.with_frame adds a frame with another name")
        for name in self.actuated or ():
            if name in loops:
                raise no_coordinate(name)
            if name not in self.layout.nu:
                raise name_not_found("moving joint", name, self.layout.nu)
        check_relative_motion(self.contacts, self.tree, floating=self.floating)
        if self.independent and self.independent[-1] >= self.nv:
            text = f"independent: expected indices in nu, 0 to {self.nv - 1}"
            raise ArgumentError(f"{text}, got {shown(independent)}")

    def _motors(self) -> tuple[str, ...] | None:
        """Return the actuated joints of the model; None if one of them closes a loop."""
        cut = {joint.name for joint in self.closing_joints}
        motors = self.model.actuated
        return motors if motors is not None and cut.isdisjoint(motors) else None

    @cached_property
    def _equations(self) -> tuple[Equations, ...]:
        """The equations of the loops and of the contacts."""
        of_contacts = [contact.equations(self.model) for contact in self.contacts]
        return (*self._loop_equations(), *of_contacts)

    @cached_property
    def problem(self) -> Problem:
        """The tree of the robot, its constraint equations and settings, as algorithms take them."""
        actuated = None
        if self.actuated is not None:
            spans = [self.layout.nu[name] for name in self.actuated]
            actuated = tuple(sorted(k for span in spans for k in range(span.start, span.stop)))
        return Problem(
            self.tree,
            self.layout,
            self._equations,
            actuated=actuated,
            independent=self.independent,
            gains=self.stabilization,
            single=self.dtype is np.float32,
        )

    @property
    def rows(self) -> Mapping[str, slice]:
        """The rows of the constraint equations, by the name of the loop or the contact."""
        return dict(self.problem.rows)

    @property
    def m(self) -> int:
        """The number of constraint equations."""
        return self.problem.n_equations

    @cached_property
    def _digest(self) -> str:
        parts = (self._robot_digest(), self._equations, self.problem.actuated, self.stabilization)
        parts += (self.independent,)
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    @quantity(kinematics.constraint_error, (_n_equations,), "[m, rad]")
    def error(self, q: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(..., m) error of the constraints, zero where they are satisfied.

        Positions are in [m]. Of rotations it is twice the tangent of half the angle, which is the
        angle [rad] if that is small. A contact without target has no error.
        """
        ...

    @quantity(kinematics.constraint_jacobian, (_n_equations, "nv"), "columns as in nu")
    def jacobian(self, q: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(..., m, nv) constraint Jacobian J: the constraints allow velocities with J nu = 0.

        Where the error is zero, J is its derivative.
        """
        ...

    @quantity(kinematics.constraint_bias, (_n_equations,), "[m/s^2, rad/s^2]")
    def bias(self, q: ArrayLike, nu: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(..., m) Jdot nu: the constraints allow accelerations with J nu_dot = -Jdot nu."""
        ...

    @quantity(
        dynamics.forward_dynamics,
        [("nv",), (_n_equations,), (_n_equations,)],
        (
            "[m/s^2, rad/s^2]",
            "constraint forces [N, N m]",
            "constraint accelerations less their target",
        ),
        ops_per_pair=60,
        singular=singular_joint,
        solves_constraints=True,
    )
    def forward_dynamics(
        self, q: ArrayLike, nu: ArrayLike, tau: ArrayLike, **options: Unpack[ForceOptions]
    ) -> ConstrainedForwardDynamics:
        """Accelerations and constraint forces: M nu_dot + h = tau + J^T forces + sum J_f^T f.

        Returns:
            nu_dot (..., nv); forces (..., m), of least norm where constraints are redundant;
            residual (..., m), by how much the constraint accelerations miss their target.
        """
        ...

    @quantity(
        derivatives.forward_dynamics_derivatives,
        [("nv", "nv")] * 3 + [(_n_equations, "nv")] * 3,
        ops_per_pair=300,
        singular=singular_joint,
        solves_constraints=True,
    )
    def forward_dynamics_derivatives(
        self, q: ArrayLike, nu: ArrayLike, tau: ArrayLike, **options: Unpack[ForceOptions]
    ) -> ConstrainedForwardDynamicsDerivatives:
        """Derivatives of accelerations and forces with respect to q (tangent), nu and tau.

        Where constraints are redundant, the derivatives of the forces satisfy the differentiated
        equations, but they can differ from the derivatives of the least forces by forces without
        effect, J^T f = 0. Where constraints contradict each other, so that the residual is not
        zero, those with respect to q are not exact. `forward_dynamics.jacobian("q")` always is.
        """
        ...

    @quantity(
        dynamics.inverse_dynamics,
        [(n_actuated,), (_n_equations,), (n_unactuated,)],
        (
            "of the actuated joints, in the order of nu [N, N m]",
            "constraint forces [N, N m]",
            "forces that neither can provide, as in nu",
        ),
        ops_per_pair=20,
        needs="actuated",
        solves_constraints=True,
    )
    def inverse_dynamics(
        self, q: ArrayLike, nu: ArrayLike, nu_dot: ArrayLike, **options: Unpack[ForceOptions]
    ) -> ConstrainedInverseDynamics:
        """Torques of the actuated joints and constraint forces that cause a motion.

        The forces satisfy the equations of motion of the coordinates without actuators. If several
        forces satisfy them, the result is the one of least norm. If none does, the robot is
        underactuated for this motion, and the residual is not zero.

        Returns:
            torques (..., n) of the actuated joints in the order of nu; forces (..., m); residual
            (..., nv - n), the generalized forces that are missing.

        Raises:
            ArgumentError: the actuated joints are not known.
        """
        ...

    @quantity(
        derivatives.inverse_dynamics_derivatives,
        [(n_actuated, "nv")] * 3 + [(_n_equations, "nv")] * 3,
        ops_per_pair=120,
        needs="actuated",
        solves_constraints=True,
    )
    def inverse_dynamics_derivatives(
        self, q: ArrayLike, nu: ArrayLike, nu_dot: ArrayLike, **options: Unpack[ForceOptions]
    ) -> ConstrainedInverseDynamicsDerivatives:
        """Derivatives of torques and forces with respect to q (tangent), nu and nu_dot.

        They are exact where the residual of `inverse_dynamics` is zero.

        Raises:
            ArgumentError: the actuated joints are not known.
        """
        ...

    @quantity(
        dynamics.impact,
        [("nv",), (_n_equations,)],
        ("velocity after the impact [m/s, rad/s]", "constraint impulses [N s, N m s]"),
        has_body=True,
        ops_per_pair=60,
        solves_constraints=True,
    )
    def impact(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        restitution: ArrayLike = 0.0,
        **options: Unpack[CallOptions],
    ) -> Impact:
        """Velocity after the constraints have come into effect at once, and the impulses.

        Args:
            q, nu: state before the impact.
            restitution: (...) fraction of the constraint velocity J nu that is reversed, 0 to 1.
            options: as in all functions.

        Raises:
            ValueRangeError: restitution is not between 0 and 1.
        """
        return self._impact("impact", q, nu, restitution, options)

    @quantity(
        derivatives.impact_derivatives,
        [("nv", "nv")] * 2 + [(_n_equations, "nv")] * 2,
        has_body=True,
        ops_per_pair=200,
        solves_constraints=True,
    )
    def impact_derivatives(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        restitution: ArrayLike = 0.0,
        **options: Unpack[CallOptions],
    ) -> ImpactDerivatives:
        """Derivatives of `impact` with respect to q (tangent) and nu.

        For redundant constraints, see `forward_dynamics_derivatives`.
        """
        return self._impact("impact_derivatives", q, nu, restitution, options)

    @quantity(
        dynamics.project_velocity,
        ("nv",),
        "velocity [m/s, rad/s]",
        ops_per_pair=60,
        solves_constraints=True,
    )
    def project_velocity(
        self, q: ArrayLike, nu: ArrayLike, **options: Unpack[CallOptions]
    ) -> Array:
        """(..., nv) the nearest velocity with J nu = 0, in the metric of the kinetic energy."""
        ...

    @quantity(
        kinematics.closing_step,
        [("nq",), (_n_equations,)],
        ("configuration after the step", "error before the step [m, rad]"),
        ops_per_pair=20,
    )
    def closing_step(
        self, q: ArrayLike, free: ArrayLike, damping: ArrayLike, **options: Unpack[CallOptions]
    ) -> ClosingStep:
        """One damped Gauss-Newton step toward a configuration that satisfies the constraints.

        Args:
            q: configuration to start from.
            free: (..., nv) 1 for coordinates that may move, 0 for those that stay.
            damping: (...) relative to the mean of the diagonal of J J^T.
            options: as in all functions.

        Returns:
            q (..., nq) after the step, error (..., m) before it.
        """
        ...

    @quantity(kinematics.delassus_matrix, (_n_equations,) * 2, "rows and columns as the equations")
    def delassus(self, q: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(..., m, m) Delassus matrix J M^-1 J^T: constraint accelerations per unit of force."""
        ...

    @quantity(
        kinematics.independent_velocities,
        ("nv", n_independent),
        "rows as in nu, columns as the independent velocities",
        needs="independent",
    )
    def independent_velocities(self, q: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(..., nv, n) basis G of the velocities that the constraints allow: nu = G nu_i.

        nu_i are the n coordinates of nu listed in `independent`, n the degrees of freedom.
        """
        ...

    @quantity(
        kinematics.independent_mass_matrix,
        (n_independent, n_independent),
        f"of the independent velocities {INERTIA}",
        needs="independent",
    )
    def mass_matrix(self, q: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(..., n, n) mass matrix of the independent velocities, G^T M G."""
        ...

    @quantity(kinetic_energy, (), "[J]")
    def kinetic_energy(self, q: ArrayLike, nu: ArrayLike, **options: Unpack[CallOptions]) -> Array:
        """(...) kinetic energy [J]."""
        ...

    @quantity(
        constraint_wrenches, (_n_wrenches, 6), "force (3) [N] and torque (3) [N m] on each frame"
    )
    def constraint_wrenches(
        self, q: ArrayLike, forces: ArrayLike, **options: Unpack[CallOptions]
    ) -> Array:
        """(..., n, 6) force and torque of each loop and contact on its frame; see `forces_of`.

        The order is as in `wrench_names`.
        """
        ...

    @quantity(
        dynamics.step,
        [("nq",), ("nv",)],
        ("configuration after the step", "velocity after the step [m/s, rad/s]"),
        ops_per_pair=60,
        solves_constraints=True,
    )
    def step(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        tau: ArrayLike,
        dt: ArrayLike,
        **options: Unpack[GravityOptions],
    ) -> ConstrainedState:
        """State after a semi-implicit step of a time dt (...) [s].

        Velocities after the step satisfy the constraints, J nu = 0. With stabilization, they reduce
        the errors at its rate, which is the square root of the first gain if there are two.
        `lw.rollout(stance.step, (q, nu), tau, params={"dt": dt})` computes many steps.
        """
        ...

    def forces_of(
        self,
        name: str,
        q: ArrayLike,
        forces: ArrayLike,
        *,
        parameters: ArrayLike | None = None,
    ) -> Array:
        """(..., 6) force and torque of one loop or contact, as a wrench on its frame.

        It is written as `wrenches={frame: ...}` takes it, in the representation of this robot. The
        frame is the frame of a contact; the second link of a joint that closes a loop; the second
        frame of a constraint of the model, or the first if the other one is the world. The opposite
        wrench acts on the other side: the reference of a contact, or the world.

        Args:
            name: of the loop or contact, as in `rows`.
            q: (..., nq) configuration.
            forces: (..., m) forces of `forward_dynamics` or `inverse_dynamics`, or impulses of
                `impact`.
            parameters: as in all functions.
        """
        index, options = self._wrench_index(name), options_of_call(parameters=parameters)
        return self.constraint_wrenches(q, forces, **options)[..., index, :]

    @cached_property
    def wrench_names(self) -> tuple[str, ...]:
        """The loops and contacts whose forces are wrenches on frames: all but couplings."""
        return tuple(one.name for one in self.problem.frame_equations)

    def _wrench_index(self, name: str) -> int:
        """Return the index in `constraint_wrenches` of a loop or contact."""
        if name not in self.problem.rows:
            raise name_not_found("loop or contact", name, self.problem.rows)
        if name not in self.wrench_names:
            text = f"{name!r} couples two joints, so its force is no wrench on a frame"
            raise ArgumentError(f"{text}; use forces[rows[{name!r}]]")
        return self.wrench_names.index(name)

    def _check_specs(self, specs: Sequence[Spec]) -> None:
        for spec in specs if self.actuated is None else ():
            if spec.quantity.needs == "actuated":
                text = f"{spec}: name the joints with actuators"
                raise ArgumentError(f"{text}: kd.constrained(actuated=[...])")

    def _impact(self, name: str, q: Any, nu: Any, restitution: Any, options: CallOptions) -> Any:
        """Call a function of an impact with a coefficient of restitution that is checked."""
        return self._of(name)(q, nu, self._number(checked_restitution(restitution)), **options)


# A pivot below this fraction of the largest entry of a Jacobian is treated as zero: rounded numbers
# in files cause pivots of this size.
RANK_TOLERANCE = 1e-4


def independent_coordinates(J: Array, preferred: Sequence[int] = ()) -> tuple[int, ...]:
    """Return coordinates that determine all others where J nu = 0.

    Args:
        J: (m, nv) constraint Jacobian.
        preferred: coordinates that are independent if they can be.
    """
    rest, scale = J.copy(), np.abs(J).max(initial=0.0)
    candidates = [k for k in range(J.shape[1]) if k not in preferred]
    dependent: list[int] = []
    for group in (candidates, list(preferred)):
        while group:  # the column with the largest remainder depends on the others
            norms = np.linalg.norm(rest[:, group], axis=0)
            best = int(np.argmax(norms))
            if norms[best] <= RANK_TOLERANCE * scale:
                break
            k = group.pop(best)
            dependent.append(k)
            direction = rest[:, k] / norms[best]
            rest -= np.outer(direction, direction @ rest)
    return tuple(k for k in range(J.shape[1]) if k not in dependent)


def checked_restitution(restitution: ArrayLike) -> ArrayLike:
    """Reject a coefficient of restitution that is not between 0 and 1; return it as it is."""
    if is_traced(restitution):
        return restitution
    numbers = as_array(restitution, "restitution")
    outside = ~((numbers >= 0.0) & (numbers <= 1.0))  # also NaN
    if outside.any():
        text = "expected fractions of the velocity that are reversed, from 0 to 1"
        raise ValueRangeError(f"restitution: {text}, got {shown(numbers[outside].flat[0])}")
    return restitution


def actuated_joints(actuated: Iterable[str] | None) -> tuple[str, ...] | None:
    """Return the option `actuated` as a tuple, with each name once."""
    return None if actuated is None else tuple(dict.fromkeys(joint_names(actuated, "actuated")))


def _indices(independent: Any) -> tuple[int, ...]:
    """Return indices in nu, each once, in order."""
    values: list[Any] = list(independent) if isinstance(independent, Iterable) else [None]
    indices = [int(k) if isinstance(k, Integral) else -1 for k in values]
    if min(indices, default=0) < 0:
        raise ArgumentError(f"independent: expected indices in nu, got {shown(independent)}")
    return tuple(sorted(set(indices)))


def gains_of(stabilization: Any) -> tuple[float, float]:
    """Return the gains of the error and of its rate, from the option `stabilization`."""
    try:
        numbers = np.asarray(stabilization, dtype=float)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if numbers.shape not in ((), (2,)) or not np.isfinite(numbers).all() or (numbers < 0).any():
        text = "expected a rate [1/s], or gains of the error and its rate, none negative"
        raise ArgumentError(f"stabilization: {text}, got {shown(stabilization)}")
    if numbers.shape == ():
        return float(numbers) ** 2, 2.0 * float(numbers)
    return float(numbers[0]), float(numbers[1])
