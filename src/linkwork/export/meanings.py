"""What the numbers of inputs and outputs are, and their units, in the words of the header."""

from __future__ import annotations

from linkwork.export.names import comment_text

# What inputs are. Their rows are as in `KinDyn`, whose conventions the header lists.
INPUTS = {
    "q": "configuration",
    "q_start": "configuration at the start",
    "q_end": "configuration at the end",
    "nu": "velocity [m/s, rad/s]",
    "nu_dot": "derivative of nu [m/s^2, rad/s^2]",
    "tau": "forces [N, N m]: wrench on a floating base, joint torques and forces",
    "dt": "time [s]",
    "gravity": "acceleration of free fall in the world [m/s^2]",
    "parameters": "numbers of the robot, in the order of KinDyn.parameters",
}
_POSE = "rotation matrix, position [m] in the last column"
_VELOCITY = "linear [m/s], angular [rad/s]"
_ACCELERATION = "linear [m/s^2], angular [rad/s^2]"
_FORCES = "wrench on a floating base, joint torques and forces [N, N m]"
_JACOBIAN = "linear, then angular rows; columns as in nu"
_INERTIA = "[kg, kg m, kg m^2]"
_MOMENTUM = "linear [kg m/s], angular [kg m^2/s]"
# What the outputs of quantities are.
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
}
_TANGENT = "the tangent of {}, which is nu dt in integrate"
# What the results of derivatives are by.
_BY = {
    "q": _TANGENT.format("q"),
    "q_start": _TANGENT.format("q_start"),
    "q_end": _TANGENT.format("q_end"),
    "wrenches": "each wrench",
}


def output_text(quantity: str, field: str = "") -> str:
    """What an output of a quantity is; `field` is which, if there are several.

    The fields of derivatives are the names of what they are by.
    """
    if not field:
        return _OUTPUTS.get(quantity, "")
    return f"derivative by {_BY.get(field, comment_text(field))}"
