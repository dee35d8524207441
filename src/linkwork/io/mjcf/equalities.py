"""Equality constraints of a MuJoCo model as constraints of a robot.

connect   two points coincide
weld      two frames coincide; with torquescale="0", only their origins
joint     a polynomial of the position of another joint, both measured from qpos0, as in linkwork

Linear joint equalities become joints that mimic others instead (`unsupported.equality_mimics`).
MuJoCo's constraints are soft; in linkwork they are exact, so `solref` and `solimp` are ignored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from linkwork.io.mjcf.package import (
    MjModel,
    Names,
    UniqueNames,
    name_in_enum,
    name_in_file,
    pose_of,
)
from linkwork.model.constraints import Constraint, ConstraintKind
from linkwork.model.pose import IDENTITY, Pose

SUPPORTED = ("connect", "weld", "joint")


def equality_constraints(
    mj: MjModel, names: Names, base: int | None, mimicking: Collection[int]
) -> Iterator[Constraint]:
    """Yield the constraints of a model.

    Args:
        mj: a `mujoco.MjModel`.
        names: names of all parts.
        base: the body that is the floating base; then the world is not a link.
        mimicking: ids of the linear joint equalities, which are not constraints.
    """
    unique_names = UniqueNames((*names.joints, *names.fixed.values()))
    for equality in active_equalities(mj):
        kind = equality_kind(mj, equality)
        if kind not in SUPPORTED or equality in mimicking or is_ineffective(mj, equality):
            continue
        name = name_in_file(mj, "equality", equality) or f"equality{equality}"
        name = unique_names.unique(name)
        if kind == "joint":
            yield _coupling(mj, names, equality, name)
        else:
            yield _between_frames(mj, names, base, equality, name)


def active_equalities(mj: MjModel) -> list[int]:
    """Return the ids of the equalities that are active at the start of a simulation."""
    return [equality for equality in range(mj.neq) if mj.eq_active0[equality]]


def equality_kind(mj: MjModel, equality: int) -> str:
    """Return the element of MJCF: `connect`, `weld`, `joint`, `tendon` or a kind of flex."""
    return name_in_enum("mjtEq", mj.eq_type[equality]).removeprefix("mjEQ_").lower()


def is_ineffective(mj: MjModel, equality: int) -> bool:
    """Return whether a connect or weld is between parts that cannot move relative to each other."""
    if equality_kind(mj, equality) not in ("connect", "weld"):
        return False
    first, second = (mj.body_weldid[_body(mj, equality, side)] for side in (0, 1))
    return bool(first == second)


def _is_of_sites(mj: MjModel, equality: int) -> bool:
    if not hasattr(mj, "eq_objtype"):  # before MuJoCo 3.2.3
        return False
    return name_in_enum("mjtObj", mj.eq_objtype[equality]) == "mjOBJ_SITE"


def _id(mj: MjModel, equality: int, side: int) -> int:
    return int((mj.eq_obj1id, mj.eq_obj2id)[side][equality])


def _body(mj: MjModel, equality: int, side: int) -> int:
    """Return the body of one side."""
    part = _id(mj, equality, side)
    return int(mj.site_bodyid[part]) if _is_of_sites(mj, equality) else part


def _between_frames(
    mj: MjModel, names: Names, base: int | None, equality: int, name: str
) -> Constraint:
    (first, first_pose), (second, second_pose) = (
        _side(mj, names, base, equality, side) for side in (0, 1)
    )
    if first is None:  # the world is the second side
        first, second = second, first
        first_pose, second_pose = second_pose, first_pose
    assert first is not None
    return Constraint(
        name=name,
        kind=_constraint_kind(mj, equality),
        first=first,
        second=second,
        first_H_anchor=first_pose,
        second_H_anchor=second_pose,
    )


def _constraint_kind(mj: MjModel, equality: int) -> ConstraintKind:
    torque_scale = mj.eq_data[equality][10]
    is_weld = equality_kind(mj, equality) == "weld" and torque_scale != 0
    return "pose" if is_weld else "point"


def _side(
    mj: MjModel, names: Names, base: int | None, equality: int, side: int
) -> tuple[str | None, Pose]:
    """Return the frame of one side, or None for the world; and the pose of the anchor in it."""
    part = _id(mj, equality, side)
    in_world = base is not None and _body(mj, equality, side) == 0
    if _is_of_sites(mj, equality):
        if in_world:
            return None, pose_of(mj.site_pos[part], mj.site_quat[part])
        return names.sites[part], IDENTITY
    frame = None if in_world else names.bodies[part]
    data = mj.eq_data[equality]
    if equality_kind(mj, equality) == "connect":  # anchors in body 1, in body 2
        return frame, Pose(data[3 * side : 3 * side + 3])
    if side == 0:  # a weld: anchors in body 2, in body 1, and the quaternion of body 2 in body 1
        return frame, pose_of(data[3:6], data[6:10])
    return frame, Pose(data[:3])


def _coupling(mj: MjModel, names: Names, equality: int, name: str) -> Constraint:
    first, second = (_id(mj, equality, side) for side in (0, 1))
    numbers = mj.eq_data[equality][:5].tolist()
    return Constraint(
        name=name,
        kind="coupling",
        first=names.joints[first],
        second=names.joints[second] if second >= 0 else None,
        coefficients=tuple(numbers if second >= 0 else numbers[:1]),
    )
