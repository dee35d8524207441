"""Sine and cosine together, as LLVM IR for any number of lanes.

The angle is reduced by a multiple n of pi/2, with pi/2 in three parts and fused multiply-adds, so
the remainder is right to the last digit for angles up to far beyond a million. Then one polynomial
each gives sine and cosine on [-pi/4, pi/4], and n modulo 4 selects between them and their signs.
Angles too large for this reduction give finite numbers; NaN and infinity give NaN.

The polynomials in the square of the angle are minimax for the relative error on [-1.001 pi/4,
1.001 pi/4], by the exchange algorithm of Remez. Coefficients are rounded one after the other, and
the remaining ones fitted again. Largest error of sine and cosine: 4e-18 and 3e-18 in double, 4.1e-9
and 1.2e-10 in single precision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The constants for one type."""

    integer: str
    magic: float  # adding it rounds to an integer, which the low bits of the sum hold
    half_pi: tuple[float, ...]
    sine: tuple[float, ...]  # sin(r) = r + r t (s0 + s1 t + ...), with t = r^2
    cosine: tuple[float, ...]  # cos(r) = 1 - t / 2 + t^2 (c0 + c1 t + ...)


SINCOS_NUMBERS = {
    "double": _Numbers(
        "i64",
        1.5 * 2.0**52,
        (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
        (
            -0.1666666666666663,
            0.00833333333332184,
            -0.00019841269829358528,
            2.7557313538514264e-06,
            -2.5050734389281736e-08,
            1.589543329303455e-10,
        ),
        (
            0.04166666666666659,
            -0.0013888888888872895,
            2.480158728874819e-05,
            -2.755731414862346e-07,
            2.087569657250541e-09,
            -1.1358310483383956e-11,
        ),
    ),
    "float": _Numbers(
        "i32",
        1.5 * 2.0**23,
        (1.5707963705062866, -4.371138828673793e-08, -1.7151245100059e-15),
        (-0.16666655242443085, 0.008332187309861183, -0.00019517897453624755),
        (0.04166664555668831, -0.0013887309469282627, 2.4432327336398885e-05),
    ),
}
TWO_OVER_PI = 0.6366197723675814
_LARGEST = 1.0  # remainders are clamped to this; larger ones are of angles too large to reduce


def sincos_function(vector: str, scalar: str, suffix: str, constant: Callable[[float], str]) -> str:
    """The function `sincos` for a type, with its declarations."""
    numbers = SINCOS_NUMBERS[scalar]
    width = vector[1 : vector.index(" ")] if vector.startswith("<") else ""
    ints = f"<{width} x {numbers.integer}>" if width else numbers.integer
    bools = f"<{width} x i1>" if width else "i1"

    def integer(value: int) -> str:
        if not width:
            return str(value)
        return "<" + ", ".join([f"{numbers.integer} {value}"] * int(width)) + ">"

    lines = [
        f"define internal fastcc {{ {vector}, {vector} }} @sincos({vector} %x) {{",
        f"  %scaled = fmul {vector} %x, {constant(TWO_OVER_PI)}",
        f"  %shifted = fadd {vector} %scaled, {constant(numbers.magic)}",
        f"  %n = fsub {vector} %shifted, {constant(numbers.magic)}",
        f"  %minus_n = fneg {vector} %n",
    ]
    remainder = "%x"
    for k, part in enumerate(numbers.half_pi):
        lines.append(f"  %r{k} = {_fma(vector, suffix, '%minus_n', constant(part), remainder)}")
        remainder = f"%r{k}"
    lines += [
        f"  %high = fcmp ogt {vector} {remainder}, {constant(_LARGEST)}",
        f"  %rh = select {bools} %high, {vector} {constant(_LARGEST)}, {vector} {remainder}",
        f"  %low = fcmp olt {vector} %rh, {constant(-_LARGEST)}",
        f"  %r = select {bools} %low, {vector} {constant(-_LARGEST)}, {vector} %rh",
        f"  %t = fmul {vector} %r, %r",
        f"  %rt = fmul {vector} %r, %t",
        f"  %tt = fmul {vector} %t, %t",
        f"  %c = {_fma(vector, suffix, '%t', constant(-0.5), constant(1.0))}",
    ]
    for name, coefficients in (("s", numbers.sine), ("c", numbers.cosine)):
        value = constant(coefficients[-1])
        for k, coefficient in reversed(list(enumerate(coefficients[:-1]))):
            lines.append(
                f"  %{name}{k} = {_fma(vector, suffix, value, '%t', constant(coefficient))}"
            )
            value = f"%{name}{k}"
    lines += [
        f"  %sin_r = {_fma(vector, suffix, '%s0', '%rt', '%r')}",
        f"  %cos_r = {_fma(vector, suffix, '%c0', '%tt', '%c')}",
        f"  %bits = bitcast {vector} %shifted to {ints}",
        f"  %odd_bit = and {ints} %bits, {integer(1)}",
        f"  %odd = icmp ne {ints} %odd_bit, {integer(0)}",
        f"  %sin_q = select {bools} %odd, {vector} %cos_r, {vector} %sin_r",
        f"  %cos_q = select {bools} %odd, {vector} %sin_r, {vector} %cos_r",
        f"  %second_bit = and {ints} %bits, {integer(2)}",
        f"  %next = add {ints} %bits, {integer(1)}",
        f"  %third_bit = and {ints} %next, {integer(2)}",
        f"  %sin_minus = icmp ne {ints} %second_bit, {integer(0)}",
        f"  %cos_minus = icmp ne {ints} %third_bit, {integer(0)}",
        f"  %sin_negated = fneg {vector} %sin_q",
        f"  %cos_negated = fneg {vector} %cos_q",
        f"  %sin = select {bools} %sin_minus, {vector} %sin_negated, {vector} %sin_q",
        f"  %cos = select {bools} %cos_minus, {vector} %cos_negated, {vector} %cos_q",
        f"  %first = insertvalue {{ {vector}, {vector} }} undef, {vector} %sin, 0",
        f"  %both = insertvalue {{ {vector}, {vector} }} %first, {vector} %cos, 1",
        f"  ret {{ {vector}, {vector} }} %both",
        "}",
        f"declare {vector} @llvm.fma.{suffix}({vector}, {vector}, {vector})",
    ]
    return "\n".join(lines)


def _fma(vector: str, suffix: str, a: str, b: str, c: str) -> str:
    return f"call {vector} @llvm.fma.{suffix}({vector} {a}, {vector} {b}, {vector} {c})"
