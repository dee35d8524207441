"""Names in models that are renamed or put together; `Model` documents what its methods do."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from linkwork.errors import Finding, ModelError, model_error, name_not_found
from linkwork.model.parts import Joint

if TYPE_CHECKING:
    from linkwork.model.model import Model


def refuse_shared_names(frames: Collection[str], joints: Collection[str], other: Model) -> None:
    """Raise if a robot to be attached uses names of frames (links too) or joints once more."""
    text = "this name is taken; give the attached robot a prefix, such as prefix='left_'"
    frames, joints = set(frames), set(joints)
    named = [
        *(("link", link.name, frames) for link in other.links),
        *(("joint", joint.name, joints) for joint in other.joints),
        *(("frame", frame.name, frames) for frame in other.frames),
    ]
    shared = [f"{what} {name!r}" for what, name, taken in named if name in taken]
    if shared:
        raise ModelError([Finding("error", element, text) for element in shared])


def renaming(
    what: str, wanted: Mapping[str, str] | None, names: Iterable[str], prefix: str
) -> dict[str, str]:
    """The new name of each part, by its old one.

    Args:
        what: "link", "joint" or "frame".
        wanted: new names by old ones; what is not listed keeps its name.
        names: of all parts.
        prefix: put before every new name.

    Raises:
        NameNotFoundError: there is no part of an old name.
        ModelError: two parts would have one name.
    """
    wanted = dict(wanted or {})
    new_names = {name: prefix + wanted.get(name, name) for name in names}
    for name in wanted:
        if name not in new_names:
            raise name_not_found(what, name, new_names)
    seen: set[str] = set()
    for new in new_names.values():
        if new in seen:
            raise model_error("this name is taken", f"{what} {new!r}")
        seen.add(new)
    return new_names


def renamed_joint(joint: Joint, link: Mapping[str, str], names: Mapping[str, str]) -> Joint:
    """A joint with the new names of its links, of itself, and of the joint it mimics."""
    mimic = joint.mimic and replace(joint.mimic, joint=names[joint.mimic.joint])
    return replace(
        joint,
        name=names[joint.name],
        first=link[joint.first],
        second=link[joint.second],
        mimic=mimic,
    )
