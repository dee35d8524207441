"""Distances between the shapes of a robot, to obstacles, and what is built on them."""
