"""An export as data: the functions, their C text, and everything that its files describe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.engine.codegen.c.functions import MACROS
from linkwork.engine.codegen.c.statements import Real
from linkwork.engine.codegen.c.vectors import vector_support
from linkwork.export.code import Code, batch_code, scalar_code
from linkwork.export.function import BATCH_ENDING, Function
from linkwork.export.names import Names
from linkwork.export.requests import Exported
from linkwork.export.support import NO_CONTRACTION, unit_norm_functions
from linkwork.kindyn import KinDyn
from linkwork.version import __version__

MARK = "written by linkwork"
"""Stands at the start of each file: a file with it may be replaced."""


@dataclass(frozen=True, slots=True)
class Written:
    """An exported function and its text in C."""

    exported: Exported
    code: Code
    batch: Code | None = None

    @property
    def function(self) -> Function:
        """The C function of one row."""
        return self.exported.function

    @property
    def work_macro(self) -> str:
        """The macro with the length of the workspace."""
        return f"{self.function.name.upper()}_WORK"

    @property
    def batch_work_macro(self) -> str:
        """The same of the function of many rows."""
        return f"{self.function.name.upper()}_BATCH_WORK"


@dataclass(frozen=True, slots=True)
class Package:
    """Everything that the files of an export are written from."""

    kd: KinDyn
    prefix: str
    real: Real
    lanes: int
    functions: tuple[Written, ...]
    one_file: bool = False

    @property
    def longest_work(self) -> int:
        """Numbers in the longest workspace of a function of one row."""
        return max((one.code.work for one in self.functions), default=0)

    @property
    def longest_batch_work(self) -> int:
        """The same of the functions of many rows."""
        return max((one.batch.work for one in self.functions if one.batch), default=0)

    def source_name(self, one: Written, *, batch: bool = False) -> str:
        """The C file that defines a function."""
        name = self.prefix if self.one_file else one.function.name
        return f"{name}{BATCH_ENDING if batch else ''}.c"

    @property
    def sources(self) -> dict[str, str]:
        """The C files with the functions: names and texts."""
        files: dict[str, str] = {}
        groups = [self.functions] if self.one_file else [(one,) for one in self.functions]
        for batch in (False, True) if self.lanes else (False,):
            for group in groups:
                files[self.source_name(group[0], batch=batch)] = self._source(group, batch=batch)
        return files

    def _source(self, group: Sequence[Written], *, batch: bool) -> str:
        """The text of a C file with some functions."""
        codes = [one.batch if batch else one.code for one in group]
        calls = {call for code in codes if code for call in code.calls}
        has_norms = any(one.function.unit_norms for one in group)
        lines = [f"/* {MARK} {__version__}; {self.prefix}.h tells what the functions compute. */"]
        lines += [f'#include "{self.prefix}.h"', "", "#include <math.h>"]
        lines += ["#include <float.h>"] if has_norms else []
        parts = ["\n".join(lines) + "\n", MACROS]
        parts += [NO_CONTRACTION] if any(one.function.corrected for one in group) else []
        parts += [vector_support(self.real, self.lanes, calls)] if batch else []
        parts += [unit_norm_functions(self.real, check=batch)] if has_norms else []
        return "\n".join([*parts, *(code.text for code in codes if code)])


def package_of(
    kd: KinDyn,
    functions: list[Exported],
    *,
    prefix: str,
    real: Real,
    names: Names,
    lanes: int = 0,
    one_file: bool = False,
) -> Package:
    """Write the C text of functions.

    Args:
        kd: the robot.
        functions: what to write.
        prefix: of the names in C.
        real: type of the numbers.
        names: those that are taken.
        lanes: if not 0, a function of many rows is written for each, which takes as many at a time.
        one_file: whether all functions are in one file.
    """
    written: list[Written] = []
    for one in functions:
        code = scalar_code(one.function, real, names)
        batch = None
        if lanes:
            batch = batch_code(one.function, real, names, lanes=lanes, work=code.work)
        written.append(Written(one, code, batch))
    return Package(kd, prefix, real, lanes, tuple(written), one_file)
