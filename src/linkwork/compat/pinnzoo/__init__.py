"""PinnZoo's functions: a robot whose state is one vector x = [q; v], with its derivatives.

    from linkwork.compat import pinnzoo

    model = pinnzoo.Model("go1")
    x = pinnzoo.init_state(model)
    A, B = pinnzoo.dynamics_deriv(model, x, tau)        # or model.dynamics_deriv(x, tau)

State       x = [q; v], q = [base position, quaternion w x y z, joints]; with a fixed base, only the
            joints
Velocity    v = [linear; angular] velocity of the base in the axes of the base, then the joints
Joints      depth first, siblings in alphabetical order, as in Pinocchio
Gravity     9.81 m/s^2 along -z
Quaternion  not normalized: functions are polynomials in it
Batch       any leading axes on every argument, broadcast as NumPy does

PinnZoo, Julia, CasADi and Pinocchio are not needed.
"""

from linkwork.compat.pinnzoo.functions import B_func as B_func
from linkwork.compat.pinnzoo.functions import C_func as C_func
from linkwork.compat.pinnzoo.functions import L_mult as L_mult
from linkwork.compat.pinnzoo.functions import M_func as M_func
from linkwork.compat.pinnzoo.functions import R_mult as R_mult
from linkwork.compat.pinnzoo.functions import apply_delta_x as apply_delta_x
from linkwork.compat.pinnzoo.functions import attitude_jacobian as attitude_jacobian
from linkwork.compat.pinnzoo.functions import axis_angle_to_quat as axis_angle_to_quat
from linkwork.compat.pinnzoo.functions import change_order as change_order
from linkwork.compat.pinnzoo.functions import dynamics as dynamics
from linkwork.compat.pinnzoo.functions import dynamics_deriv as dynamics_deriv
from linkwork.compat.pinnzoo.functions import error_jacobian as error_jacobian
from linkwork.compat.pinnzoo.functions import error_jacobian_jvp_deriv as error_jacobian_jvp_deriv
from linkwork.compat.pinnzoo.functions import error_jacobian_T as error_jacobian_T
from linkwork.compat.pinnzoo.functions import (
    error_jacobian_T_jvp_deriv as error_jacobian_T_jvp_deriv,
)
from linkwork.compat.pinnzoo.functions import forward_dynamics as forward_dynamics
from linkwork.compat.pinnzoo.functions import forward_dynamics_deriv as forward_dynamics_deriv
from linkwork.compat.pinnzoo.functions import init_state as init_state
from linkwork.compat.pinnzoo.functions import inverse_dynamics as inverse_dynamics
from linkwork.compat.pinnzoo.functions import inverse_dynamics_deriv as inverse_dynamics_deriv
from linkwork.compat.pinnzoo.functions import is_floating as is_floating
from linkwork.compat.pinnzoo.functions import kinematics as kinematics
from linkwork.compat.pinnzoo.functions import (
    kinematics_force_jacobian as kinematics_force_jacobian,
)
from linkwork.compat.pinnzoo.functions import kinematics_jacobian as kinematics_jacobian
from linkwork.compat.pinnzoo.functions import kinematics_size as kinematics_size
from linkwork.compat.pinnzoo.functions import kinematics_velocity as kinematics_velocity
from linkwork.compat.pinnzoo.functions import (
    kinematics_velocity_jacobian as kinematics_velocity_jacobian,
)
from linkwork.compat.pinnzoo.functions import quat_conjugate as quat_conjugate
from linkwork.compat.pinnzoo.functions import quat_to_axis_angle as quat_to_axis_angle
from linkwork.compat.pinnzoo.functions import quat_to_rot as quat_to_rot
from linkwork.compat.pinnzoo.functions import randn_state as randn_state
from linkwork.compat.pinnzoo.functions import rot_to_quat as rot_to_quat
from linkwork.compat.pinnzoo.functions import skew as skew
from linkwork.compat.pinnzoo.functions import state_error as state_error
from linkwork.compat.pinnzoo.functions import velocity_kinematics as velocity_kinematics
from linkwork.compat.pinnzoo.functions import (
    velocity_kinematics_jvp_deriv as velocity_kinematics_jvp_deriv,
)
from linkwork.compat.pinnzoo.functions import velocity_kinematics_T as velocity_kinematics_T
from linkwork.compat.pinnzoo.functions import (
    velocity_kinematics_T_jvp_deriv as velocity_kinematics_T_jvp_deriv,
)
from linkwork.compat.pinnzoo.functions import zero_state as zero_state
from linkwork.compat.pinnzoo.model import Model as Model
from linkwork.compat.pinnzoo.model import add_methods as _add_methods
from linkwork.compat.pinnzoo.orders import ConversionIndices as ConversionIndices
from linkwork.compat.pinnzoo.orders import StateOrder as StateOrder
from linkwork.compat.pinnzoo.orders import create_conversion as create_conversion
from linkwork.compat.pinnzoo.orders import generate_conversions as generate_conversions
from linkwork.compat.pinnzoo.zoo import zoo_names as zoo_names

_add_methods([*globals().values()])
