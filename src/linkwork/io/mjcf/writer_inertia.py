"""Inertias as MuJoCo takes them: principal moments, none of them too small where bodies move.

MuJoCo refuses moments that break the triangle inequality by any amount, and moving bodies that have
next to no mass or moment of inertia. Rounding of the first kind is mended; of the second kind, the
least is written that MuJoCo takes. Both are told of.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import Finding, ModelError, listed
from linkwork.io.xml.write import number_text
from linkwork.model.check import unphysical_links
from linkwork.model.inertia import NO_INERTIA, Inertia
from linkwork.model.model import Model
from linkwork.model.walk import Visit
from linkwork.spatial.source import quat

LEAST_TAKEN = 1e-15  # kg and kg m^2: MuJoCo's mjMINVAL
LEAST_WRITTEN = 1e-14  # what is written instead of less than that
# Moments that miss the triangle inequality by less than this fraction of the largest do so because
# of rounding here, not in the file; mending them is not worth a word.
ROUNDING = 1e-14


def inertials(
    model: Model, visits: Sequence[Visit], moving: Collection[str]
) -> tuple[dict[str, dict[str, str | None]], list[Finding]]:
    """The attributes of `<inertial>` by link, and what is to be said about them.

    Args:
        model: the robot.
        visits: its links from the base outwards.
        moving: the links that move on their parents.

    Raises:
        ModelError: an inertia that no body can have, which MuJoCo refuses.
    """
    _refuse_unphysical(model)
    needing = _needing_more(model, visits, moving)
    written: dict[str, dict[str, str | None]] = {}
    mended: list[str] = []
    for link in model.links:
        if link.inertia == NO_INERTIA and link.name not in needing:
            continue
        moments, rotation, was_mended = _principal(link.inertia)
        mass = link.inertia.mass
        if was_mended:
            mended.append(link.name)
        if link.name in needing:
            mass, moments = max(mass, LEAST_WRITTEN), np.maximum(moments, LEAST_WRITTEN)
        written[link.name] = {
            "pos": number_text(*link.inertia.com),
            "quat": None if rotation is None else number_text(*quat.from_rotation(rotation)),
            "mass": number_text(mass),
            "diaginertia": number_text(*moments),
        }
    return written, [*_told_least(needing), *_told_mended(mended)]


def _principal(inertia: Inertia) -> tuple[Array, Array | None, bool]:
    """Principal moments, their axes (None: those of the link), and whether they were mended."""
    tensor = inertia.matrix()
    rotation = None
    moments = np.diag(tensor).copy()
    if np.abs(tensor - np.diag(moments)).any():
        moments, rotation = np.linalg.eigh(tensor)
        if np.linalg.det(rotation) < 0:
            rotation = rotation * [1.0, 1.0, -1.0]
    moments = np.maximum(moments, 0.0)
    largest = int(moments.argmax())
    others = float(np.delete(moments, largest).sum())
    missing = float(moments[largest]) - others
    if missing > 0:
        moments[largest] = others
    return moments, rotation, missing > ROUNDING * (others + missing)


def _needing_more(model: Model, visits: Sequence[Visit], moving: Collection[str]) -> list[str]:
    """Moving links that MuJoCo would refuse: neither they nor what is fixed to them has inertia."""
    heavy: set[str] = set()  # links that have enough, or carry such a link without a joint
    for visit in reversed(visits):
        inertia = model.link(visit.link).inertia
        moments = _principal(inertia)[0]
        if inertia.mass >= LEAST_TAKEN and (moments >= LEAST_TAKEN).all():
            heavy.add(visit.link)
        if visit.link in heavy and visit.parent is not None and visit.link not in moving:
            heavy.add(visit.parent)
    return [visit.link for visit in visits if visit.link in moving and visit.link not in heavy]


def _refuse_unphysical(model: Model) -> None:
    findings = [
        Finding(
            "error",
            f"link {link.name!r}",
            "MuJoCo refuses an inertia that no body can have; "
            "load the robot with repair=True, or convert it with --repair",
            link.place,
        )
        for link in unphysical_links(model.links)
    ]
    if findings:
        raise ModelError(findings)


def _told_least(links: Sequence[str]) -> list[Finding]:
    if not links:
        return []
    text = (
        f"MuJoCo wants mass and moments of inertia of what moves: {LEAST_WRITTEN:g} kg and kg m^2"
    )
    return [Finding("warning", "", f"{text} were written where there was less: {listed(links)}")]


def _told_mended(links: Sequence[str]) -> list[Finding]:
    if not links:
        return []
    text = "the largest moment of inertia was rounded down to the sum of the others, as MuJoCo asks"
    return [Finding("warning", "", f"{text}: {listed(links)}")]
