"""`export(..., pinnzoo=True)`: the C library that PinnZoo would have for a robot."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.engine.codegen.c.statements import DOUBLE
from linkwork.errors import ArgumentError, name_not_found, shown
from linkwork.export.check import OPTIONS, found_compiler
from linkwork.export.code import scalar_code
from linkwork.export.folders import refuse_others_files, write_files
from linkwork.export.names import Names, checked_prefix, default_prefix
from linkwork.export.package import Written
from linkwork.export.pinnzoo.check import unchecked_row, verify_pinnzoo
from linkwork.export.pinnzoo.files import PinnZooPackage, readme_text
from linkwork.export.pinnzoo.functions import pinnzoo_functions, sample_of_function
from linkwork.export.pinnzoo.state_space import (
    Orientation,
    StateSpace,
    arranged,
    joint_labels,
    velocity_names,
)
from linkwork.export.report import Report
from linkwork.kindyn import KinDyn

OPTIONS_OF_PINNZOO = ("bodies", "orientation", "actuated")
_ROWS = 10  # at which C is compared with the kernels


def refuse_options(
    others: Mapping[str, Any], own: Mapping[str, Any], dtype: Any, *, pinnzoo: bool
) -> None:
    """Refuse options that have no meaning with, or without, `pinnzoo`.

    Args:
        others: options of other exports.
        own: options that only `pinnzoo` has.
        dtype: that was asked for.
        pinnzoo: whether it was asked for.
    """
    for name in own:
        if name not in OPTIONS_OF_PINNZOO:
            raise ArgumentError(f"export has no option {name!r}")
        if not pinnzoo:
            raise ArgumentError(f"{name}: has a meaning only with pinnzoo=True")
    for name, value in others.items():
        if value:
            raise ArgumentError(f"{name}: PinnZoo's functions are what they are; leave it out")
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
    own = kd.replace(
        model=arranged(kd.model, kd.base), representation="body", dtype=np.float64, check=False
    )
    space = StateSpace(own, bodies, orientation)  # pyright: ignore[reportArgumentType]
    names = Names()
    functions = tuple(
        Written(one, scalar_code(one.function, DOUBLE, names)) for one in pinnzoo_functions(space)
    )
    package = PinnZooPackage(space, name, functions, _actuated(own, actuated))
    return _written(package, folder, check=check)


def _written(package: PinnZooPackage, folder: Path, *, check: bool) -> Report:
    files, readme = package.files, f"models/{package.name}/README.md"
    refuse_others_files(folder, [*files, readme])
    rows = tuple(unchecked_row(one) for one in package.functions)
    report = Report(folder, (*files, readme), rows, None)
    compiler = found_compiler() if check else None
    if compiler is None:
        note = "there is no C compiler" if check else "it was not asked for"
        report = replace(report, note=note)
    else:
        samples = [
            sample_of_function(package.space, one.exported, rows=_ROWS) for one in package.functions
        ]
        with tempfile.TemporaryDirectory(prefix="linkwork_export_") as name:
            write_files(Path(name), files)
            checked = tuple(verify_pinnzoo(package, samples, Path(name), compiler))
        told = f"{compiler.version}, {' '.join(OPTIONS)}"
        report = replace(report, rows=checked, compiler=told)
    write_files(folder, files | {readme: readme_text(package, report)})
    return report


def _actuated(kd: KinDyn, given: Sequence[str] | None) -> tuple[str, ...]:
    names = velocity_names(kd)
    if given is None:
        return joint_labels(kd) or names
    for name in given:
        if name not in names:
            raise name_not_found("velocity", name, names)
    return tuple(given)
