"""A kind of joint that linkwork does not have: a wheel that rolls on a line without slipping.

It has one angle, a motion subspace that depends on it, and no inverse that is the same joint about
the opposite axis.
"""

from __future__ import annotations

import numpy as np

from linkwork.engine.symbolic.arrays import cos, sin
from linkwork.model.joints.kind import Factor, JointKind, axes_across
from linkwork.spatial.blocks import Motion, rotation_about


class Rolling(JointKind):
    """A wheel of radius `pitch` about the axis, rolling along the first direction normal to it."""

    name, nq, nv, neutral, reach = "rolling", 1, 1, (0.0,), (np.pi,)
    rotation, translates, has_pitch = "about_axis", True, True
    position_text, velocity_text = "rolled angle [rad]", "[rad/s]"

    def pose(self, axis, theta):
        e1, _ = axes_across(axis.direction)
        R = rotation_about(axis.direction, cos(theta[0]), sin(theta[0]))
        return R, theta[0] * (axis.pitch * e1)

    def subspace(self, axis, theta):
        R, _ = self.pose(axis, theta)
        e1, _ = axes_across(axis.direction)
        return (Motion(R.T @ (axis.pitch * e1), axis.direction),)

    def subspace_rate(self, axis, theta, nu):
        ((linear, direction),) = self.subspace(axis, theta)
        return ((nu[0] * linear.cross(direction), (0.0, 0.0, 0.0)),)


class FactoredRolling(Rolling):
    """The same with its factors declared, so that workcells compute its poses in C."""

    def factors(self, axis):
        e1, _ = axes_across(axis.direction)
        slide = Factor("translation", 0, (axis.pitch * e1,))
        return slide, Factor("rotation", 0, (axis.direction,))
