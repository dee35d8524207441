"""Robots of the zoo, their Pinocchio models, and small robots with features the zoo lacks."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
from tests.support.spatial import pin

import linkwork as lw
from linkwork.compat import pinnzoo as pz

BODY = """<inertial><origin xyz=".1 .2 .3"/><mass value="{mass}"/>
<inertia ixx="1" ixy=".1" ixz=".2" iyy="1.2" iyz=".05" izz=".9"/></inertial>"""


def joint(name, parent, child, kind="revolute", axis="0 .6 .8"):
    """A joint that is neither at the origin of its parent nor aligned with it."""
    return f"""<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
<origin xyz=".3 -.1 .2" rpy=".4 .2 -.3"/><axis xyz="{axis}"/>
<limit lower="-9" upper="9" effort="1" velocity="1"/></joint>"""


def link(name, mass=1.0):
    """A body whose center of mass is not at its origin."""
    return f'<link name="{name}">{BODY.format(mass=mass)}</link>'


BRANCHED = f"""<robot name="branched">{link("root", 3)}{link("a")}{link("b", 2)}
{link("c")}{link("d")}{joint("z", "root", "a")}{joint("m", "root", "b", "prismatic", "1 0 0")}
{joint("k", "a", "c", axis="1 0 0")}{joint("b", "a", "d", axis="0 0 1")}</robot>"""
"""The alphabet does not go along the file, and neither along the tree: m, z, b, k."""
STICK = f"""<robot name="stick">{link("root", 3)}{link("a")}{joint("z", "root", "a")}</robot>"""


@cache
def model(name, **options):
    """A robot of the zoo, loaded once; or one of those above."""
    arguments = {"branched": BRANCHED, "stick": STICK}.get(name, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)
        if arguments != name:
            bodies = ("d", "c") if name == "branched" else ("a",)
            options = {"kinematics_bodies": bodies, "floating": True, **options}
        return pz.Model(arguments, **options)


def pinocchio_of(zoo_model):
    """The same robot, read by Pinocchio."""
    base = [pin.JointModelFreeFlyer()] if zoo_model.is_floating() else []
    if zoo_model.urdf_path:
        return pin.buildModelFromUrdf(zoo_model.urdf_path, *base)
    return pin.buildModelFromXML(BRANCHED, *base)


def unit_states(zoo_model, rng, batch=()):
    """Random states, and as many random vectors of size nv."""
    return zoo_model.randn_state(rng, batch=batch), rng.normal(size=(*batch, zoo_model.nv))


def close(actual, expected, rtol=1e-11):
    """Compare relative to the largest entry."""
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=rtol * scale)
