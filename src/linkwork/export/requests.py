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
from linkwork.errors import ArgumentError, shown
from linkwork.export.code import BATCH_ENDING, Argument, Function
from linkwork.export.names import MACRO_ENDINGS, Names, comment_text, identifier_part
from linkwork.kindyn import KinDyn
from linkwork.kindyn.constrained import ConstrainedKinDyn
from linkwork.kindyn.quantities import CONSTRAINED, QUANTITIES, TABLES
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


# Descriptions of inputs, with the conventions of `KinDyn` that the header lists.
_INPUTS = {
    "q": "configuration",
    "q_start": "configuration at the start",
    "q_end": "configuration at the end",
    "nu": "velocity [m/s, rad/s]",
    "nu_dot": "derivative of nu [m/s^2, rad/s^2]",
    "tau": "forces [N, N m]: wrench on a floating base, joint torques and forces",
    "dt": "time [s]",
    "gravity": "acceleration of free fall in the world [m/s^2]",
    "parameters": "parameters of the robot, in the order of KinDyn.parameters",
    "forces": "constraint forces, one for each equation [N, N m]",
    "restitution": "fraction of the constraint velocity that is reversed",
    "damping": "relative to the diagonal of J J^T",
}
_POSE = "rotation matrix, position [m] in the last column"
_VELOCITY = "linear [m/s], angular [rad/s]"
_ACCELERATION = "linear [m/s^2], angular [rad/s^2]"
_FORCES = "wrench on a floating base, joint torques and forces [N, N m]"
_JACOBIAN = "linear, then angular rows; columns as in nu"
_INERTIA = "[kg, kg m, kg m^2]"
_MOMENTUM = "linear [kg m/s], angular [kg m^2/s]"
# Descriptions of the outputs of quantities.
_OUTPUTS = {
    "transform": _POSE,
    "transforms": f"for each frame: {_POSE}",
    "relative_transform": _POSE,
    "velocity": _VELOCITY,
    "acceleration": _ACCELERATION,
    "bias_acceleration": _ACCELERATION,
    "jacobian": _JACOBIAN,
    "jacobian_dot": _JACOBIAN,
    "relative_jacobian": "linear, then angular rows; columns as the joints in nu",
    "relative_jacobian_at": "linear, then angular rows; columns as the joints in nu",
    "mass_matrix": f"rows and columns as in nu {_INERTIA}",
    "inverse_mass_matrix": "rows and columns as in nu [1/kg, 1/(kg m), 1/(kg m^2)]",
    "mass_matrix_dot": "rows and columns as in nu [kg/s, kg m/s, kg m^2/s]",
    "coriolis_matrix": "rows and columns as in nu [kg/s, kg m/s, kg m^2/s]",
    "inverse_dynamics": _FORCES,
    "bias_force": _FORCES,
    "coriolis_force": _FORCES,
    "gravity_force": _FORCES,
    "gravity_force_derivative": "rows and columns as in nu [N, N m per m or rad]",
    "external_force": _FORCES,
    "forward_dynamics": "nu_dot [m/s^2, rad/s^2]",
    "joint_wrenches": "for each joint: force (3) [N], moment (3) [N m]",
    "regressor": "rows as in nu; 10 inertial parameters of each link",
    "com": "position [m]",
    "com_velocity": "[m/s]",
    "com_acceleration": "[m/s^2]",
    "com_bias_acceleration": "[m/s^2]",
    "com_jacobian": "columns as in nu",
    "momentum": _MOMENTUM,
    "momentum_jacobian": f"linear, then angular rows; columns as in nu {_INERTIA}",
    "centroidal_momentum": _MOMENTUM,
    "centroidal_momentum_matrix": f"linear, then angular rows; columns as in nu {_INERTIA}",
    "centroidal_momentum_bias": "force [N], moment [N m]",
    "centroidal_momentum_rate": "force [N], moment [N m]",
    "average_velocity": _VELOCITY,
    "average_velocity_jacobian": _JACOBIAN,
    "centroidal_average_velocity": _VELOCITY,
    "centroidal_average_velocity_jacobian": _JACOBIAN,
    "locked_inertia": _INERTIA,
    "centroidal_locked_inertia": _INERTIA,
    "kinetic_energy": "[J]",
    "potential_energy": "[J]",
    "integrate": "configuration",
    "difference": "[m, rad]",
    "normalize": "configuration",
    "velocity_kinematics": "rows as in q, columns as in nu",
    "velocity_kinematics_inverse": "rows as in nu, columns as in q",
    # of constrained robots; fields of several outputs after a dot
    "constrained.error": "[m, rad]",
    "constrained.jacobian": "columns as in nu",
    "constrained.bias": "[m/s^2, rad/s^2]",
    "constrained.forward_dynamics.nu_dot": "[m/s^2, rad/s^2]",
    "constrained.forward_dynamics.forces": "constraint forces [N, N m]",
    "constrained.forward_dynamics.residual": "constraint accelerations less their target",
    "constrained.inverse_dynamics.torques": "of the actuated joints, in the order of nu [N, N m]",
    "constrained.inverse_dynamics.forces": "constraint forces [N, N m]",
    "constrained.inverse_dynamics.residual": "forces that neither can provide, as in nu",
    "constrained.impact.nu": "velocity after the impact [m/s, rad/s]",
    "constrained.impact.impulses": "constraint impulses [N s, N m s]",
    "constrained.project_velocity": "velocity [m/s, rad/s]",
    "constrained.closing_step.q": "configuration after the step",
    "constrained.closing_step.error": "error before the step [m, rad]",
    "constrained.delassus": "rows and columns as the equations",
    "constrained.independent_velocities": "rows as in nu, columns as the independent velocities",
    "constrained.mass_matrix": f"of the independent velocities {_INERTIA}",
    "constrained.kinetic_energy": "[J]",
    "constrained.constraint_wrenches": "force (3) [N] and torque (3) [N m] on each frame",
    "constrained.step.q": "configuration after the step",
    "constrained.step.nu": "velocity after the step [m/s, rad/s]",
}
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
        is_constrained = spec.name.startswith(CONSTRAINED)
        for ending in _DERIVATIVE_ENDINGS:
            if f"{spec.name}_{ending}" in (TABLES[CONSTRAINED] if is_constrained else QUANTITIES):
                kernel_request: Any = getattr(kernel, "request", None)
                derivative: Any = (f"{spec.name}_{ending}", *spec.request[1:])
                options = {"wrenches": kernel_request.wrenches, "gravity": kernel_request.gravity}
                robot: Any = getattr(kernel, "robot", kd) if is_constrained else kd
                return ending, robot.function(derivative, **options)
    product = getattr(kernel, "vjp", None)
    if product is None:
        raise ArgumentError(f"derivatives: {kernel.signature.name} has no derivatives")
    return "vjp", product(*(port.name for port in kernel.signature.inputs))


def _kernel(kd: KinDyn | ConstrainedKinDyn, request: Any) -> Kernel:
    if isinstance(request, Kernel):
        return request
    prefix = CONSTRAINED if isinstance(kd, ConstrainedKinDyn) else ""
    if isinstance(request, str):
        request = request_of_text(request, prefix)
    spec = spec_of(request, kd.model, prefix)
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
    c_name = names.new(f"{prefix}_{identifier_part(name)}", BATCH_ENDING, *MACRO_ENDINGS)
    is_quantity = (
        spec is not None and not spec.frames and len(signature.inputs) == len(spec.quantity.inputs)
    )
    return Exported(
        Function(
            c_name,
            _title(kernel, spec),
            kernel.program,
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
    return comment_text(spec.name.removeprefix(CONSTRAINED) + frames + ": " + title.rstrip("."))


def _inputs(signature: Signature) -> tuple[Argument, ...]:
    names, arguments = Names(), list[Argument]()
    for port in signature.inputs:
        is_documented = port.name in _INPUTS
        name = port.name if is_documented else f"in_{identifier_part(port.name)}"
        if port.name.startswith("wrench_"):
            name, frame = identifier_part(port.name), port.name.removeprefix("wrench_")
            description = f"wrench on frame {comment_text(frame)} [N, N m]: force (3), moment (3)"
        elif port.name.startswith(_COTANGENT_PREFIX):
            output = comment_text(port.name.removeprefix(_COTANGENT_PREFIX))
            description = f"cotangent that multiplies the Jacobian of {output} from the left"
        else:
            description = _INPUTS.get(port.name) or comment_text(port.name)
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
    name = spec.name
    if not field or f"{name}.{field}" in _OUTPUTS:
        text = _OUTPUTS.get(f"{name}.{field}" if field else name, "")
        last = (field or name).removeprefix(CONSTRAINED)
        is_listed = isinstance(robot, ConstrainedKinDyn) and last in _PER_EQUATION
        is_listed = is_listed and name.startswith(CONSTRAINED)
        return f"{text}; equations: {_equations(robot)}" if is_listed else text
    of = ""  # else it is a derivative, whose name ends with the input of the differentiation
    for output in ("forces", "impulses"):
        if field.startswith(f"{output}_"):
            of, field = f" of the {output}", field.removeprefix(f"{output}_")
    return f"derivative{of} with respect to {_WITH_RESPECT_TO.get(field, comment_text(field))}"


def _equations(robot: ConstrainedKinDyn) -> str:
    """The indices of the equations of each loop and contact."""
    return ", ".join(
        f"{comment_text(name)} {span.start}..{span.stop - 1}" for name, span in robot.rows.items()
    )
