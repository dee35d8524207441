"""Factories of models of MuJoCo."""
