"""Unit quaternions.

Order      w, x, y, z; every argument that is a quaternion has `wxyz` in its name
Product    Hamilton's: a_q_c = a_q_b * b_q_c, as the rotation matrices multiply
Sign       q and -q are the same rotation; `log` and `from_rotation` choose the one with w >= 0
Norm       products, `rotate`, `to_rotation` and the rates do not normalize; `log` does not depend
           on the norm
Batch      any leading axes, broadcast as in NumPy
"""

from linkwork.spatial._compiled import compiled as _compiled
from linkwork.spatial.source import quat as _source

conjugate = _compiled(_source.conjugate)
exp = _compiled(_source.exp)
from_rotation = _compiled(_source.from_rotation)
left_matrix = _compiled(_source.left_matrix)
log = _compiled(_source.log)
multiply = _compiled(_source.multiply)
normalize = _compiled(_source.normalize)
rate_inverse = _compiled(_source.rate_inverse)
rate_matrix = _compiled(_source.rate_matrix)
right_matrix = _compiled(_source.right_matrix)
rotate = _compiled(_source.rotate)
to_rotation = _compiled(_source.to_rotation)
