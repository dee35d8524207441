"""The class through which iDynTree is used most."""

from __future__ import annotations

from linkwork.compat.idyntree.centroidal import CentroidalMethods
from linkwork.compat.idyntree.dynamics import DynamicsMethods
from linkwork.compat.idyntree.frames import FrameMethods


class KinDynComputations(FrameMethods, CentroidalMethods, DynamicsMethods):
    """Kinematics and dynamics of a robot in a state: set the state, then ask.

    Not for several threads at once; `linkwork.KinDyn` is.
    """
