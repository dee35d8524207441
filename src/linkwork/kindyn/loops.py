"""Joints that close loops: checks of their equations, and which coordinates are free to move."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from linkwork.algorithms.constraints.sizes import nearly_redundant, redundant_in_part
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, listed, name_not_found, warn_once
from linkwork.mechanics.problem import Problem
from linkwork.model.layout import BASE_NV
from linkwork.model.model import Model
from linkwork.model.parts import Joint

if TYPE_CHECKING:
    from linkwork.parameters.descriptions import Parameter


def check_closing_joints(
    model: Model, joints: Sequence[Joint], parameters: Sequence[Parameter], *, dynamics: bool
) -> None:
    """Raise if model parameters belong to joints that close loops.

    Args:
        model: the robot.
        joints: its joints that close loops.
        parameters: descriptions of the model parameters.
        dynamics: whether to warn of damping and the like of these joints, which is ignored.
    """
    closing = {joint.name: joint for joint in joints}
    hint = "KinDyn(model, cut=[...]) cuts another joint of the loop"
    for description in parameters if closing else ():
        for what, name in description.claims(model):
            if what.endswith("of joint") and name in closing:
                text = f"parameters: {type(description).__name__} changes the {what} {name!r}"
                raise ArgumentError(f"{text}, which closes a loop; {hint}")
    names = [
        name
        for name, joint in closing.items()
        if dynamics and (joint.armature or joint.damping or joint.friction)
    ]
    if names:
        text = f"{model.name}: joint_dynamics ignores armature, damping and friction of"
        text += f" joints that close loops: {listed(names)}; {hint}"
        warn_once(f"joint dynamics of {model.name}: {names}", text)


def near_redundancy(problem: Problem) -> str | None:
    """Describe constraints that are redundant but for small numbers; None if there are none."""
    if not problem.equations:
        return None
    near = nearly_redundant(problem)
    if near is not None:
        text = f"are redundant but for numbers of the relative size {near.size:.0e}, and are"
        hint = "are numbers of the file rounded, such as 1.5708 for pi/2? Write more digits"
        text = f"{text} treated as redundant; {hint}"
    else:
        near = None if problem.single else redundant_in_part(problem)
        if near is None:
            return None
        text = "are in some configurations redundant but for numbers of the relative size"
        text = f"{text} {near.size:.0e}, and satisfied only in part; `residual` states the error"
    names = ", ".join(map(repr, near.names))
    return f"{problem.layout.model.name}: constraints {names} {text}"


def free_coordinates(problem: Problem, fixed: Iterable[str]) -> Array:
    """Return (nv,) 0 for coordinates of fixed joints and of a base named "base", else 1."""
    layout = problem.layout
    spans = {**({"base": slice(0, BASE_NV)} if layout.floating else {}), **layout.nu}
    known, free = list(spans), np.ones(layout.nv)
    for name in fixed:
        if name in problem.rows and name not in known:
            raise no_coordinate(name)
        if name not in known:
            raise name_not_found("joint", name, known)
        free[spans[name]] = 0.0
    return free


def no_coordinate(name: str) -> ArgumentError:
    """Return the error for a loop or constraint in place of a joint with coordinates."""
    text = f"{name!r} closes a loop or is a constraint, so it has no coordinate in q"
    return ArgumentError(f"{text}; KinDyn(model, cut=[...]) cuts another joint of a loop")
