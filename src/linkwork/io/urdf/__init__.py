"""Reading and writing URDF."""
