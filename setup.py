"""The C extensions, which are optional: without a compiler, calls are slower; a warning says so."""

import numpy
from setuptools import Extension, setup

FOLDER = "src/linkwork/engine/kernel/csrc"
HEADERS = (
    *("call", "init", "inputs", "outputs", "pool", "chunks", "threads"),
    *("tiles", "rollout", "roll_calls"),
    *("xla_ffi", "xla_calls"),
    *("poses", "pose_rows"),
)

setup(
    ext_modules=[
        Extension(
            "linkwork.engine.kernel._call",
            [f"{FOLDER}/_call.c"],
            depends=[f"{FOLDER}/_{name}.h" for name in HEADERS],
            include_dirs=[numpy.get_include()],
            optional=True,
        ),
        Extension(
            "linkwork.bridges.casadi._casadi",
            ["src/linkwork/bridges/casadi/_casadi.c"],
            optional=True,
        ),
    ]
)
