"""Kernels and `KinDyn` for the arrays of other frameworks.

`methods` has what all bridges share: the methods of `KinDyn` with their arguments, and calls with
positional or keyword arguments. `derived_kernels` converts kernels to the precision of the
arguments. Each framework has a separate package, imported with `linkwork.torch`,
`linkwork.jax` or `linkwork.casadi`, not with `linkwork`.
"""
