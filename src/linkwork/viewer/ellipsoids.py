"""Ellipsoids: of inertias, and of the velocities that a frame can have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.model.check import unphysical_links
from linkwork.model.parts import Link

LARGEST_RADIUS = 1e3  # of an ellipsoid that is drawn [m]; files hold absurd numbers too
THINNEST = 2e-3  # share of the largest radius that a flat ellipsoid is drawn with
LEAST_RADIUS = 1e-7  # of an ellipsoid that is a point [m]


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """Radii along the axes of a frame, and the pose of that frame."""

    radii: Array  # (3,) [m]
    pose: Array  # (4, 4) in the frame of the link, or in the world


def inertia_ellipsoids(links: Sequence[Link]) -> list[tuple[str, Ellipsoid, bool]]:
    """For each link with mass: its name, the ellipsoid in its frame, whether a body can have it.

    The ellipsoid is the homogeneous one of the same mass and inertia: with principal moments I,
    its radii are r_i^2 = 5 (I_j + I_k - I_i) / (2 m). Where a radius would be imaginary, the
    inertia is unphysical, and its absolute value is taken.
    """
    bad = {link.name for link in unphysical_links(links)}
    found: list[tuple[str, Ellipsoid, bool]] = []
    for link in links:
        if link.inertia.mass <= 0:
            continue
        moments, axes = np.linalg.eigh(link.inertia.matrix())
        squares = 2.5 * (moments.sum() - 2 * moments) / link.inertia.mass
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = _right_handed(axes), link.inertia.com
        ellipsoid = Ellipsoid(_drawable(np.sqrt(np.abs(squares))), pose)
        found.append((link.name, ellipsoid, link.name not in bad))
    return found


def manipulability_ellipsoid(jacobian: Array, at: Array, size: float = 0.3) -> Ellipsoid:
    """The linear velocities that a frame can have with joint velocities of norm 1.

    Args:
        jacobian: (6, n) or (3, n), linear rows first, along the axes of the world.
        at: (3,) where to draw it [m].
        size: radius to draw a velocity of 1 m/s with [m].

    Returns:
        radii are the singular values of the linear part times `size`; flat where it is singular.
    """
    axes, values, _ = np.linalg.svd(jacobian[:3], full_matrices=True)
    radii = np.zeros(3)
    radii[: len(values)] = values
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = _right_handed(axes), at
    return Ellipsoid(_drawable(radii * size), pose)


def manipulability(jacobian: Array) -> float:
    """Yoshikawa's measure: the volume spanned by the linear rows, sqrt(det(J J^T))."""
    return float(np.prod(np.linalg.svd(jacobian[:3], compute_uv=False)[:3]))


def _drawable(radii: Array) -> Array:
    """Radii that are neither zero nor beyond what can be drawn."""
    radii = np.minimum(np.nan_to_num(radii, nan=0.0, posinf=LARGEST_RADIUS), LARGEST_RADIUS)
    return np.maximum(radii, max(THINNEST * float(radii.max()), LEAST_RADIUS))


def _right_handed(axes: Array) -> Array:
    return axes if np.linalg.det(axes) > 0 else axes * np.array([1.0, 1.0, -1.0])
