"""PinnZoo's functions of the state vector x = [q; v], and their C code."""
