"""Factories of models of URDF files."""
