"""Linear algebra of small matrices, of numbers or of values that are being traced.

The functions are those of NumPy's `linalg` with the same names, unrolled, with derivatives.
"""

from linkwork.engine.symbolic.linalg import cholesky as cholesky
from linkwork.engine.symbolic.linalg import det as det
from linkwork.engine.symbolic.linalg import inv as inv
from linkwork.engine.symbolic.linalg import norm as norm
from linkwork.engine.symbolic.linalg import solve as solve
