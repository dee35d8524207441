"""Exact maps between the vectors of linkwork and of Pinocchio, and models for Pinocchio.

              linkwork                                   Pinocchio
q             [position, quaternion w x y z, s]          [position, quaternion x y z w, joints]
velocity      of the base: mixed, body or inertial       of the base: body
acceleration  derivative of that velocity                derivative of the body velocity
joints        in the order of the file                   depth first, siblings in alphabetical order
continuous    one angle                                  (cos, sin)
planar        x, y, angle                                x, y, cos, sin

`import linkwork.compat.pinocchio` does not import Pinocchio; `to_pinocchio` does.
"""

from linkwork.compat.pinocchio.conventions import Conventions as Conventions
from linkwork.compat.pinocchio.models import to_pinocchio as to_pinocchio
