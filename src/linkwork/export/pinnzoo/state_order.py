"""Order and names of the coordinates of a state x = [q; v], as in PinnZoo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linkwork.errors import ArgumentError, model_error, name_not_found, shown
from linkwork.kindyn import KinDyn
from linkwork.model.graph import Visit, require_tree, walk
from linkwork.model.model import Model

BASE_CONFIG = ("x", "y", "z", "q_w", "q_x", "q_y", "q_z")
BASE_VELOCITY = ("lin_v_x", "lin_v_y", "lin_v_z", "ang_v_x", "ang_v_y", "ang_v_z")
KINDS = ("fixed", "prismatic", "revolute")  # the joints of a URDF file that PinnZoo reads


def in_state_order(model: Model, base: str | None = None) -> Model:
    """Return the robot with its joints depth first from the base, siblings in alphabetical order.

    This is the order in which Pinocchio reads a URDF file, and so the order of PinnZoo's vectors.
    """
    require_tree(model, "state vectors of PinnZoo are those of trees")
    start = model.default_base if base is None else model.frame(base).link
    visits = walk(model, start, _by_name)
    return replace(model, joints=tuple(visit.joint for visit in visits if visit.joint))


def _by_name(visits: Sequence[Visit]) -> Sequence[Visit]:
    return sorted(visits, key=lambda visit: visit.joint.name if visit.joint else "")


def check_joints(model: Model) -> None:
    """Raise if a joint is not supported by PinnZoo.

    Raises:
        ModelError: names the joint.
    """
    for joint in model.joints:
        if joint.kind not in KINDS:
            message = f"PinnZoo's state vector x = [q; v] does not support {joint.kind} joints"
            raise model_error(f"{message}; supported: {', '.join(KINDS)}", f"joint {joint.name!r}")


def config_names(kd: KinDyn) -> tuple[str, ...]:
    """Return a name for each coordinate of q: those of the base as in PinnZoo, then the joints."""
    return (*(BASE_CONFIG if kd.floating else ()), *joint_labels(kd))


def velocity_names(kd: KinDyn) -> tuple[str, ...]:
    """Return a name for each coordinate of v."""
    return (*(BASE_VELOCITY if kd.floating else ()), *joint_labels(kd))


def joint_labels(kd: KinDyn) -> tuple[str, ...]:
    """Return the names of the joints; `_joint` is appended to names of base coordinates."""
    used = {*kd.joint_names, *BASE_CONFIG, *BASE_VELOCITY} if kd.floating else set[str]()
    labels: list[str] = []
    for name in kd.joint_names:
        label = name
        while label in used and (label != name or name in (*BASE_CONFIG, *BASE_VELOCITY)):
            label += "_joint"
        labels.append(label)
    return tuple(labels)


def actuated_names(kd: KinDyn, actuated: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the actuated velocities.

    If `actuated` is None, these are all joints, or the velocities of the base if there are none.
    """
    names = velocity_names(kd)
    if actuated is None:
        return joint_labels(kd) or names
    if isinstance(actuated, str):
        raise ArgumentError(f"actuated: expected a list of names, got {shown(actuated)}")
    for name in actuated:
        if name not in names:
            raise name_not_found("velocity", name, names)
    return tuple(actuated)
