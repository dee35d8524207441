"""Kinematics and dynamics of one robot, compiled for that robot.

`core` has the options and the kernels, `methods` the quantities of `KinDyn` by topic, `constrained`
`ConstrainedKinDyn` with its quantities, contacts and the assembly of loops. A call is described by
a request (`requests`), computed by a program (`programs`), and made by a kernel (`kernels`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.traced import is_traced
from linkwork.errors import ArgumentError, ValueRangeError
from linkwork.kindyn.constrained.assembly import (
    assemble,
    random_closed,
    random_closed_configuration,
)
from linkwork.kindyn.constrained.contacts import (
    Contact,
    ContactKind,
    contacts_of,
)
from linkwork.kindyn.constrained.methods import (
    ConstrainedMethods,
    actuated_joints,
    gains_of,
    independent_coordinates,
)
from linkwork.kindyn.core import KinDynCore, cached
from linkwork.kindyn.kernels import QuantityKernel
from linkwork.kindyn.methods.centroidal import CentroidalMethods
from linkwork.kindyn.methods.configurations import (
    ConfigurationMethods,
    batch_shape,
    random_configurations,
)
from linkwork.kindyn.methods.dynamics import DynamicsMethods
from linkwork.kindyn.methods.frames import FrameMethods
from linkwork.kindyn.methods.kinematic_derivatives import KinematicDerivativeMethods
from linkwork.kindyn.requests import KernelRequest


class ConstrainedKinDyn(ConstrainedMethods):
    """A robot with closed loops and contacts, as compiled functions.

    `KinDyn.constrained` creates it.

    Calling rules, arguments and representations are as in `KinDyn`. The m constraint equations
    belong to the joints that close loops, to `model.constraints`, and to the contacts, in this
    order; `rows` has their slices by name. An entry of `forces` belongs to one equation; it acts on
    the constrained frame in the axes of the reference, which for a contact with the world are the
    axes of the world.

    Redundant constraints are allowed: accelerations are unique, forces have the least norm.
    Where constraints contradict each other, `residual` is not zero.

    Args:
        model, options: as in `KinDyn`.
        contacts: frames or `Contact`s; a mapping from frames to "pose", "point" or "rolling".
        actuated: names of the joints that have actuators; needed by inverse dynamics. By default
            `model.actuated`.
        stabilization: rate w [1/s] at which errors decay: constraint accelerations become
            -w^2 error - 2 w rate; or a pair of gains (error, rate). 0 leaves errors as they are.
        independent: indices in nu of the coordinates that determine all velocities; chosen when
            `independent_velocities` or `mass_matrix` needs them, if not given.
    """

    @cached_property
    def kindyn(self) -> KinDyn:
        """The robot without contacts."""
        return as_kindyn(self)

    def project_configuration(
        self,
        q: ArrayLike,
        *,
        fixed: Iterable[str] = (),
        tolerance: float | None = None,
        parameters: ArrayLike | None = None,
    ) -> Array:
        """(..., nq) a configuration nearby that satisfies the constraints.

        Args:
            q: (..., nq) configurations to start from.
            fixed: names of joints that stay where they are.
            tolerance: largest error at which a constraint counts as satisfied [m] or [rad]; by
                default, as in `lw.assemble`.
            parameters: as in all functions.

        Raises:
            ValueRangeError: some cannot be closed; `lw.assemble` reports which instead of raising.
            ArgumentError: the call is part of a function that is compiled.
        """
        if is_traced(q):
            text = "project_configuration: a search, which cannot be part of a compiled function"
            raise ArgumentError(f"{text}; closing_step is one step of it")
        result = assemble(self, q, fixed=fixed, tolerance=tolerance, parameters=parameters)
        if not np.all(result.converged):
            bad = int(np.size(result.converged) - np.count_nonzero(result.converged))
            where = f" ({bad} of {result.converged.size} rows)" if result.converged.size > 1 else ""
            names = ", ".join(map(repr, result.failed))
            raise ValueRangeError(f"q: no configuration nearby closes {names}{where}")
        return result.q

    def _kernel(self, request: KernelRequest) -> QuantityKernel[Any]:
        if any(spec.quantity.needs == "independent" for spec in request.specs):
            return super(ConstrainedKinDyn, self._with_independent)._kernel(request)
        return super()._kernel(request)

    @cached_property
    def _with_independent(self) -> ConstrainedKinDyn:
        """The robot with independent coordinates, which are chosen at a closed configuration."""
        if self.independent is not None:
            return self
        J = np.asarray(self.jacobian(random_closed_configuration(self)))
        return self.replace(independent=independent_coordinates(J, self.problem.actuated or ()))


class KinDyn(
    FrameMethods,
    DynamicsMethods,
    CentroidalMethods,
    ConfigurationMethods,
    KinematicDerivativeMethods,
):
    """Kinematics and dynamics of one robot, as compiled functions.

    A KinDyn is stateless, immutable, thread-safe and picklable. Two are equal if their models and
    options are equal. Arguments have the same meaning in all methods:

        q         (..., nq) [base position (3), base quaternion wxyz (4), s]; s if the base is fixed
        nu        (..., nv) [base velocity (6), s_dot]; s_dot if the base is fixed
        nu_dot    (..., nv) the derivative of nu
        tau       (..., nv) [wrench on the base (6), joint torques and forces]
        frame     name of a link or of an additional frame of the model
        wrenches  dict: name of a frame -> (..., 6) external [force; torque] that acts on it, in the
                  axes and about the origin in which the velocity of the frame is expressed
        gravity   (..., 3) gravity vector in the world; default: the option `gravity`
        parameters (..., n) model parameters, if the KinDyn was created with `parameters`
        out       array to which the result is written; default: a new array
        threads   largest number of threads for a large batch; default: the number of cores

    Leading batch axes `...` are broadcast as in NumPy. Velocities, accelerations, Jacobians and
    wrenches are expressed in the velocity representation of the KinDyn.

    Args:
        model: the robot.
        base: the link or frame that is the base; default: `model.default_base`.
        floating: whether the base moves freely; if False, it is fixed to the world. By default, it
            floats, with a `FloatingBaseWarning` for robots that look fixed.
        representation: velocity representation of the base and of frames: "mixed" (default; at the
            origin of the frame, in world axes), "body" (at the origin of the frame, in its axes)
            or "inertial" (at the origin of the world, in world axes).
        gravity: gravitational acceleration in the world [m/s^2].
        base_pose: pose of a fixed base in the world, as `Pose` or (4, 4) matrix; default: identity.
        dtype: numpy.float64 or numpy.float32.
        check: whether NaN and infinity in inputs raise a `ValueRangeError` that names the joint.
        joint_dynamics: whether the dynamics include armature, damping and friction of the joints.
        cut: names of joints to cut in closed loops, instead of those that are chosen by default.
        parameters: model parameters that become inputs of every function, as descriptions of
            `linkwork.parameters`. Every method then accepts `parameters` (..., n); default: the
            values of the model.
    """

    def random(self, n: int | tuple[int, ...] = (), *, seed: int | None = None) -> Array:
        """Random configurations: joints within their limits, or within [-pi, pi] and [-1, 1].

        Args:
            n: number of them, or a batch shape.
            seed: for the same ones again.

        Returns:
            (*n, nq); the base within one meter of the world's origin, with a random rotation. The
            loops of the model are closed.

        Raises:
            ValueRangeError: no configuration was found that closes the loops.
        """
        rng = np.random.default_rng(seed)
        batch = batch_shape(n)
        if self._equations:
            return random_closed(self, prod(batch), rng).reshape(*batch, self.nq)
        return random_configurations(self.layout, batch, rng).astype(self.dtype)

    def constrained(
        self,
        contacts: Iterable[str | Contact] | Mapping[str, ContactKind | Contact] = (),
        *,
        actuated: Iterable[str] | None = None,
        stabilization: float | tuple[float, float] = 0.0,
    ) -> ConstrainedKinDyn:
        """Return the robot with equality constraints: contacts, and the closed loops of its model.

        Args:
            contacts: names of frames that keep their pose, or `Contact` objects; or a mapping from
                names of frames to "pose" (6 equations), "point" (3), "rolling" (3), or a `Contact`.
            actuated: names of the actuated joints, which inverse dynamics needs; by default
                `model.actuated`.
            stabilization: rate w [1/s] at which constraint errors decay (Baumgarte stabilization
                with the gains w^2 and 2 w); or the pair of gains for the error and its rate.

        Returns:
            Functions of the constrained robot, as a `ConstrainedKinDyn`. Calls with equal arguments
            return the same object, so that a control loop may contain the call.

        Raises:
            NameNotFoundError: there is no such frame or joint.
            ArgumentError: a frame has two contacts, or is rigidly connected to its reference.

        Examples:
            >>> kd = lw.KinDyn(lw.load("quadruped"))
            >>> feet = [name for name in kd.model.frame_names if name.endswith("foot")]
            >>> stance = kd.constrained(dict.fromkeys(feet, "point"))
            >>> nu_dot, forces, residual = stance.forward_dynamics(
            ...     kd.neutral(), np.zeros(kd.nv), np.zeros(kd.nv)
            ... )
            >>> forces.shape
            (12,)
        """
        settings = contacts_of(contacts), actuated_joints(actuated), gains_of(stabilization)
        return cached(self, _constrained, *settings)


def _constrained(kd: KinDyn, contacts: Any, actuated: Any, gains: Any) -> ConstrainedKinDyn:
    settings = {"contacts": contacts, "actuated": actuated, "stabilization": gains}
    robot = ConstrainedKinDyn(kd.model, **kd.options, **settings)
    robot.__dict__["kindyn"] = kd
    return robot


def as_kindyn(robot: KinDynCore) -> KinDyn:
    """Return the same robot with the same options, as a `KinDyn`."""
    options = {name: robot.options[name] for name in KinDyn._OPTIONS}  # pyright: ignore[reportPrivateUsage]
    return KinDyn(robot.model, **options)


__all__ = ["ConstrainedKinDyn", "KinDyn"]
