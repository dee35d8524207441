"""`SingularJointError`, in its own module so that `linkwork.errors` does not import NumPy."""

from __future__ import annotations

from typing import Any

from numpy.linalg import LinAlgError

from linkwork.errors import LinkworkError


class SingularJointError(LinkworkError, LinAlgError, ArithmeticError):
    """A joint without effective inertia, whose acceleration under a force is not finite.

    `mask` marks the singular rows of a batch, in C order; it is None for a single call.
    """

    __module__ = "linkwork.errors"  # the public module

    mask: Any = None
