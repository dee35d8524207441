"""One damped Gauss-Newton method on the manifold of configurations, within joint limits.

Inverse kinematics, with closed loops and without, and the assembly of loops are objectives of this
method. An `Objective` proposes the next configuration from the residual and its Jacobian, and
evaluates the cost of a configuration. A proposal that lowers the cost is accepted, and the damping
decreases; otherwise the damping increases (Levenberg-Marquardt). Each row of a batch has its own
damping, and all steps run in compiled code.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from linkwork.engine.kernel.compile import compile_function
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic import linalg
from linkwork.engine.symbolic.arrays import Array
from linkwork.model.layout import Layout

# States of a search: the configuration, its damping, cost and excess, and, if the objective has
# movable coordinates, 1 for each coordinate of nu that the next step may move, else 0.
STATES = ("q", "damping", "cost", "excess", "movable")


class Damping(NamedTuple):
    """How the damping changes after a step."""

    initial: float
    decrease: float  # factor after a step that was accepted
    increase: float  # factor after a step that was rejected
    least: float  # smallest value after a step that was rejected
    most: float
    # After a step that was accepted, values below `least` become this: 0 for a pure Newton step.
    when_small: float

    def after(self, damping: Any, accepted: Any) -> Any:
        """Return the damping after a step that was accepted or rejected."""
        decreased = self.decrease * damping
        decreased = np.where(decreased < self.least, self.when_small, decreased)
        increased = np.minimum(np.maximum(self.increase * damping, self.least), self.most)
        return np.where(accepted, decreased, increased)


class Proposal(NamedTuple):
    """The configuration that a step proposes."""

    q: Any  # (nq,) within the limits
    moved: Any  # (nq,) before it was clamped to the limits


class Objective(Protocol):
    """A cost on the manifold of configurations, traced for one row."""

    damping: ClassVar[Damping]  # the rule by which the damping changes

    @property
    def bounds(self) -> Bounds:
        """The limits of the coordinates."""
        ...

    @property
    def nv(self) -> int | None:
        """The number of movable coordinates, or None if limits are considered in each step alone.

        A movable coordinate that reaches a limit is held until the search frees it again.
        """
        ...

    def shapes(self) -> dict[str, Any]:
        """Return the shapes of q and of the inputs that stay the same from step to step."""
        ...

    def propose(self, q: Any, damping: Any, movable: Any, inputs: Mapping[str, Any]) -> Proposal:
        """Propose the next configuration; `movable` is None if the objective has none."""
        ...

    def evaluate(self, q: Any, inputs: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return the cost, and the excess: at most 1 if q is a solution."""
        ...

    def to_beat(self, cost: Any, excess: Any) -> Any:
        """Return the cost that a proposal has to be below of."""
        ...


def step_kernel(objective: Objective) -> Kernel:
    """Compile a step from the states of a search to their next values."""
    n_states = len(STATES) - (objective.nv is None)
    shapes = objective.shapes()
    nq = shapes.pop("q")
    states: dict[str, Any] = dict(zip(STATES, (nq, (), (), (), objective.nv), strict=True))
    names = [*STATES[:n_states], *shapes]

    def step(*values: Any) -> Any:
        q, damping, cost, excess, *movable = values[:n_states]
        inputs = dict(zip(names[n_states:], values[n_states:], strict=True))
        proposal = objective.propose(q, damping, movable[0] if movable else None, inputs)
        cost_new, excess_new = objective.evaluate(proposal.q, inputs)
        accepted = cost_new < objective.to_beat(cost, excess)
        q_next = np.where(accepted, proposal.q, q)
        return (
            q_next,
            objective.damping.after(damping, accepted),
            np.where(accepted, cost_new, cost),
            np.where(accepted, excess_new, excess),
            *(m * not_stopped(objective.bounds, proposal.moved, q_next, m) for m in movable),
        )

    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kinds) for name in names]
    vars(step)["__signature__"] = inspect.Signature(parameters)
    return compile_function(**{name: (states | shapes)[name] for name in names})(step)


def solve_damped(J: Any, e: Any, k: Any) -> Any:
    """Return (nv,) the solution dx of (J^T J + k) dx = J^T e, in the smaller of the two spaces."""
    n_rows, n_columns = J.shape
    if not n_columns:
        return np.zeros(0)
    if n_rows <= n_columns:
        return linalg.solve(J @ J.T + k * np.eye(n_rows), e, assume="positive definite") @ J
    A = J.T @ J + k * np.eye(n_columns)
    return linalg.solve(A, e @ J, assume="positive definite")


def clamped(bounds: Bounds, q: Any) -> Any:
    """Return (nq,) the nearest configuration within the limits, traced."""
    entries: list[Any] = list(q)
    for index, lower, upper in zip(bounds.q_indices, bounds.lower, bounds.upper, strict=True):
        entries[index] = np.minimum(np.maximum(entries[index], lower), upper)
    return np.stack(entries) if entries else q


def not_stopped(bounds: Bounds, moved: Any, q: Any, movable: Any) -> Any:
    """Return (nv,) 0 for coordinates of q at a limit that a step would have exceeded, else 1."""
    return _flags(bounds, q, moved[bounds.q_indices] - q[bounds.q_indices], len(movable))


def not_pushed_out(bounds: Bounds, q: Any, gradient: Any) -> Any:
    """Return (nv,) 0 for coordinates at a limit that the gradient pushes against, else 1."""
    return _flags(bounds, q, gradient[bounds.nu_indices], len(gradient))


def _flags(bounds: Bounds, q: Any, pushes: Any, nv: int) -> Any:
    """Return (nv,) 0 for coordinates at a limit that a push is directed against, else 1."""
    flags: list[Any] = [1.0] * nv
    for q_index, nu_index, lower, upper, push in zip(
        bounds.q_indices, bounds.nu_indices, bounds.lower, bounds.upper, pushes, strict=True
    ):
        below = np.where(q[q_index] <= lower, np.where(push < 0.0, 0.0, 1.0), 1.0)
        above = np.where(q[q_index] >= upper, np.where(push > 0.0, 0.0, 1.0), 1.0)
        flags[nu_index] = below * above
    return np.stack(flags) if flags else np.zeros(0)


@dataclass(frozen=True)
class Bounds:
    """The coordinates that have limits, and their limits."""

    q_indices: Array  # (n,) indices in q
    nu_indices: Array  # (n,) indices in nu
    lower: Array  # (n,)
    upper: Array  # (n,)
    names: tuple[str, ...]  # (n,) of the joints
    lowest: Array  # (nq,) lower limits of all entries of q, -inf for those without
    highest: Array  # (nq,) upper limits of all entries of q, inf for those without

    def clamped(self, q: Array) -> Array:
        """(..., nq) the nearest configuration within the limits, as a new array."""
        return np.minimum(np.maximum(q, self.lowest), self.highest)

    def sides(self, q: Array) -> dict[str, Array]:
        """By joint: (...,) -1 at its lower limit, 1 at its upper limit, else 0; -1 at both."""
        position = q[..., self.q_indices]
        at_lower, at_upper = position <= self.lower, position >= self.upper
        sides = at_upper.astype(np.int8) * ~at_lower - at_lower.astype(np.int8)
        return {name: sides[..., k] for k, name in enumerate(self.names)}


def bounds_of(layout: Layout, limits: bool = True) -> Bounds:
    """Return the limits of a robot's joints, or none."""
    ends = _limits(layout) if limits else {}
    names = tuple(name for name, pair in ends.items() if np.isfinite(pair).any())
    q_indices = np.array([layout.q[name].start for name in names], dtype=np.intp)
    lower = np.array([ends[name][0] for name in names])
    upper = np.array([ends[name][1] for name in names])
    lowest, highest = np.full(layout.nq, -np.inf), np.full(layout.nq, np.inf)
    lowest[q_indices], highest[q_indices] = lower, upper
    nu_indices = np.array([layout.nu[name].start for name in names], dtype=np.intp)
    return Bounds(q_indices, nu_indices, lower, upper, names, lowest, highest)


def _limits(layout: Layout) -> dict[str, list[float]]:
    """Return limits of joints with one coordinate; a dependent joint also limits its leader."""
    limits = {
        name: [layout.model.joint(name).limits.lower, layout.model.joint(name).limits.upper]
        for name in layout.joint_names
        if layout.model.joint(name).nq == layout.model.joint(name).nv == 1
    }
    for name, follower in layout.followers.items():
        if follower.multiplier == 0.0 or follower.leader not in limits:
            continue
        joint = layout.model.joint(name).limits
        ends = [(end - follower.offset) / follower.multiplier for end in (joint.lower, joint.upper)]
        leader = limits[follower.leader]
        limits[follower.leader] = [max(leader[0], min(ends)), min(leader[1], max(ends))]
    # if they contradict each other, only the limits of the joint itself apply
    for name, (lower, upper) in limits.items():
        if lower > upper:
            joint = layout.model.joint(name).limits
            limits[name] = [joint.lower, joint.upper]
    return limits
