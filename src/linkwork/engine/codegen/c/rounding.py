"""C macros and functions that round as machine code does, where the processor can.

With fused operations, `LW_FMA` rounds once, sine and cosine are the polynomials of `llvm/sincos`,
and results have the same bits as those of the kernels. Without them, a call of `fma` would take as
long as ten operations or more: products and sums are separate, and libm computes sine and cosine.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from linkwork.engine.codegen.c.statements import Real
from linkwork.engine.codegen.sincos import SINCOS_CONSTANTS, TWO_OVER_PI
from linkwork.engine.symbolic.operations import Op

NOT_CONTRACTED = """\
#if defined(__GNUC__) && !defined(__clang__) /* the compiler fuses no other products */
#pragma GCC optimize("fp-contract=off")
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#else
#pragma STDC FP_CONTRACT OFF
#endif
"""


def rounding_support(real: Real, operations: Collection[Op]) -> str:
    """Print the macros `LW_FMA`, `LW_SIN` and `LW_COS`, as far as these operations use them."""
    if not {Op.FMA, Op.SIN, Op.COS}.intersection(operations):
        return ""
    s = real.suffix
    known = ("__FMA__", f"FP_FAST_FMA{s.upper()}", "__aarch64__", "_M_ARM64")
    text = f"""\
/* LW_FMA(a, b, c) is a b + c, rounded once if the processor has this operation; the compiler has to
 * know it, for example by -march=native. Then results have the same bits as in Python. */
#if !defined(LW_FMA) && ({" || ".join(f"defined({name})" for name in known)})
#define LW_FMA(a, b, c) fma{s}(a, b, c)
#endif
#ifdef LW_FMA
{NOT_CONTRACTED}#endif
"""
    if {Op.SIN, Op.COS}.intersection(operations):
        text += _circle(real)
    return f"""{text}#ifndef LW_FMA
#define LW_FMA(a, b, c) ((a) * (b) + (c))
#endif
"""


def _circle(real: Real) -> str:
    """Print sine and cosine of one angle, with the operations of `llvm/sincos`."""
    numbers, number, t, s = SINCOS_CONSTANTS[real.name], real.literal, real.name, real.suffix
    reduced = "x"
    for part in numbers.half_pi:
        reduced = f"LW_FMA(-n, {number(part)}, {reduced})"
    sine, cosine = (_horner([*map(number, part)]) for part in (numbers.sine, numbers.cosine))
    return f"""\
#ifdef LW_FMA
/* sin(x + turn pi/2), where turn is 0 or 1. The angle is reduced by a multiple n of pi/2. */
static inline {t} lw_circle({t} x, int turn)
{{
  const {t} scaled = x * {number(TWO_OVER_PI)};
  const {t} shifted = scaled + {number(numbers.magic)};
  const {t} n = shifted - {number(numbers.magic)};
  const {t} r = {reduced};
  const {t} t = r * r;
  const {t} rt = r * t;
  const {t} tt = t * t;
  const {t} sine = LW_FMA({sine}, rt, r);
  const {t} cosine = LW_FMA({cosine}, tt, LW_FMA(t, {number(-0.5)}, {number(1.0)}));
  int quarter;
  {t} value;
  if (!(fabs{s}(x) <= {number(numbers.largest)})) {{
    return turn ? cos{s}(x) : sin{s}(x);
  }}
  quarter = (int)(n - {number(4.0)} * floor{s}({number(0.25)} * n)) + turn;
  value = quarter & 1 ? cosine : sine;
  value = quarter & 2 ? -value : value;
  return turn == 0 && x == {number(0.0)} ? x : value;
}}
#define LW_SIN(x) lw_circle(x, 0)
#define LW_COS(x) lw_circle(x, 1)
#else
#define LW_SIN(x) sin{s}(x)
#define LW_COS(x) cos{s}(x)
#endif
"""


def _horner(coefficients: Iterable[str]) -> str:
    """Print a polynomial in t."""
    *others, value = coefficients
    for coefficient in reversed(others):
        value = f"LW_FMA({value}, t, {coefficient})"
    return value
