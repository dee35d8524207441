"""Access to the optional package `mujoco`, which is imported on first use, and to its values."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypeAlias

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, MissingPackageError, missing_package, model_error, shown
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


_lock = threading.Lock()  # a process has one warning handler


@contextmanager
def collected_warnings(mujoco: Any) -> Generator[list[str], None, None]:
    """Collect MuJoCo's warnings, which it would otherwise write to a file in the current folder."""
    messages: list[str] = []
    with _lock:
        handler = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(lambda text: messages.append(" ".join(str(text).split())))
        try:
            yield messages
        finally:
            mujoco.set_mju_user_warning(handler)


def rejection(text: str) -> str | None:
    """Return why MuJoCo rejects a document; "" if it loads, None if MuJoCo is not installed."""
    try:
        mujoco = import_mujoco()
    except MissingPackageError:
        return None
    with collected_warnings(mujoco):
        try:
            mujoco.MjModel.from_xml_string(text)
        except (ValueError, mujoco.FatalError, mujoco.UnexpectedError) as error:
            return str(error)
    return ""


def need_mjmodel(value: object) -> None:
    """Reject a value that is not a compiled model of MuJoCo."""
    if not isinstance(value, import_mujoco().MjModel):
        raise ArgumentError(f"mj_model: expected a mujoco.MjModel, got {shown(value)}")
    need_utf8_names(value)


def need_utf8_names(mj: MjModel) -> None:
    """Reject a model with an unpaired surrogate in a name, which MuJoCo reads from `&#xDFFF;`."""
    try:
        mj.names.decode()
    except UnicodeDecodeError as error:
        name = mj.names[: error.end].rpartition(b"\0")[2] + mj.names[error.end :]
        text = name.partition(b"\0")[0].decode(errors="replace")
        raise model_error(f"the name {text!r} has a character that XML does not allow") from None


def name_in_enum(enum: str, value: int) -> str:
    """Return the name of a value of a MuJoCo enumeration, such as `mjJNT_HINGE` of `mjtJoint`."""
    return getattr(import_mujoco(), enum)(int(value)).name


def kind_of(mj: MjModel, joint: int) -> str:
    """Return the joint kind in linkwork of a MuJoCo joint."""
    return KIND_OF[name_in_enum("mjtJoint", mj.jnt_type[joint])]


def name_in_file(mj: MjModel, kind: str, index: int) -> str:
    """Return the name in the file of a part, such as a `body` or `joint`; empty if it has none."""
    mujoco = import_mujoco()
    name = mujoco.mj_id2name(mj, mujoco.mju_str2Type(kind), index)
    return name if name and name.strip() else ""


def pose_of(xyz: Array, wxyz: Array) -> Pose:
    """Convert a position and a quaternion of MuJoCo to a pose."""
    return as_pose(matrix_of(xyz, wxyz))


def matrix_of(xyz: Array, wxyz: Array) -> Array:
    """Convert a position and a quaternion of MuJoCo to a (4, 4) pose."""
    return se3.pose(quat.to_rotation(quat.normalize(wxyz)), xyz)


# Flags that disable others too. Older versions of MuJoCo have `passive` instead of two flags.
_WIDER_FLAGS = {
    **dict.fromkeys(("equality", "frictionloss", "limit"), "constraint"),
    **dict.fromkeys(("spring", "damper"), "passive"),
}


def is_disabled(mj: MjModel, flag: str) -> bool:
    """Return whether a flag such as `damper` is disabled, directly or by a wider flag."""
    bits = import_mujoco().mjtDisableBit
    names = [name for name in (flag, _WIDER_FLAGS.get(flag)) if name]
    mask = sum(int(getattr(bits, f"mjDSBL_{name.upper()}", 0)) for name in names)
    return bool(mj.opt.disableflags & mask)
