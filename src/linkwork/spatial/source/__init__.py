"""The source functions of `linkwork.spatial`, for NumPy arrays and traced values.

Other modules of linkwork use these functions, which never start a compiler.
"""
