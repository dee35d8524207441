"""Reading and writing MJCF; MuJoCo parses and compiles it."""
