"""linkwork for CasADi: `linkwork.casadi.KinDyn`, `linkwork.casadi.wrap`."""

from linkwork.bridges.casadi.functions import KinDyn, wrap

__all__ = ["KinDyn", "wrap"]
