"""`export(..., pinnzoo=True)`: the C library that PinnZoo would have for a robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.engine.codegen.c.statements import DOUBLE
from linkwork.errors import ArgumentError, shown
from linkwork.export.check import Build, CheckedFunction, write_checked
from linkwork.export.code import scalar_code
from linkwork.export.names import Names, checked_prefix, default_prefix
from linkwork.export.package import Written
from linkwork.export.pinnzoo.code import name_of
from linkwork.export.pinnzoo.files import PinnZooPackage, readme_text
from linkwork.export.pinnzoo.functions import pinnzoo_functions, pinnzoo_sample
from linkwork.export.pinnzoo.state_order import actuated_names, in_state_order
from linkwork.export.pinnzoo.state_space import Orientation, StateSpace
from linkwork.export.report import Report, Row
from linkwork.kindyn import KinDyn

_OPTIONS = ("bodies", "orientation", "actuated")
_ROWS = 10  # at which C is compared with the kernels


def reject_options(
    others: Mapping[str, Any], options: Mapping[str, Any], dtype: Any, *, pinnzoo: bool
) -> None:
    """Reject options that have no meaning with, or without, `pinnzoo`.

    Args:
        others: options of other exports; true where they are used.
        options: those that only `pinnzoo` has.
        dtype: the type of numbers, if one is given.
        pinnzoo: whether PinnZoo's functions are exported.
    """
    for name in options:
        if name not in _OPTIONS:
            raise ArgumentError(f"export has no option {name!r}")
        if not pinnzoo:
            raise ArgumentError(f"{name}: has a meaning only with pinnzoo=True")
    for name, value in others.items():
        if value:
            raise ArgumentError(f"{name}: not supported with pinnzoo=True; leave it out")
    if dtype is not None and np.dtype(dtype) != np.float64:
        raise ArgumentError(f"dtype: PinnZoo's functions take float64, got {shown(dtype)}")


def export_pinnzoo(
    kd: KinDyn,
    folder: Path,
    *,
    prefix: str | None = None,
    check: bool = True,
    bodies: Sequence[str] = (),
    orientation: Orientation = "none",
    actuated: Sequence[str] | None = None,
) -> Report:
    """Write PinnZoo's functions of a robot with its C signatures and folders.

    The velocity of the base is that of the body, joints are in Pinocchio's order, and gravity is
    that of `kd`. Several models may be written to one folder.

    Args:
        kd: the robot.
        folder: where to write; made if it is not there.
        prefix: name of the model, its folder and its library; the robot's if not given.
        check: whether to compile and compare.
        bodies: links and frames that have kinematics; without any, no such functions are written.
        orientation: whether their orientation follows their position, and how it is written.
        actuated: names of the velocities that motors drive; all joints if not given.
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
        Written(one, scalar_code(one.function, DOUBLE, names)) for one in pinnzoo_functions(space)
    )
    package = PinnZooPackage(space, name, functions, actuated_names(kd, actuated))
    return write_checked(
        folder,
        package.files,
        (f"models/{name}/README.md", partial(readme_text, package)),
        _build(package),
        (pinnzoo_sample(space, one.exported, rows=_ROWS) for one in functions),
        check=check,
    )


def _build(package: PinnZooPackage) -> Build:
    """How the files are compiled and checked: through the wrappers of plain arrays."""
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
