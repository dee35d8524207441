"""Programs that NumPy users call: arguments, batches, threads, and the C extension between."""
