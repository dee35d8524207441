"""Dynamics of the devices of a workcell, including the objects that they carry."""
