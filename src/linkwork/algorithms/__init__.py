"""Pure functions of a prepared robot and scalars: kinematics, dynamics, centroidal quantities."""
