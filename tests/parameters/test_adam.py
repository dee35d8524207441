"""Lengths and densities of links compared with adam.parametric, on a robot with all its shapes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from adam.parametric.numpy import KinDynComputationsParametric
from tests.support.kindyn import on_numpy
from tests.support.models import assert_close

import linkwork as lw
from linkwork import parameters as lp
from linkwork.compat.adam.parametric import AdamLinkDensity, AdamLinkLength
from linkwork.model.inertia import moved

pytestmark = pytest.mark.peers

LINKS = ("trunk", "thigh", "shank", "ball", "bar", "beam", "foot")


def link(name, shape, xyz, rpy="0 0 0", mass=2.0):
    return f"""
<link name="{name}">
  <inertial><origin xyz="0.01 0.02 0.03" rpy="0 0 0"/><mass value="{mass}"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
  <visual><origin xyz="{xyz}" rpy="{rpy}"/><geometry>{shape}</geometry></visual>
</link>"""


def joint(name, parent, child, xyz, axis="0 1 0", *, kind="revolute"):
    limit = '<limit lower="-3" upper="3" effort="1" velocity="1"/>' if kind != "fixed" else ""
    return f"""
<joint name="{name}" type="{kind}">
  <origin xyz="{xyz}" rpy="0.1 0.2 0.3"/><parent link="{parent}"/><child link="{child}"/>
  <axis xyz="{axis}"/>{limit}
</joint>"""


def robot(*, odd):
    """Shapes above and below the origin of their links, joints at both ends, one fixed.

    With `odd`, also what adam computes unlike a longer solid: rotated cylinders, and a joint above
    a link that extends downwards.
    """
    cylinder, turned = '<cylinder radius="0.05" length="0.5"/>', "0.3 0 0"
    parts = [
        link("trunk", '<box size="0.2 0.3 0.6"/>', "0.01 0 0.35", mass=8.0),
        link("thigh", cylinder, "0 0.02 -0.25", mass=4.0),
        link("shank", '<box size="0.1 0.1 0.4"/>', "0 0 -0.2"),
        link("ball", '<sphere radius="0.11"/>', "0 0 0.08"),
        link("bar", cylinder, "0 0 0.25", turned if odd else "0 0 0.4"),
        link("beam", '<box size="0.1 0.2 0.3"/>', "0 0.1 0.15", "0 0 0.5"),
        link("foot", '<box size="0.2 0.1 0.05"/>', "0 0 0"),
        link("toe", '<sphere radius="0.02"/>', "0 0 0", mass=0.3),
        joint("neck", "trunk", "ball", "0 0 0.7"),
        joint("shoulder", "trunk", "bar", "0 0.2 0.6", "1 0 0"),
        joint("hip", "trunk", "thigh", "0 0.1 -0.05"),
        joint("knee", "thigh", "shank", "0 0 -0.5"),
        joint("ankle", "shank", "foot", "0 0 -0.4"),
        joint("slide", "bar", "beam", "0 0 0.5", "0 0 1"),
        joint("toe_fixed", "foot", "toe", "0.1 0 0", kind="fixed"),
    ]
    if odd:
        parts += [
            link("lying", '<cylinder radius="0.04" length="0.3"/>', "0 0 -0.02", "0 0.6 0"),
            joint("odd", "thigh", "lying", "0 0 0.03"),
        ]
    return f'<robot name="shapes">{"".join(parts)}</robot>'


class Both:
    """adam and linkwork, at random lengths and densities."""

    def __init__(self, *, odd):
        text = robot(odd=odd)
        self.links = [*LINKS, "lying"] if odd else [*LINKS]
        model = lw.load(text)
        joints = [j.name for j in model.joints if not j.is_fixed]
        self.adam = KinDynComputationsParametric(text, joints, self.links)
        length, density = (
            (AdamLinkLength, AdamLinkDensity) if odd else (lp.LinkLength, lp.LinkDensity)
        )
        listed = [*map(length, self.links), *map(density, self.links)]
        self.kd = on_numpy(lw.KinDyn(model, parameters=listed))
        self.rng = np.random.default_rng(3)
        self.s = self.rng.normal(size=len(joints))
        self.nu = self.rng.normal(size=6 + len(joints))
        self.lengths = self.rng.uniform(0.6, 1.7, len(self.links))
        self.densities = self.rng.uniform(100.0, 900.0, len(self.links))
        self.p = np.concatenate([self.lengths, self.densities])
        self.q = self.kd.random(seed=1)
        self.q[7:] = self.s
        self.H = self.kd.transform(self.kd.base, self.q)


@pytest.mark.parametrize("odd", [False, True])
def test_values_equal_those_of_adam(odd):
    both = Both(odd=odd)
    kd, q, p, nu = both.kd, both.q, both.p, both.nu
    at = (both.H, both.s)
    shape_parameters = (both.lengths, both.densities)
    assert_close(
        kd.mass_matrix(q, parameters=p), both.adam.mass_matrix(*at, *shape_parameters), 1e-11
    )
    h = both.adam.bias_force(*at, nu[:6], nu[6:], *shape_parameters)
    assert_close(kd.bias_force(q, nu, parameters=p), h, 1e-11)
    assert_close(
        kd.gravity_force(q, parameters=p), both.adam.gravity_term(*at, *shape_parameters), 1e-11
    )
    assert_close(kd.com(q, parameters=p), both.adam.CoM_position(*at, *shape_parameters), 1e-11)
    A = both.adam.centroidal_momentum_matrix(*at, *shape_parameters)
    assert_close(kd.centroidal_momentum_matrix(q, parameters=p), A, 1e-11)
    for frame in ("toe", "beam", "ball"):
        H = both.adam.forward_kinematics(frame, *at, *shape_parameters)
        assert_close(kd.transform(frame, q, parameters=p), H, 1e-12)
        J = both.adam.jacobian(frame, *at, *shape_parameters)
        assert_close(kd.jacobian(frame, q, parameters=p), J, 1e-11)
    densities = kd.parameter_values()[len(both.links) :]
    assert_close(densities, np.ravel(both.adam.get_original_densities()), 1e-12)
    total = float(np.ravel(both.adam.get_total_mass(*shape_parameters))[0])
    assert_close(kd.locked_inertia(q, parameters=p)[0, 0], total, 1e-12)


def test_scaled_solid_has_the_inertia_of_its_new_size():
    """Unlike in adam, the inertia of a rotated cylinder is rotated once."""
    model = lw.load(robot(odd=True))
    kd = on_numpy(lw.KinDyn(model, parameters=[lp.LinkLength("bar"), lp.LinkLength("thigh")]))
    p = kd.parameter_values({"length.bar": 1.4, "length.thigh": 0.7})
    mass = 1.4 * model.link("bar").inertia.mass
    pose = lw.Pose(xyz=(0, 0, 0.25 + 0.5 * 0.4 * 0.5), rpy=(0.3, 0, 0))
    solid = moved(lw.solid_cylinder(mass, 0.05, 1.4 * 0.5), pose)
    thigh = lw.solid_cylinder(0.7 * 4.0, 0.05, 0.7 * 0.5, com=(0, 0.02, -0.5 * 0.7 * 0.5))
    longer = model.with_inertia("bar", solid).with_inertia("thigh", thigh)
    heights = {"slide": 0.5 + 0.4 * 0.5, "knee": -0.5 + 0.3 * 0.5}
    joints = [
        replace(j, first_H_joint=replace(j.first_H_joint, xyz=(0, 0, heights[j.name])))
        if j.name in heights
        else j
        for j in longer.joints
    ]
    other = on_numpy(lw.KinDyn(replace(longer, joints=tuple(joints))))
    q = kd.random(seed=5)
    assert_close(kd.mass_matrix(q, parameters=p), other.mass_matrix(q), 1e-12)


def test_links_without_a_solid_are_rejected():
    bare = lw.Model(name="bare", links=(lw.Link(name="base"),))
    with pytest.raises(lw.ArgumentError, match=r"link 'base': .*Box.*first visual"):
        lw.KinDyn(bare, parameters=[lp.LinkLength("base")])
    flat = lw.Shape(lw.Box((0.0, 1.0, 1.0)))
    model = replace(bare, links=(lw.Link(name="base", visuals=(flat,)),))
    with pytest.raises(lw.ArgumentError, match=r"link 'base': .*volume"):
        lw.KinDyn(model, parameters=[lp.LinkDensity("base")])
    text = "LinkLength and LinkInertia both change the inertia of link 'foot'"
    shapes = lw.load(robot(odd=False))
    with pytest.raises(lw.ArgumentError, match=text):
        lw.KinDyn(shapes, parameters=[lp.LinkLength("foot"), lp.LinkInertia("foot")])
    text = "LinkLength and JointPose both change the pose of joint 'knee'"
    with pytest.raises(lw.ArgumentError, match=text):
        lw.KinDyn(shapes, parameters=[lp.LinkLength("thigh"), lp.JointPose("knee")])
