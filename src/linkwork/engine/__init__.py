"""Compiles functions of arrays to machine code. Knows nothing about robots."""
