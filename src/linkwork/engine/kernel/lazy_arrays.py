"""Calls with arrays that are computed later, such as those of dask.

A call that the C extension leaves to Python looks here whether an argument is such an array. If so,
a module of a higher layer makes the call a part of the array's graph; it is loaded then, and not
before.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from linkwork.engine.symbolic.traced import foreign_package

# By the package of an array: the module with `call_later(kernel, values, out=, threads=)`.
BRIDGES = {"dask": "linkwork.bridges.dask.arrays"}


def bridge_of(values: Sequence[Any]) -> Any:
    """The module for calls with such arguments; None if all of them are there now."""
    for value in values:
        module = BRIDGES.get(foreign_package(value) or "")
        if module is not None:
            return import_module(module)
    return None
