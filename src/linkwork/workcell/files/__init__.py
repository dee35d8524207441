"""Files of workcells: RobWork XML and SDF worlds."""
