"""Poses.

Pose       a_H_b = [[R, p], [0, 1]] is the pose of frame b in frame a: p is b's origin in a, the
           columns of R are b's axes in a. Chain by adjacency: a_H_c = a_H_b @ b_H_c
Twist      xi = [v; w], linear first; exp(xi) is the motion in one second at this body velocity
Jacobian   exp(xi + d) = exp(left_jacobian(xi) @ d) @ exp(xi)
                       = exp(xi) @ exp(right_jacobian(xi) @ d)    for small d
Batch      any leading axes, broadcast as in NumPy
"""

from linkwork.spatial._compiled import compiled as _compiled
from linkwork.spatial.source import se3 as _source
from linkwork.spatial.source.se3 import identity as identity
from linkwork.spatial.source.se3 import position_of as position_of
from linkwork.spatial.source.se3 import rotation_of as rotation_of

exp = _compiled(_source.exp)
from_xyz_rpy = _compiled(_source.from_xyz_rpy)
inverse = _compiled(_source.inverse)
left_jacobian = _compiled(_source.left_jacobian)
left_jacobian_inverse = _compiled(_source.left_jacobian_inverse)
log = _compiled(_source.log)
pose = _compiled(_source.pose)
right_jacobian = _compiled(_source.right_jacobian)
right_jacobian_inverse = _compiled(_source.right_jacobian_inverse)
transform_point = _compiled(_source.transform_point)
vee = _compiled(_source.vee)
wedge = _compiled(_source.wedge)
