"""The functions of PinnZoo as C functions: matrices by columns, quaternions taken as they are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from linkwork.engine.codegen.c.statements import DOUBLE
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Port, Program, per_port
from linkwork.export.function import Argument, Function
from linkwork.export.pinnzoo.state_space import StateSpace
from linkwork.export.requests import Exported
from linkwork.export.samples import Sample, sample_of

FUNCTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    # by name: what it computes, and the names of its outputs in C
    "M_func": ("mass matrix", ("M_out",)),
    "C_func": ("bias forces: Coriolis, centrifugal and gravity forces", ("C_out",)),
    "forward_dynamics": ("v_dot = M^-1 (tau - C)", ("v_dot_out",)),
    "forward_dynamics_deriv": (
        "derivatives of v_dot by x and by tau",
        ("dv_dot_dx_out", "dv_dot_dtau_out"),
    ),
    "dynamics": ("[v; v_dot]", ("x_dot_out",)),
    "dynamics_deriv": (
        "derivatives of [v; v_dot] by x and by tau",
        ("dx_dot_dx_out", "dx_dot_dtau_out"),
    ),
    "inverse_dynamics": ("tau = M v_dot + C", ("tau_out",)),
    "inverse_dynamics_deriv": (
        "derivatives of tau by x and by v_dot",
        ("dtau_dx_out", "dtau_dv_dot_out"),
    ),
    "velocity_kinematics": ("E with q_dot = E v", ("E_out",)),
    "velocity_kinematics_T": ("E_T with v = E_T q_dot", ("E_T_out",)),
    "velocity_kinematics_jvp_deriv": ("derivative of E v by x", ("J_out",)),
    "velocity_kinematics_T_jvp_deriv": ("derivative of E_T q by x", ("J_out",)),
    "kinematics": ("positions of the bodies, and orientations", ("locs_out",)),
    "kinematics_jacobian": ("their derivatives by x", ("J_out",)),
    "kinematics_velocity": ("their derivatives by time", ("locs_dot_out",)),
    "kinematics_velocity_jacobian": ("derivatives of these by x", ("J_out",)),
    "kinematics_force_jacobian": ("derivative of E^T J_q^T f by x", ("J_out",)),
}


@dataclass(frozen=True, slots=True)
class Inputs:
    """Draws states with quaternions of norm 1, and normally distributed numbers."""

    ports: tuple[Port, ...]
    floating: bool

    def __call__(self, rows: int, rng: np.random.Generator) -> tuple[Array, ...]:
        """Rows of all inputs."""
        found = [rng.normal(size=(rows, port.size)) for port in self.ports]
        if self.floating:
            x = found[0]
            x[:, 3:7] /= np.linalg.norm(x[:, 3:7], axis=1, keepdims=True)
        return tuple(found)


def pinnzoo_functions(space: StateSpace) -> list[Exported]:
    """The functions that a robot has: those of kinematics only if there are bodies."""
    return [_exported(space, name) for name in FUNCTIONS if name in space.names]


def _exported(space: StateSpace, name: str) -> Exported:
    title, outputs = FUNCTIONS[name]
    kernel = space.kernel(name)
    program = by_columns(kernel.program)
    inputs = [Argument(f"{port.name}_in", port) for port in program.inputs]
    results = [
        Argument(output, port, f"{' x '.join(map(str, own.shape))}")
        for output, port, own in zip(outputs, program.outputs, kernel.program.outputs, strict=True)
    ]
    function = Function(f"lw_{name}", title, program, tuple(inputs), tuple(results))
    return Exported(function, kernel)


def sample_of_function(space: StateSpace, one: Exported, *, rows: int) -> Sample:
    """Random states, and what the kernel gives there, its matrices by columns."""
    own = one.kernel.program
    draw = Inputs(own.inputs, space.floating)
    by_rows = replace(one, function=replace(one.function, program=own))
    sample = sample_of(space.kd, by_rows, DOUBLE, rows=rows, draw=draw)
    outputs = (
        part.reshape(rows, *port.shape).swapaxes(1, -1).reshape(rows, -1)
        for part, port in zip(sample.outputs, own.outputs, strict=True)
    )
    return replace(sample, outputs=tuple(outputs))


def by_columns(program: Program) -> Program:
    """The same program with its matrices column by column, one column to a row of the output."""
    ports: list[Port] = []
    results: list[int] = []
    for port, steps in per_port(program.outputs, program.results):
        order = np.arange(port.size).reshape(port.shape).T
        ports.append(replace(port, shape=order.shape))
        results += [steps[k] for k in order.flat]
    return replace(program, outputs=tuple(ports), results=tuple(results))
