"""Reading and writing MJCF; MuJoCo's own compiler parses it."""
