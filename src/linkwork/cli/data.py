"""Robots and findings as dicts, lists, texts and numbers for JSON. What is infinite is null."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from linkwork.errors import Finding, Place

if TYPE_CHECKING:
    from linkwork.model.model import Model


def model_data(model: Model) -> dict[str, Any]:
    """Everything a model holds, and what is counted from it."""
    return {
        "name": model.name,
        **summary_data(model),
        "links": json_data(model.links),
        "joints": json_data(model.joints),
        "frames": json_data(model.frames),
    }


def summary_data(model: Model) -> dict[str, Any]:
    """What is counted from a model."""
    from linkwork.model.layout import Layout

    layout = Layout(model, floating=False)
    return {
        "total_mass": model.total_mass,
        "default_base": model.default_base,
        "degrees_of_freedom": layout.nv,
        "position_coordinates": layout.nq,
        "moving_joints": list(layout.joint_names),
    }


def branch_data(model: Model, base: str) -> dict[str, Any]:
    """The tree from a base: each link with the joints that hang on it, and what hangs on those."""
    from linkwork.model.tree import walk

    nodes: dict[str, dict[str, Any]] = {}
    for link, parent, joint in walk(model, base):
        nodes[link] = {"link": link, "joints": []}
        if joint:
            branch = {"joint": joint.name, "kind": joint.kind, "to": nodes[link]}
            nodes[str(parent)]["joints"].append(branch)
    return nodes[base]


def finding_data(finding: Finding) -> dict[str, Any]:
    """A finding, with file and line apart."""
    place = finding.place
    return {
        "severity": finding.severity,
        "file": place.file if place else None,
        "line": place.line if place else None,
        "element": finding.element or None,
        "text": finding.text,
    }


def json_data(value: Any) -> Any:
    """A dataclass or tuple as dicts, lists and numbers."""
    if isinstance(value, Place):
        return str(value)
    if is_dataclass(value):
        names = [field.name for field in fields(value)]
        return {name: json_data(getattr(value, name)) for name in names}
    if isinstance(value, tuple):
        return [json_data(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value
