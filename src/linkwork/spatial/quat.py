"""Unit quaternions.

Order      w, x, y, z; every argument that is a quaternion has `wxyz` in its name
Product    Hamilton's: a_q_c = a_q_b * b_q_c, as the rotation matrices multiply
Sign       q and -q are the same rotation; `log` and `from_rotation` choose the one with w >= 0
Norm       products, `rotate`, `to_rotation` and the rates do not normalize; `log` does not depend
           on the norm
Batch      any leading axes, broadcast as in NumPy
"""

from linkwork.spatial._compiled import compile_in as _compile_in
from linkwork.spatial.source.quat import conjugate as conjugate
from linkwork.spatial.source.quat import exp as exp
from linkwork.spatial.source.quat import from_rotation as from_rotation
from linkwork.spatial.source.quat import left_matrix as left_matrix
from linkwork.spatial.source.quat import log as log
from linkwork.spatial.source.quat import multiply as multiply
from linkwork.spatial.source.quat import normalize as normalize
from linkwork.spatial.source.quat import rate_inverse as rate_inverse
from linkwork.spatial.source.quat import rate_matrix as rate_matrix
from linkwork.spatial.source.quat import right_matrix as right_matrix
from linkwork.spatial.source.quat import rotate as rotate
from linkwork.spatial.source.quat import to_rotation as to_rotation

_compile_in(__name__)
