"""Numbers and values that make no sense are refused where they enter."""

from __future__ import annotations

import re
from math import inf, nan

import pytest

import linkwork as lw
from linkwork import Inertia, Joint, Limits, LinkworkError, Mimic, ModelBuilder, ModelError, Pose
from linkwork.model.inertia import solid_box, solid_cylinder, solid_sphere


def refusal(call):
    with pytest.raises(ModelError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Inertia(-1.0), "mass -1"),
        (lambda: Inertia(nan), "mass nan.*finite"),
        (lambda: Inertia(1.0, (0, inf, 0)), r"com: \(0.0, inf, 0.0\).*finite"),
        (lambda: Inertia(1.0, (0, 0)), "com: .*3.*2"),
        (lambda: Inertia(1.0, (0, 0, 0), (1, 2, 3)), "tensor: .*6.*3"),
        (
            lambda: Inertia(1.0, (0, 0, 0), (1, 0, 0, nan, 0, 1)),
            r"tensor: \(1.0, 0.0, 0.0, nan, 0.0, 1.0\).*finite",
        ),
        (lambda: solid_box(-2.0, (1, 1, 1)), "mass -2"),
        (lambda: solid_box(1.0, (1, 1)), "size: .*3.*2"),
        (lambda: Pose(xyz=(1, 2)), "xyz: .*3.*2"),
        (lambda: Pose(rpy=(0, 0, nan)), r"rpy: \(0.0, 0.0, nan\).*finite"),
        (
            lambda: Mimic(joint="a", multiplier=inf),
            "mimic multiplier inf.*finite",
        ),
        (lambda: Limits(lower=0.5, upper=0.25), "limit lower 0.5.*upper 0.25"),
        (
            lambda: Joint(name="j", kind="revolute", first="a", second="b", axis=(0, 0, 2)),
            r"joint 'j': axis \(0.0, 0.0, 2.0\).*length 1",
        ),
    ],
)
def test_numbers_that_make_no_sense_are_refused(make, text):
    assert re.match(text, refusal(make))


@pytest.mark.parametrize(
    "make",
    [
        lambda: solid_box(1.0, (1.0, -1.0, 1.0)),
        lambda: solid_cylinder(1.0, -0.1, 1.0),
        lambda: solid_cylinder(1.0, 0.1, -1.0),
        lambda: solid_sphere(1.0, -0.1),
    ],
)
def test_solids_of_negative_size_are_refused(make):
    assert "negative" in refusal(make)


WRONG_TYPES = {
    "axis of letters": lambda b: b.add_joint("j", "revolute", "a", "b", axis="xyz"),
    "axis of nothing": lambda b: b.add_joint("j", "revolute", "a", "b", axis=None),
    "limit of letters": lambda b: b.add_joint("j", "revolute", "a", "b", lower="low"),
    "damping of letters": lambda b: b.add_joint("j", "revolute", "a", "b", damping="2"),
    "list as kind": lambda b: b.add_joint("j", ["revolute"], "a", "b"),
    "list as link": lambda b: b.add_joint("j", "revolute", ["a"], "b"),
    "pose of letters": lambda b: b.add_frame("tool", "a", [["one"]]),
    "number as inertia": lambda b: b.add_link("tool", inertia=3.0),
    "mass of letters": lambda b: b.add_link("tool", inertia=Inertia("heavy")),
    "position of nothing": lambda b: b.add_frame("tool", "a", Pose(xyz=(None, 0, 0))),
}


@pytest.mark.parametrize("case", WRONG_TYPES)
def test_values_of_the_wrong_type_are_refused_by_linkwork_itself(case):
    builder = ModelBuilder("robot")
    builder.add_link("a")
    builder.add_link("b")

    with pytest.raises(LinkworkError):
        WRONG_TYPES[case](builder)


@pytest.mark.parametrize(
    "create",
    [
        lambda: lw.Box((1.0, -1.0, 1.0)),
        lambda: lw.Sphere(-1.0),
        lambda: lw.Cylinder(1.0, -2.0),
        lambda: lw.Capsule(-0.1, 1.0),
        lambda: lw.Capsule(0.1, float("nan")),
    ],
)
def test_negative_sizes_of_shapes_are_rejected(create):
    with pytest.raises(lw.ModelError, match=r"size|radius|length"):
        create()


def test_a_size_may_be_zero():
    assert lw.Capsule(0.1, 0.0).length == 0.0
    assert lw.Box((1.0, 1.0, 0)).size == (1.0, 1.0, 0.0)
