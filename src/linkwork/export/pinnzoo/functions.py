"""PinnZoo's functions as C functions: column-major matrices, quaternions without normalization."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linkwork.engine.codegen.c.statements import DOUBLE
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Port, Program, per_port
from linkwork.export.code import Argument, Function
from linkwork.export.pinnzoo.state_space import StateSpace
from linkwork.export.requests import Exported
from linkwork.export.samples import Sample, sample_of

FUNCTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    # by name: a title, and the names of the outputs in C
    "M_func": ("mass matrix", ("M_out",)),
    "C_func": ("bias forces: Coriolis, centrifugal and gravity forces", ("C_out",)),
    "forward_dynamics": ("v_dot = M^-1 (tau - C)", ("v_dot_out",)),
    "forward_dynamics_deriv": (
        "derivatives of v_dot with respect to x and tau",
        ("dv_dot_dx_out", "dv_dot_dtau_out"),
    ),
    "dynamics": ("[v; v_dot]", ("x_dot_out",)),
    "dynamics_deriv": (
        "derivatives of [v; v_dot] with respect to x and tau",
        ("dx_dot_dx_out", "dx_dot_dtau_out"),
    ),
    "inverse_dynamics": ("tau = M v_dot + C", ("tau_out",)),
    "inverse_dynamics_deriv": (
        "derivatives of tau with respect to x and v_dot",
        ("dtau_dx_out", "dtau_dv_dot_out"),
    ),
    "velocity_kinematics": ("E with q_dot = E v", ("E_out",)),
    "velocity_kinematics_T": ("E_T with v = E_T q_dot", ("E_T_out",)),
    "velocity_kinematics_jvp_deriv": ("derivative of E v with respect to x", ("J_out",)),
    "velocity_kinematics_T_jvp_deriv": ("derivative of E_T q with respect to x", ("J_out",)),
    "kinematics": ("positions of the bodies, and orientations", ("locs_out",)),
    "kinematics_jacobian": ("their derivatives with respect to x", ("J_out",)),
    "kinematics_velocity": ("their time derivatives", ("locs_dot_out",)),
    "kinematics_velocity_jacobian": ("derivatives of these with respect to x", ("J_out",)),
    "kinematics_force_jacobian": ("derivative of E^T J_q^T f with respect to x", ("J_out",)),
}


def pinnzoo_functions(space: StateSpace) -> list[Exported]:
    """Return the functions of a robot; those of kinematics only if there are bodies."""
    return [_exported(space, name) for name in FUNCTIONS if name in space.names]


def _exported(space: StateSpace, name: str) -> Exported:
    title, outputs = FUNCTIONS[name]
    kernel = space.kernel(name)
    by_row = kernel.program.outputs
    program = _by_columns(kernel.program)
    inputs = [Argument(f"{port.name}_in", port) for port in program.inputs]
    results = [
        Argument(output, port, " x ".join(map(str, original.shape)))
        for output, port, original in zip(outputs, program.outputs, by_row, strict=True)
    ]
    function = Function(f"lw_{name}", title, program, tuple(inputs), tuple(results))
    return Exported(function, kernel)


def pinnzoo_sample(space: StateSpace, one: Exported, *, rows: int) -> Sample:
    """Draw random states and compute the kernel's results, with column-major matrices."""
    program = one.kernel.program

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, ...]:
        inputs = tuple(rng.normal(size=(n, port.size)) for port in program.inputs)
        if space.floating:
            wxyz = inputs[0][:, 3:7]
            wxyz /= np.linalg.norm(wxyz, axis=1, keepdims=True)
        return inputs

    by_rows = replace(one, function=replace(one.function, program=program))
    sample = sample_of(space.kd, by_rows, DOUBLE, rows=rows, draw=draw)
    outputs = (
        part.reshape(rows, *port.shape).swapaxes(1, -1).reshape(rows, -1)
        for part, port in zip(sample.outputs, program.outputs, strict=True)
    )
    return replace(sample, outputs=tuple(outputs))


def _by_columns(program: Program) -> Program:
    """Return the program with column-major matrices: each row of an output is a column."""
    ports: list[Port] = []
    results: list[int] = []
    for port, steps in per_port(program.outputs, program.results):
        order = np.arange(port.size).reshape(port.shape).T
        ports.append(replace(port, shape=order.shape))
        results += [steps[k] for k in order.flat]
    return replace(program, outputs=tuple(ports), results=tuple(results))
