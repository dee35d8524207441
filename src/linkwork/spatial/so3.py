"""Rotation matrices.

Rotation   a_R_b maps coordinates in b to coordinates in a; a_R_c = a_R_b @ b_R_c
Vector     phi = axis times angle [rad]; exp(phi) rotates by that angle about that axis
rpy        roll, pitch, yaw [rad] in URDF's order: R = Rz(yaw) Ry(pitch) Rx(roll)
Jacobian   exp(phi + d) = exp(left_jacobian(phi) @ d) @ exp(phi)
                        = exp(phi) @ exp(right_jacobian(phi) @ d)    for small d
Batch      any leading axes, broadcast as in NumPy
"""

from linkwork.spatial._compiled import compiled as _compiled
from linkwork.spatial.source import so3 as _source
from linkwork.spatial.source.so3 import project as project

about = _compiled(_source.about)
exp = _compiled(_source.exp)
from_rpy = _compiled(_source.from_rpy)
left_jacobian = _compiled(_source.left_jacobian)
left_jacobian_inverse = _compiled(_source.left_jacobian_inverse)
log = _compiled(_source.log)
right_jacobian = _compiled(_source.right_jacobian)
right_jacobian_inverse = _compiled(_source.right_jacobian_inverse)
rot_x = _compiled(_source.rot_x)
rot_y = _compiled(_source.rot_y)
rot_z = _compiled(_source.rot_z)
to_rpy = _compiled(_source.to_rpy)
vee = _compiled(_source.vee)
wedge = _compiled(_source.wedge)
