"""An export as data: the functions, their C code, and everything that its files describe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.engine.codegen.c.functions import MACROS
from linkwork.engine.codegen.c.rounding import rounding_support
from linkwork.engine.codegen.c.statements import Real
from linkwork.engine.codegen.c.vectors import vector_support
from linkwork.engine.kernel.norms import TOLERANCE
from linkwork.export.code import BATCH_ENDING, Code, Function, Names, batch_code, scalar_code
from linkwork.export.requests import Exported
from linkwork.kindyn import KinDyn
from linkwork.version import __version__

MARK = "written by linkwork"
"""Contained in each file: where it comes from."""


@dataclass(frozen=True, slots=True)
class GeneratedFunction:
    """An exported function and its C code."""

    exported: Exported
    code: Code
    batch: Code | None = None

    @property
    def function(self) -> Function:
        """The C function of one row."""
        return self.exported.function

    @property
    def work_macro(self) -> str:
        """Name of the macro with the length of the workspace."""
        return f"{self.function.name.upper()}_WORK"

    @property
    def batch_work_macro(self) -> str:
        """The same for the function of many rows."""
        return f"{self.function.name.upper()}_BATCH_WORK"


@dataclass(frozen=True, slots=True)
class Package:
    """Everything that the files of an export are written from."""

    kd: KinDyn
    prefix: str
    real: Real
    lanes: int
    functions: tuple[GeneratedFunction, ...]
    one_file: bool = False

    @property
    def longest_work(self) -> int:
        """Length of the longest workspace of a function of one row."""
        return max((one.code.work for one in self.functions), default=0)

    @property
    def longest_batch_work(self) -> int:
        """Length of the longest workspace of a function of many rows."""
        return max((one.batch.work for one in self.functions if one.batch), default=0)

    def source_name(self, one: GeneratedFunction, *, batch: bool = False) -> str:
        """Return the name of the C file that defines a function."""
        name = self.prefix if self.one_file else one.function.name
        return f"{name}{BATCH_ENDING if batch else ''}.c"

    @property
    def sources(self) -> dict[str, str]:
        """The C files with the functions: contents by name."""
        files: dict[str, str] = {}
        groups = [self.functions] if self.one_file else [(one,) for one in self.functions]
        for batch in (False, True) if self.lanes else (False,):
            for group in groups:
                files[self.source_name(group[0], batch=batch)] = self._source(group, batch=batch)
        return files

    def _source(self, group: Sequence[GeneratedFunction], *, batch: bool) -> str:
        """Return the contents of a C file with some functions."""
        codes = [one.batch if batch else one.code for one in group]
        calls = {call for code in codes if code for call in code.calls}
        has_norms = any(one.function.unit_norms for one in group)
        lines = [f"/* {MARK} {__version__}; see {self.prefix}.h for what the functions compute. */"]
        lines += [f'#include "{self.prefix}.h"', "", "#include <math.h>"]
        lines += ["#include <float.h>"] if has_norms else []
        parts = ["\n".join(lines) + "\n", MACROS]
        operations = {op for code in codes if code for op in code.operations}
        support = (
            vector_support(self.real, self.lanes, calls)
            if batch
            else rounding_support(self.real, operations)
        )
        parts += [support] if support else []
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
    """Generate the C code of functions.

    Args:
        kd: the robot.
        functions: the functions to generate.
        prefix: prefix of the names in C.
        real: floating-point type.
        names: names that are used already.
        lanes: if not 0, also generate functions of many rows that compute this many at a time.
        one_file: whether all functions are in one file.
    """
    generated: list[GeneratedFunction] = []
    for one in functions:
        code = scalar_code(one.function, real, names)
        batch = None
        if lanes:
            batch = batch_code(one.function, real, names, lanes=lanes, work=code.work)
        generated.append(GeneratedFunction(one, code, batch))
    return Package(kd, prefix, real, lanes, tuple(generated), one_file)


# In double precision, as in the kernels. For float, kernels use double as well. Here, a sum of
# squares and a norm in float would double the error of sensitive results. So 1 - 1 / norm is
# computed instead, as a series in the excess of the sum of squares over 1.
_UNIT = {
    "double": """\
  double squares = 0.0, norm, divisor;
  for (int k = 0; k < count; ++k) {{
    squares += x[k] * x[k];
  }}
  norm = sqrt(squares);
  if (fabs(norm - 1.0) > {far}) {{
    return 1;
  }}
  divisor = fabs(squares - 1.0) > 8.0 * DBL_EPSILON ? norm : 1.0;
  for (int k = 0; k < count; ++k) {{
    y[k] = x[k] / divisor;
  }}
""",
    "float": """\
  float excess = -1.0f, less; /* sum of squares - 1; 1 - 1 / norm to third order in it */
  for (int k = 0; k < count; ++k) {{
    excess = fmaf(x[k], x[k], excess);
  }}
  if (fabsf(sqrtf(1.0f + excess) - 1.0f) > {far}) {{
    return 1;
  }}
  less = excess * (0.5f - excess * (0.375f - 0.3125f * excess));
  less = fabsf(excess) > 8.0f * FLT_EPSILON ? less : 0.0f;
  for (int k = 0; k < count; ++k) {{
    y[k] = x[k] - x[k] * less;
  }}
""",
}


def unit_norm_functions(real: Real, *, check: bool = False) -> str:
    """Return C functions for elements with unit norm, with the limits of the kernels.

    Args:
        real: type of the elements.
        check: whether to include the function that only checks.
    """
    t, s, far = real.name, real.suffix, real.literal(TOLERANCE)
    text = f"""\
/* Copy a vector whose norm must be 1, divided by the norm if it has drifted. Return 1 if the norm
 * differs from 1 by more than {TOLERANCE:g}. NaN is accepted, as everywhere. */
static int lw_unit(const {t} *LW_RESTRICT x, int count, {t} *LW_RESTRICT y)
{{
{_UNIT[real.name].format(far=far)}  return 0;
}}
"""
    if check:
        text += f"""
/* Whether a norm differs from 1 by more than {TOLERANCE:g}. */
static int lw_is_far(const {t} *x, int count)
{{
  {t} squares = {real.literal(0)};
  for (int k = 0; k < count; ++k) {{
    squares += x[k] * x[k];
  }}
  return fabs{s}(sqrt{s}(squares) - {real.literal(1)}) > {far};
}}
"""
    return text
