"""Poses, Jacobians, velocities and accelerations of frames; the configuration manifold."""
