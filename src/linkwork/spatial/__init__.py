"""Spatial algebra: rotations, poses, velocities, forces and inertias as arrays.

    so3       rotation matrices (..., 3, 3)
    quat      unit quaternions (..., 4)
    se3       poses (..., 4, 4)
    motion    velocities and forces (..., 6), and the 6x6 matrices that move them
    inertia   spatial inertias (..., 10)

Pose         a_H_b is the pose of frame b in frame a; a_H_c = a_H_b @ b_H_c
Rotation     a_R_b maps coordinates in b to coordinates in a
Quaternion   order w, x, y, z, Hamilton's product; every name of one has `wxyz` in it
rpy          roll, pitch, yaw [rad] as in URDF: R = Rz(yaw) Ry(pitch) Rx(roll)
6-vectors    [linear; angular]
Batch        any leading axes, broadcast as NumPy does; lists and numbers are welcome
Units        SI, angles in radians

Frameworks   PyTorch tensors, JAX arrays and CasADi's SX, MX and DM give results of their kind, with
             derivatives; traced arrays of `linkwork.compile` too. NumPy only: functions that return
             views or several arrays (`se3.rotation_of`, `motion.split`, `inertia.to_com`) and those
             that need LAPACK (`so3.project`, `inertia.principal_moments`)

Speed        functions are compiled at their first call, which takes 20 to 40 ms, or about 1 ms with
             code from the disk cache (the very first one 100 ms more, to import the compiler);
             then a row takes about a microsecond. `warmup` compiles beforehand

Every function is pure: it never writes into its arguments. A part of an argument, such as the
rotation of a pose, is returned as a view. A wrong trailing shape raises
`linkwork.errors.ShapeError`; anything but real numbers, such as a complex number, a text, None or a
masked element, raises `linkwork.errors.ArgumentError`. Results that are not finite give no warning.
"""

from linkwork.spatial import inertia as inertia
from linkwork.spatial import motion as motion
from linkwork.spatial import quat as quat
from linkwork.spatial import se3 as se3
from linkwork.spatial import so3 as so3
from linkwork.spatial._compiled import warmup as warmup
