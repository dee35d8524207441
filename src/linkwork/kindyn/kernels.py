"""The kernel of one or several quantities: its inputs are the union of what the quantities need."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms.kinematics.manifold import velocity_kinematics_inverse
from linkwork.engine.autodiff.ports import Kind, derived_ports
from linkwork.engine.cached_property import cached_property
from linkwork.engine.kernel.arguments import Signature, UnitNorm
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.runtime.backends import ColumnFunction
from linkwork.engine.runtime.sources import source_digest
from linkwork.engine.symbolic.arrays import Array, as_array, stack
from linkwork.engine.symbolic.program import Port, Program
from linkwork.engine.symbolic.tracing import trace
from linkwork.errors import ArgumentError, SingularJointError, shown, warn
from linkwork.kindyn.checks import ResultCheck, finite_check, result_check
from linkwork.kindyn.inputs import (
    GRAVITY,
    PARAMETERS,
    UNNORMALIZED_Q,
    Input,
    Q,
    Wrench,
    merged,
    parameters_of,
    wrench_on,
)
from linkwork.kindyn.quantities import Context, Quantity, with_context
from linkwork.kindyn.requests import Spec
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

Result = TypeVar("Result")


@dataclass(frozen=True)
class KernelRequest:
    """The quantities that a kernel computes, and its inputs."""

    specs: tuple[Spec, ...]
    wrenches: tuple[str, ...] = ()  # frames on which a wrench is given, each an input of its own
    gravity: bool = False  # whether gravity is an input
    # of the model parameters that are inputs, if there are any
    table: ParameterTable | None = field(default=None, repr=False)

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """One flat tuple: quantities with their frames; then wrenches and gravity if given."""
        names = tuple(part for spec in self.specs for part in spec.request)
        return (*names, self.wrenches, self.gravity) if self.wrenches or self.gravity else names

    @cached_property
    def detail(self) -> Any:
        """The key without its first name: its second entry if there are two, else a tuple."""
        _, *others = self.key
        return others[0] if len(others) == 1 else tuple(others)

    @property
    def inputs(self) -> list[Input]:
        """The inputs of a quantity, or the union for several; then gravity and the wrenches."""
        needed = [one for spec in self.specs for one in spec.quantity.inputs]
        inputs = needed if len(self.specs) == 1 else merged(needed)
        inputs = [*inputs, *[GRAVITY] * self.gravity, *map(wrench_on, self.wrenches)]
        if self.table is None or not self.takes_parameters:
            return inputs
        return [*inputs, parameters_of(self.table)]

    @property
    def takes_parameters(self) -> bool:
        """Whether model parameters are inputs."""
        of_robot = not all(spec.quantity.of_coordinates for spec in self.specs)
        return self.table is not None and of_robot


class QuantityKernel(Kernel, Generic[Result]):
    """The compiled function of one or several quantities of a robot.

    Where gravity or wrenches enter, it also takes `gravity=` and `wrenches={frame: wrench}`. It is
    pickled as the robot and the names of the quantities.
    """

    robot: Any  # the `KinDynCore` that it belongs to, whose module imports this one
    request: KernelRequest
    # The same quantity with further inputs, by the frames of wrenches and whether gravity is one.
    with_further_inputs: dict[Any, QuantityKernel[Any]]
    takes_parameters: bool  # whether its last input are the model parameters
    n_without_parameters: int  # the number of the other inputs

    def __init__(
        self, robot: Any, request: KernelRequest, column_function: ColumnFunction | None = None
    ) -> None:
        """Prepare a kernel.

        Args:
            robot: the `KinDynCore` whose quantities are computed.
            request: what to compute, from which inputs.
            column_function: computes the quantities in place of a program.
        """
        self.robot, self.request, self.with_further_inputs = robot, request, {}
        self.takes_parameters = request.takes_parameters
        self.n_without_parameters = len(request.inputs) - request.takes_parameters
        key = None  # of a program; None if users' code decides what is computed
        if column_function is None:
            key = robot._key_of(request)
            column_function = self._numpy_function()
        super().__init__(
            _signature(robot, request),
            self._trace,
            key=key,
            dtype=robot.dtype,
            column_function=column_function,
            check_input=finite_check(robot.problem, request.inputs) if robot.check else None,
            check_result=self._result_check(),
            result=request.specs[0].quantity.result if len(request.specs) == 1 else None,
        )
        self.analytic = self._analytic

    if TYPE_CHECKING:

        def __call__(self, *args: ArrayLike, **named: Any) -> Result:
            """Call the compiled function."""
            ...

    @property
    def options(self) -> tuple[str, ...]:
        """The keyword arguments of a call that are not inputs."""
        forces = [name for name in ("gravity", "wrenches") if self._takes_force(name)]
        return (*super().options, *forces)

    def __reduce__(self) -> Any:
        request = self.request
        quantities = tuple(spec.request for spec in request.specs)
        return _unpickle, (self.robot, quantities, request.wrenches, request.gravity)

    def named(self, *args: ArrayLike, **named: Any) -> dict[str, Array]:
        """Return the results by name, such as "mass_matrix" and "jacobian_l_sole"."""
        results: Any = self(*args, **named)
        names = [port.name for port in self.signature.outputs]
        return dict(zip(names, results if len(names) > 1 else [results], strict=True))

    def _call(
        self,
        *args: Any,
        parameters: Any = None,
        wrenches: Any = None,
        gravity: Any = None,
        **named: Any,
    ) -> Any:
        """Calls that C leaves to Python: with options, or with inputs that C does not convert.

        Options become further inputs: wrenches and gravity of another kernel, and `parameters`,
        by default the values of the model, of this one.
        """
        n = self.n_without_parameters
        inputs, last = args[:n], args[n:]  # the last are parameters, or more than there are inputs
        if parameters is not None and (last or not self.takes_parameters):
            raise ArgumentError(_unexpected_parameters(self))
        if self.takes_parameters and not last:
            last = (self.signature.defaults[PARAMETERS] if parameters is None else parameters,)
        kernel, forces = self, ()
        if wrenches is not None or gravity is not None:
            options = self.with_forces(wrenches, gravity)
            if options is None:  # they are inputs, or unknown
                passed = {"wrenches": wrenches, "gravity": gravity}
                named |= {name: value for name, value in passed.items() if value is not None}
            else:
                kernel, forces = options
        if len(inputs) == n:
            inputs = *inputs, *forces, *last
        else:
            names = [port.name for port in kernel.signature.inputs[n:]]
            named |= dict(zip(names, (*forces, *last), strict=True))
        if kernel is not self or len(inputs) > len(args):
            return kernel(*inputs, **named)  # by C, now that all inputs are there
        try:
            return super()._call(*inputs, **named)
        except SingularJointError as error:
            if error.mask is None:  # singular by the model's numbers: so are all rows
                error.mask = self._all_rows(inputs, named)
            raise

    def with_forces(
        self, wrenches: Any, gravity: Any
    ) -> tuple[QuantityKernel[Any], tuple[Any, ...]] | None:
        """Return the kernel with these as further inputs, and their values.

        Args:
            wrenches: by frame; None if there are none.
            gravity: None for the gravity of the robot.

        Returns:
            None if they are no options of this kernel.
        """
        try:
            frames = () if wrenches is None else (*wrenches,)
            other = self.with_further_inputs[frames, gravity is not None]
            more = () if wrenches is None else (*wrenches.values(),)
        except (AttributeError, KeyError, TypeError):  # not made yet, or no wrenches by frame
            other = self._build_with(wrenches, gravity is not None)
            if other is None:
                return None
            more = tuple((wrenches or {}).values())
        return other, more if gravity is None else (gravity, *more)

    def _build_with(self, wrenches: Any, has_gravity: bool) -> QuantityKernel[Any] | None:
        """Build the kernel with further inputs; None if they are no options of this one."""
        is_mapping = wrenches is None or isinstance(wrenches, Mapping)
        if not is_mapping and self._takes_force("wrenches"):
            raise ArgumentError(f"wrenches: expected arrays by frame, got {shown(wrenches)}")
        needed = ["wrenches"] * (wrenches is not None) + ["gravity"] * has_gravity
        if not all(map(self._takes_force, needed)):
            return None
        frames = tuple(wrenches or ())
        other = self.robot.function(self.request.key, wrenches=frames, gravity=has_gravity)
        self.with_further_inputs[frames, has_gravity] = other
        return other

    def _takes_force(self, name: str) -> bool:
        request = self.request
        is_fixed = len(request.specs) != 1 or request.wrenches or request.gravity
        return not is_fixed and name in request.specs[0].quantity.forces

    def _analytic(self, kind: Kind, wrt: tuple[str, ...]) -> Program | None:
        """Trace a derivative that is a quantity of its own; None if there is none."""
        specs = derivative_specs(self.request.specs, kind, wrt, self.robot.quantities)
        if specs is None:
            return None
        compute = self._computation(replace(self.request, specs=specs))
        ports = self.signature.inputs, self.signature.outputs
        return jacobian_program(_of_arrays(compute), specs, ports, wrt)

    def _trace(self) -> Program:
        compute = _of_arrays(self._computation(self.request))
        return trace(compute, self.signature.inputs, [port.name for port in self.signature.outputs])

    def _computation(self, request: KernelRequest) -> Callable[..., tuple[Array, ...]]:
        return computation(self.robot._context, self.robot.problem, request)

    def _numpy_function(self) -> ColumnFunction | None:
        """Return what computes the quantities if a program would be too long, else None."""
        if not _is_too_long(self.robot.problem, self.request.specs):
            return None
        compute = self._computation(self.request)
        return lambda *columns: [array.reshape(-1) for array in compute(*columns)]

    def _result_check(self) -> ResultCheck | None:
        """Return what is called if a result is not finite, and raises if that is an error."""
        unit_norms = _unit_norms(self.robot.problem.layout, [0])
        return result_check(self.request.specs, self.robot._context, unit_norms)

    def _all_rows(self, args: Sequence[Any], named: Mapping[str, Any]) -> Array | None:
        """Return (rows,) True for each row of a batch; None of a single call."""
        arguments = dict(zip((port.name for port in self.signature.inputs), args, strict=False))
        arguments |= named
        batches = [
            np.shape(arguments[port.name])[: np.ndim(arguments[port.name]) - len(port.shape)]
            for port in self.signature.inputs
        ]
        rows = prod(np.broadcast_shapes(*batches))
        return np.ones(rows, dtype=bool) if rows > 1 else None


def _unexpected_parameters(kernel: QuantityKernel[Any]) -> str:
    if kernel.takes_parameters:
        return f"{kernel.signature.name}: {PARAMETERS!r} is given twice"
    text = f"{kernel.signature.name}: argument {PARAMETERS!r}"
    if kernel.request.table is not None:
        return f"{text}: the function does not depend on model parameters"
    return f"{text}: this KinDyn has none; make it as KinDyn(model, parameters=[...])"


def _unpickle(robot: Any, requests: Any, wrenches: Any, gravity: bool) -> QuantityKernel[Any]:
    return robot.function(*requests, wrenches=wrenches, gravity=gravity)


def _signature(robot: Any, request: KernelRequest) -> Signature:
    """Return names, shapes and default values of a kernel's inputs and outputs."""
    problem, inputs = robot.problem, request.inputs
    configurations = [k for k, one in enumerate(inputs) if one.has_unit_norms]
    unit_norms = _unit_norms(problem.layout, configurations)
    defaults: dict[str, Array] = {}
    if request.table is not None and request.takes_parameters:
        unit_norms += _unit_norms_of_poses(request.table, len(inputs) - 1)
        defaults[PARAMETERS] = robot.parameter_values()
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
    unit_norms = _unit_norms(problem.layout, [0])

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


def _is_too_long(problem: Problem, specs: Sequence[Spec]) -> bool:
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


def _unit_norms(layout: Layout, configurations: Sequence[int]) -> tuple[UnitNorm, ...]:
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
    compute: Callable[..., Sequence[Array]],
    specs: Sequence[Spec],
    ports: tuple[tuple[Port, ...], tuple[Port, ...]],
    wrt: Sequence[str],
) -> Program:
    """Return the program of a Jacobian.

    Args:
        compute: computes the derivatives and E_T from the arrays of the inputs.
        specs: as `derivative_specs` returns them.
        ports: inputs and outputs of the function.
        wrt: names of the inputs to differentiate with respect to.
    """
    fields = _fields(specs[0].quantity)

    def run(*arrays: Array) -> tuple[Array, ...]:
        *partials, E_T = compute(*arrays)
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
