"""Compilation of functions of arrays to machine code."""

# Bridges to the arrays of other packages. The engine does not depend on these packages:
# `linkwork/__init__.py` registers modules by name, and a module is imported when an array of its
# package is passed to linkwork.
BRIDGES: dict[str, str] = {}
"""By package: the module with `wrap(kernel)`, which returns a function of the package's arrays.

Kernels themselves reject these arrays.
"""
UNRELATED_FOLDERS: list[str] = []
"""Folders of the package whose source files neither define programs nor compile them.

A change of other source files invalidates the code in the disk cache.
"""
