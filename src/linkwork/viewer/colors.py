"""Colors of materials and marks, and color scales for numbers. RGB, each 0 to 255."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.model.geometry import Material

Rgb: TypeAlias = tuple[int, int, int]

GREY: Rgb = (170, 176, 186)  # of a link whose file says nothing
UNRESOLVED: Rgb = (214, 160, 80)  # of a box that stands for a mesh
UNPHYSICAL: Rgb = (220, 40, 40)
PHYSICAL: Rgb = (70, 150, 220)
CLOSED: Rgb = (60, 170, 110)  # of a loop
OPEN: Rgb = (220, 40, 40)
FREE: Rgb = (70, 170, 120)  # of collision shapes
COLLIDING: Rgb = (220, 40, 40)
OBSTACLE: Rgb = (205, 140, 90)
COM: Rgb = (240, 200, 40)
LINEAR: Rgb = (40, 130, 230)  # arrows of velocities
ANGULAR: Rgb = (235, 130, 40)
TRACE: Rgb = (200, 60, 160)
MANIPULABILITY: Rgb = (120, 90, 210)

# From no load to full load: each color, and its share of the load.
_LOAD_SHARES = (0.0, 0.5, 0.8, 1.0)
_LOAD_COLORS = ((90, 190, 110), (240, 210, 70), (240, 140, 50), (220, 40, 40))
NEGATIVE: Rgb = (45, 105, 205)
POSITIVE: Rgb = (205, 45, 55)


def rgb_of(material: Material | None, otherwise: Rgb = GREY) -> tuple[Rgb, float]:
    """Return the color and opacity of a material; numbers are clipped to 0 to 1."""
    if material is None or material.rgba is None:
        return otherwise, 1.0
    r, g, b, a = (min(max(number, 0.0), 1.0) for number in material.rgba)
    return (round(255 * r), round(255 * g), round(255 * b)), a


def load_colors(shares: ArrayLike) -> Array:
    """(..., 3) colors of loads: green for none, red for 1, the limit, and beyond it.

    Args:
        shares: (...) each load divided by its limit, of either sign.
    """
    return _scale(np.minimum(np.abs(np.asarray(shares, float)), 1.0), _LOAD_SHARES, _LOAD_COLORS)


def signed_colors(values: ArrayLike) -> Array:
    """(..., 4) colors and opacities of numbers: blue where negative, red where positive.

    The largest absolute value is opaque, zero is clear, so that they are read on a light and on a
    dark page; what is not finite is grey.
    """
    numbers = np.asarray(values, float)
    finite = np.isfinite(numbers)
    largest = float(np.abs(numbers[finite]).max(initial=0.0))
    shares = np.where(finite, numbers, 0.0) / (largest or 1.0)
    colors = np.empty((*numbers.shape, 4), dtype=np.uint8)
    colors[..., :3] = np.where((shares < 0)[..., None], NEGATIVE, POSITIVE)
    colors[..., 3] = np.round(255 * np.abs(shares) ** 0.8)
    colors[~finite] = (128, 128, 128, 255)
    return colors


def linear(rgb: ArrayLike) -> Array:
    """Colors as viser takes them for batches of meshes: proportional to light, not sRGB."""
    share = np.asarray(rgb, float) / 255
    light = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return np.round(255 * light).astype(np.uint8)


def hexadecimal(rgb: ArrayLike) -> str:
    """Return a color as HTML writes it, such as #ff8000."""
    r, g, b = np.asarray(rgb).tolist()
    return f"#{r:02x}{g:02x}{b:02x}"


def _scale(shares: Array, at: tuple[float, ...], colors: tuple[Rgb, ...]) -> Array:
    table = np.array(colors, float)
    channels = [np.interp(shares, at, table[:, k]) for k in range(3)]
    return np.round(np.stack(channels, axis=-1)).astype(np.uint8)
