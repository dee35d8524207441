"""C types, macros and functions that functions of vectors need."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from linkwork.engine.codegen.c.rounding import NOT_CONTRACTED
from linkwork.engine.codegen.c.statements import Real
from linkwork.engine.codegen.sincos import SINCOS_CONSTANTS, TWO_OVER_PI
from linkwork.engine.symbolic.operations import OPERATIONS, Op

# pi/2 in three parts, without fused operations. The first two have few enough bits that their
# products with n are exact, for |n| below 2^20 in double and 2^13 in float. libm computes larger
# angles.
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
{_fused(real, lanes)}"""
    constants = {"one": real.literal(1.0), "zero": real.literal(0.0)}
    for name, number in constants.items():
        if name in calls:
            text += f"\nstatic const lw_vec lw_{name} = {{{', '.join([number] * lanes)}}};\n"
    if "sincos" in calls:
        text += "\n" + _sincos(real, lanes)
    for name in sorted(set(calls) - {"sincos", *constants}):
        text += "\n" + _by_lane(name, real, lanes)
    return text


def _fused(real: Real, lanes: int) -> str:
    """Print the macro of a b + c, which rounds once if the processor has this for such vectors."""
    kind, size = ("pd", "f64") if real.bytes == 8 else ("ps", "f32"), real.bytes * lanes
    prefixes = {16: "_mm", 32: "_mm256", 64: "_mm512"}
    text = ""
    if size in prefixes:
        function = f"{prefixes[size]}_fmadd_{kind[0]}"
        vector = f"__m{8 * size}{'d' if real.bytes == 8 else ''}"
        arguments = ", ".join(f"({vector})({one})" for one in "abc")
        text += f"""\
#if defined({"__AVX512F__" if size == 64 else "__FMA__"})
#include <immintrin.h>
#define LW_FMA_ROWS(a, b, c) ((lw_vec){function}({arguments}))
"""
        if size == 16:
            vector = f"float{8 * real.bytes}x{lanes}_t"
            arguments = ", ".join(f"({vector})({one})" for one in "cab")
            text += f"""\
#elif defined(__aarch64__)
#include <arm_neon.h>
#define LW_FMA_ROWS(a, b, c) ((lw_vec)vfmaq_{kind[1]}({arguments}))
"""
        text += f"#endif\n#ifdef LW_FMA_ROWS\n#define LW_IS_FUSED\n{NOT_CONTRACTED}#else\n"
    text += "#define LW_FMA_ROWS(a, b, c) ((a) * (b) + (c))\n"
    return text + ("#endif\n" if size in prefixes else "")


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
    bit = 8 * real.bytes - 2

    constants: list[str] = []

    def all_rows(value: float) -> str:
        """Define a constant; an initializer with commas cannot be the argument of a macro."""
        name = f"k{len(constants)}"
        constants.append(f"  const lw_vec {name} = {{{', '.join([number(value)] * lanes)}}};\n")
        return name

    def polynomial(coefficients: Sequence[float]) -> str:
        *others, value = map(all_rows, coefficients)
        for coefficient in reversed(others):
            value = f"LW_FMA_ROWS({value}, t, {coefficient})"
        return value

    half, one = all_rows(-0.5), all_rows(1.0)
    sine, cosine = polynomial(numbers.sine), polynomial(numbers.cosine)
    of_polynomials = "".join(constants)
    reduced = "x"
    for part in numbers.half_pi:
        reduced = f"LW_FMA_ROWS(-n, {all_rows(part)}, {reduced})"
    of_reduction = "".join(constants).removeprefix(of_polynomials)
    p1, p2, p3 = map(number, _HALF_PI[real.name])
    return f"""\
/* The angle is reduced by a multiple n of pi/2. Two polynomials approximate sine and cosine on
 * [-pi/4, pi/4]. The two lowest bits of n determine whether to swap them, and their signs. */
static void lw_sincos(const lw_vec *angle, lw_vec *sine, lw_vec *cosine)
{{
{of_polynomials}  const lw_vec x = *angle;
  const lw_vec scaled = x * {number(TWO_OVER_PI)};
  const lw_vec shifted = scaled + {number(numbers.magic)};
  const lw_vec n = shifted - {number(numbers.magic)};
#ifdef LW_IS_FUSED
{of_reduction}  const {real.name} largest = {number(numbers.largest)};
  const lw_vec r = {reduced};
#else
  const {real.name} largest = {number(_LARGEST_ANGLE[real.name])};
  const lw_vec r = ((x - n * {p1}) - n * {p2}) - n * {p3};
#endif
  const lw_vec t = r * r;
  const lw_vec rt = r * t;
  const lw_vec tt = t * t;
  const lw_vec start = LW_FMA_ROWS(t, {half}, {one});
  const lw_vec s = LW_FMA_ROWS({sine}, rt, r);
  const lw_vec c = LW_FMA_ROWS({cosine}, tt, start);
  const lw_mask bits = (lw_mask)shifted;
  const lw_mask odd = -(bits & 1u);
  const lw_mask other = ~odd;
  const lw_mask sine_sign = (bits & 2u) << {bit};
  const lw_mask cosine_sign = ((bits + 1u) & 2u) << {bit};
  const lw_mask zero = (lw_mask)(x == {number(0.0)}); /* sin(-0) is -0 */
  const lw_mask signed_sine = ((odd & (lw_mask)c) | (other & (lw_mask)s)) ^ sine_sign;
  int small = 1;
  *sine = (lw_vec)((zero & (lw_mask)x) | (~zero & signed_sine));
  *cosine = (lw_vec)(((odd & (lw_mask)s) | (other & (lw_mask)c)) ^ cosine_sign);
  for (int k = 0; k < {lanes}; ++k) {{
    small &= fabs{s}(x[k]) <= largest;
  }}
  for (int k = 0; k < {lanes} && !small; ++k) {{
    if (!(fabs{s}(x[k]) <= largest)) {{
      (*sine)[k] = sin{s}(x[k]);
      (*cosine)[k] = cos{s}(x[k]);
    }}
  }}
}}
"""
