"""Spatial inertia of rigid bodies.

Parameters   [m, m cx, m cy, m cz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz] (..., 10): mass [kg], first moment
             [kg m], inertia tensor about the frame's origin [kg m^2]
Matrix       [[m 1, -m c^], [m c^, I]] (..., 6, 6), maps a velocity to a momentum
Sum          the parameters of rigidly connected bodies in one frame are added
Frame        about the origin and along the axes of one frame, unless `com` is in the name
Batch        any leading axes, broadcast as in NumPy

A body of mass zero may have a tensor: it is a rotor whose mass is included in another body.

Wensing, Kim, Slotine, Linear matrix inequalities for physically consistent inertial parameter
identification (2018), for second moments and the pseudo-inertia.
"""

from linkwork.spatial._compiled import compiled as _compiled
from linkwork.spatial.source import inertia as _source
from linkwork.spatial.source.inertia import is_physical as is_physical
from linkwork.spatial.source.inertia import nearest_physical as nearest_physical
from linkwork.spatial.source.inertia import principal_moments as principal_moments
from linkwork.spatial.source.inertia import to_com as to_com

apply = _compiled(_source.apply)
from_com = _compiled(_source.from_com)
from_matrix = _compiled(_source.from_matrix)
from_second_moments = _compiled(_source.from_second_moments)
kinetic_energy = _compiled(_source.kinetic_energy)
matrix = _compiled(_source.matrix)
pseudo_inertia = _compiled(_source.pseudo_inertia)
second_moments = _compiled(_source.second_moments)
transform = _compiled(_source.transform)
