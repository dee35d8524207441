"""linkwork for CasADi: `linkwork.casadi.KinDyn`, `linkwork.casadi.wrap`."""

from linkwork.bridges.casadi import KinDyn, wrap

__all__ = ["KinDyn", "wrap"]
