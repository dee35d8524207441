"""Bounds, damping and friction of a joint under iDynTree's names.

A bound may be set while it is disabled; `enable...` enables it. A joint without velocity
coordinates, or with several, has no bounds: setters return False, as in iDynTree. Joints with one
coordinate ignore `_index`, as in iDynTree, because callers often pass the index of the joint.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from linkwork.compat.idyntree.records import Bound, JointRecord, finite, or_zero


class JointBounds:
    """The part of a joint that is about bounds and friction; `_record` is what it changes."""

    @property
    def _record(self) -> JointRecord:
        raise NotImplementedError

    @_record.setter
    def _record(self, record: JointRecord) -> None:
        raise NotImplementedError

    def hasPosLimits(self) -> bool:
        """Whether its position has bounds."""
        return "position" in self._record.enabled

    def enablePosLimits(self, enable: bool) -> bool:
        """Make the bounds of the position count, or not."""
        return self._enable("position", enable=enable)

    def getMinPosLimit(self, _index: int = 0) -> float:
        """Lower bound of its position."""
        return finite(self._record.limits.lower) if self._bounded else 0.0

    def getMaxPosLimit(self, _index: int = 0) -> float:
        """Upper bound of its position."""
        return finite(self._record.limits.upper) if self._bounded else 0.0

    def getPosLimits(self, _index: int, min: Any = None, max: Any = None) -> tuple[float, float]:
        """Both bounds of its position; `min` and `max` are C++'s outputs, and are not used."""
        del min, max
        return self.getMinPosLimit(_index), self.getMaxPosLimit(_index)

    def setPosLimits(self, _index: int, min: float, max: float) -> bool:
        """Set both bounds of its position."""
        return self._bound(lower=min, upper=max)

    def hasVelocityLimits(self) -> bool:
        """Whether its velocity has a bound."""
        return "velocity" in self._record.enabled

    def enableVelocityLimits(self, enable: bool) -> bool:
        """Make the bound of the velocity count, or not."""
        return self._enable("velocity", enable=enable)

    def getVelocityLimit(self, _index: int = 0) -> float:
        """Largest speed; 0 if none was set."""
        return or_zero(self._record.limits.velocity) if self._bounded else 0.0

    def setVelocityLimit(self, _index: int, velocityLimit: float) -> bool:
        """Set the largest speed."""
        return self._bound(velocity=velocityLimit)

    def hasEffortLimits(self) -> bool:
        """Whether its torque or force has a bound."""
        return "effort" in self._record.enabled

    def enableEffortLimits(self, enable: bool) -> bool:
        """Make the bound of the torque or force count, or not."""
        return self._enable("effort", enable=enable)

    def getEffortLimit(self, _index: int = 0) -> float:
        """Largest torque or force; 0 if none was set."""
        return or_zero(self._record.limits.effort) if self._bounded else 0.0

    def setEffortLimit(self, _index: int, effortLimit: float) -> bool:
        """Set the largest torque or force."""
        return self._bound(effort=effortLimit)

    def getJointDynamicsType(self) -> int:
        """Whether damping and friction mean something: URDFJointDynamics, or NoJointDynamics."""
        return self._record.dynamics

    def setJointDynamicsType(self, enable: int) -> bool:
        """Say whether damping and friction mean something."""
        self._record = replace(self._record, dynamics=int(enable))
        return True

    def getDamping(self, _index: int = 0) -> float:
        """Torque per speed."""
        return self._record.joint.damping if self._bounded else 0.0

    def setDamping(self, _index: int, damping: float) -> bool:
        """Set the torque per speed."""
        return self._friction(damping=damping)

    def getStaticFriction(self, _index: int = 0) -> float:
        """Coulomb friction."""
        return self._record.joint.friction if self._bounded else 0.0

    def setStaticFriction(self, _index: int, staticFriction: float) -> bool:
        """Set the Coulomb friction."""
        return self._friction(friction=staticFriction)

    @property
    def _bounded(self) -> bool:
        """Whether the joint can have bounds."""
        return self._record.joint.nv == 1

    def _enable(self, bound: Bound, *, enable: bool) -> bool:
        if not self._bounded:
            return False
        self._record = self._record.with_bound(bound, enable=enable)
        return True

    def _bound(self, **changes: float) -> bool:
        if not self._bounded:
            return False
        self._record = replace(self._record, limits=replace(self._record.limits, **changes))
        return True

    def _friction(self, **changes: float) -> bool:
        if not self._bounded:
            return False
        self._record = replace(self._record, joint=replace(self._record.joint, **changes))
        return True
