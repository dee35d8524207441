"""Scalar expression graphs: traced, simplified, counted, run, printed. Knows nothing of robots."""
