"""Changed copies of models, behind the methods of `Model` that document them.

A payload adds its own mass and no more; a frame adds nothing; names change nothing but names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from linkwork.arrays import Array
from linkwork.errors import Finding, ModelError, model_error, name_not_found
from linkwork.model.inertia import Inertia, combined, moved
from linkwork.model.model import Model
from linkwork.model.parts import Frame, Joint, Link
from linkwork.model.pose import IDENTITY, Pose, as_pose, composed


def with_frame(model: Model, name: str, link: str, link_H_frame: Pose | Array = IDENTITY) -> Model:
    """`Model.with_frame`."""
    host = model.frame(link)
    pose = composed(host.link_H_frame, as_pose(link_H_frame))
    return replace(
        model, frames=(*model.frames, Frame(name=name, link=host.link, link_H_frame=pose))
    )


def with_inertia(model: Model, link: str, inertia: Inertia) -> Model:
    """`Model.with_inertia`."""
    return _with_link(model, replace(model.link(link), inertia=inertia))


def with_payload(model: Model, frame: str, payload: Inertia) -> Model:
    """`Model.with_payload`."""
    host = model.frame(frame)
    link = model.link(host.link)
    load = moved(payload, host.link_H_frame)
    return _with_link(model, replace(link, inertia=combined(link.inertia, load)))


def attached(
    model: Model,
    other: Model,
    *,
    to: str,
    joint: str | None = None,
    kind: str = "fixed",
    pose: Pose | Array = IDENTITY,
    link: str | None = None,
    prefix: str = "",
) -> Model:
    """`Model.attached`."""
    if link is not None:
        other.link_index(link)
    other = renamed(other, prefix=prefix)
    host = model.frame(to)
    _refuse_shared_names(model, other)
    mount = other.default_base if link is None else prefix + link
    bridge = Joint(
        name=f"{to}_to_{mount}" if joint is None else joint,
        kind=kind,
        first=host.link,
        second=mount,
        first_H_joint=composed(host.link_H_frame, as_pose(pose)),
    )
    return replace(
        model,
        links=model.links + other.links,
        joints=(*model.joints, bridge, *other.joints),
        frames=model.frames + other.frames,
    )


def renamed(
    model: Model,
    *,
    name: str | None = None,
    links: Mapping[str, str] | None = None,
    joints: Mapping[str, str] | None = None,
    frames: Mapping[str, str] | None = None,
    prefix: str = "",
) -> Model:
    """`Model.renamed`."""
    link = _renaming("link", links, model.link_names, prefix)
    joint = _renaming("joint", joints, model.joint_names, prefix)
    frame = _renaming("frame", frames, [frame.name for frame in model.frames], prefix)
    return Model(
        name=model.name if name is None else name,
        links=tuple(replace(part, name=link[part.name]) for part in model.links),
        joints=tuple(_renamed_joint(part, link, joint) for part in model.joints),
        frames=tuple(
            replace(part, name=frame[part.name], link=link[part.link]) for part in model.frames
        ),
    )


def _with_link(model: Model, link: Link) -> Model:
    links = tuple(link if link.name == other.name else other for other in model.links)
    return replace(model, links=links)


def _refuse_shared_names(model: Model, other: Model) -> None:
    text = "this name is taken; give the attached robot a prefix, such as prefix='left_'"
    frames = set(model.frame_names)
    pairs = [
        *(("link", link.name, frames) for link in other.links),
        *(("joint", joint.name, set(model.joint_names)) for joint in other.joints),
        *(("frame", frame.name, frames) for frame in other.frames),
    ]
    shared = [f"{what} {name!r}" for what, name, taken in pairs if name in taken]
    if shared:
        raise ModelError([Finding("error", element, text) for element in shared])


def _renaming(
    what: str, wanted: Mapping[str, str] | None, names: Iterable[str], prefix: str
) -> dict[str, str]:
    wanted = dict(wanted or {})
    found = {name: prefix + wanted.get(name, name) for name in names}
    for name in wanted:
        if name not in found:
            raise name_not_found(what, name, found)
    seen: set[str] = set()
    for new in found.values():
        if new in seen:
            raise model_error("this name is taken", f"{what} {new!r}")
        seen.add(new)
    return found


def _renamed_joint(joint: Joint, link: Mapping[str, str], names: Mapping[str, str]) -> Joint:
    mimic = joint.mimic and replace(joint.mimic, joint=names[joint.mimic.joint])
    return replace(
        joint,
        name=names[joint.name],
        first=link[joint.first],
        second=link[joint.second],
        mimic=mimic,
    )
