"""Scalar expressions, their simplification, programs, and arrays of expressions."""
