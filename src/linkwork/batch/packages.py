"""The packages of the extra `scale`, imported where they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from linkwork.errors import missing_package

PACKAGES = ("dask[array]", "distributed", "zarr", "h5py", "psutil")


def package(name: str) -> Any:
    """A module by its name, or the error that says how to install it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != name.partition(".")[0]:
            raise
        raise missing_package(f"linkwork batch ({error.name})", *PACKAGES) from None
