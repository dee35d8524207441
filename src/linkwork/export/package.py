"""An export as data: the functions, their C code, and everything that its files describe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.engine.codegen.c.functions import MACROS
from linkwork.engine.codegen.c.rounding import rounding_support
from linkwork.engine.codegen.c.statements import Real
from linkwork.engine.kernel.norms import TOLERANCE
from linkwork.export.code import Code, Function, Names, code_of
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

    @property
    def function(self) -> Function:
        """The C function of one row."""
        return self.exported.function

    @property
    def work_macro(self) -> str:
        """Name of the macro with the length of the workspace."""
        return f"{self.function.name.upper()}_WORK"


@dataclass(frozen=True, slots=True)
class Package:
    """Everything that the files of an export are written from."""

    kd: KinDyn
    prefix: str
    real: Real
    functions: tuple[GeneratedFunction, ...]
    one_file: bool = False

    @property
    def longest_work(self) -> int:
        """Length of the longest workspace of a function."""
        return max((one.code.work for one in self.functions), default=0)

    def source_name(self, one: GeneratedFunction) -> str:
        """Return the name of the C file that defines a function."""
        return f"{self.prefix if self.one_file else one.function.name}.c"

    @property
    def sources(self) -> dict[str, str]:
        """The C files with the functions: contents by name."""
        groups = [self.functions] if self.one_file else [(one,) for one in self.functions]
        return {self.source_name(group[0]): self._source(group) for group in groups}

    def _source(self, group: Sequence[GeneratedFunction]) -> str:
        """Return the contents of a C file with some functions."""
        has_norms = any(one.function.unit_norms for one in group)
        lines = [f"/* {MARK} {__version__}; see {self.prefix}.h for what the functions compute. */"]
        lines += [f'#include "{self.prefix}.h"', "", "#include <math.h>"]
        lines += ["#include <float.h>"] if has_norms else []
        parts = ["\n".join(lines) + "\n", MACROS]
        support = rounding_support(self.real, {op for one in group for op in one.code.operations})
        parts += [support] if support else []
        parts += [unit_norm_function(self.real)] if has_norms else []
        return "\n".join([*parts, *(one.code.text for one in group)])


def package_of(
    kd: KinDyn,
    functions: list[Exported],
    *,
    prefix: str,
    real: Real,
    names: Names,
    one_file: bool = False,
) -> Package:
    """Generate the C code of functions.

    Args:
        kd: the robot.
        functions: the functions to generate.
        prefix: prefix of the names in C.
        real: floating-point type.
        names: names that are used already.
        one_file: whether all functions are in one file.
    """
    generated = [GeneratedFunction(one, code_of(one.function, real, names)) for one in functions]
    return Package(kd, prefix, real, tuple(generated), one_file)


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


def unit_norm_function(real: Real) -> str:
    """Return the C function for elements with unit norm, with the limits of the kernels."""
    t, far = real.name, real.literal(TOLERANCE)
    return f"""\
/* Copy a vector whose norm must be 1, divided by the norm if it has drifted. Return 1 if the norm
 * differs from 1 by more than {TOLERANCE:g}. NaN is accepted, as everywhere. */
static int lw_unit(const {t} *LW_RESTRICT x, int count, {t} *LW_RESTRICT y)
{{
{_UNIT[real.name].format(far=far)}  return 0;
}}
"""
