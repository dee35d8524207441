"""Reading SDF."""
