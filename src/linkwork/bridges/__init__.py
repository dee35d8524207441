"""Kernels and `KinDyn` for the arrays of other frameworks.

`methods` has what all bridges share: the methods of `KinDyn` by name and argument, and calls with
arguments by position or by name. `precision` gives kernels in the precision of the arguments. Each
framework has modules of its own, imported when `linkwork.torch` or `linkwork.jax` is; none is
loaded before.
"""
