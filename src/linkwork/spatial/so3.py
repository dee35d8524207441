"""Rotation matrices.

Rotation   a_R_b maps coordinates in b to coordinates in a; a_R_c = a_R_b @ b_R_c
Vector     phi = axis times angle [rad]; exp(phi) rotates by that angle about that axis
rpy        roll, pitch, yaw [rad] in URDF's order: R = Rz(yaw) Ry(pitch) Rx(roll)
Jacobian   exp(phi + d) = exp(left_jacobian(phi) @ d) @ exp(phi)
                        = exp(phi) @ exp(right_jacobian(phi) @ d)    for small d
Batch      any leading axes, broadcast as in NumPy
"""

from linkwork.spatial._compiled import compile_in as _compile_in
from linkwork.spatial.source.so3 import about as about
from linkwork.spatial.source.so3 import exp as exp
from linkwork.spatial.source.so3 import from_rpy as from_rpy
from linkwork.spatial.source.so3 import left_jacobian as left_jacobian
from linkwork.spatial.source.so3 import left_jacobian_inverse as left_jacobian_inverse
from linkwork.spatial.source.so3 import log as log
from linkwork.spatial.source.so3 import project as project
from linkwork.spatial.source.so3 import right_jacobian as right_jacobian
from linkwork.spatial.source.so3 import right_jacobian_inverse as right_jacobian_inverse
from linkwork.spatial.source.so3 import rot_x as rot_x
from linkwork.spatial.source.so3 import rot_y as rot_y
from linkwork.spatial.source.so3 import rot_z as rot_z
from linkwork.spatial.source.so3 import to_rpy as to_rpy
from linkwork.spatial.source.so3 import vee as vee
from linkwork.spatial.source.so3 import wedge as wedge

_compile_in(__name__, exclude=("project",))
