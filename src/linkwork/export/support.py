"""C code at the beginning of generated files: macros, and normalization."""

from __future__ import annotations

from linkwork.engine.codegen.c.statements import Real
from linkwork.engine.kernel.norms import TOLERANCE

# Where rounding errors are corrected, sums must not be contracted with products of other steps.
NO_CONTRACTION = """\
#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#endif
"""


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
