"""The functions of `linkwork.spatial` as they are written: on NumPy arrays, or on traced values.

linkwork itself uses these: they never start a compiler.
"""
