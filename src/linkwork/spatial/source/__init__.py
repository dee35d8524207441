"""The functions of `linkwork.spatial` as they are written: on NumPy arrays, or on traced values.

linkwork itself uses these: they give the same bits in every call, and never start a compiler.
"""
