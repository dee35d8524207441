"""The one error with a base class of NumPy's, apart from `errors`, which so needs no NumPy."""

from __future__ import annotations

from typing import Any

from numpy.linalg import LinAlgError

from linkwork.errors import LinkworkError


class SingularJointError(LinkworkError, LinAlgError, ArithmeticError):
    """A joint without effective inertia, so that forces give it no finite acceleration.

    `mask` says which rows of a batch are singular, in C order; None for a single call.
    """

    __module__ = "linkwork.errors"  # where it is imported from

    mask: Any = None
