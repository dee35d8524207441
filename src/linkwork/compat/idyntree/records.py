"""What a joint of iDynTree keeps beside a `linkwork.Joint`: bounds that are switched off."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isfinite
from sys import float_info
from typing import Literal, TypeAlias

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.model.parts import NO_LIMITS, Joint, Limits

Bound: TypeAlias = Literal["position", "velocity", "effort"]
NoJointDynamics, URDFJointDynamics = 0, 1


@dataclass(frozen=True)
class JointRecord:
    """A joint without its bounds, the bounds, and which of them count."""

    joint: Joint  # with NO_LIMITS
    limits: Limits = NO_LIMITS
    enabled: frozenset[Bound] = frozenset()
    dynamics: int = NoJointDynamics

    def described(self, name: str | None = None) -> Joint:
        """The joint with the bounds that count, as linkwork describes it."""
        off = {
            "position": {"lower": -inf, "upper": inf},
            "velocity": {"velocity": inf},
            "effort": {"effort": inf},
        }
        changes = {
            key: value for bound in off.keys() - self.enabled for key, value in off[bound].items()
        }
        limits = replace(self.limits, **changes)
        return replace(self.joint, name=name or self.joint.name, limits=limits)

    def with_bound(self, bound: Bound, *, enable: bool) -> JointRecord:
        """The same with a bound switched on or off."""
        return replace(self, enabled=self.enabled | {bound} if enable else self.enabled - {bound})


def record_of(joint: Joint) -> JointRecord:
    """The record of a joint as linkwork describes it."""
    limits = joint.limits
    enabled: set[Bound] = set()
    if isfinite(limits.lower) or isfinite(limits.upper):
        enabled.add("position")
    if isfinite(limits.velocity):
        enabled.add("velocity")
    if isfinite(limits.effort):
        enabled.add("effort")
    dynamics = URDFJointDynamics if joint.damping or joint.friction else NoJointDynamics
    return JointRecord(replace(joint, limits=NO_LIMITS), limits, frozenset(enabled), dynamics)


def neutral(joint: Joint) -> Array:
    """(nq,) position 0 of a joint; no rotation for a quaternion."""
    return np.array(joint.motion_kind.neutral, dtype=np.float64)


def finite(bound: float) -> float:
    """A bound of a position, with the largest number for none, as iDynTree gives it."""
    return min(max(bound, -float_info.max), float_info.max)


def or_zero(bound: float) -> float:
    """A bound of a velocity or an effort, with 0 for none, as iDynTree gives it."""
    return bound if isfinite(bound) else 0.0
