"""Angles that files give in degrees: correctly rounded both ways, so that no digit is lost.

The float nearest to `degrees * pi / 180` is found with more digits than a float has. So 90 is read
as the float nearest to pi/2, and every float has a text in degrees that reads back as itself.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal

_PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862"
)
_CONTEXT = Context(prec=60, Emax=9999, Emin=-9999)
_DIGITS = 22  # of a text in degrees that certainly reads back as the same float


def radians_of(degrees: str | float) -> float:
    """The angle in radians of a decimal text, or of a float, in degrees."""
    if float(degrees) == 0:  # also a text with an exponent that no Decimal has
        return float(degrees)
    exact = Decimal(degrees)
    return float(_CONTEXT.divide(_CONTEXT.multiply(exact, _PI), Decimal(180)))


def degrees_text(radians: float) -> str:
    """An angle in degrees, in few digits that read back as the same float in radians."""
    if not math.isfinite(radians):
        raise ValueError(radians)
    if radians == 0:
        return "0"
    for digits in (6, 12, 15, 16, 17):
        text = f"{math.degrees(radians):.{digits}g}"
        if radians_of(text) == radians:
            return text
    exact = _CONTEXT.divide(_CONTEXT.multiply(Decimal(radians), Decimal(180)), _PI)
    return f"{exact:.{_DIGITS}g}"
