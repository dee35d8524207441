"""Kinematics and dynamics of one robot, compiled for that robot.

q       [base position (3), base quaternion wxyz (4), s], or just s if the base is fixed
nu      [base velocity (6), s_dot], or just s_dot
Frames  are named; velocities, Jacobians and wrenches are in the representation of the `KinDyn`
Batch   any leading axes, broadcast as NumPy does
out     an array to write to, instead of a new one
"""

from __future__ import annotations

from linkwork.kindyn.centroidal import WholeMethods
from linkwork.kindyn.configurations import ConfigurationMethods
from linkwork.kindyn.dynamics import DynamicsMethods
from linkwork.kindyn.frames import FrameMethods


class KinDyn(FrameMethods, DynamicsMethods, WholeMethods, ConfigurationMethods):
    """Every quantity of one robot, as compiled functions. Stateless, thread-safe, picklable.

    Args:
        model: the robot.
        base: the link or frame whose pose and velocity are those of the base; the model's default
            if not given.
        floating: whether the base moves freely; if not, it is fixed to the world's origin.
        velocity: how velocities of the base and of frames are written: mixed, body or inertial.
            Kept as `representation`.
        gravity: acceleration of free fall in the world [m/s^2].
        dtype: numpy.float64 or numpy.float32.
        check: whether to look for NaN and infinity in what is given, and name the joint.
        joint_dynamics: whether the joints' armature, damping and friction enter the dynamics.
    """


__all__ = ["KinDyn"]
