"""Pairs of links of robots made of spheres: chosen by the shapes that the spheres cover."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw


def chain(*links, gap=0.1):
    """Links with shapes, which rotate about parallel axes at a distance."""
    b = lw.ModelBuilder("chain")
    for k, shapes in enumerate(links):
        inertia = lw.solid_box(1.0, (0.1, 0.1, 0.1))
        b.add_link(f"l{k}", inertia=inertia, collisions=[lw.Shape(*shape) for shape in shapes])
        if k:
            place = lw.Pose((gap, 0.0, 0.0)) if k > 1 else lw.Pose()
            b.add_joint(f"j{k}", "revolute", f"l{k - 1}", f"l{k}", first_H_joint=place)
    return b.build()


def arm():
    """Boxes and cylinders that can reach each other."""
    box = lw.Box((0.12, 0.06, 0.05)), lw.Pose((0.06, 0.0, 0.0), (0.2, 0.1, 0.0))
    rod = lw.Cylinder(0.03, 0.1), lw.Pose((0.05, 0.0, 0.0), (0.0, np.pi / 2, 0.0))
    return chain([box], [rod], [box, rod], [rod], [box], gap=0.13)


@pytest.mark.peers  # coal
def test_a_robot_of_spheres_is_never_free_where_its_shapes_collide():
    model = arm()
    shapes = lw.CollisionModel(model, floating=False)
    for spheres in ("spheres", lw.spherize(model, tolerance=0.01)):
        robot = lw.CollisionModel(model, floating=False, shapes=spheres)
        assert robot.pairs == shapes.pairs
        q = robot.kindyn.random(2000, seed=1)
        collides = shapes.in_collision(q)
        assert 0.05 < collides.mean() < 0.95
        assert robot.in_collision(q)[collides].all()
        assert not robot.in_collision(q).all()


def test_spheres_are_small_where_large_ones_would_always_overlap():
    b = lw.ModelBuilder("slider")
    cube = lw.Box((0.03, 0.03, 0.03))
    for k in range(3):
        shapes = [lw.Shape(cube, lw.Pose((0.045 * (k == 2), 0.0, 0.0)))] if k != 1 else []
        b.add_link(f"l{k}", inertia=lw.solid_box(1.0, (0.1, 0.1, 0.1)), collisions=shapes)
    b.add_joint("j1", "prismatic", "l0", "l1", lower=-0.005, upper=0.005)
    b.add_joint("j2", "prismatic", "l1", "l2", lower=-0.005, upper=0.005)
    model = b.build()
    with pytest.warns(lw.LinkworkWarning, match="'l0' and 'l2' overlap in all of 500"):
        coarse = lw.CollisionModel(model, floating=False, shapes=lw.spherize(model, tolerance=0.02))
    assert coarse.pairs == (("l0", "l2"),)
    assert coarse.in_collision([0.0, 0.0])
    fine = lw.CollisionModel(model, floating=False, shapes="spheres")
    assert fine.pairs == (("l0", "l2"),)
    assert not fine.in_collision([0.0, 0.0])


def test_links_whose_shapes_always_overlap_are_not_a_pair():
    cube, ball = lw.Box((0.1, 0.1, 0.1)), lw.Sphere(0.05)
    model = chain([(cube,)], [], [(ball,)], gap=0.02)
    assert lw.CollisionModel(model, floating=False).pairs == ()
    for spheres in ("spheres", lw.spherize(model)):
        assert lw.CollisionModel(model, floating=False, shapes=spheres).pairs == ()


def test_pairs_that_are_listed_stay():
    cube = lw.Box((0.1, 0.1, 0.1))
    model = chain([(cube,)], [], [(cube,)], gap=0.02)
    robot = lw.CollisionModel(model, floating=False, shapes="spheres", pairs=[("l0", "l2")])
    assert robot.pairs == (("l0", "l2"),)


def test_other_spheres_are_rejected():
    model = arm()
    with pytest.raises(lw.ArgumentError, match="expected 'collision', 'spheres' or the result"):
        lw.CollisionModel(model, floating=False, shapes="boxes")
    other = chain([(lw.Sphere(0.1),)], [(lw.Sphere(0.1),)])
    with pytest.raises(lw.ArgumentError, match="those of 'chain'"):
        lw.CollisionModel(model, floating=False, shapes=lw.spherize(other))
