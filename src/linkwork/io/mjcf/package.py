"""Access to the optional package `mujoco`, which is imported on first use, and to its values.

All parts of a MuJoCo model have unique names in linkwork:

Bodies      keep their names; an unnamed body is `body3`, by its id
Joints      keep their names; an unnamed one is `leg_joint`, or `leg_joint2` if there are several
Between     the massless link after joint `a` of the body `leg`, if more joints follow, is
            `leg_after_a`
Fixed       the fixed joint of a body without joints is `leg_fixed`
Sites       keep their names, unless a link has the same: then `foot_site`; an unnamed site is
            `leg_site0`

If such a name is in use, `_2` or the next free number is appended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Names:
    """The names of the parts of a MuJoCo model in linkwork, by MuJoCo's ids."""

    model: str
    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    sites: tuple[str, ...]
    between: Mapping[int, str]  # by joint: the massless link after it, if its body has more joints
    fixed: Mapping[int, str]  # by body without joints: its fixed joint


def names_of(mj: MjModel) -> Names:
    """Name all parts, deterministically."""
    links, joints = UniqueNames(), UniqueNames()
    bodies = links.keep_or_generate(
        _names_in_file(mj, "body", mj.nbody), lambda body: f"body{body}"
    )

    def name_of_joint(joint: int) -> str:
        body = int(mj.jnt_bodyid[joint])
        several = mj.body_jntnum[body] > 1
        return f"{bodies[body]}_joint{joint - mj.body_jntadr[body] + 1 if several else ''}"

    moving = joints.keep_or_generate(_names_in_file(mj, "joint", mj.njnt), name_of_joint)
    fixed = {
        body: joints.unique(fixed_joint_name(bodies[body]))
        for body in range(1, mj.nbody)
        if mj.body_jntnum[body] == 0
    }
    between = {
        joint: links.unique(f"{bodies[body]}_after_{moving[joint]}")
        for joint, body in enumerate(mj.jnt_bodyid.tolist())
        if joint + 1 < mj.body_jntadr[body] + mj.body_jntnum[body]
    }
    sites = _site_names(mj, bodies, links)
    return Names(_model_name(mj), bodies, moving, sites, between, fixed)


def fixed_joint_name(body: str) -> str:
    """Return the name of the fixed joint of a body without joints."""
    return f"{body}_fixed"


class UniqueNames:
    """Generates names that are not in use."""

    def __init__(self, used: Iterable[str] = ()) -> None:
        self._used = set(used)

    def unique(self, preferred: str) -> str:
        """Return a name, with a number if it is in use, and add it to the names in use."""
        name, suffix = preferred, 2
        while name in self._used:
            name, suffix = f"{preferred}_{suffix}", suffix + 1
        self._used.add(name)
        return name

    def keep_or_generate(
        self, names: Sequence[str], default: Callable[[int], str]
    ) -> tuple[str, ...]:
        """Keep all names that are not empty, and generate the others by their index."""
        self._used.update(name for name in names if name)
        return tuple(name or self.unique(default(index)) for index, name in enumerate(names))

    def __contains__(self, name: str) -> bool:
        return name in self._used


def _names_in_file(mj: MjModel, kind: str, count: int) -> list[str]:
    return [name_in_file(mj, kind, index) for index in range(count)]


def _site_names(mj: MjModel, bodies: tuple[str, ...], links: UniqueNames) -> tuple[str, ...]:
    def distinct_from_links(name: str) -> str:
        return f"{name}_site" if name in links else name

    def default_name(site: int) -> str:
        body = int(mj.site_bodyid[site])
        earlier = mj.site_bodyid[:site] == body
        return f"{bodies[body]}_site{int(earlier.sum())}"

    names = _names_in_file(mj, "site", mj.nsite)
    named = {
        site: links.unique(distinct_from_links(name)) for site, name in enumerate(names) if name
    }
    return tuple(
        named[site] if site in named else links.unique(default_name(site))
        for site in range(mj.nsite)
    )


def _model_name(mj: MjModel) -> str:
    name = mj.names.split(b"\0", 1)[0].decode(errors="replace")
    return name if name.strip() else "robot"
