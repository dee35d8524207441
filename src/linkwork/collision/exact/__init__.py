"""Distances of shapes that have no closed form, by the package `coal`."""
