"""Algorithms: pure functions of a tree and arrays."""
