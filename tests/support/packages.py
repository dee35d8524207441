"""Packages that only tests marked `peers` need."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from typing import Any

OPTIONAL = frozenset(
    {
        "adam",
        "casadi",
        "coal",
        "collada",
        "dask",
        "gymnasium",
        "idyntree",
        "importlinter",
        "jax",
        "liecasadi",
        "matplotlib",
        "mujoco",
        "pinocchio",
        "pxr",
        "robot_descriptions",
        "rsl_rl",
        "stable_baselines3",
        "torch",
        "trimesh",
        "viser",
        "xacro",
        "yaml",
        "zarr",
    }
)

# Packages without a version for this Python that linkwork can use.
UNAVAILABLE = frozenset({"zarr"} if sys.version_info < (3, 11) else ())


def is_missing(error: BaseException | None, packages: frozenset[str] = OPTIONAL) -> bool:
    """Whether an import failed because one of these packages is not installed."""
    return isinstance(error, ModuleNotFoundError) and (
        (error.name or "").partition(".")[0] in packages
    )


def optional_package(name: str) -> Any:
    """Import a package; if it is not installed, the first use of its result raises the error."""
    try:
        with warnings.catch_warnings():  # SWIG's deprecation warnings would crash iDynTree
            warnings.simplefilter("ignore")
            return import_module(name)
    except ModuleNotFoundError as error:
        if not is_missing(error):
            raise
        return _MissingPackage(error)


class _MissingPackage:
    """Stands for a package that is not installed."""

    def __init__(self, error: ModuleNotFoundError) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:
        raise self._error
