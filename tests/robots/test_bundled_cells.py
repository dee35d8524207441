"""The bundled workcells look as they should: nothing hangs in the air."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import linkwork as lw


@pytest.mark.peers
def test_links_of_the_arm_in_the_workcell_touch_each_other():
    cells = Path(lw.__file__).parent / "robots" / "cells"
    model = lw.load(cells / "parts" / "gripper_arm.urdf")
    shaped = {link.name for link in model.links if link.collisions}
    pairs = [(j.first, j.second) for j in model.joints if {j.first, j.second} <= shaped]
    robot = lw.CollisionModel(model, floating=False, pairs=pairs)
    assert len(pairs) == 8
    assert robot.distances(lw.KinDyn(model, floating=False).neutral()).max() < 1e-3


@pytest.mark.parametrize("name", ["pick_and_place", "two_arms", "mobile_manipulator"])
def test_furniture_of_the_workcells_stands_on_the_ground(name):
    cell = lw.load_workcell(name)
    frame = "shelf" if name == "mobile_manipulator" else "table"
    pose = cell.world_H_frame(frame, cell.state())
    bottoms = []
    for shape in cell.frame(frame).visuals:
        center = (pose @ shape.link_H_shape.matrix())[2, 3]
        bottoms.append(center - shape.geometry.size[2] / 2)
    ground = (
        -0.1 if name == "mobile_manipulator" else 0.0
    )  # the wheels of its cart have this radius
    assert np.isclose(bottoms, ground).sum() == 4
    assert min(bottoms) == pytest.approx(ground)
