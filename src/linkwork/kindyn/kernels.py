"""The kernel of one or several quantities: its inputs are the union of what the quantities need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.autodiff.ports import Kind
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.runtime.backends import ColumnFunction
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Program
from linkwork.errors import ArgumentError, SingularJointError, shown
from linkwork.kindyn.checks import ResultCheck, finite_check, result_check
from linkwork.kindyn.inputs import PARAMETERS
from linkwork.kindyn.programs import (
    computation,
    derivative_specs,
    is_too_long,
    jacobian_program,
    program_of,
    signature_of,
    unit_norms_of,
)
from linkwork.kindyn.quantities import Context, Quantity
from linkwork.kindyn.requests import KernelRequest

Result = TypeVar("Result")


class Robot(Protocol):
    """What a kernel needs of the `KinDynCore` that it belongs to, whose module imports this one."""

    problem: Any  # a `Problem`; a cached property, which protocols do not resolve
    quantities: ClassVar[Mapping[str, Quantity]]
    dtype: type[Any]
    check: bool

    def function(
        self, request: Any, /, *, wrenches: Sequence[str] = (), gravity: bool = False
    ) -> QuantityKernel[Any]:
        """Return the compiled function of a quantity."""
        ...

    def parameter_values(self) -> Array:
        """Return the model parameters in one vector."""
        ...

    def replace(self, **changes: Any) -> Any:
        """Return a copy with changed options."""
        ...

    def _context(self, numbers: Any = None) -> Context: ...
    def _key_of(self, request: KernelRequest) -> str | None: ...


class QuantityKernel(Kernel, Generic[Result]):
    """The compiled function of one or several quantities of a robot.

    Where gravity or wrenches enter, it also takes `gravity=` and `wrenches={frame: wrench}`. It is
    pickled as the robot and the names of the quantities.
    """

    robot: Robot
    request: KernelRequest
    # The same quantity with further inputs, by the frames of wrenches and whether gravity is one.
    with_further_inputs: dict[Any, QuantityKernel[Any]]
    takes_parameters: bool  # whether its last input are the model parameters
    n_without_parameters: int  # the number of the other inputs

    def __init__(
        self, robot: Robot, request: KernelRequest, column_function: ColumnFunction | None = None
    ) -> None:
        """Prepare a kernel.

        Args:
            robot: the robot whose quantities are computed.
            request: what to compute, from which inputs.
            column_function: computes the quantities in place of a program.
        """
        self.robot, self.request, self.with_further_inputs = robot, request, {}
        self.takes_parameters = request.takes_parameters
        self.n_without_parameters = len(request.inputs) - request.takes_parameters
        key = None  # of a program; None if users' code decides what is computed
        if column_function is None:
            key = robot._key_of(request)  # pyright: ignore[reportPrivateUsage]
            column_function = self._numpy_function()
        super().__init__(
            signature_of(robot.problem, request, robot.parameter_values),
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
        return jacobian_program(compute, specs, ports, wrt)

    def _trace(self) -> Program:
        return program_of(self._computation(self.request), self.signature)

    def _computation(self, request: KernelRequest) -> Callable[..., tuple[Array, ...]]:
        context = self.robot._context  # pyright: ignore[reportPrivateUsage]
        return computation(context, self.robot.problem, request)

    def _numpy_function(self) -> ColumnFunction | None:
        """Return what computes the quantities if a program would be too long, else None."""
        if not is_too_long(self.robot.problem, self.request.specs):
            return None
        compute = self._computation(self.request)
        return lambda *columns: [array.reshape(-1) for array in compute(*columns)]

    def _result_check(self) -> ResultCheck | None:
        """Return what is called if a result is not finite, and raises if that is an error."""
        unit_norms = unit_norms_of(self.robot.problem.layout, [0])
        context = self.robot._context  # pyright: ignore[reportPrivateUsage]
        return result_check(self.request.specs, context, unit_norms)

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


def _unpickle(robot: Robot, requests: Any, wrenches: Any, gravity: bool) -> QuantityKernel[Any]:
    return robot.function(*requests, wrenches=wrenches, gravity=gravity)
