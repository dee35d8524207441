"""How motors act."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.export.pinnzoo.state_space import velocity_names

if TYPE_CHECKING:
    from linkwork.compat.pinnzoo.robot import Robot


def B_func(model: Robot, *, kf: float = 1.0, km: float = 0.0245, L: float = 0.175) -> Array:
    """(nv, number of inputs) B with tau = B u.

    Args:
        model: the robot. Each input of a robot with joints drives one of `actuated`. The quadrotor
            has an input for each rotor, whose thrust is `kf u`: at L x, L y, -L x and -L y.
        kf, km: thrust and moment about z of a rotor per unit of its input; the first and third
            rotor push the body round by +km, the others by -km. Only of the quadrotor.
        L: distance of each rotor from the centre [m]. Only of the quadrotor.
    """
    if model.is_quadrotor:
        forces = [[0.0] * 4, [0.0] * 4, [kf] * 4]
        moments = [[0.0, L * kf, 0.0, -L * kf], [-L * kf, 0.0, L * kf, 0.0], [km, -km, km, -km]]
        return np.array([*forces, *moments])
    names = velocity_names(model.kd)
    driven = [names.index(name) for name in model.orders["nominal"].torque_names]
    return np.eye(model.nv)[:, driven]
