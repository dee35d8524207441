"""Where adam keeps `MujocoModelFactory`."""

from linkwork.compat.adam.model.factory import MujocoModelFactory

__all__ = ["MujocoModelFactory"]
