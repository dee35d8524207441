"""Spatial algebra: rotations, poses, velocities, forces and inertias as arrays.

    so3       rotation matrices (..., 3, 3)
    quat      unit quaternions (..., 4)
    se3       poses (..., 4, 4)
    motion    velocities and forces (..., 6), and the 6x6 matrices that move them
    inertia   spatial inertias (..., 10)

Pose         a_H_b is the pose of frame b in frame a; a_H_c = a_H_b @ b_H_c
Rotation     a_R_b turns coordinates in b into coordinates in a
Quaternion   order w, x, y, z, Hamilton's product; the letters `wxyz` stand in every name
rpy          roll, pitch, yaw [rad] as in URDF: R = Rz(yaw) Ry(pitch) Rx(roll)
6-vectors    [linear; angular]
Batch        any leading axes, broadcast as NumPy does; lists and numbers are welcome
Units        SI, angles in radians

Speed        a function that is used often is compiled beside the calls: less than a microsecond a
             row then, from 50 to 500 with NumPy; `warmup` compiles at once

Every function is pure: it never writes into its arguments. What is only a part of an argument, such
as the rotation of a pose, comes back as a view of it. A wrong trailing shape raises
`linkwork.errors.ShapeError`; what is no real number, such as a complex number, a text, None or a
masked element, raises `linkwork.errors.ArgumentError`. Results that are not finite warn of nothing.
The same numbers give the same result up to rounding, before and after a function is compiled.
"""

from linkwork.spatial import inertia as inertia
from linkwork.spatial import motion as motion
from linkwork.spatial import quat as quat
from linkwork.spatial import se3 as se3
from linkwork.spatial import so3 as so3
from linkwork.spatial._compiled import warmup as warmup
