"""Names of the numbers in the vectors of a state: q, v, and with them x = [q; v]."""

from __future__ import annotations

from linkwork.kindyn import KinDyn

BASE_CONFIG = ("x", "y", "z", "q_w", "q_x", "q_y", "q_z")
BASE_VELOCITY = ("lin_v_x", "lin_v_y", "lin_v_z", "ang_v_x", "ang_v_y", "ang_v_z")


def config_names(kd: KinDyn) -> tuple[str, ...]:
    """A name for each number of q: those of the base as PinnZoo calls them, then the joints."""
    return (*(BASE_CONFIG if kd.floating else ()), *joint_labels(kd))


def velocity_names(kd: KinDyn) -> tuple[str, ...]:
    """The same for v."""
    return (*(BASE_VELOCITY if kd.floating else ()), *joint_labels(kd))


def joint_labels(kd: KinDyn) -> tuple[str, ...]:
    """Names of the joints; `_joint` is added to one that is called as a number of the base is."""
    taken = {*kd.joint_names, *BASE_CONFIG, *BASE_VELOCITY} if kd.floating else set[str]()
    labels: list[str] = []
    for name in kd.joint_names:
        label = name
        while label in taken and (label != name or name in (*BASE_CONFIG, *BASE_VELOCITY)):
            label += "_joint"
        labels.append(label)
    return tuple(labels)
