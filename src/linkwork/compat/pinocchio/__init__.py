"""Exact maps between the vectors of linkwork and of Pinocchio.

              linkwork                                   Pinocchio
q             [position, quaternion w x y z, s]          [position, quaternion x y z w, joints]
velocity      of the base: mixed, body or inertial       of the base: body
acceleration  derivative of that velocity                derivative of the body velocity
joints        in the order of the file                   depth first, siblings in alphabetical order
continuous    one angle                                  (cos, sin)
planar        x, y, angle                                x, y, cos, sin

This module does not import Pinocchio.
"""

from linkwork.compat.pinocchio.conventions import Conventions as Conventions
