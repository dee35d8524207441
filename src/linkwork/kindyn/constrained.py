"""Constrained kinematics and dynamics of one robot: closed loops and contacts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms.centroidal.momentum import kinetic_energy
from linkwork.algorithms.constraints import derivatives, dynamics, kinematics
from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ValueRangeError, name_not_found, nearest, shown
from linkwork.kindyn.assembly import TOLERANCE, assemble, closed_sample
from linkwork.kindyn.checks import singular_joint
from linkwork.kindyn.core import KinDynCore, joint_names
from linkwork.kindyn.quantities import CONSTRAINED, owned, quantity
from linkwork.mechanics.constraints import Anchor, ConstrainedLayout, Equations, FrameEquations
from linkwork.model.constraints import opened
from linkwork.model.geometry import Cylinder, Sphere
from linkwork.model.joints.kind import Closure
from linkwork.model.layout import Layout
from linkwork.model.model import Model
from linkwork.model.pose import IDENTITY, Pose, as_pose
from linkwork.spatial.blocks import IDENTITY as AXES

if TYPE_CHECKING:
    from linkwork.kindyn import KinDyn

ContactKind: TypeAlias = Literal["pose", "point", "rolling"]
CONTACT_KINDS: tuple[ContactKind, ...] = ("pose", "point", "rolling")
AXIS_NAMES = ("x", "y", "z", "rx", "ry", "rz")


@dataclass(frozen=True, slots=True)
class Contact:
    """A frame that keeps its pose, or its position, relative to the world or to another frame.

    Args:
        frame: a link or frame of the robot.
        kind: "pose" (6 equations), "point" (3 equations), or "rolling" (a ball that rolls without
            slipping on the plane z = 0 of the reference: 3 equations).
        reference: another link or frame; None for the world.
        axes: of the reference in which motion is prevented, as "x", "y", "z" (translations) and
            "rx", "ry", "rz" (rotations); all that belong to the kind if not given.
        target: the pose that `frame` keeps in the reference, as `Pose` or (4, 4) matrix; the error
            of the constraint is measured from it. If not given, the frame keeps the pose that it
            has, and there is no error.
        radius: of the ball that rolls [m]; that of the link's collision shape if not given.
    """

    frame: str
    kind: ContactKind = "pose"
    reference: str | None = None
    axes: tuple[str, ...] | None = None
    target: Pose | None = None
    radius: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in CONTACT_KINDS:
            text = f"contact of {shown(self.frame)}: unknown kind {shown(self.kind)}"
            raise ArgumentError(f"{text}; {nearest(self.kind, CONTACT_KINDS)}")
        if self.target is not None:
            object.__setattr__(self, "target", as_pose(self.target, "target"))
        if self.axes is not None:
            object.__setattr__(self, "axes", _axes(self.frame, self.kind, self.axes))
        if self.radius is not None and self.kind != "rolling":
            raise ArgumentError(f"contact of {self.frame!r}: only a rolling contact has a radius")

    def equations(self, model: Model) -> FrameEquations:
        """The equations of the contact."""
        for name in (self.frame, self.reference):
            if name is not None:
                model.frame_index(name)
        reference = Anchor(self.reference, self.target or IDENTITY)
        moving, measured = Anchor(self.frame), self.target is not None
        if self.kind == "rolling":
            radius = _radius(model, self.frame) if self.radius is None else float(self.radius)
            closure = Closure(AXES, "free")
            return FrameEquations(
                self.frame, reference, moving, closure, radius=radius, has_target=measured
            )
        axes = self.axes or AXIS_NAMES[: 6 if self.kind == "pose" else 3]
        linear = tuple(AXES[k] for k in range(3) if AXIS_NAMES[k] in axes)
        angular = tuple(AXES[k] for k in range(3) if AXIS_NAMES[3 + k] in axes)
        closure = Closure(linear, "locked" if angular else "free")
        return FrameEquations(
            self.frame, reference, moving, closure, angular or AXES, has_target=measured
        )


def _axes(frame: str, kind: ContactKind, axes: Iterable[str]) -> tuple[str, ...]:
    known = AXIS_NAMES if kind == "pose" else AXIS_NAMES[:3]
    names = tuple(axes)
    for name in names:
        if name not in known:
            text = f"contact of {frame!r}: unknown axis {shown(name)} of kind {kind!r}"
            raise ArgumentError(f"{text}; {nearest(name, known)}")
    if kind == "rolling" or not names:
        raise ArgumentError(f"contact of {frame!r}: axes: expected at least one, got {shown(axes)}")
    return names


def _radius(model: Model, frame: str) -> float:
    """The radius of the only sphere or cylinder of a link's collision shapes."""
    shapes = [shape.geometry for shape in model.link(model.frame(frame).link).collisions]
    round_shapes = [shape for shape in shapes if isinstance(shape, (Sphere, Cylinder))]
    if len(round_shapes) != 1:
        text = f"contact of {frame!r}: its link has {len(round_shapes)} spheres and cylinders"
        raise ArgumentError(f"{text}; give lw.Contact(..., radius=...)")
    return round_shapes[0].radius


class ConstrainedForwardDynamics(NamedTuple):
    """Result of constrained forward dynamics."""

    nu_dot: Array  # (..., nv)
    forces: Array  # (..., m) one for each constraint equation
    residual: Array  # (..., m) constraint accelerations less their target; 0 if they are consistent


class ConstrainedInverseDynamics(NamedTuple):
    """Result of constrained inverse dynamics."""

    torques: Array  # (..., n) of the actuated coordinates, in the order of nu
    forces: Array  # (..., m) one for each constraint equation
    residual: Array  # (..., nv - n) generalized forces that neither can provide; 0 if all can be


class ConstrainedForwardDynamicsDerivatives(NamedTuple):
    """Derivatives of constrained forward dynamics: of nu_dot, then of the forces."""

    q: Array  # (..., nv, nv)
    nu: Array  # (..., nv, nv)
    tau: Array  # (..., nv, nv)
    forces_q: Array  # (..., m, nv)
    forces_nu: Array  # (..., m, nv)
    forces_tau: Array  # (..., m, nv)


class ConstrainedInverseDynamicsDerivatives(NamedTuple):
    """Derivatives of constrained inverse dynamics: of the torques, then of the forces."""

    q: Array  # (..., n, nv)
    nu: Array  # (..., n, nv)
    nu_dot: Array  # (..., n, nv)
    forces_q: Array  # (..., m, nv)
    forces_nu: Array  # (..., m, nv)
    forces_nu_dot: Array  # (..., m, nv)


class Impact(NamedTuple):
    """Result of an impact."""

    nu: Array  # (..., nv) velocity after it
    impulses: Array  # (..., m)


class ImpactDerivatives(NamedTuple):
    """Derivatives of an impact: of the velocity after it, then of the impulses."""

    q: Array  # (..., nv, nv)
    nu: Array  # (..., nv, nv)
    impulses_q: Array  # (..., m, nv)
    impulses_nu: Array  # (..., m, nv)


class ConstrainedState(NamedTuple):
    """A configuration and a velocity."""

    q: Array  # (..., nq)
    nu: Array  # (..., nv)


class ClosingStep(NamedTuple):
    """A step toward a configuration that satisfies the constraints."""

    q: Array  # (..., nq) after the step
    error: Array  # (..., m) before it


def _n_equations(layout: Layout) -> int:
    assert isinstance(layout, ConstrainedLayout)
    return layout.n_equations


def _n_actuated(layout: Layout) -> int:
    assert isinstance(layout, ConstrainedLayout)
    return len(dynamics.actuated_of(layout))


def _n_unactuated(layout: Layout) -> int:
    return layout.nv - _n_actuated(layout)


def _n_independent(layout: Layout) -> int:
    assert isinstance(layout, ConstrainedLayout)
    assert layout.independent is not None
    return len(layout.independent)


@owned
class ConstrainedKinDyn(KinDynCore):
    """A robot with closed loops and contacts, as compiled functions. `KinDyn.constrained` makes it.

    Calling rules, arguments and representations are those of `KinDyn`. The m constraint equations
    are those of the joints that close loops, of `model.constraints`, and of the contacts, in this
    order; `rows` has their slices by name. An entry of `forces` belongs to one equation; it acts on
    the constrained frame in the axes of the reference, which for a contact with the world are the
    axes of the world.

    Redundant constraints are allowed: accelerations are unique, forces are those of least norm.
    Where constraints contradict each other, `residual` is not zero.

    Args:
        model, options: as of `KinDyn`.
        contacts: frames or `Contact`s; a mapping from frames to "pose", "point" or "rolling".
        actuated: names of the joints that have actuators; needed by inverse dynamics.
        stabilization: rate w [1/s] at which errors decay: constraint accelerations become
            -w^2 error - 2 w rate; or a pair of gains (error, rate). 0 leaves errors as they are.
        independent: indices in nu of the coordinates that determine all velocities; chosen when
            `independent_velocities` or `mass_matrix` needs them, if not given.
    """

    contacts: tuple[Contact, ...]
    actuated: tuple[str, ...] | None
    stabilization: tuple[float, float]
    independent: tuple[int, ...] | None

    _PREFIX = CONSTRAINED
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
        self.__dict__["contacts"] = _contacts(contacts)
        self.__dict__["actuated"] = None if actuated is None else joint_names(actuated, "actuated")
        self.__dict__["stabilization"] = _gains(stabilization)
        self.__dict__["independent"] = None if independent is None else tuple(independent)
        names = [group.name for group in self._equations]
        for name in names:
            if names.count(name) > 1:
                raise ArgumentError(f"contacts: {name!r} is constrained twice")
        for name in self.actuated or ():
            if name not in self.layout.nu:
                raise name_not_found("moving joint", name, self.layout.nu)

    @cached_property
    def kindyn(self) -> KinDyn:
        """The same robot without contacts."""
        from linkwork.kindyn import KinDyn

        names = [name for name in self._OPTIONS if name in KinDynCore._OPTIONS]
        options = {name: getattr(self, name) for name in names}
        return KinDyn(self.model, **options, parameters=self._descriptions)

    @cached_property
    def _equations(self) -> tuple[Equations, ...]:
        """The equations of the loops and of the contacts."""
        of_contacts = [contact.equations(self.model) for contact in self.contacts]
        return (*self._loop_equations(), *of_contacts)

    @cached_property
    def layout(self) -> ConstrainedLayout:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Slices of q and nu by joint name, and the constraint equations."""
        tree_model = opened(self.model, self.closing_joints)
        options = (self.floating, self.base_pose or IDENTITY, self._equations)
        layout = ConstrainedLayout(tree_model, *options)
        actuated = None
        if self.actuated is not None:
            spans = [layout.nu[name] for name in self.actuated]
            actuated = tuple(sorted(k for span in spans for k in range(span.start, span.stop)))
        return replace(
            layout, actuated=actuated, independent=self.independent, gains=self.stabilization
        )

    @property
    def rows(self) -> Mapping[str, slice]:
        """The rows of the constraint equations, by the name of the loop or the contact."""
        return dict(self.layout.rows)

    @property
    def m(self) -> int:
        """The number of constraint equations."""
        return self.layout.n_equations

    @cached_property
    def _digest(self) -> str:
        parts = (self._robot_digest(), self._equations, self.layout.actuated, self.stabilization)
        parts += (self.independent,)
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    @quantity(kinematics.constraint_error, shape=(_n_equations,), prefix=CONSTRAINED)
    def error(
        self,
        q: ArrayLike,
        *,
        parameters: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """(..., m) error of the constraints, zero where they are satisfied.

        Positions are in [m]. Of rotations it is twice the tangent of half the angle, which is the
        angle [rad] if that is small. A contact without target has no error.
        """
        ...

    @quantity(kinematics.constraint_jacobian, shape=(_n_equations, "nv"), prefix=CONSTRAINED)
    def jacobian(
        self,
        q: ArrayLike,
        *,
        parameters: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """(..., m, nv) constraint Jacobian J: the constraints allow velocities with J nu = 0.

        Where the error is zero, J is its derivative.
        """
        ...

    @quantity(kinematics.constraint_bias, shape=(_n_equations,), prefix=CONSTRAINED)
    def bias(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        *,
        parameters: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """(..., m) Jdot nu: the constraints allow accelerations with J nu_dot = -Jdot nu."""
        ...

    @quantity(
        dynamics.forward_dynamics,
        shape=[("nv",), (_n_equations,), (_n_equations,)],
        prefix=CONSTRAINED,
        per_pair=60,
        singular=singular_joint,
    )
    def forward_dynamics(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Mapping[str, ArrayLike] | None = None,
        gravity: ArrayLike | None = None,
        parameters: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> ConstrainedForwardDynamics:
        """Accelerations and constraint forces: M nu_dot + h = tau + J^T forces + sum J_f^T f.

        Returns:
            nu_dot (..., nv); forces (..., m), of least norm where constraints are redundant;
            residual (..., m), by how much the constraint accelerations miss their target.
        """
        ...

    @quantity(
        derivatives.forward_dynamics_derivatives,
        shape=[("nv", "nv")] * 3 + [(_n_equations, "nv")] * 3,
        prefix=CONSTRAINED,
        per_pair=300,
        singular=singular_joint,
    )
    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Mapping[str, ArrayLike] | None = None,
        gravity: ArrayLike | None = None,
        parameters: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> ConstrainedForwardDynamicsDerivatives:
        """Derivatives of accelerations and forces with respect to q (tangent), nu and tau."""
        ...

    @quantity(
        dynamics.inverse_dynamics,
        shape=[(_n_actuated,), (_n_equations,), (_n_unactuated,)],
        prefix=CONSTRAINED,
        has_body=True,
        per_pair=20,
    )
    def inverse_dynamics(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        nu_dot: ArrayLike,
        *,
        wrenches: Mapping[str, ArrayLike] | None = None,
        gravity: ArrayLike | None = None,
        parameters: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> ConstrainedInverseDynamics:
        """Torques of the actuated joints and constraint forces behind a motion.

        The forces satisfy the equations of the coordinates without actuator; they are those of
        least norm where several do. Where none do, the robot is underactuated for this motion, and
        the residual is not zero.

        Returns:
            torques (..., n) of the actuated joints in the order of nu; forces (..., m); residual
            (..., nv - n), the generalized forces that are missing.

        Raises:
            ArgumentError: `actuated` was not given.
        """
        self._check_actuated("inverse_dynamics")
        acting = _given(wrenches=wrenches, gravity=gravity)
        options = _given(parameters=parameters, out=out, threads=threads)
        return self._compiled("inverse_dynamics")(q, nu, nu_dot, **acting, **options)

    @quantity(
        derivatives.inverse_dynamics_derivatives,
        shape=[(_n_actuated, "nv")] * 3 + [(_n_equations, "nv")] * 3,
        prefix=CONSTRAINED,
        has_body=True,
        per_pair=120,
    )
    def inverse_dynamics_derivatives(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        nu_dot: ArrayLike,
        *,
        wrenches: Mapping[str, ArrayLike] | None = None,
        gravity: ArrayLike | None = None,
        parameters: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> ConstrainedInverseDynamicsDerivatives:
        """Derivatives of torques and forces with respect to q (tangent), nu and nu_dot.

        They are exact where the residual of `inverse_dynamics` is zero.

        Raises:
            ArgumentError: `actuated` was not given.
        """
        self._check_actuated("inverse_dynamics_derivatives")
        acting = _given(wrenches=wrenches, gravity=gravity)
        options = _given(parameters=parameters, out=out, threads=threads)
        kernel = self._compiled("inverse_dynamics_derivatives")
        return kernel(q, nu, nu_dot, **acting, **options)

    def _check_actuated(self, name: str) -> None:
        if self.actuated is None:
            text = f"{name}: name the joints with actuators"
            raise ArgumentError(f"{text}: kd.constrained(actuated=[...])")

    @quantity(
        dynamics.impact,
        shape=[("nv",), (_n_equations,)],
        prefix=CONSTRAINED,
        has_body=True,
        per_pair=60,
    )
    def impact(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        restitution: ArrayLike = 0.0,
        *,
        parameters: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Impact:
        """Velocity after the constraints have come into effect at once, and the impulses.

        Args:
            q, nu: state before the impact.
            restitution: (...) fraction of the constraint velocity J nu that is reversed.
            parameters, out, threads: as of every function.
        """
        options = _given(parameters=parameters, out=out, threads=threads)
        return self._compiled("impact")(q, nu, self._number(restitution), **options)

    @quantity(
        derivatives.impact_derivatives,
        shape=[("nv", "nv")] * 2 + [(_n_equations, "nv")] * 2,
        prefix=CONSTRAINED,
        has_body=True,
        per_pair=200,
    )
    def impact_derivatives(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        restitution: ArrayLike = 0.0,
        *,
        parameters: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> ImpactDerivatives:
        """Derivatives of `impact` with respect to q (tangent) and nu."""
        options = _given(parameters=parameters, out=out, threads=threads)
        return self._compiled("impact_derivatives")(q, nu, self._number(restitution), **options)

    @quantity(dynamics.project_velocity, shape=("nv",), prefix=CONSTRAINED, per_pair=60)
    def project_velocity(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        *,
        parameters: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """(..., nv) the nearest velocity with J nu = 0, in the metric of the kinetic energy."""
        ...

    @quantity(
        kinematics.closing_step, shape=[("nq",), (_n_equations,)], prefix=CONSTRAINED, per_pair=20
    )
    def closing_step(
        self,
        q: ArrayLike,
        free: ArrayLike,
        damping: ArrayLike,
        *,
        parameters: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> ClosingStep:
        """One damped Gauss-Newton step toward a configuration that satisfies the constraints.

        Args:
            q: configuration to start from.
            free: (..., nv) 1 for coordinates that may move, 0 for those that stay.
            damping: (...) relative to the diagonal of J J^T.
            parameters, out, threads: as of every function.

        Returns:
            q (..., nq) after the step, error (..., m) before it.
        """
        ...

    @quantity(kinematics.delassus_matrix, shape=(_n_equations,) * 2, prefix=CONSTRAINED)
    def delassus(
        self,
        q: ArrayLike,
        *,
        parameters: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """(..., m, m) Delassus matrix J M^-1 J^T: constraint accelerations per unit of force."""
        ...

    @quantity(
        kinematics.independent_velocities,
        shape=("nv", _n_independent),
        prefix=CONSTRAINED,
        has_body=True,
    )
    def independent_velocities(
        self,
        q: ArrayLike,
        *,
        parameters: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """(..., nv, n) basis G of the velocities that the constraints allow: nu = G nu_i.

        nu_i are the n coordinates of nu listed in `independent`, n the degrees of freedom.
        """
        options = _given(parameters=parameters, out=out, threads=threads)
        return self._with_independent._compiled("independent_velocities")(q, **options)

    @quantity(
        kinematics.independent_mass_matrix,
        shape=(_n_independent, _n_independent),
        prefix=CONSTRAINED,
        has_body=True,
    )
    def mass_matrix(
        self,
        q: ArrayLike,
        *,
        parameters: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """(..., n, n) mass matrix of the independent velocities, G^T M G."""
        options = _given(parameters=parameters, out=out, threads=threads)
        return self._with_independent._compiled("mass_matrix")(q, **options)

    @quantity(kinetic_energy, shape=(), prefix=CONSTRAINED)
    def kinetic_energy(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        *,
        parameters: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """(...) kinetic energy [J]."""
        ...

    @quantity(
        dynamics.step,
        shape=[("nq",), ("nv",)],
        prefix=CONSTRAINED,
        has_body=True,
        per_pair=60,
    )
    def step(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        tau: ArrayLike,
        dt: ArrayLike,
        *,
        gravity: ArrayLike | None = None,
        parameters: ArrayLike | None = None,
        out: Array | None = None,
        threads: int | None = None,
    ) -> ConstrainedState:
        """State after a semi-implicit step of a time dt (...) [s].

        Velocities after the step satisfy the constraints, J nu = 0, or approach them at the rate
        of the stabilization.
        """
        options = _given(gravity=gravity, parameters=parameters, out=out, threads=threads)
        return self._compiled("step")(q, nu, self._number(dt), tau, **options)

    def project_configuration(
        self, q: ArrayLike, *, fixed: Iterable[str] = (), tolerance: float = TOLERANCE
    ) -> Array:
        """(..., nq) a configuration nearby that satisfies the constraints.

        Args:
            q: (..., nq) configurations to start from.
            fixed: names of joints that stay where they are.
            tolerance: largest error that is taken for closed.

        Raises:
            ValueRangeError: some cannot be closed; `lw.assemble` reports which instead of raising.
        """
        result = assemble(self, q, fixed=fixed, tolerance=tolerance)
        if not np.all(result.converged):
            bad = int(np.size(result.converged) - np.count_nonzero(result.converged))
            where = f" ({bad} of {result.converged.size} rows)" if result.converged.size > 1 else ""
            names = ", ".join(map(repr, result.failed))
            raise ValueRangeError(f"q: no configuration nearby closes {names}{where}")
        return result.q

    def _compiled(self, name: str) -> Any:
        """The kernel of a quantity whose method is written out."""
        return self._of(CONSTRAINED + name)

    def _number(self, value: ArrayLike) -> Any:
        """A number for each row; a float becomes an array here faster than in the kernel."""
        return np.array(value, self.dtype) if isinstance(value, (int, float)) else value

    @cached_property
    def _with_independent(self) -> ConstrainedKinDyn:
        """The same, with independent coordinates chosen at a configuration that is closed."""
        if self.independent is not None:
            return self
        J = np.asarray(self.jacobian(closed_sample(self)))
        return self.replace(independent=independent_coordinates(J, self.layout.actuated or ()))


def _given(**options: Any) -> dict[str, Any]:
    """Options that are not None."""
    return {name: value for name, value in options.items() if value is not None}


# A pivot below this fraction of the largest entry of a Jacobian is taken for zero.
RANK_TOLERANCE = 1e-9


def independent_coordinates(J: Array, preferred: Sequence[int] = ()) -> tuple[int, ...]:
    """Coordinates that determine all others where J nu = 0.

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


def _contacts(contacts: Any) -> tuple[Contact, ...]:
    """Contacts in all the ways in which they can be given."""
    if isinstance(contacts, Mapping):
        items: Sequence[Any] = list(contacts.items())
        return tuple(_contact(frame, kind) for frame, kind in items)
    if isinstance(contacts, str) or not isinstance(contacts, Iterable):
        text = "expected frames, Contacts, or a mapping from frames to kinds"
        raise ArgumentError(f"contacts: {text}, got {shown(contacts)}")
    return tuple(one if isinstance(one, Contact) else _contact(one, "pose") for one in contacts)


def _contact(frame: Any, kind: Any) -> Contact:
    if isinstance(kind, Contact):
        if kind.frame != frame:
            raise ArgumentError(f"contacts: {frame!r} maps to a contact of {kind.frame!r}")
        return kind
    return Contact(frame, kind)


def _gains(stabilization: Any) -> tuple[float, float]:
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
