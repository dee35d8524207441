"""Elements of a MuJoCo model beyond a tree of rigid bodies: converted, or reported as left out.

A joint equality with the polynomial a0 + a1 x makes the first joint depend on the second; MuJoCo
measures both from qpos0, as linkwork does. Other equalities become constraints, which are exact in
linkwork, so that `solref` and `solimp` are ignored:

connect   two points coincide
weld      two frames coincide; with torquescale="0", only their origins
joint     a polynomial of the position of another joint

Equalities of tendons and flexes, and everything else that affects the motion, are left out with a
warning. Contacts, sensors and the properties of actuators are left out without a warning, because
they are not part of a robot model; which joints have actuators is (`driven_joints`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import Finding, listed
from linkwork.io.formats import left_out_gravity
from linkwork.io.mjcf.package import (
    MjModel,
    Names,
    UniqueNames,
    is_disabled,
    kind_of,
    name_in_enum,
    name_in_file,
    pose_of,
)
from linkwork.model.parts import Actuator, Constraint, ConstraintKind, Mimic
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


def equality_mimics(mj: MjModel, names: Names) -> tuple[dict[int, Mimic], set[int]]:
    """Return the dependent joints by id, and the ids of the equalities that they come from.

    The polynomial is linear, no joint depends on two others, and none on itself in a cycle.
    """
    mimics: dict[int, Mimic] = {}
    leader: dict[int, int] = {}
    equalities: set[int] = set()
    for equality in active_equalities(mj):
        if equality_kind(mj, equality) != "joint":
            continue
        first, second = int(mj.eq_obj1id[equality]), int(mj.eq_obj2id[equality])
        a0, a1, *higher = mj.eq_data[equality][:5].tolist()
        if second < 0 or any(higher) or first in mimics or _leads_to(leader, second, first):
            continue
        mimics[first] = Mimic(joint=names.joints[second], multiplier=a1, offset=a0)
        leader[first] = second
        equalities.add(equality)
    return mimics, equalities


def driven_joints(mj: MjModel, mimicking: Collection[int]) -> set[int] | None:
    """Return the ids of the joints with actuators; None if some actuator drives something else.

    None also if there are no actuators.

    Args:
        mj: a `mujoco.MjModel`.
        mimicking: ids of the equalities that make joints depend on others.
    """
    leader = {int(mj.eq_obj1id[k]): int(mj.eq_obj2id[k]) for k in mimicking}
    driven: set[int] = set()
    if not len(mj.actuator_trntype):
        return None
    for kind, (joint, _) in zip(mj.actuator_trntype, mj.actuator_trnid, strict=True):
        if name_in_enum("mjtTrn", kind) not in ("mjTRN_JOINT", "mjTRN_JOINTINPARENT"):
            return None
        if kind_of(mj, int(joint)) not in ("revolute", "prismatic"):
            return None
        driven.add(int(joint))
    while dependent := driven & set(leader):
        driven = driven - dependent | {leader[joint] for joint in dependent}
    return driven


def actuators_of(mj: MjModel, names: Names) -> tuple[tuple[Actuator, ...], list[Finding]]:
    """Return the actuators with constant gears, and a note about the others.

    The moment arms of tendons, sites, cranks and bodies depend on the configuration, and so do
    those of free joints, and of ball joints in the axes of their parents.
    """
    count = len(mj.actuator_trntype)
    names_in_file = [name_in_file(mj, "actuator", index) for index in range(count)]
    actuators: list[Actuator] = []
    others: list[str] = []
    for index, kind in enumerate(mj.actuator_trntype):
        transmission, joint = name_in_enum("mjtTrn", kind), int(mj.actuator_trnid[index, 0])
        on_joint = transmission in ("mjTRN_JOINT", "mjTRN_JOINTINPARENT")
        moved = kind_of(mj, joint) if on_joint else ""
        name = names_in_file[index] or f"actuator_{index}"
        while not names_in_file[index] and name in names_in_file:
            name += "_"
        if moved in ("revolute", "prismatic"):
            size = 1
        elif moved == "spherical" and transmission == "mjTRN_JOINT":
            size = 3
        else:
            others.append(name)
            continue
        gear = tuple(mj.actuator_gear[index, :size].tolist())
        actuators.append(Actuator(name=name, joint=names.joints[joint], gear=gear))
    text = "actuators without a constant gear are left out: of tendons, sites, cranks, bodies"
    text += f" and free joints: {listed(others)}"
    return tuple(actuators), [Finding("note", "", text, topic="left out")] if others else []


def unsupported_findings(mj: MjModel, names: Names, base: int | None) -> list[Finding]:
    """Return findings about everything that affects the motion but is not supported."""
    messages = [
        *_unsupported_equalities(mj),
        *_unsupported_joints(mj, names, base),
        *_unsupported_parts(mj, names),
    ]
    return [
        *(Finding("warning", "", f"left out: {text}") for text in messages),
        *(Finding("warning", "", text) for text in _different_meaning(mj, names, base)),
        *(Finding("note", "", text, topic="left out") for text in _notes(mj, names, base)),
    ]


def gravity_findings(mj: MjModel) -> list[Finding]:
    """Return a warning if the gravity of the file differs from the default of `KinDyn`.

    A `Model` has no gravity, so it must be passed to `KinDyn`.
    """
    return left_out_gravity(gravity_of(mj))


def gravity_of(mj: MjModel) -> tuple[float, ...]:
    """Return the acceleration of free fall; zero if the file disables gravity."""
    return (0.0, 0.0, 0.0) if is_disabled(mj, "gravity") else tuple(mj.opt.gravity.tolist())


def _unsupported_equalities(mj: MjModel) -> Iterator[str]:
    kinds: dict[str, list[str]] = {}
    if is_disabled(mj, "equality"):
        return
    for equality in active_equalities(mj):
        kind = equality_kind(mj, equality)
        if kind not in SUPPORTED:
            name = _equality_name(mj, equality)
            kinds.setdefault(kind, []).append(name)
    for kind, several in kinds.items():
        yield f"equality constraints of type {kind}: {listed(several)}"


def _equality_name(mj: MjModel, equality: int) -> str:
    return name_in_file(mj, "equality", equality) or f"without a name, index {equality}"


def _unsupported_joints(mj: MjModel, names: Names, base: int | None) -> Iterator[str]:
    """Yield messages about springs, nonlinear damping, and values that differ by axis."""
    springs = _nonzero(mj, "jnt_stiffness", "jnt_stiffnesspoly", count=mj.njnt)
    if springs.any() and not is_disabled(mj, "spring"):
        yield f"stiffness of joints: {_listed(names.joints, springs)}"
    nonlinear = _joints_of(mj, _nonzero(mj, "dof_dampingpoly", count=mj.nv))
    if nonlinear.any() and not is_disabled(mj, "damper"):
        yield f"nonlinear damping of joints: {_listed(names.joints, nonlinear)}"
    for field in _enabled_fields(mj):
        values = getattr(mj, f"dof_{field}")
        first = mj.jnt_dofadr[mj.dof_jntid] if mj.nv else np.zeros(0, dtype=int)
        uneven = _joints_of(mj, values != values[first])
        if uneven.any():
            yield f"{field} that differs between axes of joints: {_listed(names.joints, uneven)}"
        if base is not None and values[:6].any():
            yield f"{field} of the free joint of {names.bodies[base]!r}, the floating base"


def _enabled_fields(mj: MjModel) -> list[str]:
    """Return the passive properties of joints and tendons whose flags are not disabled."""
    flags = {"damping": "damper", "frictionloss": "frictionloss"}
    return [field for field, flag in flags.items() if not is_disabled(mj, flag)] + ["armature"]


def _unsupported_parts(mj: MjModel, names: Names) -> Iterator[str]:
    fields = [*_enabled_fields(mj), *(["dampingpoly"] if not is_disabled(mj, "damper") else [])]
    fields += ["stiffness", "stiffnesspoly"] if not is_disabled(mj, "spring") else []
    tendons = _nonzero(mj, *(f"tendon_{field}" for field in fields), count=mj.ntendon)
    if tendons.any():
        which = _listed(_names_or_ids(mj, "tendon", mj.ntendon), tendons)
        yield f"tendons with stiffness, damping, friction or armature: {which}"
    fields = ("actuator_armature", "actuator_damping", "actuator_dampingpoly")
    count = len(mj.actuator_trntype)
    actuators = _nonzero(mj, *fields, count=count)
    if actuators.any():
        which = _listed(_names_or_ids(mj, "actuator", count), actuators)
        yield f"armature or damping of actuators: {which}"
    if mj.body_gravcomp.any():
        yield f"gravity compensation of bodies: {_listed(names.bodies, mj.body_gravcomp != 0)}"
    if mj.opt.density or mj.opt.viscosity:
        yield "forces of the surrounding fluid"
    if getattr(mj, "nflex", 0):
        yield f"{mj.nflex} deformable parts (flex)"
    if getattr(mj, "nplugin", 0):
        yield f"{mj.nplugin} plugins"


def _different_meaning(mj: MjModel, names: Names, base: int | None) -> Iterator[str]:
    """Yield messages about properties that are read, but have a different meaning in linkwork.

    Armature a of a free body exerts -a d/dt(R v) in MuJoCo, where linear velocities are those in
    the world, and -a v_dot in linkwork, where v is in the axes of the body: R^T d/dt(R v) = v_dot +
    w x v.
    """
    free = np.array([kind_of(mj, joint) == "floating" for joint in range(mj.njnt)], dtype=bool)
    affected = _joints_of(mj, mj.dof_armature != 0) & free
    if base is not None:
        affected[mj.body_jntadr[base]] = False
    if affected.any():
        axes = "along the axes of the world in MuJoCo, and of the body in linkwork"
        message = f"armature of free joints acts {axes}: forces differ by armature * (w x v)"
        yield f"{message}: {_listed(names.joints, affected)}"


def _notes(mj: MjModel, names: Names, base: int | None) -> Iterator[str]:
    mocap = mj.body_mocapid >= 0
    if mocap.any():
        text = "left out: motion of mocap bodies, which are fixed at their pose in the file"
        yield f"{text}: {_listed(names.bodies, mocap)}"
    shifted = _shifted(mj)
    if shifted.any():
        text = "left out: ref of joints; positions are measured from it"
        yield f"{text}: {_listed(names.joints, shifted)}"
    if base is not None and (mj.site_bodyid == 0).any():
        sites = _listed(names.sites, mj.site_bodyid == 0)
        yield f"sites of the world are left out, because it is not a link of the robot: {sites}"
    others = [f"{count} {what}" for what, count in _other_elements(mj).items() if count]
    if others:
        yield f"left out: parts that are not of the robot model: {', '.join(others)}"
    if not is_disabled(mj, "equality"):
        yield from _notes_of_equalities(mj)
    if is_disabled(mj, "limit") and mj.jnt_limited.any():
        yield "left out: the flag that disables joint limits; the model has these limits"


def _shifted(mj: MjModel) -> Array:
    """Return (njnt,) whether the initial position of a hinge or slide is not zero."""
    single = [kind_of(mj, joint) in ("revolute", "prismatic") for joint in range(mj.njnt)]
    return np.array(single, dtype=bool) & (mj.qpos0[mj.jnt_qposadr] != 0)


def _other_elements(mj: MjModel) -> dict[str, int]:
    """Return how many elements of each kind are neither part of the robot nor affect its motion."""
    kinds = ("PLANE", "HFIELD", "ELLIPSOID", "SDF")
    shapes = [name_in_enum("mjtGeom", kind).removeprefix("mjGEOM_") for kind in mj.geom_type]
    without_file = [
        shape == "MESH" and mj.mesh_pathadr[mesh] < 0
        for shape, mesh in zip(shapes, mj.geom_dataid, strict=True)
    ]
    return {
        "geoms without a shape (planes, height fields, ellipsoids, signed distance fields)": sum(
            shape in kinds for shape in shapes
        ),
        "geoms of meshes without a file": sum(without_file),
        "contact pairs and exclusions": mj.npair + mj.nexclude,
        "tendons": mj.ntendon,
        "sensors": mj.nsensor,
        "cameras": mj.ncam,
        "lights": mj.nlight,
    }


def _notes_of_equalities(mj: MjModel) -> Iterator[str]:
    supported = [k for k in active_equalities(mj) if equality_kind(mj, k) in SUPPORTED]
    ineffective = [_equality_name(mj, k) for k in supported if is_ineffective(mj, k)]
    if len(supported) > len(ineffective):
        yield "left out: solref and solimp of equality constraints, which are exact in linkwork"
    if ineffective:
        parts = "parts that cannot move relative to each other"
        yield f"equality constraints between {parts} are left out: {listed(ineffective)}"


def _leads_to(leader: Mapping[int, int], start: int, end: int) -> bool:
    while start != end and start in leader:
        start = leader[start]
    return start == end


def _nonzero(mj: MjModel, *fields: str, count: int) -> Array:
    """Return (count,) whether any of these fields that exist is not zero."""
    values = [np.asarray(getattr(mj, field)) for field in fields if hasattr(mj, field)]
    flat = [value.reshape(count, value.size // max(count, 1)) for value in values]
    return np.asarray(np.concatenate([np.zeros((count, 1)), *flat], axis=1).any(axis=1))


def _joints_of(mj: MjModel, dofs: Array) -> Array:
    """Return (njnt,) whether a joint has any of these degrees of freedom."""
    chosen = np.zeros(mj.njnt, dtype=bool)
    chosen[mj.dof_jntid[dofs]] = True
    return chosen


def _names_or_ids(mj: MjModel, kind: str, count: int) -> list[str]:
    return [name_in_file(mj, kind, index) or f"number {index}" for index in range(count)]


def _listed(names: Sequence[str], chosen: Iterable[bool]) -> str:
    return listed([name for name, is_chosen in zip(names, chosen, strict=True) if is_chosen])
