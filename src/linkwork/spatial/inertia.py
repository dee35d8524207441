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

from linkwork.spatial._compiled import compile_in as _compile_in
from linkwork.spatial.source.inertia import apply as apply
from linkwork.spatial.source.inertia import from_com as from_com
from linkwork.spatial.source.inertia import from_matrix as from_matrix
from linkwork.spatial.source.inertia import from_second_moments as from_second_moments
from linkwork.spatial.source.inertia import is_physical as is_physical
from linkwork.spatial.source.inertia import kinetic_energy as kinetic_energy
from linkwork.spatial.source.inertia import matrix as matrix
from linkwork.spatial.source.inertia import nearest_physical as nearest_physical
from linkwork.spatial.source.inertia import principal_moments as principal_moments
from linkwork.spatial.source.inertia import pseudo_inertia as pseudo_inertia
from linkwork.spatial.source.inertia import second_moments as second_moments
from linkwork.spatial.source.inertia import to_com as to_com
from linkwork.spatial.source.inertia import transform as transform

_compile_in(__name__, exclude=("to_com", "is_physical", "nearest_physical", "principal_moments"))
