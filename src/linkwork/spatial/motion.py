"""Spatial vectors: velocities and forces of rigid bodies as 6-vectors.

Order     always [linear; angular]. Only this module slices 6-vectors; others call `split`, `join`
Motion    velocities, accelerations, joint axes. a_X_b maps them from coordinates in b to a
Force     forces and momenta. a_Xf_b, the inverse transpose of a_X_b, maps them from b to a
Pairing   power = dot(force, motion), the same in every frame
Batch     any leading axes, broadcast as in NumPy

With a_H_b = (R, p):  a_X_b = [[R, p^ R], [0, R]],  a_Xf_b = [[R, 0], [p^ R, R]].

Featherstone, Rigid Body Dynamics Algorithms (2008), chapter 2, with the linear part first.
"""

from linkwork.spatial._compiled import compiled as _compiled
from linkwork.spatial.source import motion as _source
from linkwork.spatial.source.motion import split as split

force_cross = _compiled(_source.force_cross)
force_cross_matrix = _compiled(_source.force_cross_matrix)
force_transform = _compiled(_source.force_transform)
inverse_transform_force = _compiled(_source.inverse_transform_force)
inverse_transform_motion = _compiled(_source.inverse_transform_motion)
join = _compiled(_source.join)
motion_cross = _compiled(_source.motion_cross)
motion_cross_matrix = _compiled(_source.motion_cross_matrix)
motion_transform = _compiled(_source.motion_transform)
transform_force = _compiled(_source.transform_force)
transform_motion = _compiled(_source.transform_motion)
