"""Inverse kinematics: configurations that bring frames and the centre of mass to targets."""

from linkwork.inverse_kinematics.ik import ik as ik
from linkwork.inverse_kinematics.result import IkResult as IkResult
