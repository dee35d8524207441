"""Poses.

Pose       a_H_b = [[R, p], [0, 1]] is the pose of frame b in frame a: p is b's origin in a, the
           columns of R are b's axes in a. Chain by adjacency: a_H_c = a_H_b @ b_H_c
Twist      xi = [v; w], linear first; exp(xi) is the motion in one second at this body velocity
Jacobian   exp(xi + d) = exp(left_jacobian(xi) @ d) @ exp(xi)
                       = exp(xi) @ exp(right_jacobian(xi) @ d)    for small d
Batch      any leading axes, broadcast as in NumPy
"""

from linkwork.spatial._compiled import compile_in as _compile_in
from linkwork.spatial.source.se3 import exp as exp
from linkwork.spatial.source.se3 import from_xyz_rpy as from_xyz_rpy
from linkwork.spatial.source.se3 import identity as identity
from linkwork.spatial.source.se3 import inverse as inverse
from linkwork.spatial.source.se3 import left_jacobian as left_jacobian
from linkwork.spatial.source.se3 import left_jacobian_inverse as left_jacobian_inverse
from linkwork.spatial.source.se3 import log as log
from linkwork.spatial.source.se3 import pose as pose
from linkwork.spatial.source.se3 import position_of as position_of
from linkwork.spatial.source.se3 import right_jacobian as right_jacobian
from linkwork.spatial.source.se3 import right_jacobian_inverse as right_jacobian_inverse
from linkwork.spatial.source.se3 import rotation_of as rotation_of
from linkwork.spatial.source.se3 import transform_point as transform_point
from linkwork.spatial.source.se3 import vee as vee
from linkwork.spatial.source.se3 import wedge as wedge

_compile_in(__name__, exclude=("identity", "rotation_of", "position_of"))
