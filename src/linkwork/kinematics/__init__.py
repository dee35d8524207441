"""Inverse kinematics: configurations that bring frames and the centre of mass to targets."""

from linkwork.kinematics.ik import ik as ik
from linkwork.kinematics.result import IkResult as IkResult
