"""Contacts: frames that keep their pose or position, as equations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from linkwork.errors import ArgumentError, NameNotFoundError, name_not_found, nearest, shown
from linkwork.mechanics.constraints import Anchor, FrameEquations
from linkwork.model.geometry import Cylinder, Sphere
from linkwork.model.joints.kind import Closure
from linkwork.model.model import Model
from linkwork.model.pose import IDENTITY, Pose, as_pose
from linkwork.model.tree import Tree
from linkwork.spatial.blocks import IDENTITY as AXES

ContactKind: TypeAlias = Literal["pose", "point", "rolling"]
CONTACT_KINDS: tuple[ContactKind, ...] = get_args(ContactKind)
CENTERED = 1e-6  # distance of a frame from the center of a ball, relative to its radius
AXIS_NAMES = ("x", "y", "z", "rx", "ry", "rz")


@dataclass(frozen=True, slots=True)
class Contact:
    """A frame that keeps its pose, or its position, relative to the world or to another frame.

    Args:
        frame: a link or frame of the robot.
        kind: "pose" (6 equations), "point" (3 equations), or "rolling" (a ball that rolls without
            slipping on the plane z = 0 of the target or reference: 3 equations).
        reference: another link or frame; None for the world.
        axes: in which motion is prevented, as "x", "y", "z" (translations) and "rx", "ry", "rz"
            (rotations); all that belong to the kind if not given. The equations are in this order.
            They are the axes of the target, or of the reference if there is no target.
        target: the pose that `frame` keeps in the reference, as `Pose` or (4, 4) matrix; the error
            of the constraint is measured from it. If not given, the frame keeps the pose that it
            has, and there is no error.
        radius: of the ball that rolls [m], whose center is the origin of the frame; if not
            given, the radius of the sphere that is the link's collision shape.
    """

    frame: str
    kind: ContactKind = "pose"
    reference: str | None = None
    axes: tuple[str, ...] | None = None
    target: Pose | None = None
    radius: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.frame, str):
            raise ArgumentError(f"contact: frame: expected a name, got {shown(self.frame)}")
        if self.kind not in CONTACT_KINDS:
            text = f"contact of {shown(self.frame)}: unknown kind {shown(self.kind)}"
            raise ArgumentError(f"{text}; {nearest(self.kind, CONTACT_KINDS)}")
        if self.reference == self.frame:
            text = f"contact of {self.frame!r}: the reference is the same frame"
            raise ArgumentError(f"{text}; name another frame, or None for the world")
        if self.target is not None:
            object.__setattr__(self, "target", as_pose(self.target, "target"))
        if self.axes is not None:
            object.__setattr__(self, "axes", _axes(self.frame, self.kind, self.axes))
        if self.radius is not None:
            object.__setattr__(self, "radius", _given_radius(self.frame, self.kind, self.radius))

    def __repr__(self) -> str:
        options = [(one, getattr(self, one.name)) for one in fields(self)[1:]]
        texts = [f"{one.name}={value!r}" for one, value in options if value != one.default]
        return f"Contact({', '.join([repr(self.frame), *texts])})"

    def equations(self, model: Model) -> FrameEquations:
        """Return the equations of the contact.

        Raises:
            NameNotFoundError: there is no such frame.
            ArgumentError: the link of a ball that rolls has no radius.
        """
        for name in (self.frame, self.reference or self.frame):
            if name not in model.frame_names:
                hint = "; reference=None is the world" if name is self.reference else ""
                raise NameNotFoundError(f"{name_not_found('frame', name, model.frame_names)}{hint}")
        reference = Anchor(self.reference, self.target or IDENTITY)
        moving, measured = Anchor(self.frame), self.target is not None
        if self.kind == "rolling":
            radius = _radius(model, self.frame) if self.radius is None else self.radius
            closure = Closure(AXES, "free")
            return FrameEquations(
                self.frame, reference, moving, closure, radius=radius, has_target=measured
            )
        axes = self.axes or AXIS_NAMES[: 6 if self.kind == "pose" else 3]
        linear = tuple(AXES[k] for k in range(3) if AXIS_NAMES[k] in axes)
        angular = tuple(AXES[k] for k in range(3) if AXIS_NAMES[3 + k] in axes)
        closure = Closure(linear, "locked" if angular else "free")
        return FrameEquations(
            self.frame, reference, moving, closure, angular or AXES, has_target=measured
        )


def _axes(frame: str, kind: ContactKind, axes: Any) -> tuple[str, ...]:
    """Return names of axes, each once, in the order of the equations."""
    if kind == "rolling":
        raise ArgumentError(f"contact of {frame!r}: a rolling contact has no axes to choose")
    if isinstance(axes, str) or not isinstance(axes, Iterable):
        text = f"contact of {frame!r}: axes: expected a list of names"
        raise ArgumentError(f"{text}, got {shown(axes)}")
    known = AXIS_NAMES if kind == "pose" else AXIS_NAMES[:3]
    names = tuple(axes)
    for name in names:
        if name not in known:
            text = f"contact of {frame!r}: unknown axis {shown(name)} of kind {kind!r}"
            raise ArgumentError(f"{text}; {nearest(name, known)}")
    if not names:
        raise ArgumentError(f"contact of {frame!r}: axes: expected at least one, got {shown(axes)}")
    return tuple(name for name in known if name in names)


def _given_radius(frame: str, kind: ContactKind, radius: Any) -> float:
    if kind != "rolling":
        raise ArgumentError(f"contact of {frame!r}: only a rolling contact has a radius")
    number = float(radius) if isinstance(radius, Real) else -1.0
    if not 0.0 <= number < np.inf:
        text = f"contact of {frame!r}: radius: expected a number >= 0 [m]"
        raise ArgumentError(f"{text}, got {shown(radius)}")
    return number


def _radius(model: Model, frame: str) -> float:
    """Return the radius of the ball that is the only collision shape of a link.

    Raises:
        ArgumentError: the link has no such shape, or the center of the ball is not the frame.
    """
    place = model.frame(frame)
    shapes = model.link(place.link).collisions
    balls = [
        (shape.geometry.radius, shape.link_H_shape.xyz)
        for shape in shapes
        if isinstance(shape.geometry, Sphere)
    ]
    text = f"contact of {frame!r}"
    if len(shapes) == 1 and isinstance(shapes[0].geometry, Cylinder):
        what = "its link is a cylinder, which touches the ground at its rim; only balls roll"
        hint = (
            "for a wheel whose axis stays parallel to the ground, give lw.Contact(..., radius=...)"
        )
        raise ArgumentError(f"{text}: {what}; {hint}")
    if len(balls) != 1:
        count = f"its link has {len(balls)} spheres as collision shapes"
        raise ArgumentError(f"{text}: {count}; give lw.Contact(..., radius=...)")
    [(radius, center)] = balls
    if not np.allclose(center, place.link_H_frame.xyz, rtol=0.0, atol=CENTERED * radius):
        text = f"{text}: its origin is not the center of the sphere of its link, {center!r}"
        raise ArgumentError(f"{text}; model.with_frame adds a frame there")
    return radius


def check_relative_motion(contacts: Sequence[Contact], tree: Tree, *, floating: bool) -> None:
    """Raise if the frame of a contact cannot move relative to its reference."""
    bodies = dict(zip(tree.model.frame_names, tree.frame_bodies, strict=True))
    for contact in contacts:
        world = None if floating else 0
        other = world if contact.reference is None else bodies[contact.reference]
        if bodies[contact.frame] == other:
            what = "the world" if contact.reference is None else repr(contact.reference)
            text = f"contact of {contact.frame!r}: the frame is rigidly connected to {what}"
            raise ArgumentError(f"{text}, so there is nothing to constrain; name another frame")


def contacts_of(contacts: Any) -> tuple[Contact, ...]:
    """Return the option `contacts` as a tuple of contacts.

    Raises:
        ArgumentError: it is something else, or a frame has two contacts.
    """
    if isinstance(contacts, Mapping):
        return tuple(_contact(frame, kind) for frame, kind in contacts.items())
    if isinstance(contacts, str) or not isinstance(contacts, Iterable):
        text = "expected frames, Contacts, or a mapping from frames to kinds"
        raise ArgumentError(f"contacts: {text}, got {shown(contacts)}")
    listed = [one if isinstance(one, Contact) else Contact(one) for one in contacts]
    by_frame = {contact.frame: contact for contact in listed}
    if len(by_frame) < len(listed):
        frames = [contact.frame for contact in listed]
        name = next(frame for frame in frames if frames.count(frame) > 1)
        text = f"contacts: {name!r} is constrained twice"
        raise ArgumentError(f"{text}; with_frame adds a frame with another name")
    return tuple(listed)


def _contact(frame: Any, kind: Any) -> Contact:
    if isinstance(kind, Contact):
        if kind.frame != frame:
            raise ArgumentError(f"contacts: {frame!r} maps to a contact of {kind.frame!r}")
        return kind
    return Contact(frame, kind)
