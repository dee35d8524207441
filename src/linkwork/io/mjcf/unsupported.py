"""What a MuJoCo model holds in addition to a tree of rigid bodies: read, or reported as left out.

A joint equality with the polynomial a0 + a1 x makes the first joint depend on the second; MuJoCo
measures both from qpos0, as linkwork does, so nothing has to be converted. All else that would
change the motion is left out, and a warning says so. Contacts, actuators and sensors are no part of
a model here and are not mentioned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import Finding, listed
from linkwork.io.mjcf.names import Names
from linkwork.io.mjcf.package import MjModel, given_name, is_disabled, kind_of, name_in_enum
from linkwork.model.parts import Mimic

EARTH = (0.0, 0.0, -9.81)
EARTH_ROUNDING = 0.02  # [m/s^2] by which files and programs round it: 9.8, 9.80665, 9.81


def equality_mimics(mj: MjModel, names: Names) -> tuple[dict[int, Mimic], list[Finding]]:
    """The joints that depend on others, by number; and the joint equalities that say less."""
    mimics: dict[int, Mimic] = {}
    leader: dict[int, int] = {}
    unclear: list[Finding] = []
    for equality in range(mj.neq):
        if _kind(mj, equality) != "joint" or not mj.eq_active0[equality]:
            continue
        one, other = int(mj.eq_obj1id[equality]), int(mj.eq_obj2id[equality])
        a0, a1, *more = mj.eq_data[equality][:5].tolist()
        why = ""
        if other < 0:
            why = "it holds a joint still"
        elif any(more):
            why = "its polynomial is not linear"
        elif one in mimics:
            why = f"joint {names.joints[one]!r} depends on another already"
        elif _leads_to(leader, other, one):
            why = "it closes a cycle"
        if why:
            element = f"equality of joint {names.joints[one]!r}"
            unclear.append(Finding("warning", element, f"left out: {why}"))
        else:
            mimics[one] = Mimic(joint=names.joints[other], multiplier=a1, offset=a0)
            leader[one] = other
    return mimics, unclear


def left_out(mj: MjModel, names: Names, base: int | None) -> list[Finding]:
    """One finding for each kind of thing that changes the motion but is no part of a model."""
    texts = [
        *_left_out_of_equalities(mj),
        *_left_out_of_joints(mj, names, base),
        *_left_out_of_parts(mj, names),
    ]
    notes = _notes(mj, names, base)
    return [
        *(Finding("warning", "", f"left out: {text}") for text in texts),
        *(Finding("warning", "", text) for text in _meant_otherwise(mj, names, base)),
        *(Finding("note", "", text) for text in notes),
    ]


def left_out_gravity(mj: MjModel) -> list[Finding]:
    """A warning if a file has another gravity than the earth's, which a `KinDyn` has if not told.

    A `Model` has none, so it has to be given to `KinDyn`.
    """
    gravity = gravity_of(mj)
    if np.abs(np.subtract(gravity, EARTH)).max() <= EARTH_ROUNDING:
        return []
    told = ", ".join(f"{x:g}" for x in gravity)
    text = f"left out: gravity; give it to KinDyn(model, gravity=({told}))"
    return [Finding("warning", "", text)]


def gravity_of(mj: MjModel) -> tuple[float, ...]:
    """The acceleration of free fall; zero if the file switches gravity off."""
    return (0.0, 0.0, 0.0) if is_disabled(mj, "gravity") else tuple(mj.opt.gravity.tolist())


def _kind(mj: MjModel, equality: int) -> str:
    return name_in_enum("mjtEq", mj.eq_type[equality]).removeprefix("mjEQ_").lower()


def _left_out_of_equalities(mj: MjModel) -> Iterator[str]:
    kinds: dict[str, list[str]] = {}
    if is_disabled(mj, "equality"):
        return
    for equality in range(mj.neq):
        kind = _kind(mj, equality)
        if kind != "joint" and mj.eq_active0[equality]:
            name = given_name(mj, "equality", equality) or f"number {equality}"
            kinds.setdefault(kind, []).append(name)
    for kind, several in kinds.items():
        yield f"equality of the kind {kind}: {listed(several)}"


def _left_out_of_joints(mj: MjModel, names: Names, base: int | None) -> Iterator[str]:
    """Springs of joints, what is not linear, and what the floating base has no joint to hold."""
    springs = _some(mj, "jnt_stiffness", "jnt_stiffnesspoly", count=mj.njnt)
    if springs.any() and not is_disabled(mj, "spring"):
        yield f"stiffness of joints: {_listed(names.joints, springs)}"
    curved = _joints_of(mj, _some(mj, "dof_dampingpoly", count=mj.nv))
    if curved.any() and not is_disabled(mj, "damper"):
        yield f"damping that is not linear, of joints: {_listed(names.joints, curved)}"
    for field in _enabled_fields(mj):
        values = getattr(mj, f"dof_{field}")
        first = mj.jnt_dofadr[mj.dof_jntid] if mj.nv else np.zeros(0, dtype=int)
        uneven = _joints_of(mj, values != values[first])
        if uneven.any():
            yield f"{field} that differs between axes of joints: {_listed(names.joints, uneven)}"
        if base is not None and values[:6].any():
            yield f"{field} of the free joint of {names.bodies[base]!r}, the floating base"


def _enabled_fields(mj: MjModel) -> list[str]:
    """The passive properties of joints and tendons whose flags are not disabled."""
    flags = {"damping": "damper", "frictionloss": "frictionloss"}
    return [field for field, flag in flags.items() if not is_disabled(mj, flag)] + ["armature"]


def _left_out_of_parts(mj: MjModel, names: Names) -> Iterator[str]:
    fields = [*_enabled_fields(mj), *(["dampingpoly"] if not is_disabled(mj, "damper") else [])]
    fields += ["stiffness", "stiffnesspoly"] if not is_disabled(mj, "spring") else []
    tendons = _some(mj, *(f"tendon_{field}" for field in fields), count=mj.ntendon)
    if tendons.any():
        which = _listed(_given_or_numbers(mj, "tendon", mj.ntendon), tendons)
        yield f"tendons with stiffness, damping, friction or armature: {which}"
    fields = ("actuator_armature", "actuator_damping", "actuator_dampingpoly")
    count = len(mj.actuator_trntype)
    actuators = _some(mj, *fields, count=count)
    if actuators.any():
        which = _listed(_given_or_numbers(mj, "actuator", count), actuators)
        yield f"armature or damping of actuators: {which}"
    if mj.body_gravcomp.any():
        yield f"gravity compensation of bodies: {_listed(names.bodies, mj.body_gravcomp != 0)}"
    if mj.opt.density or mj.opt.viscosity:
        yield "forces of the surrounding fluid"
    if getattr(mj, "nflex", 0):
        yield f"{mj.nflex} deformable parts (flex)"
    if getattr(mj, "nplugin", 0):
        yield f"{mj.nplugin} plugins"


def _meant_otherwise(mj: MjModel, names: Names, base: int | None) -> Iterator[str]:
    """What is read, but means something else here.

    Armature a of a free body exerts -a d/dt(R v) in MuJoCo, where linear velocities are those in
    the world, and -a v_dot here, where v is in the axes of the body: R^T d/dt(R v) = v_dot + w x v.
    """
    free = np.array([kind_of(mj, joint) == "floating" for joint in range(mj.njnt)], dtype=bool)
    heavy = _joints_of(mj, mj.dof_armature != 0) & free
    if base is not None:
        heavy[mj.body_jntadr[base]] = False
    if heavy.any():
        where = "in MuJoCo along the axes of the world, here along those of the body"
        text = f"armature of free joints acts {where}: forces differ by armature * (w x v), of"
        yield f"{text} {_listed(names.joints, heavy)}"


def _notes(mj: MjModel, names: Names, base: int | None) -> Iterator[str]:
    mocap = mj.body_mocapid >= 0
    if mocap.any():
        yield f"mocap bodies stay where the file puts them: {_listed(names.bodies, mocap)}"
    if base is not None and (mj.site_bodyid == 0).any():
        sites = _listed(names.sites, mj.site_bodyid == 0)
        yield f"sites fixed to the world, which is no link here, are left out: {sites}"
    if is_disabled(mj, "limit") and mj.jnt_limited.any():
        yield "the flag that disables joint limits is ignored; the limits are part of the model"


def _leads_to(leader: Mapping[int, int], start: int, end: int) -> bool:
    while start != end and start in leader:
        start = leader[start]
    return start == end


def _some(mj: MjModel, *fields: str, count: int) -> Array:
    """(count,) whether any of these fields is not zero; older MuJoCo lacks some of them."""
    values = [np.asarray(getattr(mj, field)) for field in fields if hasattr(mj, field)]
    flat = [value.reshape(count, value.size // max(count, 1)) for value in values]
    return np.asarray(np.concatenate([np.zeros((count, 1)), *flat], axis=1).any(axis=1))


def _joints_of(mj: MjModel, dofs: Array) -> Array:
    """(njnt,) whether any dof of a joint is among these."""
    chosen = np.zeros(mj.njnt, dtype=bool)
    chosen[mj.dof_jntid[dofs]] = True
    return chosen


def _given_or_numbers(mj: MjModel, kind: str, count: int) -> list[str]:
    return [given_name(mj, kind, number) or f"number {number}" for number in range(count)]


def _listed(names: Sequence[str], chosen: Iterable[bool]) -> str:
    return listed([name for name, here in zip(names, chosen, strict=True) if here])
