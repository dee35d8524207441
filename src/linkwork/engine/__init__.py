"""Compiles functions of arrays to machine code. Knows nothing about robots."""

# Bridges to the arrays of other packages. The engine knows none of them: `linkwork/__init__.py`
# registers modules by name, and they are imported when such an array is passed to linkwork.
BRIDGES: dict[str, str] = {}
"""By package: the module with `wrap(kernel)`, a function of its arrays; kernels reject them."""
LAZY_BRIDGES: dict[str, str] = {}
"""By package: the module with `call_later(kernel, values, out=, threads=)`, which kernels call."""
