"""Functions of large numbers of states, computed in chunks on one machine or on a cluster.

`plan` describes the computation, and `states` reads or draws its inputs. `chunks` computes one
chunk, and `store` writes it to a Zarr group. `journal` records which chunks are done, so that a run
can be stopped at any time. `runners` computes chunks in this process or on a cluster, and `run`
combines all of it. The command is `linkwork batch`. It needs the packages of the extra `scale`.
"""

import re
from importlib import import_module
from typing import Any

from linkwork.errors import MissingPackageError, missing_package

PACKAGES = ("dask[array]", "distributed", "zarr", "h5py", "psutil")


def optional_package(name: str) -> Any:
    """Import a package of the extra `scale`, or raise an error that explains how to install it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != name.partition(".")[0]:
            raise
        raise missing_package(f"linkwork batch ({error.name})", *PACKAGES) from None


def import_zarr() -> Any:
    """Import zarr, or raise an error if it is missing or too old to write files as a whole."""
    zarr = optional_package("zarr")
    if tuple(map(int, re.findall(r"\d+", zarr.__version__)[:3])) < (3, 1, 3):
        needs = "linkwork batch needs zarr 3.1.3 or later, which needs Python 3.11 or later"
        raise MissingPackageError(f"{needs}; zarr {zarr.__version__} is installed")
    return zarr
