"""Kinematics and dynamics of one robot, compiled for that robot.

`KinDyn` is one class in several files: `core` has the options and the kernels, `frames`,
`dynamics`, `centroidal`, `configurations` and `kinematic_derivatives` declare its methods.
"""

from __future__ import annotations

from linkwork.kindyn.centroidal import CentroidalMethods
from linkwork.kindyn.configurations import ConfigurationMethods
from linkwork.kindyn.dynamics import DynamicsMethods
from linkwork.kindyn.frames import FrameMethods
from linkwork.kindyn.kinematic_derivatives import KinematicDerivativeMethods
from linkwork.kindyn.quantities import owned


@owned
class KinDyn(
    FrameMethods,
    DynamicsMethods,
    CentroidalMethods,
    ConfigurationMethods,
    KinematicDerivativeMethods,
):
    """Kinematics and dynamics of one robot, as compiled functions.

    A KinDyn is stateless, immutable, thread-safe and picklable. Two are equal if their models and
    options are equal. Arguments have the same meaning in all methods:

        q         (..., nq) [base position (3), base quaternion wxyz (4), s]; s if the base is fixed
        nu        (..., nv) [base velocity (6), s_dot]; s_dot if the base is fixed
        nu_dot    (..., nv) the derivative of nu
        tau       (..., nv) [wrench on the base (6), joint torques and forces]
        frame     name of a link or of an additional frame of the model
        wrenches  dict: name of a frame -> (..., 6) external [force; torque] that acts on it, in the
                  axes and about the origin in which the velocity of the frame is expressed
        gravity   (..., 3) gravity vector in the world; default: the option `gravity`
        parameters (..., n) model parameters, if the KinDyn was created with `parameters`
        out       array to which the result is written; default: a new array
        threads   largest number of threads for a large batch; default: the number of cores

    Leading batch axes `...` are broadcast as in NumPy. Velocities, accelerations, Jacobians and
    wrenches are expressed in the velocity representation of the KinDyn.

    Args:
        model: the robot.
        base: the link or frame that is the base; default: `model.default_base`.
        floating: whether the base moves freely; if False, it is fixed to the world. By default, it
            floats, with a `FloatingBaseWarning` for robots that look fixed.
        representation: velocity representation of the base and of frames: "mixed" (default; at the
            origin of the frame, in world axes), "body" (at the origin of the frame, in its axes)
            or "inertial" (at the origin of the world, in world axes).
        gravity: gravitational acceleration in the world [m/s^2].
        base_pose: pose of a fixed base in the world, as `Pose` or (4, 4) matrix; default: identity.
        dtype: numpy.float64 or numpy.float32.
        check: whether NaN and infinity in inputs raise a `ValueRangeError` that names the joint.
        joint_dynamics: whether the dynamics include armature, damping and friction of the joints.
        cut: names of joints to cut in closed loops, instead of those that are chosen by default.
        parameters: model parameters that become inputs of every function, as descriptions of
            `linkwork.parameters`. Every method then accepts `parameters` (..., n); default: the
            values of the model.
    """


__all__ = ["KinDyn"]
