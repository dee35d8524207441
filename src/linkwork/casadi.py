"""CasADi functions: `linkwork.casadi.KinDyn` and `linkwork.casadi.wrap`."""

from linkwork.bridges.casadi.functions import ConstrainedKinDyn, KinDyn, wrap

__all__ = ["ConstrainedKinDyn", "KinDyn", "wrap"]
