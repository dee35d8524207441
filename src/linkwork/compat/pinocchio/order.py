"""The coordinates of each joint in Pinocchio's vectors, computed without Pinocchio.

Order       depth first from the base, the joints of each link in alphabetical order, as in
            Pinocchio's URDF reader; fixed joints have no coordinates
Dependent   joints have none either; branches with their leaders come first, as Pinocchio requires
Angles      a revolute joint without bounds is (cos, sin) in Pinocchio, unless another joint
            mimics it

In names, "here" is linkwork and "there" is Pinocchio.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isinf
from typing import Any, Literal, TypeAlias

from linkwork.errors import ModelError, ValueRangeError, model_error, name_not_found
from linkwork.kindyn import KinDyn
from linkwork.model.graph import Visit, walk
from linkwork.model.model import Model
from linkwork.model.parts import Joint

Form: TypeAlias = Literal[
    "same", "angle_cos_sin", "cos_sin_angle", "two_angles", "planar", "quaternion", "free"
]

BASE = ""  # name for the joint of a floating base, which is not a joint of the model
FORMS: Mapping[tuple[str, int], Form] = {  # by kind here and number of coordinates there
    ("revolute", 1): "same",
    ("revolute", 2): "angle_cos_sin",
    ("revolute_cos_sin", 1): "cos_sin_angle",
    ("revolute_cos_sin", 2): "same",
    ("prismatic", 1): "same",
    ("helical", 1): "same",
    ("universal", 2): "two_angles",
    ("planar", 4): "planar",
    ("spherical", 4): "quaternion",
    ("floating", 7): "free",
}
NQ_THERE: Mapping[str, int] = {"universal": 2, "planar": 4, "spherical": 4, "floating": 7}


@dataclass(frozen=True, slots=True)
class JointSlices:
    """The coordinates of one joint, here and there."""

    name: str  # or BASE
    form: Form  # how its position is represented there
    q: slice
    nu: slice
    q_there: slice
    v_there: slice
    backwards: bool  # whether a joint with several coordinates is traversed from second to first


@dataclass(frozen=True, slots=True)
class Crossing:
    """A joint, traversed from the link nearer to the base to the one beyond."""

    joint: Joint
    near: str
    beyond: str


def crossings(model: Model, base: str) -> tuple[Crossing, ...]:
    """Return every joint, in the order in which Pinocchio would read them.

    Raises:
        ModelError: a joint depends on one that cannot come before it in depth-first order.
    """
    start = model.frame(base).link
    before = _branches_before(model, start)
    return tuple(
        Crossing(visit.joint, str(visit.parent), visit.link)
        for visit in walk(model, start, lambda visits: _branches(model, visits, before))
        if visit.joint
    )


def joint_order(model: Model, base: str) -> tuple[str, ...]:
    """Return the moving joints, including dependent ones, in the order of their indices there."""
    joints = [crossing.joint for crossing in crossings(model, base)]
    return tuple(joint.name for joint in joints if joint.kind != "fixed")


def expected_slices(kd: KinDyn) -> tuple[JointSlices, ...]:
    """Return slices for the model that Pinocchio reads from the same URDF, or `to_pinocchio`."""
    leaders = {follower.leader for follower in kd.layout.followers.values()}
    names = [name for name in joint_order(kd.model, str(kd.base)) if kd.model.joint(name).nq]
    sizes = [(name, nq_there(kd.model.joint(name), leaders)) for name in names]
    return tuple(_slices(kd, sizes))


def slices_in(kd: KinDyn, pin_model: Any) -> tuple[JointSlices, ...]:
    """Return slices for a Pinocchio model; joints are matched by name.

    Raises:
        NameNotFoundError: a joint of one is not a moving, independent joint of the other.
        ValueRangeError: only one has a floating base, or a joint has another kind.
    """
    joints = [(str(name), pin_model.joints[i]) for i, name in enumerate(pin_model.names) if i]
    moving = [(name, joint) for name, joint in joints if joint.nv]
    floats = bool(moving) and is_free_flyer(pin_model) and moving[0][0] not in kd.model.joint_names
    if floats != kd.floating:
        states = ("floats", "is fixed") if floats else ("is fixed", "floats")
        message = f"the base of the Pinocchio model {states[0]}, that of the KinDyn {states[1]}"
        raise ValueRangeError(message)
    for name, _ in moving[floats:]:
        if name not in kd.layout.joint_names:
            raise _not_moving_here(kd, name)
    there = [name for name, _ in moving]
    for name in kd.layout.joint_names:
        if name not in there:
            raise name_not_found("moving joint of the Pinocchio model", name, there)
    return tuple(_slices(kd, [(name, joint.nq) for name, joint in moving[floats:]]))


def is_free_flyer(pin_model: Any) -> bool:
    """Return whether the first joint of a Pinocchio model lets the base float."""
    joints = pin_model.joints
    return len(joints) > 1 and joints[1].shortname() == "JointModelFreeFlyer"


def nq_there(joint: Joint, leaders: set[str]) -> int:
    """Return the number of position coordinates of a joint in Pinocchio."""
    return NQ_THERE.get(joint.kind, 2 if is_cos_sin_there(joint, leaders) else 1)


def is_cos_sin_there(joint: Joint, leaders: set[str]) -> bool:
    """Return whether Pinocchio represents the angle of a joint as (cos, sin)."""
    if joint.kind != "revolute":
        return joint.kind == "revolute_cos_sin"
    unbounded = isinf(joint.limits.lower) and isinf(joint.limits.upper)
    return unbounded and joint.name not in leaders and not joint.mimic


def _branches(model: Model, visits: Sequence[Visit], before: Mapping[str, set[str]]) -> list[Visit]:
    """Sort the joints from a link outward in the order in which Pinocchio visits them."""
    remaining = {visit.joint.name: visit for visit in visits if visit.joint}
    order: list[Visit] = []
    while remaining:
        ready = [name for name in remaining if not before.get(name, set()) & remaining.keys()]
        if not ready:
            raise _no_order(model, min(remaining))
        order.append(remaining.pop(min(ready)))
    return order


def _branches_before(model: Model, start: str) -> dict[str, set[str]]:
    """For each first joint of a branch, return those of the same link that must come before it.

    Where the paths to a dependent joint and to its leader diverge, the leader's branch comes first.
    """
    before: dict[str, set[str]] = {}
    dependent = {joint.name: joint.mimic.joint for joint in model.joints if joint.mimic}
    paths = _paths(model, start) if dependent else {}
    for name, leader in dependent.items():
        diverging = [(a, b) for a, b in zip(paths[leader], paths[name], strict=False) if a != b]
        if diverging:
            first, second = diverging[0]
            before.setdefault(second, set()).add(first)
        elif len(paths[name]) < len(paths[leader]):
            raise _no_order(model, name)
    return before


def _paths(model: Model, start: str) -> dict[str, tuple[str, ...]]:
    """Return the joints from the base to each joint, including itself."""
    to_link: dict[str, tuple[str, ...]] = {}
    paths: dict[str, tuple[str, ...]] = {}
    for link, parent, joint in walk(model, start):
        to_link[link] = (*to_link[str(parent)], joint.name) if joint else ()
        if joint:
            paths[joint.name] = to_link[link]
    return paths


def _no_order(model: Model, name: str) -> ModelError:
    mimic = model.joint(name).mimic
    message = (
        "Pinocchio requires every leader before the joints that mimic it; there is no such order"
    )
    if mimic:
        message = f"mimics {mimic.joint!r}, which is beyond it; Pinocchio requires it to come first"
    return model_error(message, f"joint {name!r}")


def _slices(kd: KinDyn, sizes: list[tuple[str, int]]) -> Iterator[JointSlices]:
    """Yield consecutive slices, from the number of position coordinates of each joint."""
    layout, start_q, start_v = kd.layout, 0, 0
    if kd.floating:
        yield JointSlices(BASE, "free", slice(7), slice(6), slice(7), slice(6), backwards=False)
        start_q, start_v = 7, 6
    reversed_joints = {
        joint.name
        for joint, backwards in zip(kd.tree.joints, kd.tree.backwards, strict=True)
        if joint and backwards and joint.nv > 1
    }
    for name, nq in sizes:
        joint = kd.model.joint(name)
        yield JointSlices(
            name,
            _form(joint, nq),
            layout.q[name],
            layout.nu[name],
            slice(start_q, start_q + nq),
            slice(start_v, start_v + joint.nv),
            backwards=name in reversed_joints,
        )
        start_q, start_v = start_q + nq, start_v + joint.nv


def _form(joint: Joint, nq: int) -> Form:
    form = FORMS.get((joint.kind, nq))
    if form is None:
        message = f"joint {joint.name!r} is {joint.kind} here, but has {nq} position coordinates"
        raise ValueRangeError(f"{message} in the Pinocchio model")
    return form


def _not_moving_here(kd: KinDyn, name: str) -> Exception:
    if name not in kd.model.joint_names:
        return name_not_found("joint", name, kd.model.joint_names)
    mimic = kd.model.joint(name).mimic
    if not mimic:
        return ValueRangeError(f"joint {name!r} is fixed here, but moves in the Pinocchio model")
    message = f"joint {name!r} mimics {mimic.joint!r} here, but moves freely in the Pinocchio model"
    return ValueRangeError(f"{message}; load with mimic=False here or with mimic=True there")
