"""Readers and writers of robot files: URDF, xacro, SDF, SRDF, MJCF, USD, and meshes.

Files that a document refers to are opened only in allowed folders (`folders`); SECURITY.md lists
what is checked for each format.
"""
