"""Robot files as texts that stricter readers take: the same robot, plainly written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from lxml import etree

import linkwork as lw

_DROPPED = ("visual", "collision", "gazebo", "transmission", "sensor", "mujoco", "contact")
_UNKNOWN = {  # attributes that only some programs know
    "limit": ("lower", "upper", "effort", "velocity"),
    "dynamics": ("damping", "friction"),
}
_NAMES = {"link": "name", "parent": "link", "child": "link"}


def plain(text: str) -> str:
    """A URDF text without shapes and other programs' elements, with every origin written out."""
    root = _parsed(text)
    for element in root.iter("inertial", "joint"):
        origin = element.find("origin")
        if origin is None:
            origin = etree.SubElement(element, "origin")
        for key in ("xyz", "rpy"):
            origin.set(key, origin.get(key) or "0 0 0")
    return etree.tostring(root).decode()


def lumped(model: lw.Model) -> str:
    """The robot with the inertia of fixed links added to what they are fixed to."""
    return lw.dump_urdf(model.lumped())


def for_mujoco(text: str) -> str:
    """A URDF text whose fixed links are merged, and whose links are not called "world"."""
    root = _parsed(text)
    for element in root.iter(*_NAMES):
        name = element.get(_NAMES[element.tag])
        if name is not None:
            element.set(_NAMES[element.tag], mujoco_name(name))
    compiler = etree.SubElement(etree.SubElement(root, "mujoco"), "compiler")
    compiler.set("fusestatic", "true")
    return etree.tostring(root).decode()


def mujoco_name(link: str) -> str:
    """MuJoCo keeps the name "world" for itself."""
    return "world_link" if link == "world" else link


def read(source: str) -> str:
    """The text of a file, or the text itself."""
    return source if source.lstrip().startswith("<") else Path(source).read_text(encoding="utf-8")


def _parsed(text: str) -> Any:
    text = re.sub(r"^\s*<\?xml[^>]*\?>", "", text)
    root = etree.fromstring(text, etree.XMLParser(remove_comments=True))
    for element in [times for tag in _DROPPED for times in root.iter(tag)]:
        element.getparent().remove(element)
    for tag, known in _UNKNOWN.items():
        for element in root.iter(tag):
            for key in [key for key in element.attrib if key not in known]:
                del element.attrib[key]
    return root
