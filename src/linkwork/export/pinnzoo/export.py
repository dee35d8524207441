"""`export(..., pinnzoo=True)`: the C library of a robot in the format of PinnZoo.

Matrices are column-major, and quaternions are not normalized.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.engine.codegen.c.statements import DOUBLE
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Port, Program, per_port
from linkwork.errors import ArgumentError, shown
from linkwork.export.check import Build, CheckedFunction, Report, Row, write_checked
from linkwork.export.code import (
    Argument,
    Function,
    Names,
    checked_prefix,
    code_of,
    default_prefix,
)
from linkwork.export.package import GeneratedFunction
from linkwork.export.pinnzoo.files import FUNCTIONS, PinnZooPackage, name_of, readme_text
from linkwork.export.pinnzoo.state_space import (
    Orientation,
    StateSpace,
    actuated_names,
    in_state_order,
)
from linkwork.export.requests import Exported
from linkwork.export.samples import Sample, sample_of
from linkwork.kindyn import KinDyn


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


_OPTIONS = ("bodies", "orientation", "actuated")
_ROWS = 10  # number of rows at which C is compared with the kernels


def reject_options(
    others: Mapping[str, Any], options: Mapping[str, Any], dtype: Any, *, pinnzoo: bool
) -> None:
    """Raise for options that are not supported with, or without, `pinnzoo`.

    Args:
        others: options of other exports; true where they are used.
        options: options of `pinnzoo` only.
        dtype: the element type, if it was passed.
        pinnzoo: whether PinnZoo's functions are exported.
    """
    for name in options:
        if name not in _OPTIONS:
            raise ArgumentError(f"export has no option {name!r}")
        if not pinnzoo:
            raise ArgumentError(f"{name}: only supported with pinnzoo=True")
    for name, value in others.items():
        if value:
            raise ArgumentError(f"{name}: not supported with pinnzoo=True; omit it")
    if dtype is not None and np.dtype(dtype) != np.float64:
        raise ArgumentError(f"dtype: PinnZoo's functions use float64, got {shown(dtype)}")


def export_pinnzoo(
    kd: KinDyn,
    folder: Path,
    *,
    prefix: str | None = None,
    check: bool = True,
    force: bool = False,
    bodies: Sequence[str] = (),
    orientation: Orientation = "none",
    actuated: Sequence[str] | None = None,
) -> Report:
    """Write PinnZoo's functions of a robot with its C signatures and folders.

    The velocity of the base is in its body axes, joints are in Pinocchio's order, and gravity is
    that of `kd`. Several models may be written to one folder.

    Args:
        kd: the robot.
        folder: destination; created if it does not exist.
        prefix: name of the model, its folder and its library; the robot's name if not given.
        check: whether to compile and compare.
        force: whether to overwrite files that were edited or that no export has written.
        bodies: links and frames with kinematics; if empty, no such functions are written.
        orientation: whether an orientation follows each position, and its representation.
        actuated: names of the actuated velocities; all joints if not given.
    """
    name = default_prefix(kd.model.name) if prefix is None else checked_prefix(prefix)
    kd = kd.replace(
        model=in_state_order(kd.model, kd.base),
        representation="body",
        dtype=np.float64,
        check=False,
    )
    space = StateSpace(kd, bodies, orientation)  # pyright: ignore[reportArgumentType]
    names = Names()
    functions = tuple(
        GeneratedFunction(one, code_of(one.function, DOUBLE, names))
        for one in pinnzoo_functions(space)
    )
    package = PinnZooPackage(space, name, functions, actuated_names(kd, actuated))
    return write_checked(
        folder,
        package.files,
        (f"models/{name}/README.md", partial(readme_text, package)),
        _build(package),
        (pinnzoo_sample(space, one.exported, rows=_ROWS) for one in functions),
        check=check,
        force=force,
    )


def _build(package: PinnZooPackage) -> Build:
    """Return how the files are compiled and checked: through the wrappers of plain arrays."""
    functions: list[CheckedFunction] = []
    for one in package.functions:
        name = name_of(one)
        row = Row(name, one.function.program.n_ops, DOUBLE.bytes * one.code.work)
        file = f"{package.folder}/{name}.o"
        functions.append(  # the workspace is on the stack here
            CheckedFunction(row, one.function, f"{name}_wrapper", file, limited_stack=False)
        )
    without = () if package.space.bodies else ("-DPINNZOO_WITHOUT_KINEMATICS",)
    return Build(
        "wrapper.h",
        DOUBLE,
        package.sources,
        tuple(functions),
        other_sources=(f"{package.folder}/vector_orders.c", "src/wrapper.c"),
        options=(f"-I{package.folder}", "-Isrc", *without),
    )
