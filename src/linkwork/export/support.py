"""C text that generated files begin with: macros, and unit norms."""

from __future__ import annotations

from linkwork.engine.codegen.c.statements import Real
from linkwork.engine.kernel.norms import TOLERANCE

# Where roundings are corrected, no sum may be contracted with a product that another step rounds.
NO_CONTRACTION = """\
#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#endif
"""


# In double precision as the kernels do it. For float they use double as well; here, a sum of
# squares and a norm in float would make results that are sensitive to it twice as wrong. So
# 1 - 1 / norm is computed instead, as a series of how far the sum of squares is from 1.
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
  float excess = -1.0f, less; /* the sum of squares - 1; 1 - 1 / norm, to the third power of it */
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
    """Functions that look at numbers whose norm must be 1, with the limits of the kernels.

    Args:
        real: type of the numbers.
        check: whether to give the function that only looks, too.
    """
    t, s, far = real.name, real.suffix, real.literal(TOLERANCE)
    text = f"""\
/* Copy numbers whose norm must be 1, divided by the norm if it has drifted. If it differs from 1 by
 * more than {TOLERANCE:g}, 1 is returned. NaN passes, as everywhere. */
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
