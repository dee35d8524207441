"""Workcells: robots, objects and frames in one world, and states of it as values."""
