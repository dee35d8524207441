"""Robots as algorithms see them, somewhere and moving; what the tests of algorithms share."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.models import random_model, random_q
from tests.support.real_robots import ROBOT_FILES, label, load_quietly

from linkwork.mechanics.base import REPRESENTATIONS
from linkwork.mechanics.skeleton import skeleton_of
from linkwork.model.layout import Layout
from linkwork.model.tree import tree_from

SEEDS = range(8)
REAL = [
    ("talos_data/talos_reduced", True),
    ("anymal_b_simple_description/anymal", True),
    ("iCubGenova04/model", True),
    ("tiago_description/tiago", True),
    ("tiago_description/tiago", False),
    ("panda_description/panda", False),
]
every_representation = pytest.mark.parametrize("velocity", REPRESENTATIONS)
floating_or_not = pytest.mark.parametrize("floating", [True, False])


class Case:
    """A robot seen from some base, somewhere and moving."""

    def __init__(self, model, rng, *, floating, base=None):
        self.model = model
        self.layout = Layout(model, floating=floating)
        self.tree = tree_from(model, base)
        self.skeleton = skeleton_of(self.tree, self.layout)
        self.q = random_q(self.layout, rng)
        self.nu, self.nu_dot = rng.normal(size=(2, self.layout.nv))
        self.frames = range(len(model.frame_names))

    def at(self, function, **options):
        """What a function of the configuration gives."""
        return np.array(function(self.skeleton, list(self.q), **options), dtype=float)

    def moving(self, function, **options):
        """What a function of the configuration and the velocity gives."""
        found = function(self.skeleton, list(self.q), list(self.nu), **options)
        return np.array(found, dtype=float)


def random_case(seed, *, floating, **options):
    rng = np.random.default_rng(seed)
    model = random_model(rng, 14, **options)
    return Case(model, rng, floating=floating, base=str(rng.choice(model.frame_names)))


def robot_file(name):
    return next(path for path in ROBOT_FILES if label(path) == name)


def real_case(name, rng, *, floating):
    """A robot of the real ones; joints that mimic others are free."""
    return Case(load_quietly(robot_file(name), mimic=False), rng, floating=floating)
