"""Spheres and capsules that cover the shapes of links."""
