"""Reading and writing of robot files: URDF, xacro and MJCF."""
