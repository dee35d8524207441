"""The walk over a robot's links."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.models import random_model

from linkwork import Joint, Link, Model, NameNotFoundError
from linkwork.model.graph import Visit, walk
from linkwork.model.tree import tree_from


def y() -> Model:
    """b - a - c, and d on c; the joint of b points towards a."""
    links = tuple(Link(name=name) for name in "abcd")
    ends = (("x", "b", "a"), ("y", "a", "c"), ("z", "c", "d"))
    joints = tuple(
        Joint(name=name, kind="revolute", first=first, second=second)
        for name, first, second in ends
    )
    return Model(name="y", links=links, joints=joints)


def test_a_walk_goes_depth_first_in_the_order_of_the_joints():
    model = y()
    x, y_joint, z = model.joints

    assert list(walk(model, "a")) == [
        Visit("a", None, None),
        Visit("b", "a", x),
        Visit("c", "a", y_joint),
        Visit("d", "c", z),
    ]
    assert [visit.link for visit in walk(model, "d")] == ["d", "c", "a", "b"]


def test_the_order_of_branches_can_be_chosen():
    backwards = walk(y(), "a", lambda onward: onward[::-1])

    assert [visit.link for visit in backwards] == ["a", "c", "d", "b"]


@pytest.mark.parametrize("seed", range(10))
def test_every_link_is_met_once_after_its_parent(seed):
    model = random_model(np.random.default_rng(seed), 20)
    for base in model.link_names:
        met: list[str] = []
        for link, parent, joint in walk(model, base):
            assert parent in met if joint else (parent is None and link == base)
            assert joint is None or {joint.first, joint.second} == {link, parent}
            met.append(link)
        assert sorted(met) == sorted(model.link_names)


@pytest.mark.parametrize("seed", range(10))
def test_the_bodies_of_a_branch_are_numbered_in_a_row(seed):
    tree = tree_from(random_model(np.random.default_rng(seed), 30))
    for root in range(len(tree.parents)):
        branch = {root}
        for body, parent, _ in tree.outward():
            assert parent < body
            if parent in branch:
                branch.add(body)
        assert branch == set(range(root, root + len(branch)))


def test_a_walk_from_nowhere_is_refused():
    with pytest.raises(NameNotFoundError, match=r"link.*'e'.*a, b, c, d"):
        list(walk(y(), "e"))


def test_a_walk_has_no_limit_of_depth():
    links = tuple(Link(name=f"l{k}") for k in range(5000))
    joints = tuple(
        Joint(name=f"j{k}", kind="fixed", first=f"l{k}", second=f"l{k + 1}") for k in range(4999)
    )
    assert sum(1 for _ in walk(Model(name="m", links=links, joints=joints), "l0")) == 5000
