"""Named configurations of a robot, such as "home": group states of SRDF, keyframes of MJCF."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from linkwork.errors import Finding, SourceLocation, Suggestions, concerning, model_error, shown
from linkwork.model.joints import KINDS
from linkwork.model.numbers import as_floats, instance, settle, text
from linkwork.model.parts import Joint, Link, check_name, duplicate_names
from linkwork.model.pose import IDENTITY, Pose, composed

# A quaternion or (cos, sin) whose norm differs from 1 by more than this is rejected.
NORM_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Positions of joints under a name. Joints without a position are neutral."""

    name: str
    positions: tuple[tuple[str, tuple[float, ...]], ...] = ()
    """(joint, its coordinates as in q); a mapping of names to positions is accepted too."""
    link: str | None = None
    """The link whose pose in the world is `world_H_link`; None if a floating base is at the origin.
    A base that does not float ignores it."""
    world_H_link: Pose = IDENTITY
    location: SourceLocation | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        settle(self, name=check_name("configuration", self.name, self.location))
        with concerning(f"configuration {self.name!r}", self.location):
            positions: Any = self.positions
            pairs = positions.items() if isinstance(positions, Mapping) else positions
            settle(self, positions=tuple(_position(*pair) for pair in pairs))
            if self.link is not None:
                settle(self, link=text(self.link, "link"))
            instance(self.world_H_link, Pose, "world_H_link")

    def with_joints(self, joints: Iterable[Joint]) -> Configuration:
        """Return the configuration without positions of joints that have no coordinates."""
        moving = {joint.name for joint in joints if joint.nq}
        kept = tuple(pair for pair in self.positions if pair[0] in moving)
        return self if len(kept) == len(self.positions) else replace(self, positions=kept)

    def renamed(
        self, link: Mapping[str, str], joint: Mapping[str, str], prefix: str
    ) -> Configuration:
        """Return the configuration with new names of joints and links, and a prefix."""
        return replace(
            self,
            name=prefix + self.name,
            positions=tuple((joint[name], theta) for name, theta in self.positions),
            link=self.link and link[self.link],
        )

    def on_link(self, link: str, old_H_new: Pose) -> Configuration:
        """Return the configuration with the pose of another frame on the same body."""
        return replace(self, link=link, world_H_link=composed(self.world_H_link, old_H_new))


def _position(joint: str, theta: Any) -> tuple[str, tuple[float, ...]]:
    """Return a joint and its coordinates; a number is one coordinate."""
    numbers = as_floats(theta, f"joint {shown(joint)}")
    if numbers.ndim > 1:
        raise model_error(f"joint {shown(joint)}: expected coordinates, got {shown(theta)}")
    return text(joint, "joint"), tuple(numbers.reshape(-1).tolist())


INITIAL = "initial"


def initial_poses(
    poses: Mapping[str, Sequence[float]], others: Sequence[Configuration] = ()
) -> tuple[Configuration, ...]:
    """Return the poses of free bodies as the configuration `initial`, and other configurations.

    Args:
        poses: coordinates of floating joints by name.
        others: configurations of the file. If one of them is named `initial`, or all bodies are at
            the origin, they are the result.
    """
    neutral = KINDS["floating"].neutral
    is_at_origin = all(tuple(pose) == neutral for pose in poses.values())
    if is_at_origin or INITIAL in [one.name for one in others]:
        return tuple(others)
    positions: Any = poses
    return (Configuration(name=INITIAL, positions=positions), *others)


def combined(
    configurations: Sequence[Configuration], others: Sequence[Configuration]
) -> tuple[Configuration, ...]:
    """Return the configurations of a robot and an attached one, merged by their names.

    The attached robot moves with the link that carries it, so its poses in the world do not count.
    """
    added = {other.name: other for other in others}
    extended = [
        replace(one, positions=one.positions + added.pop(one.name).positions)
        if one.name in added
        else one
        for one in configurations
    ]
    rest = [replace(other, link=None, world_H_link=IDENTITY) for other in added.values()]
    return (*extended, *rest)


def configuration_findings(
    configurations: Sequence[Configuration], links: Sequence[Link], joints: Sequence[Joint]
) -> Iterator[Finding]:
    """Yield errors: names used twice, and positions that the joints cannot have."""
    by_name = {joint.name: joint for joint in joints}
    link_names = {link.name for link in links}
    suggest_joint, suggest_link = Suggestions(by_name), Suggestions(link_names)
    yield from duplicate_names("configuration", configurations)
    for one in configurations:
        problems = list(_problems(one, by_name, suggest_joint))
        if one.link is not None and one.link not in link_names:
            problems.append(f"no link named {shown(one.link)}{suggest_link(one.link)}")
        for problem in problems:
            yield Finding("error", f"configuration {one.name!r}", problem, one.location)


def _problems(
    configuration: Configuration, joints: Mapping[str, Joint], suggest: Callable[[str], str]
) -> Iterator[str]:
    seen: set[str] = set()
    for name, theta in configuration.positions:
        joint = joints.get(name)
        if joint is None:
            yield f"no joint named {shown(name)}{suggest(name)}"
            continue
        if name in seen:
            yield f"joint {name!r} has two positions"
        seen.add(name)
        problem = position_problem(joint, theta)
        if problem:
            yield f"joint {name!r}: {problem}"


def position_problem(joint: Joint, theta: Sequence[float]) -> str:
    """Return why a joint cannot have a position; empty if it can."""
    if not joint.nq:
        why = f"mimics {joint.mimic.joint!r}" if joint.mimic else "is fixed"
        return f"it {why}, so it has no position of its own"
    if len(theta) != joint.nq:
        return f"expected {joint.nq} coordinates, got {len(theta)}"
    if not np.isfinite(theta).all():
        return f"position {list(theta)} is not finite"
    for part in joint.motion_kind.unit_norm:
        norm = float(np.linalg.norm(theta[part.start : part.start + part.count]))
        if abs(norm - 1) > NORM_TOLERANCE:
            return f"expected a {part.name} of norm 1, got norm {norm:g}"
    return ""
