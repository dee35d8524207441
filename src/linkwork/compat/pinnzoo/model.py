"""`Model`: a robot with PinnZoo's functions as methods."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import linkwork.compat.pinnzoo.functions as zoo
import linkwork.compat.pinnzoo.legs as leg
from linkwork.compat.pinnzoo.robot import Robot

if TYPE_CHECKING:
    from linkwork.export.check import Report


class Model(Robot):
    """A robot whose state is x = [q; v], with PinnZoo's functions as methods.

    Args:
        urdf_or_name: a name of the zoo such as "go1", path or contents of a URDF or MJCF file, or a
            `linkwork.Model`. Joints that mimic others are free, as in PinnZoo; in a
            `linkwork.Model` they are unchanged.
        kinematics_bodies: links and frames whose kinematics are computed. If not given: those of
            PinnZoo for a robot of the zoo, else none.
        orientation: "none", "quaternion" or "axis_angle": whether an orientation follows each
            position in `kinematics`, and its representation.
        floating: whether the base moves freely; if not given, as in the zoo, and False for others.
        actuated: names of the actuated velocities; if not given, all joints.
        gravity: (3,) acceleration of free fall in the world [m/s^2].

    Raises:
        ModelError: a joint has several coordinates.
        NameNotFoundError: there is no such robot, body or velocity.
        MissingPackageError: the robot is in a package that is not installed.
    """

    M_func = zoo.M_func
    C_func = zoo.C_func
    forward_dynamics = zoo.forward_dynamics
    forward_dynamics_deriv = zoo.forward_dynamics_deriv
    inverse_dynamics = zoo.inverse_dynamics
    inverse_dynamics_deriv = zoo.inverse_dynamics_deriv
    dynamics = zoo.dynamics
    dynamics_deriv = zoo.dynamics_deriv
    B_func = zoo.B_func

    kinematics = zoo.kinematics
    kinematics_size = zoo.kinematics_size
    kinematics_jacobian = zoo.kinematics_jacobian
    kinematics_velocity = zoo.kinematics_velocity
    kinematics_velocity_jacobian = zoo.kinematics_velocity_jacobian
    kinematics_force_jacobian = zoo.kinematics_force_jacobian
    velocity_kinematics = zoo.velocity_kinematics
    velocity_kinematics_T = zoo.velocity_kinematics_T
    velocity_kinematics_jvp_deriv = zoo.velocity_kinematics_jvp_deriv
    velocity_kinematics_T_jvp_deriv = zoo.velocity_kinematics_T_jvp_deriv
    inverse_kinematics = leg.inverse_kinematics
    nearest_ik = leg.nearest_ik
    fix_joint_limits = leg.fix_joint_limits

    state_error = zoo.state_error
    apply_delta_x = zoo.apply_delta_x
    error_jacobian = zoo.error_jacobian
    error_jacobian_T = zoo.error_jacobian_T
    error_jacobian_jvp_deriv = zoo.error_jacobian_jvp_deriv
    error_jacobian_T_jvp_deriv = zoo.error_jacobian_T_jvp_deriv

    is_floating = zoo.is_floating
    zero_state = zoo.zero_state
    randn_state = zoo.randn_state
    init_state = zoo.init_state
    change_order = zoo.change_order
    change_orders = zoo.change_orders

    def export(self, folder: str | Path, **options: Any) -> Report:
        """Write the functions as the C library that PinnZoo would have for this robot.

        Args:
            folder: destination; created if it does not exist.
            options: further options of `linkwork.export`, such as `prefix` for another name.
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
