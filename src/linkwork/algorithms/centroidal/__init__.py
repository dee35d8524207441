"""Center of mass, momentum, the robot as one rigid body, energy."""
