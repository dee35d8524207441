"""The coordinates of each joint in Pinocchio's vectors, computed without Pinocchio.

Order       depth first from the base, the joints of each link in alphabetical order, as in
            Pinocchio's URDF reader; fixed and dependent joints have no coordinates
Angles      a revolute joint without bounds is (cos, sin) in Pinocchio, unless another joint
            mimics it

In names, "here" is linkwork and "there" is Pinocchio.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isinf
from typing import Any, Literal, TypeAlias

from linkwork.errors import ValueRangeError, model_error, name_not_found
from linkwork.kindyn import KinDyn
from linkwork.model.graph import Visit, walk
from linkwork.model.parts import Joint

Form: TypeAlias = Literal["same", "angle_cos_sin", "cos_sin_angle", "planar", "quaternion", "free"]

BASE = ""  # name for the joint of a floating base, which is not a joint of the model
FORMS: Mapping[tuple[str, int], Form] = {  # by kind here and number of coordinates there
    ("revolute", 1): "same",
    ("revolute", 2): "angle_cos_sin",
    ("revolute_cos_sin", 1): "cos_sin_angle",
    ("revolute_cos_sin", 2): "same",
    ("prismatic", 1): "same",
    ("helical", 1): "same",
    ("universal", 2): "same",
    ("planar", 4): "planar",
    ("spherical", 4): "quaternion",
    ("floating", 7): "free",
}
NQ_THERE: Mapping[str, int] = {
    "revolute_cos_sin": 2,
    "universal": 2,
    "planar": 4,
    "spherical": 4,
    "floating": 7,
}


@dataclass(frozen=True, slots=True)
class JointSlices:
    """The coordinates of one joint, here and there."""

    name: str  # or BASE
    form: Form  # how its position is represented there
    q: slice
    nu: slice
    q_there: slice
    v_there: slice


def expected_slices(kd: KinDyn) -> tuple[JointSlices, ...]:
    """Return slices for the model that Pinocchio reads from the same URDF."""
    leaders = {follower.leader for follower in kd.layout.followers.values()}
    start = kd.model.frame(str(kd.base)).link
    visited = [visit.joint for visit in walk(kd.model, start, _in_alphabetical_order)]
    joints = [joint for joint in visited if joint and joint.nq]
    return tuple(_slices(kd, [(joint.name, nq_there(joint, leaders)) for joint in joints]))


def _in_alphabetical_order(visits: Sequence[Visit]) -> list[Visit]:
    return sorted(visits, key=lambda visit: visit.joint.name if visit.joint else "")


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
    unbounded = isinf(joint.limits.lower) and isinf(joint.limits.upper)
    is_continuous = joint.kind == "revolute" and unbounded and joint.name not in leaders
    return NQ_THERE.get(joint.kind, 2 if is_continuous else 1)


def _slices(kd: KinDyn, sizes: list[tuple[str, int]]) -> Iterator[JointSlices]:
    """Yield consecutive slices, from the number of position coordinates of each joint.

    Raises:
        ModelError: a joint is traversed backwards, which changes the meaning of its coordinates.
    """
    layout, start_q, start_v = kd.layout, 0, 0
    if kd.floating:
        yield JointSlices(BASE, "free", slice(7), slice(6), slice(7), slice(6))
        start_q, start_v = 7, 6
    for joint, backwards in zip(kd.tree.joints, kd.tree.backwards, strict=True):
        if joint and backwards and not joint.motion_kind.inverse_is_opposite:
            message = f"a {joint.kind} joint cannot be turned around with the same coordinates"
            raise model_error(message, f"joint {joint.name!r}")
    for name, nq in sizes:
        joint = kd.model.joint(name)
        yield JointSlices(
            name,
            _form(joint, nq),
            layout.q[name],
            layout.nu[name],
            slice(start_q, start_q + nq),
            slice(start_v, start_v + joint.nv),
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
