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
    """Every quantity of one robot, as compiled functions. Stateless, thread-safe, picklable.

    Two are equal if their models and options are. The methods take, where they need them:

        q         (..., nq) [base position (3), base quaternion wxyz (4), s]; s if the base is fixed
        nu        (..., nv) [base velocity (6), s_dot]; s_dot if the base is fixed
        nu_dot    (..., nv) the derivative of nu
        tau       (..., nv) [wrench on the base (6), joint torques and forces]
        frame     name of a link or of an additional frame of the model
        wrenches  (..., 6) by the name of the frame they act on, dual to the frame's velocity
        gravity   (..., 3) in the world; that of the KinDyn if not given
        parameters (..., n) model parameters, if the KinDyn was created with `parameters`
        out       an array to write to, instead of a new one
        threads   how many to use for a large batch; as many as there are cores if not given

    Leading batch axes `...` broadcast as NumPy's do. Velocities, accelerations, Jacobians and
    wrenches are in the representation of the KinDyn.

    Args:
        model: the robot.
        base: the link or frame whose pose and velocity are those of the base; the model's default
            if not given.
        floating: whether the base moves freely; if not, it is fixed to the world. It floats if
            this is not given, with a `FloatingBaseWarning` for robots that look fixed.
        representation: how velocities of the base and of frames are written: "mixed" (the default),
            "body" or "inertial".
        gravity: acceleration of free fall in the world [m/s^2].
        base_pose: of a fixed base in the world, as `Pose` or (4, 4) matrix; the world's origin if
            not given.
        dtype: numpy.float64 or numpy.float32.
        check: whether to look for NaN and infinity in what is given, and name the joint.
        joint_dynamics: whether the joints' armature, damping and friction enter the dynamics.
        parameters: model parameters that are inputs of every function, as descriptions of
            `linkwork.parameters`. Every method then takes `parameters` (..., n), those of the
            model if not given.
    """


__all__ = ["KinDyn"]
