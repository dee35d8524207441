"""Robots by name: bundled ones, and those of other packages."""
