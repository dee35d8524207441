"""Checks of a kernel: inputs that are not finite, and results that are not finite by themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from linkwork.algorithms.centroidal import momentum
from linkwork.algorithms.dynamics import crba
from linkwork.engine.kernel.arguments import UnitNorm
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Port
from linkwork.errors import SingularJointError, ValueRangeError
from linkwork.kindyn.inputs import PARAMETERS, UNNORMALIZED_Q, Input
from linkwork.kindyn.quantities import Context
from linkwork.kindyn.requests import Spec
from linkwork.mechanics.problem import Problem
from linkwork.model.layout import Layout

# With entries of an inertia matrix beyond this, products of two of them overflow: then the size of
# the numbers is to blame for an infinite result, and not a singular configuration.
OVERFLOWING = 1e150

ResultCheck: TypeAlias = Callable[[Kernel, Sequence[Array], Sequence[Array]], None]


def finite_check(
    problem: Problem, inputs: Sequence[Input]
) -> Callable[[Sequence[Port], Sequence[Array]], None]:
    """Return a check that rejects inputs that are not finite, and names the joint."""

    def check(ports: Sequence[Port], rows: Sequence[Array]) -> None:
        del ports
        for one, array in zip(inputs, rows, strict=True):
            bad = np.argwhere(~np.isfinite(array))
            if len(bad):
                row, index = bad[0].tolist()
                where = f" (row {row})" if len(array) > 1 else ""
                who, value = one.owner(problem, index), array[row, index]
                raise ValueRangeError(f"{one.name}: {who} is {value}{where}")

    return check


def result_check(
    specs: Sequence[Spec],
    context: Callable[..., Context],
    unit_norms: Sequence[UnitNorm],
) -> ResultCheck | None:
    """Return a check that rejects infinite results of finite inputs, and names the cause.

    It is None for quantities that have a finite value wherever their inputs are reasonable.
    """
    find_singularity = next((x.quantity.singular for x in specs if x.quantity.singular), None)
    if find_singularity is None and any(UNNORMALIZED_Q in spec.quantity.inputs for spec in specs):
        return lambda kernel, inputs, outputs: _check_directions(inputs[0], outputs, unit_norms)
    if find_singularity is None:
        return None

    def check(kernel: Kernel, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        bad = unexplained(inputs, outputs)
        if not bad.any():
            return
        row = int(np.flatnonzero(bad)[0])
        arguments = [array[row if len(array) > 1 else 0] for array in inputs]
        names = [port.name for port in kernel.signature.inputs]
        numbers: list[Array] = []  # of the robot: columns, so that they are no constants
        if PARAMETERS in names:
            numbers = [np.array([x]) for x in arguments[names.index(PARAMETERS)].astype(float)]
        now = context(numbers) if numbers else context()
        error = _reason(kernel, arguments, lambda q: find_singularity(now, q))
        where = f" (in row {row} of {len(bad)})" if len(bad) > 1 else ""
        error = type(error)(f"{error}{where}")
        error.mask = bad if len(bad) > 1 else None
        raise error

    return check


def unexplained(inputs: Sequence[Array], outputs: Sequence[Array]) -> Array:
    """Return (rows,) whether a row of the results is not finite although its inputs are."""
    bad = ~np.all([np.isfinite(array).all(axis=1) for array in outputs], axis=0)
    for array in inputs if bad.any() else ():
        bad = bad & np.isfinite(array).all(axis=1)
    return bad


def _reason(
    kernel: Kernel, arguments: Sequence[Array], find: Callable[[Array], SingularJointError | None]
) -> SingularJointError | ValueRangeError:
    """Diagnose a non-finite result: a singular configuration, or inputs that are too large."""
    q, others = arguments[0], arguments[1:]
    cause = "numbers are too large, or the parameters are not physical"
    unknown = ValueRangeError(f"{kernel.signature.name}: the result is not finite; {cause}")
    names = [port.name for port in kernel.signature.inputs[1:]]
    still = [
        array if name == PARAMETERS else np.zeros_like(array)
        for name, array in zip(names, others, strict=True)
    ]
    if any((array != old).any() for array, old in zip(still, others, strict=True)):
        try:
            kernel(q, *still)
        except (SingularJointError, ValueRangeError) as error:  # it does not move: q is to blame
            return error
        return unknown
    return find(q) or unknown


def singular_joint(context: Context, q: Array) -> SingularJointError | None:
    """Find the joint without effective inertia, for quantities that need the inverse of M."""
    with np.errstate(all="ignore"):
        rows = crba.mass_matrix(
            context.problem.skeleton,
            tuple(q.astype(float)),
            velocity=context.velocity,
            joint_dynamics=context.joint_dynamics,
        )
        M = _matrix(rows)
    if not np.abs(M).max() < OVERFLOWING:
        return None
    text = "nothing resists its motion here, so it has no acceleration"
    return SingularJointError(f"{_freest(M, context.problem.layout)}: {text}")


def singular_body(context: Context, q: Array) -> SingularJointError | None:
    """Detect masses on a line, for quantities that need the inverse of the locked inertia."""
    with np.errstate(all="ignore"):
        rows: Any = momentum.locked_inertia(
            context.problem.skeleton, tuple(q.astype(float)), velocity=context.velocity
        )
        if not np.abs(_matrix(rows)).max() < OVERFLOWING:
            return None
    text = "its masses lie on a line, so its average velocity is not defined"
    return SingularJointError(f"the robot as one body: {text}")


def _matrix(rows: Any) -> Array:
    """Convert a matrix of numbers, some of which are columns of one row."""
    return np.array([[np.ravel(x)[0] for x in row] for row in rows], dtype=np.float64)


def _freest(M: Array, layout: Layout) -> str:
    """Name the joint, or the base, that moves most in the eigenvector of the least eigenvalue."""
    _, motions = np.linalg.eigh(M)
    index = int(np.argmax(np.abs(motions[:, 0])))
    names = [name for name, where in layout.nu.items() if where.start <= index < where.stop]
    return f"joint {names[0]!r}" if names else "the base"


def _check_directions(q: Array, outputs: Sequence[Array], unit_norms: Sequence[UnitNorm]) -> None:
    """Reject zeros and infinite numbers, which cannot be scaled to norm 1. NaN passes."""
    del outputs
    for unit in unit_norms:
        part = q[:, unit.offset : unit.offset + unit.count]
        for bad, why in ((~part.any(axis=1), "zero"), (np.isinf(part).any(axis=1), "infinite")):
            if bad.any():
                row = int(np.flatnonzero(bad)[0])
                where = f" (in row {row} of {len(q)})" if len(q) > 1 else ""
                raise ValueRangeError(f"q: {unit.owner} is {why}, so it has no direction{where}")
