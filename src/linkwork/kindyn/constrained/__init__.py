"""Robots with constraints: closed loops and contacts."""
