"""The C extensions. Without a compiler, they are left out and NumPy computes; a warning says so.

With LINKWORK_REQUIRE_EXTENSIONS=1, as in builds of wheels, a missing extension is an error.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy
from setuptools import Extension, setup

KERNEL = "src/linkwork/engine/kernel/csrc"
WORKCELL = "src/linkwork/workcell/csrc"
COLLISION = "src/linkwork/collision/csrc"
CASADI = "src/linkwork/bridges/casadi"
JAX = "src/linkwork/bridges/jax/csrc"


def files(folder: str, pattern: str) -> list[str]:
    """Files of a folder, by their paths from here: setuptools accepts no others."""
    return sorted(path.as_posix() for path in Path(folder).glob(pattern))


# One file calls functions of another directly, and other libraries see none of them.
FLAGS = [] if sys.platform == "win32" else ["-fvisibility=hidden"]
# On ARM, GCC would fuse products and sums: norms of quaternions would differ from those of NumPy.
UNFUSED = [] if sys.platform == "win32" else ["-ffp-contract=off"]


def extension(name: str, folder: str, *others: str, flags: Sequence[str] = ()) -> Extension:
    """An extension of all C files in a folder; `others` are folders of headers that it includes."""
    folders = (folder, *others)
    return Extension(
        name,
        files(folder, "*.c"),
        depends=[header for each in folders for header in files(each, "*.h")],
        include_dirs=[*folders, numpy.get_include()],
        extra_compile_args=[*FLAGS, *flags],
        optional=not os.environ.get("LINKWORK_REQUIRE_EXTENSIONS"),
    )


setup(
    ext_modules=[
        extension("linkwork.engine.kernel._call", KERNEL, flags=UNFUSED),
        extension("linkwork.workcell._poses", WORKCELL, KERNEL),
        extension("linkwork.collision._motions", COLLISION, KERNEL),
        extension("linkwork.bridges.casadi._casadi", CASADI),
        extension("linkwork.bridges.jax._xla", JAX, KERNEL),
    ]
)
