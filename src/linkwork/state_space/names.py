"""Names of the numbers in the vectors of a state: q, v, and with them x = [q; v]."""

from __future__ import annotations

from linkwork.kindyn import KinDyn

BASE_CONFIG = ("x", "y", "z", "q_w", "q_x", "q_y", "q_z")
BASE_VELOCITY = ("lin_v_x", "lin_v_y", "lin_v_z", "ang_v_x", "ang_v_y", "ang_v_z")


def config_names(kd: KinDyn) -> tuple[str, ...]:
    """A name for each number of q: those of the base as PinnZoo calls them, then the joints."""
    return (*(BASE_CONFIG if kd.floating else ()), *kd.joint_names)


def velocity_names(kd: KinDyn) -> tuple[str, ...]:
    """The same for v."""
    return (*(BASE_VELOCITY if kd.floating else ()), *kd.joint_names)
