"""Constants for the computation of sine and cosine, shared by all printers.

The polynomials in the square of the angle minimize the largest relative error on [-1.001 pi/4,
1.001 pi/4] (Remez exchange algorithm). Coefficients are rounded one after the other, and the
remaining ones are fitted again. Largest error of sine and cosine: 4e-18 and 3e-18 in double, 4.1e-9
and 1.2e-10 in single precision.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Constants:
    """The constants for one floating-point type."""

    integer: str
    magic: float  # adding it rounds to an integer, which is in the low bits of the sum
    largest: float  # largest magnitude of angles that are reduced with full precision
    half_pi: tuple[float, ...]
    sine: tuple[float, ...]  # sin(r) = r + r t (s0 + s1 t + ...), with t = r^2
    cosine: tuple[float, ...]  # cos(r) = 1 - t / 2 + t^2 (c0 + c1 t + ...)


SINCOS_CONSTANTS = {
    "double": _Constants(
        "i64",
        1.5 * 2.0**52,
        1e14,
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
    "float": _Constants(
        "i32",
        1.5 * 2.0**23,
        1e6,
        (1.5707963705062866, -4.371138828673793e-08, -1.7151245100059e-15),
        (-0.16666655242443085, 0.008332187309861183, -0.00019517897453624755),
        (0.04166664555668831, -0.0013887309469282627, 2.4432327336398885e-05),
    ),
}
TWO_OVER_PI = 0.6366197723675814
