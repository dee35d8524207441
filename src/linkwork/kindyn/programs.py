"""What a kernel computes: the function of a request, and its program.

A request of several quantities is one function of the union of their inputs. It is traced to a
program, or evaluated on columns if a program would be too long. Jacobians of quantities with
analytic derivatives are programs of these.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.algorithms.kinematics.manifold import velocity_kinematics_inverse
from linkwork.engine.autodiff.ports import Kind, derived_ports
from linkwork.engine.kernel.arguments import Signature, UnitNorm
from linkwork.engine.runtime.sources import source_digest
from linkwork.engine.symbolic.arrays import Array, as_array, stack
from linkwork.engine.symbolic.program import Port, Program
from linkwork.engine.symbolic.tracing import trace
from linkwork.errors import warn
from linkwork.kindyn.inputs import PARAMETERS, UNNORMALIZED_Q, Q, Wrench
from linkwork.kindyn.quantities import Context, Quantity, with_context
from linkwork.kindyn.requests import KernelRequest, Spec
from linkwork.mechanics.problem import Problem
from linkwork.model.layout import BASE_NV, Layout
from linkwork.spatial.blocks import Scalar, Vec, is_zero
from linkwork.spatial.source._helpers import largest_is_one

if TYPE_CHECKING:
    from linkwork.parameters.table import ParameterTable

# Robots with more moving joints than this, and quantities with more operations, are computed with
# NumPy: programs of robots are unrolled, and LLVM would take minutes for longer ones.
MOST_UNROLLED = 256
MOST_STEPS = 250_000


def signature_of(
    problem: Problem, request: KernelRequest, parameter_values: Callable[[], Array]
) -> Signature:
    """Return names, shapes and default values of the inputs and outputs of a request."""
    inputs = request.inputs
    configurations = [k for k, one in enumerate(inputs) if one.has_unit_norms]
    unit_norms = unit_norms_of(problem.layout, configurations)
    defaults: dict[str, Array] = {}
    if request.table is not None and request.takes_parameters:
        unit_norms += _unit_norms_of_poses(request.table, len(inputs) - 1)
        defaults[PARAMETERS] = parameter_values()
    return Signature(
        " + ".join(map(str, request.specs)),
        tuple(Port(one.name, one.shape(problem)) for one in inputs),
        _outputs(problem, request),
        unit_norms,
        {one.name: one.meaning(problem) for one in inputs},
        defaults,
    )


def key_of(robot: str, request: KernelRequest) -> str:
    """Return the name of a program: the robot, the quantities, and the sources of linkwork."""
    parts = (robot, repr(request.key), source_digest(), np.__version__)
    return hashlib.sha256("|".join(parts).encode()).hexdigest()


def _outputs(problem: Problem, request: KernelRequest) -> tuple[Port, ...]:
    n_wrenches = len(request.wrenches)
    return tuple(port for spec in request.specs for port in spec.outputs(problem, n_wrenches))


def computation(
    context: Callable[..., Context], problem: Problem, request: KernelRequest
) -> Callable[..., tuple[Array, ...]]:
    """Return the function from the entries of each input to the arrays of each output."""
    outputs = _outputs(problem, request)
    inputs, index = request.inputs, problem.layout.model.frame_index
    unit_norms = unit_norms_of(problem.layout, [0])

    def compute(*columns: Sequence[Any]) -> tuple[Array, ...]:
        rows = dict(zip((one.name for one in inputs), columns, strict=True))
        pairs = [(one, rows[one.name]) for one in inputs]
        wrenches = {index(x.frame): row for x, row in pairs if isinstance(x, Wrench)}
        now = context(rows[PARAMETERS]) if request.takes_parameters else context()
        now = replace(now, wrenches=wrenches)
        if request.gravity:
            now = replace(now, gravity=Vec(*rows["gravity"]))
        for one, row in pairs:
            if one == UNNORMALIZED_Q:
                rows[one.name] = _scaled(row, unit_norms)
        results: list[Any] = []  # nested lists of numbers, one for each output
        for spec in request.specs:
            arguments = [rows[one.name] for one in spec.quantity.inputs]
            computed = spec.quantity.compute(now, *arguments, *map(index, spec.frames))
            results += computed if spec.quantity.result else [computed]
        return tuple(map(_array_of, results, outputs))

    return compute


def _array_of(nested: Any, port: Port) -> Array:
    array = np.empty(port.size, dtype=object)
    array[:] = list(_flattened(nested))
    return array.reshape(port.shape)


def program_of(compute: Callable[..., tuple[Array, ...]], signature: Signature) -> Program:
    """Trace the function that `computation` returns."""
    return trace(_of_arrays(compute), signature.inputs, [port.name for port in signature.outputs])


def _of_arrays(compute: Callable[..., tuple[Array, ...]]) -> Callable[..., tuple[Array, ...]]:
    """Convert a function of the entries of each input to a function of arrays."""
    return lambda *arrays: compute(*(tuple(array.reshape(-1)) for array in arrays))


def _scaled(q: Sequence[Any], unit_norms: Sequence[UnitNorm]) -> Sequence[Any]:
    """Scale what shall get norm 1 by its largest entry, so that no square overflows or vanishes."""
    scaled_q = list(q)
    for unit in unit_norms:
        at = slice(unit.offset, unit.offset + unit.count)
        scaled = largest_is_one(as_array(stack(scaled_q[at])))
        scaled_q[at] = [scaled[..., k] if scaled.ndim > 1 else scaled[k] for k in range(unit.count)]
    return scaled_q


def is_too_long(problem: Problem, specs: Sequence[Spec]) -> bool:
    """Return whether a program would have too many steps to be compiled."""
    layout = problem.layout
    n_moving = sum(not joint.is_fixed for joint in layout.model.joints)
    if n_moving > MOST_UNROLLED:
        return True
    n_bodies = max(n_moving, len(layout.model.links))
    worst = max(spec.quantity.ops_per_pair for spec in specs) * n_bodies * (n_moving + BASE_NV)
    if worst <= MOST_STEPS:
        return False
    skeleton = problem.skeleton
    moved_by = [BASE_NV * layout.floating]  # how many coordinates move each body
    for body in skeleton.bodies[1:]:
        moved_by.append(moved_by[body.parent] + len(body.nu_indices))
    of_bodies = sum(moved_by)
    of_links = sum(moved_by[body] for body, _, _ in skeleton.frames[: len(layout.model.links)])
    for spec in specs:
        steps = spec.quantity.ops_per_pair * (of_links if spec.quantity.of_links else of_bodies)
        if steps > MOST_STEPS:
            text = f"{layout.model.name}: {spec.name} has about {steps:,} operations, too many to"
            warn(f"{text} compile; NumPy computes instead")
            return True
    return False


def _flattened(nested: Any) -> Iterator[Any]:
    if isinstance(nested, (list, tuple)):
        for part in nested:
            yield from _flattened(part)
    else:
        yield nested


def unit_norms_of(layout: Layout, configurations: Sequence[int]) -> tuple[UnitNorm, ...]:
    """Return the quaternions and (cos, sin) pairs in the inputs of these indices."""
    unit_norms: list[UnitNorm] = []
    for k in configurations:
        unit_norms += [UnitNorm(k, 3, 4, "the base quaternion")] if layout.floating else []
        for name, at in layout.q.items():
            unit_norms += [
                UnitNorm(k, at.start + part.start, part.count, f"the {part.name} of {name!r}")
                for part in layout.model.joint(name).motion_kind.unit_norm
            ]
    return tuple(unit_norms)


def _unit_norms_of_poses(table: ParameterTable, index: int) -> tuple[UnitNorm, ...]:
    """Return the quaternions among the parameters, which are the input of this index."""
    return tuple(
        UnitNorm(index, table[entry.name].start + 3, 4, f"the quaternion of {entry.name!r}")
        for entry in table.entries
        if entry.is_pose
    )


# A derivative in the tangent space of the configuration, times E_T with nu = E_T q_dot, is the
# derivative with respect to the entries of q. It has no component along a quaternion.
_E_T = Spec(
    Quantity(
        "velocity_kinematics_inverse",
        (Q,),
        (("nv", "nq"),),
        with_context(velocity_kinematics_inverse),
        of_coordinates=True,
    )
)


def derivative_specs(
    specs: Sequence[Spec], kind: Kind, wrt: Sequence[str], quantities: Mapping[str, Quantity]
) -> tuple[Spec, ...] | None:
    """Find the quantity of a derivative, and E_T; None if the program has to be differentiated.

    Differentiating the program of a long quantity results in many more operations.

    Args:
        specs: the quantities of the function.
        kind: kind of the derivative.
        wrt: names of the inputs to differentiate with respect to.
        quantities: the table of the class.
    """
    name = specs[0].quantity.derivatives if len(specs) == 1 else None
    if name is None or kind != "jacobian" or not set(wrt) <= set(_fields(quantities[name])):
        return None
    return Spec(quantities[name], specs[0].frames), _E_T


def jacobian_program(
    compute: Callable[..., tuple[Array, ...]],
    specs: Sequence[Spec],
    ports: tuple[tuple[Port, ...], tuple[Port, ...]],
    wrt: Sequence[str],
) -> Program:
    """Return the program of a Jacobian.

    Args:
        compute: as `computation` returns it, of the derivatives and E_T.
        specs: as `derivative_specs` returns them.
        ports: inputs and outputs of the function.
        wrt: names of the inputs to differentiate with respect to.
    """
    fields, of_arrays = _fields(specs[0].quantity), _of_arrays(compute)

    def run(*arrays: Array) -> tuple[Array, ...]:
        *partials, E_T = of_arrays(*arrays)
        by = dict(zip(fields, partials, strict=True))
        return tuple(_product(by[name], E_T) if name == "q" else by[name] for name in wrt)

    outputs = derived_ports("jacobian", *ports, wrt)[1]
    return trace(run, ports[0], [port.name for port in outputs])


def _fields(derivatives: Quantity) -> tuple[str, ...]:
    return derivatives.fields or ("q",)


def _product(a: Array, b: Array) -> Array:
    """Multiply a matrix by one that is sparse."""
    columns: list[list[tuple[int, Scalar]]] = [
        [(k, x) for k, x in enumerate(column) if not is_zero(x)] for column in b.T
    ]

    def entry(row: Any, column: list[tuple[int, Scalar]]) -> Scalar:
        value: Scalar = 0.0
        for k, factor in column:
            value = value + row[k] * factor
        return value

    return np.array([[entry(row, column) for column in columns] for row in a], dtype=object)
