"""CasADi functions of a robot and of any kernel.

SX        the default: the program, replayed on CasADi's symbols. CasADi sees every operation: it
          can differentiate it as often as wanted, find sparsity patterns, and generate C
compiled  linkwork's machine code, called by CasADi: faster, differentiated twice at most
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.bridges.casadi.machine_code import compiled_function
from linkwork.bridges.casadi.sx import as_matrix, casadi_package, matrix_shape, name_of, sx_function
from linkwork.bridges.methods import Bridged, call
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.kernel.rollout import Rollout
from linkwork.engine.symbolic.program import Port
from linkwork.errors import ArgumentError, ShapeError, shown


def wrap(kernel: Kernel | Rollout, *, compiled: bool = False, steps: int | None = None) -> Any:
    """A kernel as a `casadi.Function`, for SX, MX, DM and numbers.

    Args:
        kernel: a function of `linkwork.KinDyn`, or one made by `linkwork.compile`, or a derivative
            of one of them; or a `linkwork.Rollout`.
        compiled: whether CasADi calls linkwork's machine code, instead of computing the operations
            itself. Such a function is differentiated twice at most, and cannot be saved or printed
            as C.
        steps: how many steps a rollout makes.

    Returns:
        A function with the inputs and outputs of the kernel, as matrices: a number is (1, 1), a
        vector (n, 1), an array (a, b, c) is (a b, c). One call is one row of the kernel;
        `function.map(n)` computes n of them, one column for each. That of a rollout takes the
        start (n, 1) of each state, then what else the step takes, (m, steps) or (m, 1) if it stays
        the same; it gives each state at the start and after each step, (n, steps + 1).
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
        raise ArgumentError(f"steps: expected how many steps the rollout makes, got {steps!r}")
    for port in signature.inputs:
        if matrix_shape(port)[1] != 1:
            text = f"{port.name}: a rollout in CasADi has a column for each step"
            raise ShapeError(f"{text}, so no matrices {port.shape}")
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


class KinDyn(Bridged):
    """The functions of `linkwork.KinDyn` for CasADi's SX, MX and DM.

    Takes the arguments of `linkwork.KinDyn`, and `compiled` as `wrap` does, for all its functions.
    Arrays with three axes come as matrices one below the other.
    """

    _OWN_OPTIONS = ("compiled",)
    compiled: bool

    def __init__(
        self, model: Any, base: str | None = None, *, compiled: bool = False, **options: Any
    ) -> None:
        casadi_package()
        super().__init__(model, base, **options)
        self.__dict__.update(compiled=bool(compiled), _made={})

    def function(self, *requests: Any, compiled: bool | None = None, **options: Any) -> Any:
        """The `casadi.Function` of one or several quantities.

        Args:
            requests: names such as "mass_matrix", or ("jacobian", frame); several share their work.
            compiled: as for `wrap`; that of the KinDyn if not given.
            options: `wrenches` and `gravity`, as `linkwork.KinDyn.function` takes them.
        """
        own = self.compiled if compiled is None else bool(compiled)
        return self._casadi(self.numpy.function(*requests, **options), own)

    def _casadi(self, kernel: Kernel, compiled: bool) -> Any:
        made: dict[Any, Any] = self.__dict__["_made"]
        known = made.get((id(kernel), compiled))
        if known is None:
            known = made[id(kernel), compiled] = kernel, wrap(kernel, compiled=compiled)
        return known[1]

    def _of(self, *request: Any) -> Any:
        return self._function(self.numpy.function(request))

    def _wrapped(self, kernel: Kernel) -> Any:
        return Method(self, kernel)

    def _constant(self, array: Any) -> Any:
        return casadi_package().DM(np.asarray(array, dtype=float))


class Method:
    """A method of `KinDyn`: CasADi's function, called with the arguments that NumPy's takes."""

    def __init__(self, robot: KinDyn, kernel: Kernel) -> None:
        self._robot, self._kernel = robot, kernel

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The result for SX, MX, DM or numbers; a named tuple where there are several."""
        kernel, values = call(self._kernel, args, named)
        ports = kernel.signature.inputs
        given = [_checked(port, value) for port, value in zip(ports, values, strict=True)]
        _check_symbols(ports, given)
        function = self._robot._casadi(kernel, self._robot.compiled)  # pyright: ignore[reportPrivateUsage]
        results = function(*given)
        if len(kernel.signature.outputs) == 1:
            return results
        return kernel._returned(results)  # pyright: ignore[reportPrivateUsage]


def _check_symbols(ports: Sequence[Port], values: Sequence[Any]) -> None:
    """Raise if some arguments are SX and some MX, which CasADi does not mix."""
    ca = casadi_package()
    names = {type(value): port.name for port, value in zip(ports, values, strict=True)}
    if ca.SX in names and ca.MX in names:
        text = f"{names[ca.SX]} is SX, {names[ca.MX]} is MX"
        raise ArgumentError(f"{text}; CasADi does not mix them, so give all in one type")


def _checked(port: Port, value: Any) -> Any:
    """An argument as CasADi takes it, if it fits."""
    value = as_matrix(port, value)
    rows, columns = matrix_shape(port)
    n_rows, n_columns = value.shape
    fits = n_rows == rows and (n_columns == columns or (columns and n_columns % columns == 0))
    if not fits:
        wanted = f"({rows}, {columns})" + (f" or ({rows}, n) for n rows" if columns == 1 else "")
        raise ShapeError(f"{port.name}: expected {wanted}, got {value.shape}")
    return value
