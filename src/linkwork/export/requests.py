"""What is exported: quantities of a robot, their derivatives, and kernels of any other kind."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from linkwork.engine.kernel.arguments import Signature
from linkwork.engine.kernel.kernel import Kernel
from linkwork.errors import ArgumentError, shown
from linkwork.export.function import BATCH_ENDING, Argument, Function
from linkwork.export.meanings import INPUTS, output_text
from linkwork.export.names import MACRO_ENDINGS, Names, comment_text, identifier_part
from linkwork.kindyn import KinDyn
from linkwork.kindyn.quantities import QUANTITIES
from linkwork.kindyn.requests import Spec, request_of_text, spec_of

Wanted: TypeAlias = "str | Sequence[Any] | Kernel"
"""A quantity as "mass_matrix", "jacobian:l_sole" or ("jacobian", "l_sole"); or any kernel."""

DEFAULT_FUNCTIONS = (
    *("mass_matrix", "bias_force", "inverse_dynamics", "forward_dynamics", "integrate"),
)

_ENDINGS = ("derivatives", "derivative")  # of names of quantities

_COTANGENT = "ct_"  # begins the names of inputs that derivatives are multiplied by


@dataclass(frozen=True, slots=True)
class Exported:
    """A C function, and the kernel that computes the same in double precision."""

    function: Function
    kernel: Kernel
    quantity: str = ""  # its name in `KinDyn`, if it is a quantity without frames


def exported(
    kd: KinDyn,
    wanted: Iterable[Wanted] | Mapping[str, Wanted],
    *,
    derivatives: bool,
    prefix: str,
    names: Names,
) -> list[Exported]:
    """The functions of an export, each once.

    Args:
        kd: the robot.
        wanted: quantities and kernels; by the names of their C functions, if it is a mapping.
        derivatives: whether to add the derivatives of each.
        prefix: of the names in C.
        names: those that are taken; the functions' own are added.
    """
    if isinstance(wanted, str):
        raise ArgumentError(f"functions: expected a list, got {shown(wanted)}")
    named: Any = wanted.items() if isinstance(wanted, Mapping) else ((None, one) for one in wanted)
    listed: list[tuple[str | None, Wanted]] = list(named)
    exact = kd if kd.dtype == np.float64 else kd.replace(dtype=np.float64)
    found: list[tuple[str, Kernel]] = []
    for name, one in listed:
        kernel = _kernel(exact, one)
        found.append((name or _label(kernel), kernel))
        derivative = derivative_of(exact, kernel) if derivatives else None
        if derivative is not None:
            found.append((f"{name or _label(kernel)}_{derivative[0]}", derivative[1]))
    unique = {(name, id(kernel)): kernel for name, kernel in found}
    if not unique:
        raise ArgumentError("functions: name at least one quantity")
    return [_exported(kernel, name, prefix, names) for (name, _), kernel in unique.items()]


def derivative_of(kd: KinDyn, kernel: Kernel) -> tuple[str, Kernel] | None:
    """The derivative of a kernel, and what its name ends in: the analytic one if there is one.

    `inverse_dynamics` has `inverse_dynamics_derivatives`, for example. Any other kernel gives its
    vector-Jacobian product by all inputs. A derivative has none itself here.
    """
    spec = _spec(kernel)
    if spec is not None:
        if spec.name.endswith(_ENDINGS):
            return None
        for ending in _ENDINGS:
            if f"{spec.name}_{ending}" in QUANTITIES:
                order: Any = getattr(kernel, "order", None)
                request: Any = (f"{spec.name}_{ending}", *spec.request[1:])
                options = {"wrenches": order.wrenches, "gravity": order.gravity}
                return ending, kd.function(request, **options)
    product = getattr(kernel, "vjp", None)
    if product is None:
        raise ArgumentError(f"derivatives: {kernel.signature.name} has none")
    return "vjp", product(*(port.name for port in kernel.signature.inputs))


def _kernel(kd: KinDyn, wanted: Any) -> Kernel:
    if isinstance(wanted, Kernel):
        return wanted
    if isinstance(wanted, str):
        wanted = request_of_text(wanted)
    spec = spec_of(wanted, kd.model)
    return kd.function(spec.request)  # pyright: ignore[reportArgumentType]


def _spec(kernel: Kernel) -> Spec | None:
    """The quantity of a kernel of a robot, if it is one and not several."""
    order = getattr(kernel, "order", None)
    return order.specs[0] if order is not None and len(order.specs) == 1 else None


def _label(kernel: Kernel) -> str:
    """What a C function is called if nobody says otherwise."""
    spec = _spec(kernel)
    return spec.label if spec else kernel.signature.name


def _exported(kernel: Kernel, name: str, prefix: str, names: Names) -> Exported:
    if not getattr(kernel, "is_unrolled", True):
        raise ArgumentError(f"functions: {kernel.signature.name} is too long to be compiled")
    if not kernel.signature.inputs or not any(port.size for port in kernel.signature.outputs):
        text = "has no numbers to take or to give; a robot that cannot move may be the reason"
        raise ArgumentError(f"functions: {kernel.signature.name} {text}")
    signature, spec = kernel.signature, _spec(kernel)
    own = names.new(f"{prefix}_{identifier_part(name)}", BATCH_ENDING, *MACRO_ENDINGS)
    plain = (
        spec is not None and not spec.frames and len(signature.inputs) == len(spec.quantity.inputs)
    )
    return Exported(
        Function(
            own,
            _title(kernel, spec),
            kernel.program,
            _inputs(signature),
            _outputs(signature, spec),
            signature.unit_norms,
        ),
        kernel if kernel.dtype == np.float64 else Kernel(signature, lambda: kernel.program),
        spec.name if spec and plain else "",
    )


def _title(kernel: Kernel, spec: Spec | None) -> str:
    """What a function computes: the first sentences of the method of `KinDyn`."""
    method = getattr(KinDyn, spec.name, None) if spec else None
    if spec is None or method is None:
        return comment_text(kernel.signature.name)
    paragraph = " ".join((inspect.getdoc(method) or "").split("\n\n")[0].split())
    text = re.sub(r"\(\.\.\.[^)]*\)\s*", "", paragraph).replace("`", "")  # shapes of batches
    of = f" [{', '.join(spec.frames)}]" if spec.frames else ""
    return comment_text(spec.name + of + ": " + text.rstrip("."))


def _inputs(signature: Signature) -> tuple[Argument, ...]:
    names, found = Names(), list[Argument]()
    for port in signature.inputs:
        known = port.name in INPUTS
        name = port.name if known else f"in_{identifier_part(port.name)}"
        if port.name.startswith("wrench_"):
            name, frame = identifier_part(port.name), port.name.removeprefix("wrench_")
            text = f"wrench on frame {comment_text(frame)} [N, N m]: force (3), moment (3)"
        elif port.name.startswith(_COTANGENT):
            of = comment_text(port.name.removeprefix(_COTANGENT))
            text = f"cotangent, by which the Jacobian of {of} is multiplied from the left"
        else:
            text = INPUTS.get(port.name) or comment_text(port.name)
        found.append(Argument(names.new(name), port, text))
    return tuple(found)


def _outputs(signature: Signature, spec: Spec | None) -> tuple[Argument, ...]:
    """Those that have numbers: a derivative by wrenches has none where there are no wrenches."""
    ports = [port for port in signature.outputs if port.size]
    if len(ports) == 1:
        return (Argument("out", ports[0], output_text(spec.name) if spec else ""),)
    names, found = Names(), list[Argument]()
    for port in ports:
        field = port.name.removeprefix(f"{spec.label}_") if spec else port.name
        text = output_text(spec.name, field) if spec else comment_text(field)
        found.append(Argument(names.new(f"out_{identifier_part(field)}"), port, text))
    return tuple(found)
