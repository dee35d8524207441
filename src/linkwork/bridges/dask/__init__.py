"""Kernels and KinDyn for dask arrays."""
