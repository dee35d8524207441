"""The functions of an export: quantities of a robot, their derivatives, and other kernels.

Each gets the names of its C arguments, and their descriptions for the header.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from linkwork.engine.kernel.arguments import Signature
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.program import values_of
from linkwork.errors import ArgumentError, shown
from linkwork.export.code import (
    Argument,
    Function,
    Names,
    comment_text,
    identifier_part,
)
from linkwork.kindyn import ConstrainedKinDyn, KinDyn
from linkwork.kindyn.inputs import DESCRIPTIONS
from linkwork.kindyn.requests import Spec, request_of_text, spec_of

Request: TypeAlias = "str | Sequence[Any] | Kernel"
"""A quantity as "mass_matrix", "jacobian:l_sole" or ("jacobian", "l_sole"); or any kernel."""

DEFAULT_FUNCTIONS = (
    "mass_matrix",
    "bias_force",
    "inverse_dynamics",
    "forward_dynamics",
    "integrate",
)
DEFAULT_CONSTRAINED_FUNCTIONS = ("error", "jacobian", "forward_dynamics", "step")
"""Those of a `ConstrainedKinDyn`."""

_DERIVATIVE_ENDINGS = ("derivatives", "derivative")  # endings of names of quantities
_COTANGENT_PREFIX = "ct_"  # begins the names of inputs that multiply Jacobians from the left


# Outputs with one entry, or one row, for each constraint equation.
_PER_EQUATION = ("error", "jacobian", "bias", "forces", "impulses")
_TANGENT = "the tangent vector of {}, which is nu dt in integrate"
# Descriptions of the inputs that derivatives are taken with respect to.
_WITH_RESPECT_TO = {
    "q": _TANGENT.format("q"),
    "q_start": _TANGENT.format("q_start"),
    "q_end": _TANGENT.format("q_end"),
    "wrenches": "each wrench",
}


@dataclass(frozen=True, slots=True)
class Exported:
    """A C function, and the kernel that computes the same in double precision."""

    function: Function
    kernel: Kernel
    quantity: str = ""  # its name in `KinDyn`, if it is a quantity without frames


def exported_functions(
    kd: KinDyn | ConstrainedKinDyn,
    requests: Iterable[Request] | Mapping[str, Request],
    *,
    derivatives: bool,
    prefix: str,
    names: Names,
) -> list[Exported]:
    """Return the functions of an export, each once.

    Args:
        kd: the robot.
        requests: quantities and kernels. A mapping has the names of the C functions as keys.
        derivatives: whether to add the derivatives of each.
        prefix: prefix of the names in C.
        names: names that are used already; those of the functions are added.
    """
    if isinstance(requests, str):
        raise ArgumentError(f"functions: expected a list, got {shown(requests)}")
    named = isinstance(requests, Mapping)
    pairs: Any = requests.items() if named else ((None, request) for request in requests)
    robot = kd
    if isinstance(kd, KinDyn) and kd.dtype != np.float64:
        robot = kd.replace(dtype=np.float64)  # a constrained robot depends on the precision
    kernels: dict[tuple[str, int], Kernel] = {}
    for name, request in pairs:
        kernel = _kernel(robot, request)
        label = name or _label(kernel)
        kernels[label, id(kernel)] = kernel
        if derivatives and (ending_and_kernel := _derivative(robot, kernel)):
            ending, derivative = ending_and_kernel
            kernels[f"{label}_{ending}", id(derivative)] = derivative
    if not kernels:
        raise ArgumentError("functions: expected at least one quantity or kernel, got none")
    return [_exported(kernel, label, prefix, names) for (label, _), kernel in kernels.items()]


def _derivative(kd: KinDyn | ConstrainedKinDyn, kernel: Kernel) -> tuple[str, Kernel] | None:
    """Return the derivative of a kernel and the ending of its name.

    It is analytic if there is such a quantity, such as `inverse_dynamics_derivatives`. For any
    other kernel it is the vector-Jacobian product with respect to all inputs. Derivatives are not
    differentiated again.
    """
    spec = _spec(kernel)
    if spec is not None:
        if spec.name.endswith(_DERIVATIVE_ENDINGS):
            return None
        request: Any = getattr(kernel, "request", None)
        owner: Any = getattr(kernel, "robot", kd)
        robot: Any = owner if isinstance(owner, ConstrainedKinDyn) else kd
        for ending in _DERIVATIVE_ENDINGS:
            if f"{spec.name}_{ending}" in robot.quantities:
                derivative = (f"{spec.name}_{ending}", *spec.request[1:])
                options = {"wrenches": request.wrenches, "gravity": request.gravity}
                return ending, robot.function(derivative, **options)
    product = getattr(kernel, "vjp", None)
    if product is None:
        raise ArgumentError(f"derivatives: {kernel.signature.name} has no derivatives")
    return "vjp", product(*(port.name for port in kernel.signature.inputs))


def _kernel(kd: KinDyn | ConstrainedKinDyn, request: Any) -> Kernel:
    if isinstance(request, Kernel):
        return request
    if isinstance(request, str):
        request = request_of_text(request, kd.quantities)
    spec = spec_of(request, kd.model, kd.quantities)
    return kd.function(spec.request)  # pyright: ignore[reportArgumentType]


def _spec(kernel: Kernel) -> Spec | None:
    """Return the quantity of a kernel, if it is one quantity of a robot."""
    request = getattr(kernel, "request", None)
    return request.specs[0] if request is not None and len(request.specs) == 1 else None


def _label(kernel: Kernel) -> str:
    """Return the default name of a C function."""
    spec = _spec(kernel)
    return spec.label if spec else kernel.signature.name


def _exported(kernel: Kernel, name: str, prefix: str, names: Names) -> Exported:
    if not getattr(kernel, "is_unrolled", True):
        raise ArgumentError(f"functions: {kernel.signature.name} is too long to be compiled")
    if not kernel.signature.inputs or not any(port.size for port in kernel.signature.outputs):
        message = "has no inputs or no outputs; the robot may have no moving joints"
        raise ArgumentError(f"functions: {kernel.signature.name} {message}")
    signature, spec = kernel.signature, _spec(kernel)
    c_name = names.new(f"{prefix}_{identifier_part(name)}", "_work")
    is_quantity = (
        spec is not None and not spec.frames and len(signature.inputs) == len(spec.quantity.inputs)
    )
    return Exported(
        Function(
            c_name,
            _title(kernel, spec),
            values_of(kernel.program),
            _inputs(signature),
            _outputs(kernel, spec),
            signature.unit_norms,
        ),
        kernel if kernel.dtype == np.float64 else Kernel(signature, lambda: kernel.program),
        spec.name if spec and is_quantity else "",
    )


def _title(kernel: Kernel, spec: Spec | None) -> str:
    """Describe what a function computes: the first sentences of the method of `KinDyn`."""
    method = spec.quantity.method if spec else None
    if spec is None or method is None:
        return comment_text(kernel.signature.name)
    paragraph = " ".join((inspect.getdoc(method) or "").split("\n\n")[0].split())
    title = re.sub(r"\(\.\.\.[^)]*\)\s*", "", paragraph).replace("`", "")  # shapes of batches
    frames = f" [{', '.join(spec.frames)}]" if spec.frames else ""
    return comment_text(spec.name + frames + ": " + title.rstrip("."))


def _inputs(signature: Signature) -> tuple[Argument, ...]:
    names, arguments = Names(), list[Argument]()
    for port in signature.inputs:
        name = port.name if port.name in DESCRIPTIONS else f"in_{identifier_part(port.name)}"
        if port.name.startswith("wrench_"):
            name, frame = identifier_part(port.name), port.name.removeprefix("wrench_")
            description = f"wrench on frame {comment_text(frame)} [N, N m]: force (3), moment (3)"
        elif port.name.startswith(_COTANGENT_PREFIX):
            output = comment_text(port.name.removeprefix(_COTANGENT_PREFIX))
            description = f"cotangent that multiplies the Jacobian of {output} from the left"
        else:
            description = DESCRIPTIONS.get(port.name) or comment_text(port.name)
        arguments.append(Argument(names.new(name), port, description))
    return tuple(arguments)


def _outputs(kernel: Kernel, spec: Spec | None) -> tuple[Argument, ...]:
    """Return the outputs that are not empty; a derivative with respect to no wrenches is empty."""
    ports = [port for port in kernel.signature.outputs if port.size]
    robot = getattr(kernel, "robot", None)
    if len(ports) == 1:
        return (Argument("out", ports[0], _output_description(spec, "", robot) if spec else ""),)
    names, arguments = Names(), list[Argument]()
    for port in ports:
        field = port.name.removeprefix(f"{spec.label}_") if spec else port.name
        description = _output_description(spec, field, robot) if spec else comment_text(field)
        arguments.append(Argument(names.new(f"out_{identifier_part(field)}"), port, description))
    return tuple(arguments)


def _output_description(spec: Spec, field: str, robot: Any) -> str:
    """Return the description of an output of a quantity; `field` names it if there are several."""
    quantity = spec.quantity
    if quantity.entries:
        text = quantity.entries[quantity.fields.index(field) if field else 0]
        is_listed = isinstance(robot, ConstrainedKinDyn) and (field or spec.name) in _PER_EQUATION
        return f"{text}; equations: {_equations(robot)}" if is_listed else text
    of = ""  # else it is a derivative, whose name ends with the input of the differentiation
    for output in ("forces", "impulses"):
        if field.startswith(f"{output}_"):
            of, field = f" of the {output}", field.removeprefix(f"{output}_")
    return f"derivative{of} with respect to {_WITH_RESPECT_TO.get(field, comment_text(field))}"


def _equations(robot: ConstrainedKinDyn) -> str:
    """List the indices of the equations of each loop and contact."""
    return ", ".join(
        f"{comment_text(name)} {span.start}..{span.stop - 1}" for name, span in robot.rows.items()
    )
