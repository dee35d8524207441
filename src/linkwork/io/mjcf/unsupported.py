"""Elements of a MuJoCo model beyond a tree of rigid bodies: converted, or reported as left out.

A joint equality with the polynomial a0 + a1 x makes the first joint depend on the second; MuJoCo
measures both from qpos0, as linkwork does. Everything else that affects the motion is left out with
a warning. Contacts, actuators and sensors are left out without a warning, because they are not
part of a robot model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import Finding, listed
from linkwork.io.mjcf.names import Names
from linkwork.io.mjcf.package import MjModel, is_disabled, kind_of, name_in_enum, name_in_file
from linkwork.model.parts import Mimic

EARTH = (0.0, 0.0, -9.81)
EARTH_ROUNDING = 0.02  # [m/s^2] covers the values in use: 9.8, 9.80665, 9.81


def equality_mimics(mj: MjModel, names: Names) -> tuple[dict[int, Mimic], list[Finding]]:
    """The dependent joints by id, and findings about joint equalities that are not supported."""
    mimics: dict[int, Mimic] = {}
    leader: dict[int, int] = {}
    unsupported: list[Finding] = []
    for equality in range(mj.neq):
        if _kind(mj, equality) != "joint" or not mj.eq_active0[equality]:
            continue
        first, second = int(mj.eq_obj1id[equality]), int(mj.eq_obj2id[equality])
        a0, a1, *higher = mj.eq_data[equality][:5].tolist()
        reason = ""
        if second < 0:
            reason = "it fixes the position of a joint"
        elif any(higher):
            reason = "its polynomial is not linear"
        elif first in mimics:
            reason = f"joint {names.joints[first]!r} already depends on another joint"
        elif _leads_to(leader, second, first):
            reason = "it closes a cycle"
        if reason:
            element = f"equality of joint {names.joints[first]!r}"
            unsupported.append(Finding("warning", element, f"left out: {reason}"))
        else:
            mimics[first] = Mimic(joint=names.joints[second], multiplier=a1, offset=a0)
            leader[first] = second
    return mimics, unsupported


def unsupported_findings(mj: MjModel, names: Names, base: int | None) -> list[Finding]:
    """Findings about everything that affects the motion but is not supported."""
    messages = [
        *_unsupported_equalities(mj),
        *_unsupported_joints(mj, names, base),
        *_unsupported_parts(mj, names),
    ]
    return [
        *(Finding("warning", "", f"left out: {text}") for text in messages),
        *(Finding("warning", "", text) for text in _different_meaning(mj, names, base)),
        *(Finding("note", "", text) for text in _notes(mj, names, base)),
    ]


def gravity_findings(mj: MjModel) -> list[Finding]:
    """A warning if the gravity of the file differs from the default of `KinDyn`.

    A `Model` has no gravity, so it must be passed to `KinDyn`.
    """
    gravity = gravity_of(mj)
    if np.abs(np.subtract(gravity, EARTH)).max() <= EARTH_ROUNDING:
        return []
    vector = ", ".join(f"{x:g}" for x in gravity)
    message = f"left out: gravity; pass it as KinDyn(model, gravity=({vector}))"
    return [Finding("warning", "", message)]


def gravity_of(mj: MjModel) -> tuple[float, ...]:
    """The acceleration of free fall; zero if the file disables gravity."""
    return (0.0, 0.0, 0.0) if is_disabled(mj, "gravity") else tuple(mj.opt.gravity.tolist())


def _kind(mj: MjModel, equality: int) -> str:
    return name_in_enum("mjtEq", mj.eq_type[equality]).removeprefix("mjEQ_").lower()


def _unsupported_equalities(mj: MjModel) -> Iterator[str]:
    kinds: dict[str, list[str]] = {}
    if is_disabled(mj, "equality"):
        return
    for equality in range(mj.neq):
        kind = _kind(mj, equality)
        if kind != "joint" and mj.eq_active0[equality]:
            name = name_in_file(mj, "equality", equality) or f"without a name, index {equality}"
            kinds.setdefault(kind, []).append(name)
    for kind, several in kinds.items():
        yield f"equality constraints of type {kind}: {listed(several)}"


def _unsupported_joints(mj: MjModel, names: Names, base: int | None) -> Iterator[str]:
    """Springs, nonlinear damping, values that differ by axis, and properties of the free joint."""
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
    """The passive properties of joints and tendons whose flags are not disabled."""
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
    """Properties that are read, but have a different meaning in linkwork.

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
        yield f"mocap bodies are fixed at their pose in the file: {_listed(names.bodies, mocap)}"
    if base is not None and (mj.site_bodyid == 0).any():
        sites = _listed(names.sites, mj.site_bodyid == 0)
        yield f"sites of the world are left out, because it is not a link of the robot: {sites}"
    if is_disabled(mj, "limit") and mj.jnt_limited.any():
        yield "the flag that disables joint limits is ignored; the model has these limits"


def _leads_to(leader: Mapping[int, int], start: int, end: int) -> bool:
    while start != end and start in leader:
        start = leader[start]
    return start == end


def _nonzero(mj: MjModel, *fields: str, count: int) -> Array:
    """(count,) whether any of these fields is not zero; older versions of MuJoCo lack some."""
    values = [np.asarray(getattr(mj, field)) for field in fields if hasattr(mj, field)]
    flat = [value.reshape(count, value.size // max(count, 1)) for value in values]
    return np.asarray(np.concatenate([np.zeros((count, 1)), *flat], axis=1).any(axis=1))


def _joints_of(mj: MjModel, dofs: Array) -> Array:
    """(njnt,) whether a joint has any of these degrees of freedom."""
    chosen = np.zeros(mj.njnt, dtype=bool)
    chosen[mj.dof_jntid[dofs]] = True
    return chosen


def _names_or_ids(mj: MjModel, kind: str, count: int) -> list[str]:
    return [name_in_file(mj, kind, index) or f"number {index}" for index in range(count)]


def _listed(names: Sequence[str], chosen: Iterable[bool]) -> str:
    return listed([name for name, is_chosen in zip(names, chosen, strict=True) if is_chosen])
