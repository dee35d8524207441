"""SRDF: groups, named configurations and disabled collision pairs of a robot."""
