"""Constrained kinematics and dynamics: closed loops and contacts."""
