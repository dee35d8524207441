"""Linear algebra of small matrices, for numeric and for traced arrays.

The functions are named as in `numpy.linalg`. Called with traced arrays, they are unrolled and
differentiable.
"""

from linkwork.engine.symbolic.linalg import cholesky as cholesky
from linkwork.engine.symbolic.linalg import det as det
from linkwork.engine.symbolic.linalg import inv as inv
from linkwork.engine.symbolic.linalg import norm as norm
from linkwork.engine.symbolic.linalg import solve as solve
