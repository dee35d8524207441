"""adam's interface to linkwork: the same classes, methods and conventions, compiled.

    from linkwork.compat.adam import KinDynComputations, Representations

    kd = KinDynComputations("robot.urdf", ["hip", "knee"])
    M = kd.mass_matrix(w_H_b, joints)

Pose      `base_transform` is w_H_b (..., 4, 4), the pose of the base in the world
Velocity  base and frame velocities are [linear; angular], in the representation that was set last
Batch     any leading axes on every argument, broadcast as NumPy does; nothing is squeezed
Joints    vectors of n = NDoF entries, in the order of `joints_name_list`

adam itself is not needed.
"""

from linkwork.compat.adam import numpy as numpy
from linkwork.compat.adam.core import Representations as Representations
from linkwork.compat.adam.model import to_idyntree_model as to_idyntree_model
from linkwork.compat.adam.numpy import KinDynComputations as KinDynComputations
