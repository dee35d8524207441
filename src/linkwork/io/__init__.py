"""Readers and writers of robot files: URDF, xacro, SDF, SRDF, MJCF, USD, YAML of loops, and meshes.

`formats` is the table of robot formats. Files that a document refers to are opened only in allowed
folders (`folders`); SECURITY.md lists what is checked for each format. Files of workcells are in
`linkwork.workcell.files`.
"""
