"""The package `mujoco`, which is optional and imported on first use, and what is asked of it."""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeAlias

from linkwork.errors import ArgumentError, missing_package, shown

MjModel: TypeAlias = Any  # mujoco.MjModel; the package has no type stubs

KIND_OF = {
    "mjJNT_FREE": "floating",
    "mjJNT_BALL": "spherical",
    "mjJNT_SLIDE": "prismatic",
    "mjJNT_HINGE": "revolute",
}


def import_mujoco() -> Any:
    """The package `mujoco`, or an error that says how to get it."""
    try:
        return import_module("mujoco")
    except ImportError as error:
        raise missing_package("reading MJCF", "mujoco") from error


def need_mjmodel(value: object) -> None:
    """Refuse what is no compiled model of MuJoCo."""
    if not isinstance(value, import_mujoco().MjModel):
        raise ArgumentError(f"mj_model: expected a mujoco.MjModel, got {shown(value)}")


def name_in_enum(enum: str, value: int) -> str:
    """What MuJoCo calls a value of one of its enumerations, such as `mjJNT_HINGE` of `mjtJoint`."""
    return getattr(import_mujoco(), enum)(int(value)).name


def kind_of(mj: MjModel, joint: int) -> str:
    """The kind of joint that one of MuJoCo's is in linkwork."""
    return KIND_OF[name_in_enum("mjtJoint", mj.jnt_type[joint])]


def given_name(mj: MjModel, kind: str, number: int) -> str:
    """The name that the file gives a part, such as a `body` or `joint`; or an empty text."""
    mujoco = import_mujoco()
    name = mujoco.mj_id2name(mj, mujoco.mju_str2Type(kind), number)
    return name if name and name.strip() else ""


# Flags that disable others too. Older versions of MuJoCo have `passive` instead of two flags.
_WIDER_FLAGS = {
    **dict.fromkeys(("equality", "frictionloss", "limit"), "constraint"),
    **dict.fromkeys(("spring", "damper"), "passive"),
}


def is_disabled(mj: MjModel, flag: str) -> bool:
    """Whether `<option><flag>` disables something, such as `damper`, itself or by a wider flag."""
    bits = import_mujoco().mjtDisableBit
    names = [name for name in (flag, _WIDER_FLAGS.get(flag)) if name]
    mask = sum(int(getattr(bits, f"mjDSBL_{name.upper()}", 0)) for name in names)
    return bool(mj.opt.disableflags & mask)
