"""Random MJCF trees compared with MuJoCo: joints, anchors, references, sites, free bodies."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.models import random_inertia, random_wxyz
from tests.support.mujoco import Both, compiled


def formatted(values):
    return " ".join(repr(float(value)) for value in values)


def joint(rng, kind, name):
    anchor = f' pos="{formatted(rng.normal(size=3) * 0.3)}"' if rng.random() < 0.5 else ""
    if kind == "ball":
        return f'<joint name="{name}" type="ball"{anchor}/>'
    axis = rng.normal(size=3)  # never along another one
    remaining = f' ref="{rng.normal()}"' if rng.random() < 0.5 else ""
    return f'<joint name="{name}" type="{kind}" axis="{formatted(axis)}"{anchor}{remaining}/>'


def joints(rng, number):
    """Return no joint, one, or several independent ones, so that no mass matrix is singular."""
    kinds = rng.choice(["hinge", "slide", "ball"], size=rng.choice([0, 1, 1, 1, 2, 3])).tolist()
    if "ball" in kinds:  # MuJoCo allows no rotation after a ball joint
        kinds = [kind for kind in kinds if kind == "slide"] + ["ball"]
        kinds = [kinds[index] for index in rng.permutation(len(kinds))]
    return "".join(joint(rng, kind, f"joint{number}_{k}") for k, kind in enumerate(kinds))


def inertial(rng):
    body = random_inertia(rng)
    xx, xy, xz, yy, yz, zz = body.tensor
    full = formatted([xx, yy, zz, xy, xz, yz])
    return f'<inertial pos="{formatted(body.com)}" mass="{body.mass}" fullinertia="{full}"/>'


def bodies(rng, budget):
    """Return the XML of a body and its children, within a budget of bodies."""
    number = budget.pop()
    pose = f'pos="{formatted(rng.normal(size=3))}" quat="{formatted(random_wxyz(rng))}"'
    xml = f'<body name="body{number}" {pose}>{joints(rng, number)}{inertial(rng)}'
    if rng.random() < 0.5:
        xml += f'<site name="site{number}" {pose}/>'
    while budget and rng.random() < 0.7:
        xml += bodies(rng, budget)
    return xml + "</body>"


def random_mjcf(seed):
    rng = np.random.default_rng(seed)
    budget = list(range(int(rng.integers(2, 12))))
    tops = []
    while budget and (not tops or rng.random() < 0.5):
        xml = bodies(rng, budget)
        if rng.random() < 0.5:  # a free joint in place of the others
            start, end = xml.index(">") + 1, xml.index("<inertial")
            xml = f"{xml[:start]}<freejoint/>{xml[end:]}"
        tops.append(xml)
    head = '<compiler angle="radian"/>'
    return f"<mujoco>{head}<worldbody>{''.join(tops)}</worldbody></mujoco>"


@pytest.mark.parametrize("seed", range(60))
def test_random_trees_agree_with_mujoco(seed):
    mj = compiled(random_mjcf(seed))
    velocity = ["mixed", "body", "inertial"][seed % 3]
    Both(mj, seed, representation=velocity).agree(rtol=1e-10)
