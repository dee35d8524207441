"""Reading and writing RobWork's workcell files."""
