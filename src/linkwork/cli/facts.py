"""Robots and findings as plain data for JSON. What is infinite or absent is null."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from math import isfinite
from typing import Any

from linkwork.errors import Finding, Place
from linkwork.model.layout import Layout
from linkwork.model.model import Model


def model_facts(model: Model) -> dict[str, Any]:
    """Everything a model holds, and what is counted from it."""
    layout = Layout(model, floating=False)
    return {
        "name": model.name,
        "total_mass": model.total_mass,
        "default_base": model.default_base,
        "degrees_of_freedom": layout.nv,
        "position_coordinates": layout.nq,
        "moving_joints": list(layout.joint_names),
        "links": plain(model.links),
        "joints": plain(model.joints),
        "frames": plain(model.frames),
    }


def branch_facts(model: Model, base: str) -> dict[str, Any]:
    """The tree from a base: each link with the joints that hang on it, and what hangs on those."""
    root: dict[str, Any] = {"link": base, "joints": []}
    seen, waiting = {base}, [root]
    while waiting:
        node = waiting.pop()
        for other, joint in model.neighbors(node["link"]):
            if other not in seen:
                seen.add(other)
                child: dict[str, Any] = {"link": other, "joints": []}
                kind = model.joint(joint).kind
                node["joints"].append({"joint": joint, "kind": kind, "to": child})
                waiting.append(child)
    return root


def finding_facts(finding: Finding) -> dict[str, Any]:
    """A finding, with its place taken apart."""
    place = finding.place
    return {
        "severity": finding.severity,
        "file": place.file if place else None,
        "line": place.line if place else None,
        "element": finding.element or None,
        "text": finding.text,
    }


def plain(value: Any) -> Any:
    """Frozen data as dicts, lists and numbers."""
    if isinstance(value, Place):
        return str(value)
    if is_dataclass(value):
        names = [field.name for field in fields(value)]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, tuple):
        return [plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value
