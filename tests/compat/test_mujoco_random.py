"""Random MJCF trees against MuJoCo: any joints on any body, anchors, rests, sites, free bodies."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.models import random_inertia, random_wxyz
from tests.support.mujoco import Both, compiled


def numbers(values):
    return " ".join(repr(float(value)) for value in values)


def joint(rng, kind, name):
    anchor = f' pos="{numbers(rng.normal(size=3) * 0.3)}"' if rng.random() < 0.5 else ""
    if kind == "ball":
        return f'<joint name="{name}" type="ball"{anchor}/>'
    axis = rng.normal(size=3)  # never along another one
    rest = f' ref="{rng.normal()}"' if rng.random() < 0.5 else ""
    return f'<joint name="{name}" type="{kind}" axis="{numbers(axis)}"{anchor}{rest}/>'


def joints(rng, number):
    """None, one, or several that are independent, so that no mass matrix is singular."""
    kinds = rng.choice(["hinge", "slide", "ball"], size=rng.choice([0, 1, 1, 1, 2, 3])).tolist()
    if "ball" in kinds:  # turns by itself, and MuJoCo lets nothing turn after it
        kinds = [kind for kind in kinds if kind == "slide"] + ["ball"]
        kinds = [kinds[place] for place in rng.permutation(len(kinds))]
    return "".join(joint(rng, kind, f"joint{number}_{k}") for k, kind in enumerate(kinds))


def inertial(rng):
    body = random_inertia(rng)
    xx, xy, xz, yy, yz, zz = body.tensor
    full = numbers([xx, yy, zz, xy, xz, yz])
    return f'<inertial pos="{numbers(body.com)}" mass="{body.mass}" fullinertia="{full}"/>'


def bodies(rng, budget):
    """A body and those on it, as text, within a budget of bodies."""
    number = budget.pop()
    place = f'pos="{numbers(rng.normal(size=3))}" quat="{numbers(random_wxyz(rng))}"'
    text = f'<body name="body{number}" {place}>{joints(rng, number)}{inertial(rng)}'
    if rng.random() < 0.5:
        text += f'<site name="site{number}" {place}/>'
    while budget and rng.random() < 0.7:
        text += bodies(rng, budget)
    return text + "</body>"


def random_mjcf(seed):
    rng = np.random.default_rng(seed)
    budget = list(range(int(rng.integers(2, 12))))
    tops = []
    while budget and (not tops or rng.random() < 0.5):
        text = bodies(rng, budget)
        if rng.random() < 0.5:  # a free joint in place of the others
            start, end = text.index(">") + 1, text.index("<inertial")
            text = f"{text[:start]}<freejoint/>{text[end:]}"
        tops.append(text)
    head = '<compiler angle="radian"/>'
    return f"<mujoco>{head}<worldbody>{''.join(tops)}</worldbody></mujoco>"


@pytest.mark.parametrize("seed", range(60))
def test_random_trees_move_as_in_mujoco(seed):
    mj = compiled(random_mjcf(seed))
    velocity = ["mixed", "body", "inertial"][seed % 3]
    Both(mj, seed, representation=velocity).agree(rtol=1e-10)
