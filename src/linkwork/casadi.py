"""CasADi functions: `linkwork.casadi.KinDyn` and `linkwork.casadi.wrap`."""

from linkwork.bridges.casadi.functions import KinDyn, wrap

__all__ = ["KinDyn", "wrap"]
