"""Soft constraint rows: impedance, reference acceleration and regularization of MuJoCo.

A row with position r (a distance less its margin, or an error) and velocity v has

    d(r)     impedance, between 0 and 1; a polynomial sigmoid of |r| / width
    a_ref    = -b v - k d r          the acceleration that the row asks for
    R        = (1 - d) / d w         with the inverse weight w of what it acts on

and the force f = (a_ref - J a) / R where it is active. All rules and clamps are those of MuJoCo.
"""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.engine.symbolic.entries import FUNCTIONS, select
from linkwork.simulation.scene import Options, Softness
from linkwork.spatial.blocks import Scalar

TINY = 1e-15  # mjMINVAL: the smallest divisor
LEAST, MOST = 1e-4, 0.9999  # bounds of the impedance
DEFAULT_SOLREF = (0.02, 1.0)


@dataclass(frozen=True, slots=True)
class Gains:
    """The stiffness and damping of a reference acceleration: a_ref = -b v - k d r."""

    k: float  # [1/s^2], times the impedance
    b: float  # [1/s]


def clamped(solimp: tuple[float, ...]) -> tuple[float, float, float, float, float]:
    """Return dmin, dmax, width, midpoint, power in MuJoCo's bounds."""
    dmin, dmax, width, midpoint, power = solimp
    bounded = [min(MOST, max(LEAST, x)) for x in (dmin, dmax, midpoint)]
    return bounded[0], bounded[1], max(0.0, width), bounded[2], max(1.0, power)


def gains(solref: tuple[float, float], softness: Softness, options: Options) -> Gains:
    """Return the gains of a solref: (time constant, damping ratio), or (-stiffness, -damping)."""
    if (solref[0] > 0.0) != (solref[1] > 0.0):
        solref = DEFAULT_SOLREF
    time, ratio = solref
    dmax = clamped(softness.solimp)[1]
    if time > 0.0:
        time = max(time, 2.0 * options.timestep) if options.refsafe else time
        k = 1.0 / max(TINY, dmax * dmax * time * time * ratio * ratio)
        return Gains(k, 2.0 / max(TINY, dmax * time))
    return Gains(-time / max(TINY, dmax * dmax), -ratio / max(TINY, dmax))


def friction_gains(
    solref_friction: tuple[float, float], softness: Softness, options: Options
) -> Gains:
    """Return the gains of the friction rows of an elliptic contact, whose k does not matter."""
    time, ratio = solref_friction
    if (time == 0.0 and ratio == 0.0) or (time > 0.0) != (ratio > 0.0):
        return gains(softness.solref, softness, options)
    return gains(solref_friction, softness, options)


def impedance(softness: Softness, r: Scalar) -> Scalar:
    """Return d(r)."""
    dmin, dmax, width, midpoint, power = clamped(softness.solimp)
    if dmin == dmax or width <= TINY:
        return 0.5 * (dmin + dmax)
    x = abs(r) * (1.0 / width)
    if power == 1.0:
        y = x
    else:
        x = select(x < 1.0, x, 1.0)  # so that no power overflows
        low = (1.0 / midpoint ** (power - 1.0)) * _power(x, power)
        high = 1.0 - (1.0 / (1.0 - midpoint) ** (power - 1.0)) * _power(1.0 - x, power)
        y = select(x <= midpoint, low, high)
    return select(x < 1.0, dmin + y * (dmax - dmin), dmax)


def inverse_regularization(d: Scalar, weight: Scalar) -> Scalar:
    """Return 1 / R for an impedance and an inverse weight."""
    return d / FUNCTIONS["maximum"](TINY * d, (1.0 - d) * weight)


def _power(x: Scalar, power: float) -> Scalar:
    """Return x^power; a power that is a small integer is a product."""
    return x ** int(power) if power == int(power) and power <= 8 else x**power
