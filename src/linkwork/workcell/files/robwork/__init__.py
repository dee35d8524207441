"""Reading and writing of RobWork's workcell files."""
