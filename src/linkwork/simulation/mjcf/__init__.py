"""Scenes of simulations from MuJoCo's models, and back."""
