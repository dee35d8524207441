"""Where a robot is mounted changes nothing in it: a link of 5 mm, 1,000 km from the origin."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.kindyn import Interpreted
from tests.support.models import assert_close

import linkwork as lw
from linkwork.model.inertia import solid_box

FAR = 1e6  # [m]
MOUNTS = {
    "along the axis": (0.0, 0.0, FAR),
    "against the axis": (0.0, 0.0, -FAR),
    "across the axis": (FAR, -FAR, 0.0),
    "anywhere": (FAR, 0.3 * FAR, -0.7 * FAR),
}
every_mount = pytest.mark.parametrize("xyz", MOUNTS.values(), ids=MOUNTS)


def small_arm(xyz, rpy=(0.0, 0.0, 0.0), kinds=("revolute",)):
    """Links of 5 mm, one after another about z and x in turn, mounted somewhere."""
    builder = lw.ModelBuilder("small")
    builder.add_link("world")
    above, mount = "world", lw.Pose(xyz=xyz, rpy=rpy)
    for number, kind in enumerate(kinds):
        link = f"link{number}"
        inertia = solid_box(0.01, (0.005, 0.002, 0.001), com=(0.0025, 0.001, 0.0005))
        builder.add_link(link, inertia=inertia)
        axis = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0))[number % 2]
        builder.add_joint(f"j{number}", kind, above, link, axis=axis, first_H_joint=mount)
        above, mount = link, lw.Pose(xyz=(0.005, 0.001, 0.0))
    return builder.build()


CHAINS = [("revolute",), ("revolute", "revolute", "revolute"), ("helical", "universal", "planar")]


@every_mount
@pytest.mark.parametrize("kinds", CHAINS, ids="-".join)
def test_dynamics_do_not_depend_on_the_mount(xyz, kinds, rng):
    here, there = (
        Interpreted(lw.KinDyn(small_arm(at, kinds=kinds), floating=False))
        for at in ((0.0, 0.0, 0.0), xyz)
    )
    q, nu, tau = rng.normal(size=(3, here.nq))

    M = here.mass_matrix(q)
    assert np.linalg.eigvalsh(M).min() > 0
    assert_close(there.mass_matrix(q), M, rtol=1e-12)
    assert_close(there.bias_force(q, nu), here.bias_force(q, nu), rtol=1e-12)
    assert_close(there.gravity_force(q), here.gravity_force(q), rtol=1e-12)
    assert_close(
        there.forward_dynamics(q, nu, 1e-6 * tau), here.forward_dynamics(q, nu, 1e-6 * tau)
    )


@pytest.mark.parametrize("rpy", [(0.0, 0.0, 0.4), (0.3, -1.1, 0.4)])
@every_mount
def test_nor_do_they_where_the_mount_is_rotated(xyz, rpy, rng):
    here, there = (
        Interpreted(lw.KinDyn(small_arm(at, rpy, CHAINS[1]), floating=False))
        for at in ((0.0, 0.0, 0.0), xyz)
    )
    q, nu = rng.normal(size=(2, here.nq))

    assert_close(there.mass_matrix(q), here.mass_matrix(q), rtol=1e-12)
    assert_close(there.bias_force(q, nu), here.bias_force(q, nu), rtol=1e-12)


def test_a_mass_on_its_own_axis_is_still_singular_there():
    builder = lw.ModelBuilder("point")
    builder.add_link("world")
    builder.add_link("mass", inertia=lw.Inertia(1.0, (0.0, 0.0, 0.2), (0.0,) * 6))
    builder.add_joint("j", "revolute", "world", "mass", first_H_joint=lw.Pose(xyz=(0, 0, FAR)))
    kd = lw.KinDyn(builder.build(), floating=False)

    with pytest.raises(lw.SingularJointError, match="joint 'j'"):
        kd.forward_dynamics([0.0], [0.0], [1.0])
