"""Inverse and forward dynamics, the mass matrix and its factors, energies, the regressor."""
