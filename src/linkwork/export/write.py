"""`export`: writes the C library of a robot, and checks it first."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.engine.codegen.c.statements import DOUBLE, FLOAT
from linkwork.errors import ArgumentError, shown
from linkwork.export.check import OPTIONS, found_compiler, unchecked, verify
from linkwork.export.files import files_of, readme_text
from linkwork.export.folders import refuse_others_files, write_files
from linkwork.export.names import Names, checked_prefix, default_prefix
from linkwork.export.package import Package, package_of
from linkwork.export.precision import with_enough_digits
from linkwork.export.report import Report
from linkwork.export.requests import DEFAULT_FUNCTIONS, Wanted, exported
from linkwork.export.samples import sample_of
from linkwork.kindyn import KinDyn

LANES = (2, 4, 8, 16)
_REALS = {"float64": DOUBLE, "float32": FLOAT}
_ROWS = 10  # at which C is compared with the kernels


def export(
    kd: KinDyn,
    folder: str | Path,
    functions: Iterable[Wanted] | Mapping[str, Wanted] = DEFAULT_FUNCTIONS,
    *,
    derivatives: bool = False,
    dtype: Any = None,
    prefix: str | None = None,
    lanes: int = 0,
    one_file: bool = False,
    compensate: bool = True,
    check: bool = True,
    pinnzoo: bool = False,
    **of_pinnzoo: Any,
) -> Report:
    """Write functions of a robot as a C99 library that allocates nothing and needs only libm.

    The files are compiled and compared with the kernels before they are put into the folder; where
    there is no C compiler, the report says so.

    Args:
        kd: the robot, with its base, representation, gravity and so on.
        folder: where to write; made if it is not there.
        functions: quantities, as "mass_matrix", "jacobian:l_sole" or ("jacobian", "l_sole"), and
            any kernels; by the names of their C functions, if it is a mapping.
        derivatives: whether to add the derivatives of each.
        dtype: numpy.float64 or numpy.float32; that of the robot if not given.
        prefix: of all names in C; made from the name of the robot if not given.
        lanes: 2, 4, 8 or 16 to add functions of many rows, as many at a time; 0 for none.
        one_file: whether all functions are in one C file, instead of one each.
        compensate: whether functions in single precision that lose digits to rounding get steps
            with more digits; without it they are shorter and less accurate.
        check: whether to compile and compare.
        pinnzoo: whether to write PinnZoo's functions of a state x = [q; v] instead, with its C
            signatures and folders; `prefix` is the name of the model then.
        of_pinnzoo: with `pinnzoo` only: `bodies`, the links and frames that have kinematics;
            `orientation`, "none", "quaternion" or "axis_angle", how they are written; `actuated`,
            the velocities that motors drive.

    Returns:
        the files that were written; operations, workspace, stack and size of each function, and how
        far it is from the kernel.

    Raises:
        ArgumentError: an argument is wrong, or a file in the folder is not from an export.
        NameNotFoundError: there is no such quantity or frame.
        LinkworkError: the C code does not compile, or gives something else than the kernel.
    """
    if not isinstance(kd, KinDyn):
        raise ArgumentError(f"kd: expected a KinDyn, got {shown(kd)}")
    if pinnzoo or of_pinnzoo:
        from linkwork.export.pinnzoo.export import export_pinnzoo, refuse_options

        given = functions is not DEFAULT_FUNCTIONS
        options = {"functions": given, "derivatives": derivatives, "lanes": lanes}
        options |= {"one_file": one_file, "compensate": not compensate}
        refuse_options(options, of_pinnzoo, dtype, pinnzoo=pinnzoo)
        return export_pinnzoo(kd, Path(folder), prefix=prefix, check=check, **of_pinnzoo)
    if lanes not in (0, *LANES) or isinstance(lanes, bool):
        raise ArgumentError(f"lanes: expected 0, 2, 4, 8 or 16, got {shown(lanes)}")
    real = _REALS.get(np.dtype(kd.dtype if dtype is None else dtype).name)
    if real is None:
        raise ArgumentError(f"dtype: expected float64 or float32, got {dtype!r}")
    prefix = default_prefix(kd.model.name) if prefix is None else checked_prefix(prefix)
    names = Names(prefix)
    found = exported(kd, functions, derivatives=derivatives, prefix=prefix, names=names)
    if real is FLOAT and compensate:
        found = [with_enough_digits(kd, one) for one in found]
    package = package_of(
        kd, found, prefix=prefix, real=real, names=names, lanes=lanes, one_file=one_file
    )
    return _written(package, Path(folder), check=check)


def _written(package: Package, folder: Path, *, check: bool) -> Report:
    rows = max(_ROWS, 2 * package.lanes + 3)
    samples = [
        sample_of(package.kd, one.exported, package.real, rows=rows) for one in package.functions
    ]
    files = files_of(package, samples)
    refuse_others_files(folder, [*files, "README.md"])
    report = Report(folder, (*files, "README.md"), tuple(unchecked(package)), None)
    compiler = found_compiler() if check else None
    if compiler is None:
        note = "there is no C compiler" if check else "it was not asked for"
        report = replace(report, note=note)
    else:
        with tempfile.TemporaryDirectory(prefix="linkwork_export_") as name:
            write_files(Path(name), files)
            checked = tuple(verify(package, samples, Path(name), compiler))
        told = f"{compiler.version}, {' '.join(OPTIONS)}"
        report = replace(report, rows=checked, compiler=told)
    write_files(folder, files | {"README.md": readme_text(package, report)})
    return report
