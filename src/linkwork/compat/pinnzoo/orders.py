"""Orders of the coordinates in vectors, by their names, and conversions between them.

A conversion only permutes elements: it neither rotates a velocity nor changes a sign. MuJoCo's
linear velocity of a free body is in the axes of the world, for example, and stays there.
`linkwork.compat.mujoco` and `linkwork.compat.pinocchio` also convert the meaning of the elements.

Every model has the orders of programs that read the same file:

nominal             position, quaternion w x y z; linear, angular velocity; joints depth first,
                    siblings in alphabetical order
pinocchio           the same except for the quaternion, x y z w
mujoco              joints depth first in the order of the file
rigidBodyDynamics   quaternion w x y z, position; angular, linear velocity; joints breadth first
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ShapeError, ValueRangeError, shown
from linkwork.export.pinnzoo.state_space import (
    BASE_CONFIG,
    BASE_VELOCITY,
    config_names,
    joint_labels,
    velocity_names,
)
from linkwork.kindyn import KinDyn
from linkwork.model.graph import walk
from linkwork.model.model import Model as RobotModel


@dataclass(frozen=True)
class StateOrder:
    """Names of the elements of a configuration, a velocity and the torques, in order."""

    config_names: tuple[str, ...]
    vel_names: tuple[str, ...]
    torque_names: tuple[str, ...] = ()  # those of the velocity if empty

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, tuple(map(str, getattr(self, field.name))))
        if not self.torque_names:
            object.__setattr__(self, "torque_names", self.vel_names)


@dataclass(frozen=True, eq=False)
class ConversionIndices:
    """For each kind of vector: new = old[indices]."""

    config: Array
    velocity: Array
    state: Array
    error_state: Array
    torque: Array

    def of_length(self, n: int) -> Array:
        """Return the indices for vectors of a length, from which the kind of vector is inferred.

        If several kinds have this length, the first one is used.
        """
        for field in fields(self):
            indices: Array = getattr(self, field.name)
            if len(indices) == n:
                return indices
        lengths = ", ".join(f"{len(getattr(self, f.name))} ({f.name})" for f in fields(self))
        raise ShapeError(f"no vector has {n} elements; expected one of {lengths}")


def create_conversion(orig_order: StateOrder, new_order: StateOrder) -> ConversionIndices:
    """Return the indices that convert vectors from one order to another.

    Raises:
        ValueRangeError: the orders do not have the same names.
    """
    config, velocity, torque = (
        _indices(getattr(orig_order, name), getattr(new_order, name), name)
        for name in ("config_names", "vel_names", "torque_names")
    )
    state = np.concatenate([config, velocity + len(config)])
    error_state = np.concatenate([velocity, velocity + len(velocity)])
    return ConversionIndices(config, velocity, state, error_state, torque)


def generate_conversions(
    orders: Mapping[str, StateOrder],
    conversions: dict[tuple[str, str], ConversionIndices] | None = None,
    *,
    from_scratch: bool = False,
) -> dict[tuple[str, str], ConversionIndices]:
    """Return the conversions between each two orders, by the pair of their names.

    Args:
        orders: orders by name.
        conversions: existing conversions; missing ones are added to them.
        from_scratch: whether to recreate existing ones.
    """
    all_conversions = {} if conversions is None else conversions
    for orig in orders:
        for new in orders:
            if orig != new and (from_scratch or (orig, new) not in all_conversions):
                all_conversions[orig, new] = create_conversion(orders[orig], orders[new])
    return all_conversions


def _indices(old: Sequence[str], new: Sequence[str], kind: str) -> Array:
    if sorted(old) != sorted(new) or len(set(old)) != len(old):
        differing = sorted({*old} ^ {*new})
        reason = f"only one has {shown(differing)}" if differing else "a name occurs twice"
        raise ValueRangeError(f"{kind}: two orders must have the same names; {reason}")
    return np.array([old.index(name) for name in new], dtype=int)


def standard_orders(model: RobotModel, kd: KinDyn, torques: Sequence[str]) -> dict[str, StateOrder]:
    """Return the standard orders by name.

    Args:
        model: the robot, with its joints in the order of the file.
        kd: the same robot in the nominal order.
        torques: names of the actuated velocities, in the nominal order.
    """
    position, wxyz = BASE_CONFIG[:3], BASE_CONFIG[3:]
    linear, angular = BASE_VELOCITY[:3], BASE_VELOCITY[3:]
    labels = dict(zip(kd.joint_names, joint_labels(kd), strict=True))
    by_depth = [labels[name] for name in _depth_first(model) if name in labels]
    by_breadth = [labels[name] for name in _breadth_first(model) if name in labels]

    def order(base_q: Sequence[str], base_v: Sequence[str], joints: Sequence[str]) -> StateOrder:
        if not kd.floating:
            base_q = base_v = ()
        velocity = (*base_v, *joints)
        return StateOrder((*base_q, *joints), velocity, tuple(n for n in velocity if n in torques))

    return {
        "nominal": StateOrder(config_names(kd), velocity_names(kd), tuple(torques)),
        "pinocchio": order((*position, *wxyz[1:], wxyz[0]), (*linear, *angular), joint_labels(kd)),
        "mujoco": order((*position, *wxyz), (*linear, *angular), by_depth),
        "rigidBodyDynamics": order((*wxyz, *position), (*angular, *linear), by_breadth),
    }


def _depth_first(model: RobotModel) -> list[str]:
    return [visit.joint.name for visit in walk(model, model.default_base) if visit.joint]


def _breadth_first(model: RobotModel) -> list[str]:
    depth = {model.default_base: 0}
    depth_first: list[tuple[int, str]] = []
    for visit in walk(model, model.default_base):
        if visit.joint and visit.parent is not None:
            depth[visit.link] = depth[visit.parent] + 1
            depth_first.append((depth[visit.link], visit.joint.name))
    return [name for _, name in sorted(depth_first, key=lambda pair: pair[0])]  # stable
