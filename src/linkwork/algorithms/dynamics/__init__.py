"""Inverse and forward dynamics, the mass matrix and its inverse, joint wrenches, the regressor."""
