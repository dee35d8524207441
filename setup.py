"""The C extension. It is optional: without a compiler, calls are slower, and no more than that."""

import numpy
from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "linkwork.kernel._call",
            ["src/linkwork/kernel/_call.c"],
            depends=["src/linkwork/kernel/_threads.h"],
            include_dirs=[numpy.get_include()],
            optional=True,
        )
    ]
)
