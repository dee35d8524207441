"""Workcells: robots, objects and frames in one world, and immutable states of them."""
