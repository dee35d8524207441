"""C types, macros and functions that functions of vectors need."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from linkwork.engine.codegen.c.statements import Real
from linkwork.engine.codegen.sincos import SINCOS_CONSTANTS, TWO_OVER_PI
from linkwork.engine.symbolic.operations import OPERATIONS, Op

# pi/2 in three parts. The first two have few enough bits that their products with n are exact, for
# |n| below 2^20 in double and 2^13 in float. libm computes larger angles.
_HALF_PI = {
    "double": (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21),
    "float": (1.5703125, 0.0004837512969970703, 7.549790126404332e-08),
}
_LARGEST_ANGLE = {"double": 1e6, "float": 1e4}


def vector_support(real: Real, lanes: int, calls: Collection[str]) -> str:
    """Print types, macros and functions of vectors.

    Args:
        real: type of one lane.
        lanes: number of lanes, a power of two.
        calls: the functions to print, such as "sincos", and the constants "one" and "zero".
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
/* lw_vec with the alignment of a {real.name} */
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
    """Print a vector function that calls a function of libm for each lane."""
    names = "abc"[: OPERATIONS[Op[name.upper()]].arity]
    listed = "".join(f"const lw_vec *{one}, " for one in names)
    arguments = ", ".join(f"(*{one})[k]" for one in names)
    return f"""\
static inline void lw_{name}({listed}lw_vec *result)
{{
  for (int k = 0; k < {lanes}; ++k) {{
    (*result)[k] = {name}{real.suffix}({arguments});
  }}
}}
"""


def _sincos(real: Real, lanes: int) -> str:
    """Print the function for sine and cosine: by polynomials, or by libm if an angle is large."""
    numbers, number, s = SINCOS_CONSTANTS[real.name], real.literal, real.suffix
    p1, p2, p3 = map(number, _HALF_PI[real.name])
    sine, cosine = (_horner(map(number, part)) for part in (numbers.sine, numbers.cosine))
    largest, bit = number(_LARGEST_ANGLE[real.name]), 8 * real.bytes - 2
    return f"""\
/* The angle is reduced by a multiple n of pi/2. Two polynomials approximate sine and cosine on
 * [-pi/4, pi/4]. The two lowest bits of n determine whether to swap them, and their signs. */
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
    const lw_mask zero = (lw_mask)(x == {number(0.0)}); /* sin(-0) is -0 */
    const lw_mask signed_sine = ((odd & (lw_mask)c) | (other & (lw_mask)s)) ^ sine_sign;
    *sine = (lw_vec)((zero & (lw_mask)x) | (~zero & signed_sine));
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
    """Print a polynomial in t."""
    first, *rest = coefficients
    return f"({first} + t * {_horner(rest)})" if rest else first
