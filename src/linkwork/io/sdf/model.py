"""Models of an SDF file: their links, joints and frames, nested and included models.

Names      parts of a nested model `arm` are `arm::link`, `arm::joint`
World      the link `world` exists if a joint or a static model is attached to it, or if the links
           are not all connected
Static     every link of a static model is fixed to the world; its joints are left out
Free       with a link `world`, a group of links without a joint to it has a floating joint
Loops      several joints may lead to one link; see `linkwork.model.parts`
Included   files are searched as meshes are, and are also inside of the allowed folders in
           workcells. The file of a model folder is named in its `model.config`; without it,
           `model.sdf` is read

    <include>
      <uri>model://arm</uri>       a model folder in a package folder, or a relative path
      <name>left_arm</name>        replaces the name of the model
      <pose>0 0.5 0 0 0 0</pose>   replaces its pose
    </include>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from linkwork.errors import ParseError, SourceError, nearest, shown
from linkwork.io.meshes import MeshFinder
from linkwork.io.sdf.elements import (
    MODEL,
    NEWEST,
    NO_LINK,
    OLDEST,
    RELATIVE_TO_VERSION,
    SEPARATOR,
    FrameGraph,
    FrameNode,
    Frames,
    RelativePose,
    Scope,
    SdfFile,
    SdfPart,
    Version,
    is_reserved,
)
from linkwork.io.sdf.parts import Gearbox, JointElement, read_joint, read_joint_element, read_link
from linkwork.io.xml.documents import parse_xml, read_source, shown_path
from linkwork.model.graph import NamedPlace
from linkwork.model.parts import Frame, Joint, Link
from linkwork.model.pose import as_pose
from linkwork.spatial.source import se3

MAX_DEPTH = 30  # of files that include each other, and of nested models
MAX_MODELS = 1_000  # nested includes can grow exponentially

OTHERS_INCLUDE = ("plugin",)
READ_INCLUDE = ("uri", "name", "pose", "placement_frame", "static")


@dataclass(frozen=True, slots=True)
class Included:
    """A model in another file, and the `<include>` that refers to it."""

    include: SdfPart
    including_file: SdfFile
    model: SdfPart
    file: SdfFile
    merged: bool  # whether its parts become parts of the including model


def read_include(part: SdfPart, file: SdfFile) -> Included | None:
    """Read an `<include>`; None after an error, or if the file has no model, only lights."""
    errors = part.report.n_errors
    included = _read_include(part, file)
    if included is None and part.report.n_errors > errors:
        for child in part.children("name", "uri"):
            part.report.unread_models.add(child.text().rstrip("/").rpartition("/")[2])
    return included


def _read_include(part: SdfPart, file: SdfFile) -> Included | None:
    part.check(READ_INCLUDE, OTHERS_INCLUDE, ("merge",))
    for tag in part.child_tags:
        if tag == "experimental:params":
            part.error("<experimental:params> is not supported; edit the included file")
    uri = part.required_text("uri")
    path = _find(part, uri, file) if uri else None
    if path is None:
        return None
    resolved = path.resolve()
    if resolved in file.including:
        names = [one.name for one in (*file.including, resolved)]
        part.error(f"include cycle: {' -> '.join(names)}")
        return None
    if len(file.including) >= MAX_DEPTH:
        part.error(f"more than {MAX_DEPTH} files include each other")
        return None
    root = _parse(part, path)
    if root is None:
        return None
    inner = replace(
        file,
        version=read_version(root),
        path=path,
        meshes=MeshFinder(path, file.package_dirs, allowed=file.allowed),
        including=(*file.including, resolved),
    )
    models = list(root.children("model"))
    if len(models) != 1:
        if len(models) > 1 or not any(root.children("light", "actor")):
            part.error(f"{shown_path(path)} has {len(models)} models; expected one")
        return None
    merged = part.boolean(part.attribute("merge"))
    return Included(part, file, models[0], inner, merged)


def read_version(root: SdfPart) -> Version:
    """Return the version of an `<sdf>` element; `NEWEST` if it is newer or invalid."""
    text = root.required_attribute("version").strip()
    version = _as_version(text)
    if version is None:
        if text:
            root.error(f"invalid SDF version {shown(text)}")
        return NEWEST
    if version < OLDEST:
        root.error(f"SDF {text} is not supported; versions 1.4 to 1.12 are")
        return NEWEST
    if version > NEWEST:
        root.warning(f"SDF {text} is newer than 1.12; it is read as 1.12")
        return NEWEST
    return version


def _as_version(text: str) -> Version | None:
    """Return a version as two numbers, of at most nine digits each; None if it is invalid."""
    major, _, minor = text.strip().partition(".")
    if not (major.isdecimal() and minor.isdecimal() and text.isascii()):
        return None
    return int(major[:9]), int(minor[:9])


def _find(part: SdfPart, uri: str, file: SdfFile) -> Path | None:
    """Return the file that a URI refers to, if it exists in an allowed folder; else an error."""
    uri = uri.rstrip("/")
    lookup = file.meshes.find(uri)
    searched = lookup.searched
    if lookup.path is None:
        config = file.meshes.find(f"{uri}/model.config")
        name = _configured_file(part, Path(config.path)) if config.path else "model.sdf"
        if name is None:
            return None
        lookup = file.meshes.find(f"{uri}/{name}")
        searched += lookup.searched
    if lookup.path is None:
        tried = ", ".join(dict.fromkeys(searched))
        hint = f"searched: {tried}; pass package_dirs"
        if uri.startswith(("http:", "https:")):
            hint = "nothing is downloaded; download the model, and write its path as <uri>"
        part.error(f"cannot find {shown(uri)}; {hint}")
        return None
    path = Path(lookup.path)
    if file.allowed is not None and path not in file.allowed:
        part.error(f"{shown_path(path)} is outside of the allowed folders; pass include_dirs")
        return None
    return path


def _configured_file(part: SdfPart, config: Path) -> str | None:
    """Return the newest readable SDF file that a `model.config` names; None after an error."""
    try:
        root = parse_xml(read_source(config)).root
    except (SourceError, ParseError) as error:
        part.error(f"cannot read {shown_path(config)}: {error}")
        return None
    files: dict[Version, str] = {}
    for element in root.iter("sdf"):
        version = _as_version(element.get("version") or "") or OLDEST
        if version <= NEWEST and (element.text or "").strip():
            files[version] = str(element.text).strip()
    if not files:
        part.error(f"{shown_path(config)} names no SDF file of version 1.12 or older")
        return None
    return files[max(files)]


def _parse(part: SdfPart, path: Path) -> SdfPart | None:
    """Return the `<sdf>` element of a file; None after an error."""
    document = part.report.documents.get(path)
    if document is None:
        document = part.included(path, f"cannot include {shown_path(path)}")
        if document is None:
            return None
        part.report.documents[path] = document
    root = SdfPart(document.root, "", part.report)
    if root.tag == "robot":
        hint = f"convert it first: linkwork convert {path.name} {path.with_suffix('.sdf').name}"
        part.error(f"{shown_path(path)} is a URDF file, which SDF files cannot include; {hint}")
        return None
    if root.tag != "sdf":
        root.error(f"expected <sdf> as the root, got <{root.tag.lstrip(':')}>")
        return None
    return root


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
        for name in ("links", "joints", "extra_frames", "gearboxes", "unread"):
            getattr(self, name).extend(getattr(nested, name))
        self.static |= nested.static


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
