"""Joints of linkwork and MuJoCo, matched by name, with their slices in the vectors of both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from linkwork.errors import Finding, ModelError, nearest, shown
from linkwork.io.mjcf.package import MjModel, Names, kind_of, names_of
from linkwork.model.joints import KINDS
from linkwork.model.layout import Layout
from linkwork.model.parts import Joint
from linkwork.model.pose import IDENTITY

BASE = "base"  # kind of the pair of the floating base and its free joint


@dataclass(frozen=True, slots=True)
class Pair:
    """A joint in MuJoCo, and its coordinates in both vectors.

    A dependent joint has the coordinates of its leader: theta = multiplier * theta_leader + offset.
    """

    kind: str  # kind of the joint in linkwork, or BASE
    q: slice
    nu: slice
    qpos: slice
    qvel: slice
    qpos0: float = 0.0  # of a joint with one coordinate
    multiplier: float = 1.0
    offset: float = 0.0
    is_dependent: bool = False

    @property
    def is_free(self) -> bool:
        """Whether it has six degrees of freedom."""
        return self.kind in (BASE, "floating")


def paired(layout: Layout, base: str, mj: MjModel) -> tuple[Pair, ...]:
    """Match all moving joints.

    Args:
        layout: the robot's coordinates.
        base: the frame of the floating base, if there is one.
        mj: a `mujoco.MjModel`.

    Returns:
        One pair for each joint in MuJoCo, in MuJoCo's order.

    Raises:
        ModelError: a joint has no counterpart, or one of another kind.
    """
    names = names_of(mj)
    base_joint, findings = _base_joint(layout, base, mj, names)
    if findings:
        raise ModelError(findings)
    moving = {joint.name: joint for joint in layout.model.joints if joint.kind != "fixed"}
    mj_names = [name for joint, name in enumerate(names.joints) if joint != base_joint]
    findings = [
        *(f for j in range(mj.njnt) if j != base_joint for f in _mismatch(mj, names, j, moving)),
        *(_missing_there(name, mj_names) for name in moving if name not in mj_names),
    ]
    if findings:
        raise ModelError(findings)
    return tuple(
        _base_pair(mj, joint) if joint == base_joint else _pair(layout, mj, joint, name)
        for joint, name in enumerate(names.joints)
    )


def _base_joint(
    layout: Layout, base: str, mj: MjModel, names: Names
) -> tuple[int | None, list[Finding]]:
    """Return the free joint of the floating base, or the reason why there is none."""
    if not layout.floating:
        return None, []
    if base not in names.bodies:
        message = f"the base is not a body in MuJoCo; {nearest(base, names.bodies)}"
        return None, [Finding("error", f"link {base!r}", message)]
    body = names.bodies.index(base)
    joint = int(mj.body_jntadr[body])
    if joint < 0 or kind_of(mj, joint) != "floating":
        message = "the base floats here but has no free joint in MuJoCo; use floating=False"
        return None, [Finding("error", f"link {base!r}", message)]
    return joint, []


def _mismatch(mj: MjModel, names: Names, joint: int, moving: dict[str, Joint]) -> Iterator[Finding]:
    name, kind = names.joints[joint], kind_of(mj, joint)
    here = moving.get(name)
    element = f"joint {name!r}"
    if here is None and kind == "floating":
        body = names.bodies[int(mj.jnt_bodyid[joint])]
        message = f"moves {shown(body)} freely in MuJoCo, but that is not the floating base here"
        yield Finding("error", element, message)
    elif here is None:
        message = f"moves in MuJoCo, but no joint of this name does here; {nearest(name, moving)}"
        yield Finding("error", element, message)
    elif here.kind != kind:
        yield Finding("error", element, f"is {here.kind} here, but {kind} in MuJoCo")
    elif kind == "floating" and (here.first_H_joint, here.joint_H_second) != (IDENTITY, IDENTITY):
        message = "has poses on its links here, which a free joint of MuJoCo does not support"
        yield Finding("error", element, message)


def _missing_there(name: str, mj_names: list[str]) -> Finding:
    message = f"moves here, but MuJoCo has no such joint; {nearest(name, mj_names)}"
    return Finding("error", f"joint {name!r}", message)


def _base_pair(mj: MjModel, joint: int) -> Pair:
    return Pair(BASE, slice(0, 7), slice(0, 6), *_slices(mj, joint, 7, 6))


def _pair(layout: Layout, mj: MjModel, joint: int, name: str) -> Pair:
    kind = kind_of(mj, joint)
    nq, nv = KINDS[kind].nq, KINDS[kind].nv
    qpos0 = float(mj.qpos0[mj.jnt_qposadr[joint]]) if nq == 1 else 0.0
    slices = _slices(mj, joint, nq, nv)
    follower = layout.followers.get(name)
    if follower is None:
        return Pair(kind, layout.q[name], layout.nu[name], *slices, qpos0)
    leader = (layout.q[follower.leader], layout.nu[follower.leader])
    factors = follower.multiplier, follower.offset
    return Pair(kind, *leader, *slices, qpos0, *factors, is_dependent=True)


def _slices(mj: MjModel, joint: int, nq: int, nv: int) -> tuple[slice, slice]:
    position, velocity = int(mj.jnt_qposadr[joint]), int(mj.jnt_dofadr[joint])
    return slice(position, position + nq), slice(velocity, velocity + nv)
