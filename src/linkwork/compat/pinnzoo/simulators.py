"""In which order other programs have the numbers of a robot that they read from the same file.

nominal             position, quaternion w x y z; linear, angular velocity; joints depth first,
                    siblings in alphabetical order
pinocchio           the same but for the quaternion, x y z w
mujoco              joints depth first in the order of the file
rigidBodyDynamics   quaternion w x y z, position; angular, linear velocity; joints breadth first
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.compat.pinnzoo.orders import StateOrder
from linkwork.export.pinnzoo.state_space import config_names, velocity_names
from linkwork.export.pinnzoo.state_space.names import BASE_CONFIG, BASE_VELOCITY, joint_labels
from linkwork.kindyn import KinDyn
from linkwork.model.model import Model
from linkwork.model.tree import walk


def known_orders(model: Model, kd: KinDyn, torques: Sequence[str]) -> dict[str, StateOrder]:
    """Orders by name.

    Args:
        model: the robot, its joints in the order of the file.
        kd: the same in the nominal order.
        torques: names of the velocities that are driven, in the nominal order.
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


def _depth_first(model: Model) -> list[str]:
    return [visit.joint.name for visit in walk(model, model.default_base) if visit.joint]


def _breadth_first(model: Model) -> list[str]:
    depth = {model.default_base: 0}
    found: list[tuple[int, str]] = []
    for visit in walk(model, model.default_base):
        if visit.joint and visit.parent is not None:
            depth[visit.link] = depth[visit.parent] + 1
            found.append((depth[visit.link], visit.joint.name))
    return [name for _, name in sorted(found, key=lambda pair: pair[0])]  # stable
