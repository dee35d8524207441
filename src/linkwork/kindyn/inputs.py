"""The inputs of quantities: their names, sizes, and what their entries mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from linkwork.errors import clipped
from linkwork.mechanics.problem import Problem
from linkwork.model.layout import Layout

if TYPE_CHECKING:
    from linkwork.parameters.table import ParameterTable


@dataclass(frozen=True)
class Input:
    """An argument of a quantity."""

    name: str
    shape: Callable[[Problem], tuple[int, ...]]  # of one row
    slices: Callable[[Problem], Mapping[str, slice]]  # by the joints whose entries they are
    meaning: Callable[[Problem], str]  # of the entries, for messages
    description: str = ""  # what it is, with units
    has_unit_norms: bool = False  # whether quaternions and (cos, sin) in it must have norm 1

    def owner(self, problem: Problem, index: int) -> str:
        """Name the owner of an entry, for messages: a joint, the base, or just its index."""
        slices = self.slices(problem)
        for name, span in slices.items():
            if span.start <= index < span.stop:
                return f"joint {name!r}"
        return "the base" if problem.layout.floating and slices else f"entry {index}"


@dataclass(frozen=True)
class Wrench(Input):
    """The wrench on a frame, as an input."""

    frame: str = ""


def wrench_on(frame: str) -> Wrench:
    """Return the input for a wrench on a frame."""
    return Wrench(
        f"wrench_{frame}",
        lambda problem: (6,),
        _no_slices,
        lambda problem: f"the wrench on frame {clipped(frame)!r} is force (3), moment (3)",
        frame=frame,
    )


@dataclass(frozen=True)
class ParameterInput(Input):
    """The model parameters, in one vector."""

    table: ParameterTable | None = None

    def owner(self, problem: Problem, index: int) -> str:
        """Name the parameter of an entry, and the index of the entry in it."""
        del problem
        assert self.table is not None
        name = self.table.owner(index)
        return f"number {index - self.table[name].start} of {name!r}"


def parameters_of(table: ParameterTable) -> ParameterInput:
    """Return the input for the parameters in a table."""
    sizes = ", ".join(f"{name} ({at.stop - at.start})" for name, at in table.items())
    return ParameterInput(
        PARAMETERS,
        lambda problem: (table.size,),
        _no_slices,
        lambda problem: f"parameters is {clipped(sizes, 400)}",
        table=table,
    )


PARAMETERS = "parameters"  # the name of that input, which is the last one


def merged(inputs: Iterable[Input]) -> list[Input]:
    """Return the union of the inputs of several quantities, in a fixed order."""
    by_name: dict[str, Input] = {}
    for one in inputs:
        earlier = by_name.get(one.name, one)
        by_name[one.name] = one if one.has_unit_norms else earlier
    names = [*INPUTS, *(name for name in by_name if name not in INPUTS)]
    return [by_name[name] for name in names if name in by_name]


def _no_slices(problem: Problem) -> Mapping[str, slice]:
    del problem
    return {}


def _meaning(name: str, base: str, joints: str, layout: Layout, slices: Mapping[str, slice]) -> str:
    count = sum(span.stop - span.start for span in slices.values())
    text = f"{joints} ({count}) of {len(layout.joint_names)} joints"
    if not layout.floating:
        return f"{name} is {text}; with floating=True, {base} first"
    return f"{name} is {base}, {text}; with floating=False {joints} alone"


def _like_q(name: str, description: str) -> Input:
    base, joints = "base position (3), base quaternion wxyz (4)", "positions s"
    return Input(
        name,
        lambda problem: (problem.layout.nq,),
        lambda problem: problem.layout.q,
        lambda problem: _meaning(name, base, joints, problem.layout, problem.layout.q),
        description,
        has_unit_norms=True,
    )


def _like_nu(name: str, base: str, joints: str, description: str) -> Input:
    return Input(
        name,
        lambda problem: (problem.layout.nv,),
        lambda problem: problem.layout.nu,
        lambda problem: _meaning(name, f"{base} (6)", joints, problem.layout, problem.layout.nu),
        description,
    )


def array_input(name: str, shape: tuple[int, ...], meaning: str, description: str = "") -> Input:
    """Return an input whose entries do not belong to joints."""
    text = f"{name} {meaning}"
    return Input(name, lambda problem: shape, _no_slices, lambda problem: text, description)


Q = _like_q("q", "configuration")
UNNORMALIZED_Q = replace(Q, has_unit_norms=False)
GRAVITY = array_input(
    "gravity", (3,), "is a vector in the world", "acceleration of free fall in the world [m/s^2]"
)

_ALL = (
    Q,
    _like_q("q_start", "configuration at the start"),
    _like_q("q_end", "configuration at the end"),
    _like_nu("nu", "base velocity", "velocities s_dot", "velocity [m/s, rad/s]"),
    array_input("dt", (), "is one time [s] for each row", "time [s]"),
    _like_nu(
        "nu_dot",
        "base acceleration",
        "accelerations s_ddot",
        "derivative of nu [m/s^2, rad/s^2]",
    ),
    _like_nu(
        "tau",
        "wrench on the base",
        "joint torques and forces",
        "forces [N, N m]: wrench on a floating base, joint torques and forces",
    ),
    Input(
        "forces",
        lambda problem: (problem.n_equations,),
        _no_slices,
        lambda problem: "forces has one entry for each constraint equation",
        "constraint forces, one for each equation [N, N m]",
    ),
    array_input(
        "restitution",
        (),
        "is one number a row",
        "fraction of the constraint velocity that is reversed",
    ),
    Input(
        "free",
        lambda problem: (problem.layout.nv,),
        lambda problem: problem.layout.nu,
        lambda problem: "free is 1 for coordinates of nu that may move, 0 for others",
    ),
    array_input("damping", (), "is one number a row", "relative to the diagonal of J J^T"),
    GRAVITY,
)
INPUTS = {one.name: one for one in _ALL}
"""Inputs of quantities by name, in the order in which a function of several takes them.

Others, of quantities outside of `KinDyn`, come after them.
"""

DESCRIPTIONS = {
    **{one.name: one.description for one in _ALL if one.description},
    PARAMETERS: "parameters of the robot, in the order of KinDyn.parameters",
}
"""Descriptions of inputs with units, by name."""
