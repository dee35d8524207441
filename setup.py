"""The C extension. It is optional: without a compiler, calls are slower, and a warning says so."""

import numpy
from setuptools import Extension, setup

FOLDER = "src/linkwork/kernel"
HEADERS = (
    *("call", "init", "inputs", "outputs", "chunks", "threads"),
    *("tiles", "rollout", "roll_calls"),
    *("poses", "pose_rows"),
)

setup(
    ext_modules=[
        Extension(
            "linkwork.kernel._call",
            [f"{FOLDER}/_call.c"],
            depends=[f"{FOLDER}/_{name}.h" for name in HEADERS],
            include_dirs=[numpy.get_include()],
            optional=True,
        )
    ]
)
