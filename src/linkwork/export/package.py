"""An export as data: the functions, their C text, and everything that the files tell about them."""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.engine.codegen.c.functions import MACROS
from linkwork.engine.codegen.c.statements import Real
from linkwork.engine.codegen.c.vectors import vector_support
from linkwork.export.code import Code, batch_code, scalar_code
from linkwork.export.names import Names
from linkwork.export.requests import Exported
from linkwork.export.support import NO_CONTRACTION, unit_norm_functions
from linkwork.kindyn import KinDyn
from linkwork.version import __version__

MARK = "written by linkwork"
"""Stands at the start of each file, which tells that it may be replaced."""


@dataclass(frozen=True, slots=True)
class Written:
    """An exported function and its text in C."""

    exported: Exported
    code: Code
    batch: Code | None = None

    @property
    def work_macro(self) -> str:
        """The macro with the length of the workspace."""
        return f"{self.exported.function.name.upper()}_WORK"

    @property
    def batch_work_macro(self) -> str:
        """The same of the function of many rows."""
        return f"{self.exported.function.name.upper()}_BATCH_WORK"


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

    @property
    def sources(self) -> dict[str, str]:
        """The C files with the functions: names and texts."""
        found: dict[str, str] = {}
        batches = [one for one in self.functions if one.batch]
        groups = [self.functions] if self.one_file else [(one,) for one in self.functions]
        for group in groups:
            name = self.prefix if self.one_file else group[0].exported.function.name
            texts = [one.code.text for one in group]
            found[f"{name}.c"] = self._file(group, texts, ())
        groups = [batches] if self.one_file and batches else [[one] for one in batches]
        for group in groups:
            name = self.prefix if self.one_file else group[0].exported.function.name
            codes = [one.batch for one in group if one.batch]
            calls = {call for code in codes for call in code.calls}
            support = vector_support(self.real, self.lanes, calls)
            texts = [code.text for code in codes]
            found[f"{name}_batch.c"] = self._file(group, texts, (support,), batch=True)
        return found

    def _file(
        self,
        group: tuple[Written, ...] | list[Written],
        texts: list[str],
        support: tuple[str, ...],
        *,
        batch: bool = False,
    ) -> str:
        has_norms = any(one.exported.function.unit_norms for one in group)
        lines = [f"/* {MARK} {__version__}; {self.prefix}.h tells what the functions compute. */"]
        lines += [f'#include "{self.prefix}.h"', "", "#include <math.h>"]
        lines += ["#include <float.h>"] if has_norms else []
        parts = ["\n".join(lines) + "\n", MACROS]
        parts += [NO_CONTRACTION] if any(one.exported.function.corrected for one in group) else []
        parts += support
        parts += [unit_norm_functions(self.real, check=batch)] if has_norms else []
        return "\n".join([*parts, *texts])


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
