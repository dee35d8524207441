"""Where adam keeps `URDFModelFactory`."""

from linkwork.compat.adam.model.factory import URDFModelFactory

__all__ = ["URDFModelFactory"]
