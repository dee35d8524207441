"""Center of mass, centroidal momentum, average velocity."""
