"""Access to the optional package `mujoco`, which is imported on first use, and to its values."""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeAlias

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, missing_package, shown
from linkwork.model.pose import Pose, as_pose
from linkwork.spatial.source import quat, se3

MjModel: TypeAlias = Any  # mujoco.MjModel; the package has no type stubs

KIND_OF = {
    "mjJNT_FREE": "floating",
    "mjJNT_BALL": "spherical",
    "mjJNT_SLIDE": "prismatic",
    "mjJNT_HINGE": "revolute",
}


def import_mujoco() -> Any:
    """Import `mujoco`, or raise an error that states how to install it."""
    try:
        return import_module("mujoco")
    except ImportError as error:
        raise missing_package("reading MJCF", "mujoco") from error


def need_mjmodel(value: object) -> None:
    """Reject a value that is not a compiled model of MuJoCo."""
    if not isinstance(value, import_mujoco().MjModel):
        raise ArgumentError(f"mj_model: expected a mujoco.MjModel, got {shown(value)}")


def name_in_enum(enum: str, value: int) -> str:
    """The name of a value of a MuJoCo enumeration, such as `mjJNT_HINGE` of `mjtJoint`."""
    return getattr(import_mujoco(), enum)(int(value)).name


def kind_of(mj: MjModel, joint: int) -> str:
    """The joint kind in linkwork of a MuJoCo joint."""
    return KIND_OF[name_in_enum("mjtJoint", mj.jnt_type[joint])]


def name_in_file(mj: MjModel, kind: str, index: int) -> str:
    """The name in the file of a part, such as a `body` or `joint`; empty if it has none."""
    mujoco = import_mujoco()
    name = mujoco.mj_id2name(mj, mujoco.mju_str2Type(kind), index)
    return name if name and name.strip() else ""


def pose_of(xyz: Array, wxyz: Array) -> Pose:
    """Convert a position and a quaternion of MuJoCo to a pose."""
    return as_pose(se3.pose(quat.to_rotation(quat.normalize(wxyz)), xyz))


# Flags that disable others too. Older versions of MuJoCo have `passive` instead of two flags.
_WIDER_FLAGS = {
    **dict.fromkeys(("equality", "frictionloss", "limit"), "constraint"),
    **dict.fromkeys(("spring", "damper"), "passive"),
}


def is_disabled(mj: MjModel, flag: str) -> bool:
    """Whether `<option><flag>` disables a flag such as `damper`, directly or by a wider flag."""
    bits = import_mujoco().mjtDisableBit
    names = [name for name in (flag, _WIDER_FLAGS.get(flag)) if name]
    mask = sum(int(getattr(bits, f"mjDSBL_{name.upper()}", 0)) for name in names)
    return bool(mj.opt.disableflags & mask)
