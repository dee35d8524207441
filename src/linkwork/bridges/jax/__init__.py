"""Kernels and KinDyn for JAX."""
