"""Assembly: configurations in which closed loops are closed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.cached_property import cached_property
from linkwork.engine.kernel.rollout import Rollout
from linkwork.engine.symbolic import linalg
from linkwork.engine.symbolic.arrays import Array, as_array
from linkwork.errors import ArgumentError, ShapeError, ValueRangeError, listed, shown, warn_once
from linkwork.kindyn.constrained.methods import ConstrainedMethods
from linkwork.kindyn.core import KinDynCore, cached, joint_names
from linkwork.kindyn.gauss_newton import (
    Bounds,
    Damping,
    Proposal,
    bounds_of,
    clamped,
    step_kernel,
)
from linkwork.kindyn.loops import free_coordinates
from linkwork.kindyn.methods.configurations import random_configurations

TOLERANCE = 1e-10  # largest entry of the error of a closed configuration [m] or [rad]
# The same for robots whose equations contradict each other, because numbers of their file are
# rounded: a linkage whose axes differ by 4e-6 rad cannot be closed exactly.
ROUNDED_TOLERANCE = 2e-5
N_SAMPLES = 16  # random configurations from which it is known whether numbers are rounded
# Steps between two checks, after which rows that are closed are removed and joints that stopped at
# a limit may move again. Newton's method closes most loops within the first.
STEPS_PER_CHECK = (4, 3, *[8] * 12)
MOST_DAMPING = 1e8  # with which a search ends
# Sizes of the steps from the start to the starts of further searches, for rows that stay open: it
# may be a stationary point, such as a linkage that is stretched out.
PERTURBATIONS = (0.03, 0.3, 1.0)
MOST_TRIES = 20  # of drawing a random configuration that can be closed
LARGEST_STEP = 0.5  # of an angle or a position in one step [rad] or [m]


@dataclass(frozen=True, eq=False)
class AssemblyResult:
    """Configurations after `assemble`."""

    q: Array  # (..., nq)
    converged: Array  # (...) whether all loops are closed
    errors: Array  # (..., m) error of each constraint equation
    failed: tuple[str, ...]  # names of the loops that are open in some row

    def __repr__(self) -> str:
        n, good = self.converged.size, int(np.count_nonzero(self.converged))
        text = f"{good} of {n} converged" if n != 1 else f"converged={bool(good)}"
        text += f", largest error {np.abs(self.errors).max(initial=0.0):.2g}"
        return f"<AssemblyResult: {text}{f'; open: {listed(self.failed)}' if self.failed else ''}>"


def assemble(
    kd: KinDynCore,
    q: ArrayLike,
    *,
    fixed: Iterable[str] = (),
    tolerance: float | None = None,
    parameters: ArrayLike | None = None,
) -> AssemblyResult:
    """Compute configurations that satisfy the loop constraints, near the given ones.

    The method is Levenberg-Marquardt on the configuration manifold, within the joint limits. All
    joints except the fixed ones can move. A floating base does not move unless a constraint
    attaches the robot to the world. A search that fails is repeated from slightly perturbed starts.

    Args:
        kd: a `KinDyn` of a model with loops, or a `ConstrainedKinDyn`.
        q: (..., nq) configurations to start from.
        fixed: names of joints that keep their positions, and "base" for a floating base.
        tolerance: largest error of a constraint equation at which it counts as satisfied [m] or
            [rad]; default 1e-10, or 2e-5 with a warning for a robot whose loops can be closed to
            this accuracy only, because numbers in its file are rounded.
        parameters: (..., n) values of the model parameters, if `kd` has any; by default, the values
            in the model. Batch axes are broadcast.

    Returns:
        `q` (..., nq); `converged` (...), whether all loops of a row are closed; `errors` (..., m)
        of the constraint equations; and `failed`, the names of the loops that are open in any row.
        Rows do not affect each other.

    All computations are in float64.
    """
    constrained = _constrained(kd)
    layout = constrained.layout
    start = np.asarray(as_array(q, "q"), dtype=np.float64)
    if start.ndim == 0 or start.shape[-1] != layout.nq:
        raise ShapeError(f"q: expected shape (..., {layout.nq}), got {start.shape}")
    values = constrained.parameter_values() if parameters is None else parameters
    values = np.asarray(as_array(values, "parameters"), dtype=np.float64)
    n = constrained.parameters.size
    if values.ndim == 0 or values.shape[-1] != n:
        raise ShapeError(f"parameters: expected shape (..., {n}), got {values.shape}")
    batch = _joint_batch(start.shape[:-1], values.shape[:-1])
    rows = np.broadcast_to(start, (*batch, layout.nq)).reshape(-1, layout.nq)
    values = np.broadcast_to(values, (*batch, n)).reshape(len(rows), n)
    free = free_coordinates(constrained.problem, joint_names(fixed, "fixed"))
    if tolerance is not None and not (isinstance(tolerance, Real) and 0.0 <= tolerance < np.inf):
        raise ValueRangeError(f"tolerance: expected a number >= 0, got {shown(tolerance)}")
    assembler = assembler_of(constrained)
    closed, errors = assembler.close(rows, free, tolerance, parameters=values)
    is_closed = np.abs(errors) <= (assembler.tolerance if tolerance is None else tolerance)
    return AssemblyResult(
        closed.reshape(*batch, layout.nq).astype(constrained.dtype),
        np.asarray(is_closed.all(axis=-1).reshape(batch)),
        errors.reshape(*batch, constrained.m),
        tuple(name for name, span in constrained.rows.items() if not is_closed[:, span].all()),
    )


class Assembler:
    """Closes the loops of one robot with compiled steps of `gauss_newton`."""

    def __init__(self, constrained: ConstrainedMethods, limits: bool) -> None:
        if constrained.dtype != np.float64:
            constrained = constrained.replace(dtype=np.float64)
        self._robot: Any = constrained
        self._size = constrained.parameters.size
        self._bounds = bounds_of(constrained.layout, limits)
        self._steps = Rollout(step_kernel(Closing(constrained, self._bounds)))

    def close(
        self,
        q: Array,
        free: Array,
        tolerance: float | None = None,
        perturbations: Sequence[float] = PERTURBATIONS,
        parameters: Array | None = None,
    ) -> tuple[Array, Array]:
        """Close the loops of each row of a batch, as far as possible.

        Args:
            q: (n, nq) configurations to start from.
            free: (nv,) 1 for coordinates that may move, 0 for those that stay.
            tolerance: largest error at which a row is closed; default `self.tolerance`.
            perturbations: sizes of random steps from the start, from which rows that stay open are
                started again, one after the other.
            parameters: (n, size) values of the model parameters; by default, as in the model.

        Returns:
            (n, nq) configurations, and (n, m) the errors of their equations.
        """
        robot, kd = self._robot, self._robot.kindyn
        if not len(q):
            return q.copy(), np.zeros((0, robot.m))
        start = q if robot.nq == robot.nv else kd.normalize(q)
        if parameters is None:
            parameters = np.tile(robot.parameter_values(), (len(q), 1))
        aim = TOLERANCE if tolerance is None else tolerance
        best = self._descend(start, free, aim, parameters)
        errors = self._errors(best, parameters)
        for seed, size in enumerate(perturbations):
            sizes = np.abs(errors).max(axis=-1, initial=0.0)
            if not (sizes > aim).any():
                break
            is_open = sizes > (self.tolerance if tolerance is None else tolerance)
            rows = np.flatnonzero(is_open)  # without those that are not finite
            if not rows.size:
                break
            step = size * free * np.random.default_rng(seed).normal(size=robot.nv)
            again = self._bounds.clamped(kd.integrate(start[rows], step))
            again = self._descend(again, free, aim, parameters[rows])
            errors_again = self._errors(again, parameters[rows])
            better = np.linalg.norm(errors_again, axis=-1) < np.linalg.norm(errors[rows], axis=-1)
            best[rows[better]], errors[rows[better]] = again[better], errors_again[better]
        return best, errors

    @cached_property
    def tolerance(self) -> float:
        """The largest error of a closed configuration: larger if numbers of a file are rounded."""
        layout = self._robot.layout
        q = random_configurations(layout, (N_SAMPLES,), np.random.default_rng(0))
        _, errors = self.close(q, free_coordinates(self._robot.problem, ()), TOLERANCE, ())
        sizes = np.abs(errors).max(axis=-1, initial=0.0)
        is_rounded = (sizes > TOLERANCE) & (sizes <= ROUNDED_TOLERANCE)
        if 2 * np.count_nonzero(is_rounded) < N_SAMPLES:
            return TOLERANCE
        worst = np.abs(errors[is_rounded]).max(axis=0)
        rows = self._robot.rows
        names = [name for name, span in rows.items() if worst[span].max() > TOLERANCE]
        text = f"{layout.model.name}: {', '.join(map(repr, names))} can be closed to an error of"
        cause = "only; are angles or axes in its file rounded, such as 1.5708 for pi/2?"
        warn_once(f"rounded numbers: {text}", f"{text} {worst.max():.0e} {cause}")
        return ROUNDED_TOLERANCE

    def _errors(self, q: Array, parameters: Array) -> Array:
        """Return (n, m) errors of the equations."""
        return self._robot.error(q, parameters=parameters) if self._size else self._robot.error(q)

    def _descend(self, q: Array, free: Array, tolerance: float, parameters: Array) -> Array:
        """Return (n, nq) the configurations after a search from one start per row."""
        n = len(q)
        best, rows = q.copy(), np.arange(n)
        cost = np.linalg.norm(self._errors(q, parameters), axis=-1)
        damping, excess = np.full(n, Closing.damping.initial), np.full(n, np.inf)
        excess[cost <= tolerance] = 0.0
        states: list[Array] = [q, damping, cost, excess, np.tile(free, (n, 1))]
        params: dict[str, Any] = {"tolerance": np.float64(tolerance)}
        for steps in STEPS_PER_CHECK:
            active = (states[3] > 1.0) & (states[2] < np.inf) & (states[1] < MOST_DAMPING)
            if not active.any():
                break
            if not active.all():
                rows, states = rows[active], [state[active] for state in states]
            if self._size:
                params["parameters"] = parameters[rows]
            states[-1][:] = free
            states = list(self._steps(tuple(states), params=params, steps=steps, final=True))
            best[rows] = states[0]
        return best


@dataclass(frozen=True)
class Closing:
    """The loops of a robot as an objective of `gauss_newton`: the cost is the norm of their error.

    The inputs of a step are the tolerance of the norm, and model parameters if there are any.
    """

    robot: ConstrainedMethods
    bounds: Bounds

    damping: ClassVar[Damping] = Damping(
        initial=0.0, decrease=0.1, increase=10.0, least=1e-3, most=MOST_DAMPING, when_small=0.0
    )

    @property
    def nv(self) -> int | None:
        """The number of coordinates."""
        return self.robot.nv

    def shapes(self) -> dict[str, Any]:
        """Return the shapes of q and of the inputs of a step."""
        size = self.robot.parameters.size
        of_parameters = {"parameters": size} if size else {}
        return {"q": self.robot.nq, "tolerance": (), **of_parameters}

    def propose(self, q: Any, damping: Any, movable: Any, inputs: Mapping[str, Any]) -> Proposal:
        """Propose a step that closes the loops, of bounded size."""
        parameters = inputs.get("parameters")
        step = self.robot.closing_step(q, movable, damping, parameters=parameters)
        moved, layout = list(step.q), self.robot.layout
        for name, span in layout.q.items():
            if span.stop - span.start != layout.nu[name].stop - layout.nu[name].start:
                continue  # quaternions, (cos, sin)
            for k in range(span.start, span.stop):
                change = np.minimum(np.maximum(moved[k] - q[k], -LARGEST_STEP), LARGEST_STEP)
                moved[k] = q[k] + change
        return Proposal(clamped(self.bounds, np.stack(moved)), np.stack(moved))

    def evaluate(self, q: Any, inputs: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return the norm of the error; the excess is 0 if it is within the tolerance."""
        norm = linalg.norm(self.robot.error(q, parameters=inputs.get("parameters")))
        return norm, np.where(norm <= inputs["tolerance"], 0.0, np.inf)

    def to_beat(self, cost: Any, excess: Any) -> Any:
        """Return 0 at a configuration that is closed, which stays, else the cost."""
        return np.where(excess > 1.0, cost, 0.0)


def assembler_of(constrained: ConstrainedMethods, limits: bool = True) -> Assembler:
    """Return the compiled assembly of a robot, within the joint limits or not."""
    return cached(constrained, Assembler, limits)


def random_closed_configuration(constrained: ConstrainedMethods) -> Array:
    """Return (nq,) a configuration that satisfies the constraints, away from symmetric ones.

    Joints at zero satisfy them in files that place the links there, even if no configuration within
    the limits does.
    """
    try:
        return random_closed(constrained, 1, np.random.default_rng(0))[0]
    except ValueRangeError:
        result = assemble(constrained, constrained.layout.zero())
        if not result.converged:
            raise
        return result.q


def random_closed(kd: KinDynCore, n: int, rng: np.random.Generator) -> Array:
    """Return (n, nq) random configurations that satisfy the constraints.

    Raises:
        ValueRangeError: too few were found.
    """
    draws = draw_closed(kd, n, rng)
    if not draws.is_closed.all():
        names = ", ".join(map(repr, draws.failed))
        text = f"{kd.model.name}: no configuration was found that closes {names}"
        raise ValueRangeError(f"{text}; the least error was {draws.error:.1e}")
    return draws.q


class ClosedSamples(NamedTuple):
    """Random configurations, as far as their loops could be closed."""

    q: Array  # (n, nq)
    is_closed: Array  # (n,)
    failed: tuple[str, ...]  # names of the loops that are open in some row
    error: float  # the least error of those that are open [m] or [rad]

    @property
    def closed(self) -> Array:
        """(..., nq) configurations whose loops are closed."""
        return self.q[self.is_closed]


def draw_closed(kd: KinDynCore, n: int, rng: np.random.Generator) -> ClosedSamples:
    """Draw random configurations and close their loops; those that stay open are drawn again."""
    result = assemble(kd, random_configurations(kd.layout, (n,), rng))
    q, is_closed, error = result.q.copy(), result.converged.copy(), _least_error(result)
    for _ in range(1, MOST_TRIES):
        if is_closed.all():
            break
        missing = np.flatnonzero(~is_closed)
        result = assemble(kd, random_configurations(kd.layout, (len(missing),), rng))
        q[missing], is_closed[missing] = result.q, result.converged
        error = min(error, _least_error(result))
    return ClosedSamples(q, is_closed, result.failed, error)


def _least_error(result: AssemblyResult) -> float:
    """Return the least error of the rows that are open."""
    errors = np.abs(result.errors).max(axis=-1, initial=0.0)
    return float(errors[~result.converged].min(initial=np.inf))


def _joint_batch(batch: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(batch, other)
    except ValueError:
        text = f"parameters: the batch {other} does not broadcast with the batch {batch} of q"
        raise ShapeError(text) from None


def _constrained(kd: Any) -> ConstrainedMethods:
    if isinstance(kd, ConstrainedMethods):
        return kd
    if not isinstance(kd, KinDynCore):
        raise ArgumentError(f"kd: expected a KinDyn, got {shown(kd)}")
    if not kd.problem.equations:
        raise ArgumentError(f"{kd.model.name}: the model has no closed loops and no constraints")
    robot: Any = kd
    return robot.constrained()
