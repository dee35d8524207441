"""Simulation of robots on fixed ground, with MuJoCo's contact physics."""
