"""Spatial vectors: velocities and forces of rigid bodies as 6-vectors.

Order     always [linear; angular]. Only this module slices 6-vectors; others call `split`, `join`
Motion    velocities, accelerations, joint axes. a_X_b maps them from coordinates in b to a
Force     forces and momenta. a_Xf_b, the inverse transpose of a_X_b, maps them from b to a
Pairing   power = dot(force, motion), the same in every frame
Batch     any leading axes, broadcast as in NumPy

With a_H_b = (R, p):  a_X_b = [[R, p^ R], [0, R]],  a_Xf_b = [[R, 0], [p^ R, R]].

Featherstone, Rigid Body Dynamics Algorithms (2008), chapter 2, with the linear part first.
"""

from linkwork.spatial._compiled import compile_in as _compile_in
from linkwork.spatial.source.motion import force_cross as force_cross
from linkwork.spatial.source.motion import force_cross_matrix as force_cross_matrix
from linkwork.spatial.source.motion import force_transform as force_transform
from linkwork.spatial.source.motion import inverse_transform_force as inverse_transform_force
from linkwork.spatial.source.motion import inverse_transform_motion as inverse_transform_motion
from linkwork.spatial.source.motion import join as join
from linkwork.spatial.source.motion import motion_cross as motion_cross
from linkwork.spatial.source.motion import motion_cross_matrix as motion_cross_matrix
from linkwork.spatial.source.motion import motion_transform as motion_transform
from linkwork.spatial.source.motion import split as split
from linkwork.spatial.source.motion import transform_force as transform_force
from linkwork.spatial.source.motion import transform_motion as transform_motion

_compile_in(__name__, exclude=("split",))
