"""Physical quantities that files of several formats express differently: angles and gravity.

Degrees   are converted to and from radians with correct rounding. The conversion computes with more
          digits than a float has. So 90 degrees is read as the float nearest to pi/2, and every
          float in radians can be written in degrees without loss
Gravity   is a property of some files, but not of a `Model`; it is an argument of `KinDyn`
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal

from linkwork.errors import Finding

EARTH = (0.0, 0.0, -9.81)
EARTH_ROUNDING = 0.02  # [m/s^2] covers the values in use: 9.8, 9.80665, 9.81

_PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862"
)
_CONTEXT = Context(prec=60, Emax=9999, Emin=-9999)
_DIGITS = 22  # enough for degrees that read back as the same float in radians


def radians_from_degrees(degrees: str | float) -> float:
    """Convert degrees, as a decimal string or a float, to radians."""
    if float(degrees) == 0:  # also a string whose exponent is out of range for Decimal
        return float(degrees)
    exact = Decimal(degrees)
    return float(_CONTEXT.divide(_CONTEXT.multiply(exact, _PI), Decimal(180)))


def degrees_text(radians: float) -> str:
    """Format an angle in degrees, with few digits that read back as the same float in radians."""
    if not math.isfinite(radians):
        raise ValueError(radians)
    if radians == 0:
        return "0"
    for digits in (6, 12, 15, 16, 17):
        text = f"{math.degrees(radians):.{digits}g}"
        if radians_from_degrees(text) == radians:
            return text
    exact = _CONTEXT.divide(_CONTEXT.multiply(Decimal(radians), Decimal(180)), _PI)
    return f"{exact:.{_DIGITS}g}"


def left_out_gravity(gravity: Sequence[float]) -> list[Finding]:
    """Return a warning about a gravity that differs from the default of `KinDyn`."""
    if all(abs(x - y) <= EARTH_ROUNDING for x, y in zip(gravity, EARTH, strict=True)):
        return []
    vector = ", ".join(f"{x:g}" for x in gravity)
    message = f"left out: gravity; pass it as KinDyn(model, gravity=({vector}))"
    return [Finding("warning", "", message)]
