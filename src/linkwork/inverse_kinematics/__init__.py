"""Inverse kinematics: configurations that bring frames and the center of mass to targets."""

from linkwork.inverse_kinematics.ik import IkResult as IkResult
from linkwork.inverse_kinematics.ik import ik as ik
