"""Factories of models with other lengths and densities."""
