"""The packages of the extra `scale`, imported where they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from linkwork.errors import MissingPackageError


def package(name: str) -> Any:
    """A module by its name, or the error that says how to install it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != name.partition(".")[0]:
            raise
        text = f"linkwork batch needs {error.name}; install it with: pip install 'linkwork[scale]'"
        raise MissingPackageError(text) from None
