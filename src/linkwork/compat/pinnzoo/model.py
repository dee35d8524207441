"""`Model`: a robot with PinnZoo's functions as methods."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwork.compat.pinnzoo import actuation, bodies, errors, legs, motion, orders, states
from linkwork.compat.pinnzoo.robot import Robot

if TYPE_CHECKING:
    from linkwork.export.report import Report


class Model(Robot):
    """A robot whose state is x = [q; v].

    Args:
        urdf_or_name: a name of the zoo such as "go1", path or text of a URDF or MJCF file, or a
            `linkwork.Model`. Joints that mimic others are free, as in PinnZoo; in a
            `linkwork.Model` they are what they are.
        kinematics_bodies: links and frames whose kinematics are wanted. If not given: those of
            PinnZoo for a robot of the zoo, else none.
        orientation: "none", "quaternion" or "axis_angle": whether their orientation follows their
            position in `kinematics`, and how it is written.
        floating: whether the base moves freely; if not given, as in the zoo, and False for others.
        actuated: names of the velocities that motors drive; if not given, all joints.
        gravity: (3,) acceleration of free fall in the world [m/s^2].

    Raises:
        ModelError: a joint has several coordinates.
        NameNotFoundError: there is no such robot, body or velocity.
        MissingPackageError: the robot is in a package that is not installed.
    """

    M_func = motion.M_func
    C_func = motion.C_func
    forward_dynamics = motion.forward_dynamics
    forward_dynamics_deriv = motion.forward_dynamics_deriv
    inverse_dynamics = motion.inverse_dynamics
    inverse_dynamics_deriv = motion.inverse_dynamics_deriv
    dynamics = motion.dynamics
    dynamics_deriv = motion.dynamics_deriv
    B_func = actuation.B_func

    kinematics = bodies.kinematics
    kinematics_size = bodies.kinematics_size
    kinematics_jacobian = bodies.kinematics_jacobian
    kinematics_velocity = bodies.kinematics_velocity
    kinematics_velocity_jacobian = bodies.kinematics_velocity_jacobian
    kinematics_force_jacobian = bodies.kinematics_force_jacobian
    velocity_kinematics = bodies.velocity_kinematics
    velocity_kinematics_T = bodies.velocity_kinematics_T
    velocity_kinematics_jvp_deriv = bodies.velocity_kinematics_jvp_deriv
    velocity_kinematics_T_jvp_deriv = bodies.velocity_kinematics_T_jvp_deriv
    inverse_kinematics = legs.inverse_kinematics
    nearest_ik = legs.nearest_ik
    fix_joint_limits = legs.fix_joint_limits

    state_error = errors.state_error
    apply_delta_x = errors.apply_delta_x
    error_jacobian = errors.error_jacobian
    error_jacobian_T = errors.error_jacobian_T
    error_jacobian_jvp_deriv = errors.error_jacobian_jvp_deriv
    error_jacobian_T_jvp_deriv = errors.error_jacobian_T_jvp_deriv

    is_floating = states.is_floating
    zero_state = states.zero_state
    randn_state = states.randn_state
    init_state = states.init_state
    change_order = orders.change_order
    change_orders = orders.change_orders

    def export(self, folder: str | Path, **options: Any) -> Report:
        """Write the functions as the C library that PinnZoo would have for this robot.

        Args:
            folder: where to write; made if it is not there.
            options: further ones of `linkwork.export`, such as `prefix` for another name.
        """
        from linkwork.export.names import default_prefix
        from linkwork.export.write import export

        prefix = options.pop("prefix", None)
        return export(
            self.kd,
            folder,
            pinnzoo=True,
            bodies=self.kinematics_bodies,
            orientation=self.orientation,
            actuated=self.orders["nominal"].torque_names,
            prefix=default_prefix(self.name) if prefix is None else prefix,
            **options,
        )
