"""Spatial algebra: rotations, poses, velocities, forces and inertias as arrays.

    so3       rotation matrices (..., 3, 3)
    quat      unit quaternions (..., 4)
    se3       poses (..., 4, 4)
    motion    velocities and forces (..., 6), and the 6x6 matrices that transform them
    inertia   spatial inertias (..., 10)

Pose         a_H_b is the pose of frame b in frame a; a_H_c = a_H_b @ b_H_c
Rotation     a_R_b maps coordinates in b to coordinates in a
Quaternion   order w, x, y, z, Hamilton's product; every name of one has `wxyz` in it
rpy          roll, pitch, yaw [rad] as in URDF: R = Rz(yaw) Ry(pitch) Rx(roll)
6-vectors    [linear; angular]
Batch        any leading axes, broadcast as in NumPy; lists and numbers are accepted
Units        SI, angles in radians

Frameworks   PyTorch tensors, JAX arrays, CasADi's SX, MX and DM, and traced arrays of
             `linkwork.compile` are accepted; results have the same type, with derivatives. NumPy
             only: functions that return views or several arrays (`se3.rotation_of`, `motion.split`,
             `inertia.to_com`) and functions that need LAPACK (`so3.project`,
             `inertia.principal_moments`)

Speed        functions are compiled at their first call, which takes 20 to 40 ms, or about 1 ms with
             code from the disk cache (100 ms more for the first of all functions, to import the
             compiler); then a row takes about a microsecond. `warmup` compiles in advance

Every function is pure: it does not change its arguments. A part of an argument, such as the
rotation of a pose, is returned as a view. A wrong trailing shape raises
`linkwork.errors.ShapeError`; values that are not real numbers, such as complex numbers, strings,
None or masked elements, raise `linkwork.errors.ArgumentError`. Results that are not finite cause no
warning.
"""

from linkwork.spatial import inertia as inertia
from linkwork.spatial import motion as motion
from linkwork.spatial import quat as quat
from linkwork.spatial import se3 as se3
from linkwork.spatial import so3 as so3
from linkwork.spatial._compiled import warmup as warmup
