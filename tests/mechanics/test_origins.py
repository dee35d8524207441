"""Origins are moved along axes to where positions have most zeros; nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.models import assert_close
from tests.support.real_robots import ROBOT_FILES, label, load_quietly

from linkwork.mechanics import origins
from linkwork.mechanics.origins import JointPlacement, best_origins
from linkwork.mechanics.skeleton import skeleton_of
from linkwork.model.layout import Layout
from linkwork.model.tree import tree_from
from linkwork.spatial.blocks import ZERO, Vec, as_mat, as_vec

AXES = X, Y, Z = as_mat(np.eye(3))


def chain(*links):
    """Sites of bodies that hang on each other: rotation, axis, position."""
    placements = [JointPlacement("free", 2, AXES, ZERO)]
    placements += [
        JointPlacement(rotation, axis, AXES, as_vec(position)) for rotation, axis, position in links
    ]
    return placements, [-1, *range(len(links))]


def test_a_leg_has_one_number_for_each_joint():
    placements, parents = chain(
        ("about_axis", 0, (0.28, 0.12, 0.0)),
        ("about_axis", 1, (0.06, 0.04, 0.0)),
        ("about_axis", 1, (0.0, 0.11, -0.25)),
    )
    moves, positions = best_origins(placements, parents)
    assert_close(positions, [(0, 0, 0), (0, 0.12, 0), (0.34, 0, 0), (0, 0, -0.25)], rtol=1e-15)
    assert_close(moves, [(0, 0, 0), (-0.28, 0, 0), (0, -0.04, 0), (0, -0.15, 0)], rtol=1e-15)


def test_an_origin_does_not_move_for_what_its_children_can_do_themselves():
    """Two joints about the same axis as their parent's start anywhere along it."""
    aside = ("about_axis", 0, (0.06, 0.0, 0.0))
    placements, _ = chain(("about_axis", 0, (0.28, 0.12, 0.0)), aside, aside)
    moves, positions = best_origins(placements, [-1, 0, 1, 1])
    assert_close(positions, [(0, 0, 0), (0, 0.12, 0), (0, 0, 0), (0, 0, 0)], rtol=1e-15)
    assert_close(moves[1:], [(-0.28, 0, 0), (-0.34, 0, 0), (-0.34, 0, 0)], rtol=1e-15)


def test_where_nothing_is_gained_origins_stay():
    placements, parents = chain(("about_axis", 2, (0.1, 0.2, 0.0)), ("free", 2, (0.3, 0.2, 0.1)))
    moves, positions = best_origins(placements, parents)
    assert moves == [(0.0, 0.0, 0.0)] * 3
    assert positions[1:] == [placement.position for placement in placements[1:]]


def test_a_slider_may_start_anywhere():
    placements, parents = chain(("none", 0, (0.1, 0.2, 0.3)))
    assert best_origins(placements, parents)[1][1] == (0.0, 0.0, 0.0)


def test_an_axis_that_is_almost_across_moves_no_origin_far_away():
    tilt = 1e-9
    columns = as_mat(((1.0, 0.0, -tilt), Y, (tilt, 0.0, 1.0)))
    placements, parents = chain(("about_axis", 2, (0.1, 0.2, 0.3)))
    placements[1] = JointPlacement("about_axis", 2, columns, Vec(0.1, 0.2, 0.3))
    moves, _ = best_origins(placements, parents)
    assert np.abs(moves[1]).max() <= 0.6


@pytest.mark.parametrize("path", ROBOT_FILES, ids=label)
def test_real_robots_get_no_more_numbers(path, monkeypatch):
    model = load_quietly(path)

    def positions():
        bodies = skeleton_of(tree_from(model), Layout(model)).bodies
        return [body.mount.p for body in bodies if body.mount]

    after = positions()
    monkeypatch.setattr(origins, "_targets", lambda *_: [])
    before = positions()
    assert np.count_nonzero(after) <= np.count_nonzero(before)
    assert np.abs(after).max(initial=0.0) <= 2 * np.abs(before).sum()
