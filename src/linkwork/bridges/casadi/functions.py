"""CasADi functions of a robot and of any kernel.

SX        the default: the program, replayed on CasADi's symbols. CasADi sees every operation: it
          can differentiate to any order, find sparsity patterns, and generate C code
compiled  linkwork's machine code, called by CasADi: faster, differentiable twice at most
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.bridges.casadi.kernels import (
    as_matrix,
    casadi_package,
    compiled_function,
    matrix_shape,
    name_of,
    sx_function,
)
from linkwork.bridges.methods import (
    Bridged,
    BridgedConstrainedKinDyn,
    BridgedKinDyn,
    call,
    no_numeric_values,
)
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.kernel.rollout import Rollout
from linkwork.engine.symbolic.program import Port
from linkwork.errors import ArgumentError, ShapeError, shown


def wrap(kernel: Kernel | Rollout, *, compiled: bool = False, steps: int | None = None) -> Any:
    """Convert a kernel to a `casadi.Function`, for SX, MX, DM and floats.

    Args:
        kernel: a function of `linkwork.KinDyn` or of `linkwork.compile`, a derivative of one of
            them, or a `linkwork.Rollout`.
        compiled: whether CasADi calls linkwork's machine code, instead of computing the operations
            itself. Such a function can be differentiated twice at most, and can neither be saved
            nor exported as C.
        steps: number of steps of a rollout.

    Returns:
        A function with the inputs and outputs of the kernel, as matrices: a scalar is (1, 1), a
        vector (n, 1), an array (a, b, c) is (a b, c). One call is one row of the kernel;
        `function.map(n)` computes n rows, one column for each. The function of a rollout takes the
        initial value (n, 1) of each state, then the other inputs of the step, (m, steps), or (m, 1)
        if constant. It returns each state at the start and after each step, (n, steps + 1).
    """
    if isinstance(kernel, Rollout):
        return _rollout(kernel, steps, compiled)
    if not isinstance(kernel, Kernel):
        raise ArgumentError(f"kernel: expected a kernel of linkwork, got {shown(kernel)}")
    if steps is not None:
        raise ArgumentError("steps: only a rollout has steps")
    return compiled_function(kernel) if compiled else sx_function(kernel)


def _rollout(rollout: Rollout, steps: int | None, compiled: bool) -> Any:
    ca = casadi_package()
    signature = rollout.step.signature
    n_states = len(signature.outputs)
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        message = f"steps: expected the number of steps of the rollout, got {steps!r}"
        raise ArgumentError(message)
    for port in signature.inputs:
        if matrix_shape(port)[1] != 1:
            message = f"{port.name}: a rollout in CasADi has one column for each step"
            raise ShapeError(f"{message}, so its inputs must be vectors; this one is {port.shape}")
    name = name_of(signature.name)
    every = wrap(rollout.step, compiled=compiled).mapaccum(f"{name}_steps", steps, n_states)
    symbols = [
        ca.MX.sym(name_of(port.name), port.size, 1 if k < n_states else steps)
        for k, port in enumerate(signature.inputs)
    ]
    results = every(*symbols)
    after = [results] if n_states == 1 else list(results)
    states = [ca.horzcat(start, x) for start, x in zip(symbols, after, strict=False)]
    names = [name_of(port.name) for port in signature.inputs]
    return ca.Function(
        f"{name}_rollout", symbols, states, names, [f"{x}_all" for x in names[:n_states]]
    )


class Functions(Bridged):
    """A robot whose functions take and return SX, MX and DM."""

    _OWN_OPTIONS = ("compiled",)
    compiled: bool

    def __init__(
        self, model: Any, base: str | None = None, *, compiled: bool = False, **options: Any
    ) -> None:
        casadi_package()
        super().__init__(model, base, **options)
        self.__dict__.update(compiled=bool(compiled), _casadi_functions={})

    def function(self, *requests: Any, compiled: bool | None = None, **options: Any) -> Any:
        """Return the `casadi.Function` of one or several quantities.

        Args:
            requests: names such as "mass_matrix", or ("jacobian", frame); several share their work.
            compiled: as in `wrap`; the value of this KinDyn if not given.
            options: `wrenches` and `gravity`, as in `linkwork.KinDyn.function`.
        """
        use_machine_code = self.compiled if compiled is None else bool(compiled)
        return self._casadi_function(self.numpy.function(*requests, **options), use_machine_code)

    def _casadi_function(self, kernel: Kernel, compiled: bool) -> Any:
        functions: dict[Any, Any] = self.__dict__["_casadi_functions"]
        entry = functions.get((id(kernel), compiled))
        if entry is None:
            entry = functions[id(kernel), compiled] = kernel, wrap(kernel, compiled=compiled)
        return entry[1]

    def _of(self, *request: Any) -> Any:
        return self._function(self.numpy.function(request))

    def _wrapped(self, kernel: Kernel) -> Any:
        return Method(self, kernel)

    def _constant(self, array: Any) -> Any:
        return casadi_package().DM(np.asarray(array, dtype=float))


class KinDyn(Functions, BridgedKinDyn):
    """The functions of `linkwork.KinDyn` for CasADi's SX, MX and DM.

    Takes the arguments of `linkwork.KinDyn`, and `compiled` as in `wrap`, for all its functions.
    Arrays with three axes are returned as vertically stacked matrices.
    """

    __module__ = "linkwork.casadi"


class ConstrainedKinDyn(Functions, BridgedConstrainedKinDyn):
    """The functions of `linkwork.ConstrainedKinDyn` for CasADi's SX, MX and DM.

    `KinDyn.constrained` creates it, with its option `compiled`.
    """

    __module__ = "linkwork.casadi"

    def forces_of(self, name: str, q: Any, forces: Any, **named: Any) -> Any:
        """Return (6, n), the wrenches of n columns; see `linkwork.ConstrainedKinDyn.forces_of`."""
        index = self.numpy._wrench_index(name)  # pyright: ignore[reportPrivateUsage]
        wrenches = self.constraint_wrenches(q, forces, **named)
        return casadi_package().reshape(wrenches[index, :], 6, -1)

    def project_configuration(self, q: Any, **options: Any) -> Any:
        """Return (nq, n) configurations nearby that satisfy the constraints, for n columns.

        Takes the arguments of `linkwork.ConstrainedKinDyn.project_configuration`.
        """
        ca = casadi_package()
        if isinstance(q, (ca.SX, ca.MX)):
            raise no_numeric_values()
        columns = np.asarray(ca.DM(q))
        return self._constant(self.numpy.project_configuration(columns.T, **options).T)


Functions._CLASSES = KinDyn, ConstrainedKinDyn  # pyright: ignore[reportPrivateUsage]


class Method:
    """A method of `KinDyn`: a CasADi function with the arguments of the NumPy method."""

    def __init__(self, robot: Functions, kernel: Kernel) -> None:
        self._robot, self._kernel = robot, kernel

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call with SX, MX, DM or floats; several results are returned as a named tuple."""
        kernel, values = call(self._kernel, args, named)
        ports = kernel.signature.inputs
        matrices = [_checked(port, value) for port, value in zip(ports, values, strict=True)]
        _check_symbols(ports, matrices)
        function = self._robot._casadi_function(kernel, self._robot.compiled)  # pyright: ignore[reportPrivateUsage]
        results = function(*matrices)
        if len(kernel.signature.outputs) == 1:
            return results
        return kernel._returned(results)  # pyright: ignore[reportPrivateUsage]


def _check_symbols(ports: Sequence[Port], values: Sequence[Any]) -> None:
    """Raise if some arguments are SX and some MX, which CasADi cannot mix."""
    ca = casadi_package()
    names = {type(value): port.name for port, value in zip(ports, values, strict=True)}
    if ca.SX in names and ca.MX in names:
        message = f"{names[ca.SX]} is SX, {names[ca.MX]} is MX"
        raise ArgumentError(f"{message}; CasADi cannot mix them: use one type for all arguments")


def _checked(port: Port, value: Any) -> Any:
    """Convert an argument to a CasADi matrix and check its shape."""
    value = as_matrix(port, value)
    rows, columns = matrix_shape(port)
    n_rows, n_columns = value.shape
    fits = n_rows == rows and (n_columns == columns or (columns and n_columns % columns == 0))
    if not fits:
        expected = f"({rows}, {columns})" + (f" or ({rows}, n) for n rows" if columns == 1 else "")
        raise ShapeError(f"{port.name}: expected {expected}, got {value.shape}")
    return value
