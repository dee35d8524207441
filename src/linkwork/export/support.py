"""C text that generated files begin with: macros, unit norms, and functions of vectors."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from linkwork.engine.codegen.llvm.sincos import SINCOS_NUMBERS, TWO_OVER_PI
from linkwork.engine.kernel.norms import TOLERANCE
from linkwork.export.function import Real

# pi/2 in three parts, the first two with so few bits that their products with n are exact: for |n|
# below 2^20 in double, 2^13 in float. Larger angles go to libm.
_HALF_PI = {
    "double": (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21),
    "float": (1.5703125, 0.0004837512969970703, 7.549790126404332e-08),
}
_LARGEST_ANGLE = {"double": 1e6, "float": 1e4}

MACROS = """\
#if defined(__GNUC__)
#define LW_RESTRICT __restrict__
#define LW_NOINLINE __attribute__((noinline))
#elif defined(_MSC_VER)
#define LW_RESTRICT __restrict
#define LW_NOINLINE __declspec(noinline)
#elif defined(__cplusplus)
#define LW_RESTRICT
#define LW_NOINLINE
#else
#define LW_RESTRICT restrict
#define LW_NOINLINE
#endif
"""

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


def vector_support(real: Real, lanes: int, calls: Collection[str]) -> str:
    """Types, macros and functions of vectors.

    Args:
        real: type of one lane.
        lanes: how many; a power of two.
        calls: what is used: "sincos", "sqrt", "atan2", ..., and the constants "one" and "zero".
    """
    each = range(lanes)
    rows = ", ".join(f"(p)[{k}u * (n)]" for k in each)
    store = "; ".join(f"(p)[{k}u * (n)] = (v)[{k}]" for k in each)
    fill = "; ".join(f"(p)[{k}u * (n)] = (c)" for k in each)
    size, integer = real.bytes * lanes, "long long" if real.bytes == 8 else "int"
    text = f"""\
#if !defined(__GNUC__)
#error "this file needs the vector extensions of GCC or Clang"
#endif

typedef {real.name} lw_vec __attribute__((vector_size({size})));
typedef unsigned {integer} lw_mask __attribute__((vector_size({size})));
/* the same wherever a {real.name} may stand */
typedef {real.name} lw_loose __attribute__((vector_size({size}), aligned({real.bytes}), may_alias));

#define LW_ROWS(p, n) {{{rows}}}
#define LW_STORE(p, n, v) do {{ {store}; }} while (0)
#define LW_SET(p, n, c) do {{ {fill}; }} while (0)
"""
    constants = {"one": real.literal(1.0), "zero": real.literal(0.0)}
    for name, number in constants.items():
        if name in calls:
            text += f"\nstatic const lw_vec lw_{name} = {{{', '.join([number] * lanes)}}};\n"
    if "sincos" in calls:
        text += "\n" + _sincos(real, lanes)
    for name in sorted(set(calls) - {"sincos", *constants}):
        text += "\n" + _by_lane(name, real, lanes)
    return text


def _by_lane(name: str, real: Real, lanes: int) -> str:
    """A function of libm, called for each lane."""
    names = {"atan2": ("a", "b"), "fma": ("a", "b", "c")}.get(name, ("a",))
    listed = "".join(f"const lw_vec *{one}, " for one in names)
    given = ", ".join(f"(*{one})[k]" for one in names)
    return f"""\
static inline void lw_{name}({listed}lw_vec *result)
{{
  for (int k = 0; k < {lanes}; ++k) {{
    (*result)[k] = {name}{real.suffix}({given});
  }}
}}
"""


def _sincos(real: Real, lanes: int) -> str:
    """Sine and cosine of all lanes by the kernels' polynomials; by libm if an angle is large."""
    numbers, number, s = SINCOS_NUMBERS[real.name], real.literal, real.suffix
    p1, p2, p3 = map(number, _HALF_PI[real.name])
    sine, cosine = (_horner(map(number, part)) for part in (numbers.sine, numbers.cosine))
    largest, bit = number(_LARGEST_ANGLE[real.name]), 8 * real.bytes - 2
    return f"""\
/* The angle is reduced by a multiple n of pi/2. Then one polynomial each gives sine and cosine on
 * [-pi/4, pi/4], and the two lowest bits of n exchange them and choose their signs. */
static void lw_sincos(const lw_vec *angle, lw_vec *sine, lw_vec *cosine)
{{
  const lw_vec x = *angle;
  const lw_vec shifted = x * {number(TWO_OVER_PI)} + {number(numbers.magic)};
  const lw_vec n = shifted - {number(numbers.magic)};
  const lw_vec r = ((x - n * {p1}) - n * {p2}) - n * {p3};
  const lw_vec t = r * r;
  const lw_vec s = r + r * t * {sine};
  const lw_vec c = ({number(1.0)} - t * {number(0.5)}) + t * t * {cosine};
  const lw_mask bits = (lw_mask)shifted;
  const lw_mask odd = -(bits & 1u);
  const lw_mask other = ~odd;
  const lw_mask sine_sign = (bits & 2u) << {bit};
  const lw_mask cosine_sign = ((bits + 1u) & 2u) << {bit};
  int small = 1;
  for (int k = 0; k < {lanes}; ++k) {{
    small &= fabs{s}(x[k]) <= {largest};
  }}
  if (small) {{
    *sine = (lw_vec)(((odd & (lw_mask)c) | (other & (lw_mask)s)) ^ sine_sign);
    *cosine = (lw_vec)(((odd & (lw_mask)s) | (other & (lw_mask)c)) ^ cosine_sign);
  }} else {{
    for (int k = 0; k < {lanes}; ++k) {{
      (*sine)[k] = sin{s}(x[k]);
      (*cosine)[k] = cos{s}(x[k]);
    }}
  }}
}}
"""


def _horner(coefficients: Iterable[str]) -> str:
    """A polynomial in t."""
    first, *rest = coefficients
    return f"({first} + t * {_horner(rest)})" if rest else first
