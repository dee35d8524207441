"""Kernels and KinDyn for PyTorch."""
