"""`export`: write the C library of a robot, after checking it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.engine.codegen.c.statements import DOUBLE, FLOAT
from linkwork.errors import ArgumentError, shown
from linkwork.export.check import Build, CheckedFunction, Report, Row, write_checked
from linkwork.export.code import Names, checked_prefix, default_prefix
from linkwork.export.files import files_of, readme_text
from linkwork.export.package import Package, package_of
from linkwork.export.requests import (
    DEFAULT_CONSTRAINED_FUNCTIONS,
    DEFAULT_FUNCTIONS,
    Request,
    exported_functions,
)
from linkwork.export.samples import sample_of
from linkwork.kindyn import ConstrainedKinDyn, KinDyn
from linkwork.kindyn.core import unambiguous

_REALS = {"float64": DOUBLE, "float32": FLOAT}
_ROWS = 10  # number of rows at which C is compared with the kernels


def export(
    kd: KinDyn | ConstrainedKinDyn,
    folder: str | Path,
    functions: Iterable[Request] | Mapping[str, Request] | None = None,
    *,
    derivatives: bool = False,
    dtype: Any = None,
    prefix: str | None = None,
    one_file: bool = False,
    check: bool = True,
    force: bool = False,
    pinnzoo: bool = False,
    **of_pinnzoo: Any,
) -> Report:
    """Write functions of a robot as a C99 library that allocates nothing and needs only libm.

    The files are compiled and compared with the kernels before they are written to the folder. If
    there is no C compiler, the report states it.

    Args:
        kd: the robot, with its base, representation, gravity and other options; a
            `ConstrainedKinDyn` for functions with closed loops and contacts.
        folder: destination; created if it does not exist.
        functions: quantities such as "mass_matrix", "jacobian:l_sole" or ("jacobian", "l_sole"),
            and any kernels. A mapping has the names of the C functions as keys. Default: the mass
            matrix, bias force, inverse (without closed loops) and forward dynamics, `integrate`; of
            a `ConstrainedKinDyn`, the error, Jacobian, forward dynamics, and `step`.
        derivatives: whether to add the derivatives of each.
        dtype: numpy.float64 or numpy.float32; that of the robot if not given.
        prefix: prefix of all names in C; derived from the name of the robot if not given.
        one_file: whether all functions are in one C file, instead of one file each.
        check: whether to compile and compare.
        force: whether to overwrite files that were edited or that no export has written.
        pinnzoo: whether to write PinnZoo's functions of a state x = [q; v] instead, with its C
            signatures and folders; `prefix` is then the name of the model.
        of_pinnzoo: options with `pinnzoo`: `bodies`, the links and frames with kinematics;
            `orientation`, their representation: "none", "quaternion" or "axis_angle"; `actuated`,
            the names of the actuated velocities.

    Returns:
        The files that were written; operations, workspace, stack and size of each function, and its
        difference from the kernel.

    Raises:
        ArgumentError: an argument is wrong, or, without `force`, a file in the folder was edited
            or was not written by an export.
        NameNotFoundError: there is no such quantity or frame.
        WriteError: the folder cannot be written, or is a file.
        LinkworkError: the C code does not compile, or differs from the kernel.
    """
    if not isinstance(kd, (KinDyn, ConstrainedKinDyn)):
        raise ArgumentError(f"kd: expected a KinDyn, got {shown(kd)}")
    if not isinstance(folder, (str, os.PathLike)):
        raise ArgumentError(f"folder: expected a path, got {shown(folder)}")
    if pinnzoo or of_pinnzoo:
        if isinstance(kd, ConstrainedKinDyn):
            raise ArgumentError("pinnzoo: PinnZoo has no constraints; expected a KinDyn")
        from linkwork.export.pinnzoo.export import export_pinnzoo, reject_options

        others = {
            "functions": functions is not None,
            "derivatives": derivatives,
            "one_file": one_file,
        }
        reject_options(others, of_pinnzoo, dtype, pinnzoo=pinnzoo)
        return export_pinnzoo(
            kd, Path(folder), prefix=prefix, check=check, force=force, **of_pinnzoo
        )
    real = _REALS.get(np.dtype(kd.dtype if dtype is None else dtype).name)
    if real is None:
        raise ArgumentError(f"dtype: expected float64 or float32, got {dtype!r}")
    prefix = default_prefix(kd.model.name) if prefix is None else checked_prefix(prefix)
    names = Names(prefix)
    is_free = isinstance(kd, KinDyn)
    if functions is None:
        functions = unambiguous(kd, DEFAULT_FUNCTIONS) if is_free else DEFAULT_CONSTRAINED_FUNCTIONS
    if not is_free and dtype is not None:
        kd = kd.replace(dtype=dtype)
    selected = exported_functions(
        kd, functions, derivatives=derivatives, prefix=prefix, names=names
    )
    robot = kd if isinstance(kd, KinDyn) else kd.kindyn
    package = package_of(robot, selected, prefix=prefix, real=real, names=names, one_file=one_file)
    samples = [sample_of(kd, one, real, rows=_ROWS) for one in selected]
    return write_checked(
        Path(folder),
        files_of(package, samples),
        ("README.md", partial(readme_text, package)),
        build_of(package),
        samples,
        check=check,
        force=force,
    )


def build_of(package: Package) -> Build:
    """Return how the files are compiled and checked."""
    functions: list[CheckedFunction] = []
    for one in package.functions:
        function, work = one.function, one.code.work
        row = Row(function.name, function.program.n_ops, work * package.real.bytes)
        file = package.source_name(one).removesuffix(".c") + ".o"
        functions.append(CheckedFunction(row, function, function.name, file, work))
    return Build(
        f"{package.prefix}.h",
        package.real,
        package.sources,
        tuple(functions),
        programs=("selftest.c",),
    )
