"""Models of an SDF file: their links, joints and frames, and those of nested models.

Names      parts of a nested model `arm` are `arm::link`, `arm::joint`
World      the link `world` exists if a joint or a static model is attached to it, or if the links
           are not all connected
Static     every link of a static model is fixed to the world; its joints are left out
Free       with a link `world`, a group of links without a joint to it has a floating joint
Loops      several joints may lead to one link; see `linkwork.model.constraints`
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from linkwork.errors import nearest, shown
from linkwork.io.sdf.elements import (
    MODEL,
    NO_LINK,
    RELATIVE_TO_VERSION,
    SEPARATOR,
    FrameGraph,
    FrameNode,
    Frames,
    RelativePose,
    Scope,
    SdfFile,
    SdfPart,
    is_reserved,
)
from linkwork.io.sdf.include import MAX_DEPTH, MAX_MODELS, Included, read_include
from linkwork.io.sdf.joints import Gearbox, JointElement, read_joint, read_joint_element
from linkwork.io.sdf.links import read_link
from linkwork.model.graph import NamedPlace
from linkwork.model.parts import Frame, Joint, Link
from linkwork.model.pose import as_pose
from linkwork.spatial.source import se3

PARTS = ("link", "joint", "frame", "model", "include")
# Elements of models without information about kinematics or dynamics.
OTHERS_MODEL = (
    *("self_collide", "allow_auto_disable", "enable_wind", "plugin", "gripper", "light", "sensor"),
)
ATTRIBUTES = ("name", "canonical_link", "placement_frame")


@dataclass(slots=True)
class ModelParts:
    """The parts of a model and its nested models, with complete names."""

    name: str
    part: SdfPart
    pose: RelativePose
    placement: str  # the frame that has this pose; empty for the frame of the model
    is_static: bool
    is_merged: bool = False
    frames: Frames = field(default_factory=lambda: Frames({}, {}, {}))
    links: list[Link] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    extra_frames: list[Frame] = field(default_factory=list)
    gearboxes: list[Gearbox] = field(default_factory=list)
    static: dict[str, None] = field(default_factory=dict)  # links that are fixed to the world
    unread: list[NamedPlace] = field(default_factory=list[NamedPlace])  # joints with errors

    def add(self, nested: ModelParts) -> None:
        """Add the parts of a nested model."""
        self.links += nested.links
        self.joints += nested.joints
        self.extra_frames += nested.extra_frames
        self.gearboxes += nested.gearboxes
        self.static |= nested.static
        self.unread += nested.unread


def named(part: SdfPart, file: SdfFile) -> SdfPart | None:
    """Return a part as the owner of its findings; None if it has no valid name."""
    name = part.required_attribute("name").strip()
    if not name:
        return None
    part = part.owned_by(f"{part.tag} {shown(name)}")
    return part if _is_valid_name(part, name, file) else None


def _is_valid_name(part: SdfPart, name: str, file: SdfFile) -> bool:
    """Return whether a name may be used; if not, it is an error of the element."""
    if is_reserved(name):
        part.error("this name is reserved in SDF")
        return False
    if SEPARATOR in name and file.version >= (1, 8):
        part.error(f"{SEPARATOR!r} is reserved for the names of nested models")
        return False
    return True


@dataclass(frozen=True, slots=True)
class _Outer:
    """The model that contains another one."""

    prefix: str  # of the names of its parts
    static: bool


@dataclass(slots=True)
class _Elements:
    """The elements of one model before its frames are resolved."""

    graph: FrameGraph = field(default_factory=FrameGraph)
    links: list[tuple[SdfPart, str]] = field(default_factory=list)
    joints: list[JointElement] = field(default_factory=list)
    frames: list[tuple[SdfPart, str]] = field(default_factory=list)
    nested: list[ModelParts] = field(default_factory=list)
    unread: list[NamedPlace] = field(default_factory=list[NamedPlace])

    def add_node(self, name: str, node: FrameNode, file: SdfFile) -> str:
        """Add a frame; return its name, which differs if an old file uses a name twice.

        Links, joints, frames or nested models with the same name as another of them are reported
        with the parts of the complete robot.
        """
        nodes = self.graph.nodes
        if name not in nodes:
            nodes[name] = node
            return name
        other = nodes[name].part.tag
        if node.part.tag == other:
            if other in ("model", "include"):
                node.part.error("another model has this name")
            return name
        if file.version >= RELATIVE_TO_VERSION:
            node.part.error(f"a <{other}> has this name; since SDF 1.7, names must differ")
        unique = f"{name} ({node.part.tag})"
        nodes.setdefault(unique, node)
        return unique


def read_models(parent: SdfPart, file: SdfFile) -> list[ModelParts]:
    """Read the models of a world or of the document, included ones too."""
    return list(_read_models(parent, file, None))


def _read_models(parent: SdfPart, file: SdfFile, outer: _Outer | None) -> Iterator[ModelParts]:
    for part in parent.children("model", "include"):
        included = read_include(part, file) if part.tag == "include" else None
        if included is not None:
            model = _read_model(included.model, included.file, outer, included)
        elif part.tag == "model":
            model = _read_model(part, file, outer)
        else:
            continue
        if model is not None:
            yield model


def _read_model(
    part: SdfPart, file: SdfFile, outer: _Outer | None, included: Included | None = None
) -> ModelParts | None:
    """Read a `<model>`; None if it has no valid name, or if there are too many models."""
    owner = named(part, file)
    report = part.report
    report.n_models += 1
    depth = outer.prefix.count(SEPARATOR) if outer else 0
    if owner is None or report.n_models > MAX_MODELS or depth >= MAX_DEPTH:
        if report.n_models == MAX_MODELS + 1 or depth >= MAX_DEPTH:
            part.error(f"more than {MAX_MODELS} models, or models nested {MAX_DEPTH} times")
        return None
    owner.check(("pose", "static", *PARTS), OTHERS_MODEL, ATTRIBUTES)
    model = ModelParts(
        name=(owner.attribute("name") or "").strip(),
        part=owner,
        pose=owner.relative_pose(file),
        placement=(owner.attribute("placement_frame") or "").strip(),
        is_static=owner.flag("static"),
    )
    if included is not None:
        _override(model, included)
    model.is_static |= outer is not None and outer.static
    prefix = ""
    if outer is not None:
        prefix = outer.prefix if model.is_merged else f"{outer.prefix}{model.name}{SEPARATOR}"
    elements = _collect(owner, file, prefix, _Outer(prefix, model.is_static))
    model.frames = elements.graph.resolve(_canonical(owner, elements))
    _read_parts(model, elements, Scope(prefix, model.frames, file))
    return model


def _override(model: ModelParts, included: Included) -> None:
    """Replace the values of a model by the values of its `<include>`."""
    include = included.include
    model.is_merged = included.merged
    model.is_static = include.flag("static", default=model.is_static)
    placement = include.child("placement_frame")
    if placement:
        model.placement = placement.text()
    if include.child("name"):
        model.name = include.required_text("name") or model.name
        _is_valid_name(include, model.name, included.including_file)
    if include.child("pose"):
        model.pose = include.relative_pose(included.including_file)


def _collect(owner: SdfPart, file: SdfFile, prefix: str, inside: _Outer) -> _Elements:
    """Read the names, poses and attachments of all elements of a model."""
    elements = _Elements()
    for child in owner.children("link", "joint", "frame"):
        part = named(child, file)
        if part is None:
            continue
        name = (part.attribute("name") or "").strip()
        if part.tag == "link":
            node = FrameNode(part, part.relative_pose(file), MODEL, link=prefix + name)
            elements.links.append((part, elements.add_node(name, node, file)))
        elif part.tag == "frame":
            part.check(("pose",), (), ("name", "attached_to"))
            target = (part.attribute("attached_to") or "").strip() or MODEL
            node = FrameNode(part, part.relative_pose(file), target, target)
            elements.frames.append((part, elements.add_node(name, node, file)))
        else:
            joint = read_joint_element(part, name, file)
            if joint is None:
                elements.unread.append((prefix + name, part.location))
                continue
            node = FrameNode(part, joint.pose, joint.child, joint.child)
            frame = elements.add_node(name, node, file)
            elements.joints.append(replace(joint, frame=frame))
    for nested in _read_models(owner, file, inside):
        _add_nested(elements, nested, file)
    return elements


def _add_nested(elements: _Elements, nested: ModelParts, file: SdfFile) -> None:
    """Add a nested model; the frames of a merged one have names in the model that includes it."""
    elements.nested.append(nested)
    name = f"_merged__{nested.name}__model__" if nested.is_merged else nested.name
    node = FrameNode(nested.part, nested.pose, MODEL, placement=nested.placement)
    if elements.add_node(name, node, file) != name or name in elements.graph.nested:
        return
    elements.graph.nested[name] = nested.frames
    for inner in nested.frames.poses if nested.is_merged else ():
        if inner != MODEL:
            target = f"{name}{SEPARATOR}{inner}"
            alias = FrameNode(nested.part, RelativePose(), target, target)
            elements.add_node(inner, alias, file)


def _canonical(owner: SdfPart, elements: _Elements) -> str | None:
    """Return the frame that the frame of a model is attached to: its first link by default."""
    name = (owner.attribute("canonical_link") or "").strip()
    graph, outer = elements.graph, name.partition(SEPARATOR)[0]
    if name and not (name in graph.nodes and graph.nodes[name].link) and outer not in graph.nested:
        owner.error(f"no link named {shown(name)}; {nearest(name, [n for _, n in elements.links])}")
    if name:
        return name
    names = [*(name for _, name in elements.links), *graph.nested]
    return names[0] if names else None


def _read_parts(model: ModelParts, elements: _Elements, scope: Scope) -> None:
    """Read links, joints and frames, whose poses are known now."""
    frames, prefix = scope.frames, scope.prefix
    for part, name in elements.links:
        complete = elements.graph.nodes[name].link or prefix + name
        pose = frames.poses[name]
        link = read_link(part, complete, pose, scope, static=model.is_static)
        model.links.append(link)
        if model.is_static:
            model.static[complete] = None
    for element in elements.joints:
        joint = read_joint(element, scope)
        if isinstance(joint, Gearbox):
            model.gearboxes.append(joint)
        elif joint is not None:
            model.joints.append(joint)
        else:
            model.unread.append((prefix + element.name, element.part.location))
    for part, name in elements.frames:
        link = frames.links.get(name)
        if link is None:
            if not part.report.n_errors:  # else an unknown frame or a cycle is reported
                part.error(NO_LINK.format(name))
        else:
            pose = as_pose(se3.inverse(frames.link_poses[link]) @ frames.poses[name])
            complete = prefix + (part.attribute("name") or "").strip()
            frame = Frame(name=complete, link=link, link_H_frame=pose, location=part.location)
            model.extra_frames.append(frame)
    model.unread += elements.unread
    for nested in elements.nested:
        model.add(nested)
