"""Kernels and KinDyn for CasADi."""
