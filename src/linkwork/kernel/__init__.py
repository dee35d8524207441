"""From a program to a function that NumPy users can call: compiled, cached, batched."""
