"""Making a model part by part: what is refused, in which words, and that it harms nothing."""

from __future__ import annotations

import re
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.messages import assert_facts
from tests.support.models import ALL_KINDS

from linkwork import (
    Frame,
    Limits,
    Link,
    Mimic,
    Model,
    ModelBuilder,
    ModelError,
    NameNotFoundError,
)
from linkwork.model.inertia import solid_sphere
from linkwork.model.parts import unit_vector

MIRRORED = np.diag([1.0, 1.0, -1.0, 1.0])
STRETCHED = np.diag([1.0, 1.0 + 2e-6, 1.0, 1.0])
ROWS = np.eye(4) + np.array([[0.0], [0.0], [0.0], [1.0]]) * [0.0, 0.0, 0.0, 1.0]
HOLED = np.full((4, 4), nan)


def started():
    """Two links joined by a joint, and a third one alone."""
    builder = ModelBuilder("robot")
    for link in ("torso", "upper_arm", "lower_arm"):
        builder.add_link(link)
    builder.add_joint("shoulder", "revolute", "torso", "upper_arm")
    return builder


def refusal(call, error=ModelError):
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def elbow(kind="revolute", first="upper_arm", second="lower_arm", **facts):
    return refusal(lambda: started().add_joint("elbow", kind, first, second, **facts))


@pytest.mark.parametrize(
    ("add", "text"),
    [
        (lambda b: b.add_link("torso"), "link 'torso': .*taken.*link"),
        (lambda b: b.add_link("tool"), "link 'tool': .*taken.*frame"),
        (lambda b: b.add_frame("tool", "torso"), "frame 'tool': .*taken.*frame"),
        (lambda b: b.add_frame("torso", "torso"), "frame 'torso': .*taken.*link"),
        (
            lambda b: b.add_joint("shoulder", "revolute", "torso", "lower_arm"),
            "joint 'shoulder': .*taken",
        ),
    ],
)
def test_taken_names_are_refused(add, text):
    builder = started()
    builder.add_frame("tool", "upper_arm")

    assert re.match(text, refusal(lambda: add(builder)))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("", ".*name of a {}.*empty.*''"),
        (" \t", r".*name of a {}.*empty.*' \\t'"),
        (7, ".*name of a {}.*str.*7"),
        (None, ".*name of a {}.*str.*None"),
    ],
)
def test_names_that_are_none_are_refused(name, text):
    calls = {
        "model": lambda: ModelBuilder(name),
        "link": lambda: started().add_link(name),
        "joint": lambda: started().add_joint(name, "revolute", "upper_arm", "lower_arm"),
        "frame": lambda: started().add_frame(name, "torso"),
    }
    for what, call in calls.items():
        assert re.match(text.format(what), refusal(call))


@pytest.mark.parametrize(
    "add",
    [
        lambda b, link: b.add_joint("elbow", "revolute", link, "lower_arm"),
        lambda b, link: b.add_joint("elbow", "revolute", "lower_arm", link),
        lambda b, link: b.add_frame("tool", link),
    ],
)
def test_unknown_links_are_refused_with_the_nearest_name(add):
    texts = {
        "uper_arm": "link.*'uper_arm'.*'upper_arm'.*'lower_arm'",
        "wing": "link.*'wing'.*lower_arm, torso, upper_arm",
    }
    for link, text in texts.items():
        assert re.search(text, refusal(lambda link=link: add(started(), link), NameNotFoundError))


def test_many_known_names_are_not_all_listed():
    builder = ModelBuilder("m")
    for number in range(20):
        builder.add_link(f"link{number:02}")
    text = refusal(lambda: builder.add_frame("f", "zzz"), NameNotFoundError)

    known = ", ".join(f"link{number:02}" for number in range(12))
    assert re.search(f"link.*'zzz'.*{known} and 8 more", text)


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({"axis": (0, 0, 0)}, "axis.*zero"),
        ({"axis": (1, 0)}, "axis: .*3.*2"),
        ({"axis": (1, 0, 0, 0)}, "axis: .*3.*4"),
        ({"axis": (1, nan, 0)}, r"axis: \(1.0, nan, 0.0\).*finite"),
        ({"axis": (inf, 0, 0)}, r"axis: \(inf, 0.0, 0.0\).*finite"),
        ({"lower": 2, "upper": 1}, "limit lower 2.*upper 1"),
        ({"lower": nan}, "limit lower.*number"),
        ({"effort": nan}, "limit effort.*number"),
        ({"velocity": nan}, "limit velocity.*number"),
        ({"damping": nan}, "damping nan.*finite"),
        ({"friction": inf}, "friction inf.*finite"),
        ({"armature": -inf}, "armature -inf.*finite"),
        ({"kind": "helical", "pitch": nan}, "pitch nan.*finite"),
        ({"pitch": 0.1}, ".*revolute.*pitch.*0.1"),
        ({"kind": "fixed", "pitch": -2.0}, ".*fixed.*pitch.*-2"),
        ({"kind": "revolut"}, ".*'revolut'.*'revolute'"),
        ({"kind": "Fixed"}, ".*'Fixed'.*'fixed'"),
        (
            {"kind": "screw"},
            f".*'screw'.*{', '.join(sorted(ALL_KINDS))}",
        ),
        ({"first": "lower_arm"}, ".*'lower_arm'.*itself"),
        ({"mimic": Mimic(joint="elbow")}, "mimics itself"),
        (
            {"kind": "spherical", "mimic": Mimic(joint="shoulder")},
            ".*spherical.*mimic",
        ),
        (
            {"kind": "planar", "upper": 1.0},
            f".*planar.*limits.*{re.escape(str(Limits(upper=1.0)))}",
        ),
        (
            {"first_H_joint": np.eye(3)},
            r"first_H_joint: .*Pose.*\(4, 4\).*\(3, 3\)",
        ),
        ({"first_H_joint": HOLED}, "first_H_joint: .*finite"),
        ({"joint_H_second": MIRRORED}, "joint_H_second: .*left-handed"),
        (
            {"joint_H_second": STRETCHED},
            "joint_H_second: .*orthonormal",
        ),
        (
            {"joint_H_second": ROWS},
            r"joint_H_second: .*last row \[0.0, 0.0, 0.0, 2.0\].*\[0, 0, 0, 1\]",
        ),
    ],
)
def test_joints_that_make_no_sense_are_refused_by_their_name(facts, text):
    """In a robot of fifty joints, `axis is zero` alone helps nobody."""
    assert re.match(f"joint 'elbow': {text}", elbow(**facts))


def test_a_refused_frame_is_named():
    text = refusal(lambda: started().add_frame("tool", "torso", MIRRORED))
    assert re.match("frame 'tool': pose: .*left-handed", text)


def test_all_that_is_wrong_with_a_joint_is_said_at_once():
    facts = [
        "3 errors$",
        "  joint 'elbow': .*revolute.*pitch.*1",
        "  joint 'elbow': damping nan",
        "  joint 'elbow': armature inf",
    ]
    assert_facts(elbow(damping=nan, armature=inf, pitch=1.0).splitlines(), facts)


def test_a_model_needs_a_link():
    assert "no links" in refusal(ModelBuilder("void").build)


def test_pieces_that_nothing_connects_are_refused():
    assert re.search("2 pieces.*'torso', 'lower_arm'$", refusal(started().build))


def test_many_pieces_are_not_all_listed():
    builder = ModelBuilder("dust")
    for number in range(11):
        builder.add_link(f"d{number}")
    held = ", ".join(f"'d{number}'" for number in range(8))
    assert re.search(f"11 pieces.*{held} and 3 more$", refusal(builder.build))


def mimicking(kind="revolute", **leaders):
    """A star of joints, each mimicking the joint it is given."""
    builder = ModelBuilder("hand")
    builder.add_link("palm")
    for name, leader in leaders.items():
        builder.add_link(f"{name}_link")
        mimic = Mimic(joint=leader) if leader else None
        builder.add_joint(name, "revolute" if mimic else kind, "palm", f"{name}_link", mimic=mimic)
    return builder


def test_joints_that_mimic_each_other_in_a_cycle_are_refused():
    builder = mimicking(a="b", b="c", c="b", d=None)
    assert re.match("joint 'b': .*b -> c -> b$", refusal(builder.build))


def test_joints_that_mimic_what_does_not_exist_are_refused_with_the_nearest_name():
    text = refusal(mimicking(finger=None, thumb="fingr").build)
    assert re.match("joint 'thumb': .*'fingr'.*'finger'", text)


def test_a_joint_is_not_advised_to_mimic_itself():
    text = refusal(mimicking(finger=None, thumb="thum").build)
    assert re.match("joint 'thumb': .*'thum'.*finger$", text)


@pytest.mark.parametrize("kind", ["fixed", "revolute_cos_sin", "planar", "spherical", "floating"])
def test_joints_without_a_single_coordinate_cannot_be_mimicked(kind):
    text = refusal(mimicking(kind, ball=None, toe="ball").build)
    assert re.match(f"joint 'toe': .*{kind} joint 'ball'", text)


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "helical"])
def test_joints_with_a_single_coordinate_can_be_mimicked_before_they_are_added(kind):
    builder = ModelBuilder("m")
    for link in "abc":
        builder.add_link(link)
    builder.add_joint("follower", "prismatic", "a", "b", mimic=Mimic(joint="leader"))
    builder.add_joint("leader", kind, "b", "c")

    assert builder.build().joint("follower").nq == 0


def test_a_refused_part_leaves_no_trace():
    builder = started()

    elbow_ends = ("upper_arm", "lower_arm")
    refusal(lambda: builder.add_joint("elbow", "revolute", *elbow_ends, axis=(0, 0, 0)))
    refusal(lambda: builder.add_joint("shoulder", "revolute", *elbow_ends))
    refusal(lambda: builder.add_frame("tool", "torso", MIRRORED))

    builder.add_joint("elbow", "revolute", *elbow_ends)
    builder.add_frame("tool", "torso")
    model = builder.build()
    assert model.joint_names == ("shoulder", "elbow")
    assert model.frame_names == ("torso", "upper_arm", "lower_arm", "tool")


def test_a_builder_can_go_on_after_build():
    builder = started()
    builder.add_joint("elbow", "revolute", "upper_arm", "lower_arm")
    small = builder.build()

    builder.add_link("hand")
    builder.add_joint("wrist", "revolute", "lower_arm", "hand")
    large = builder.build()

    assert small.link_names == ("torso", "upper_arm", "lower_arm")
    assert large.link_names == (*small.link_names, "hand")
    assert large.joint_names == ("shoulder", "elbow", "wrist")
    assert builder.build() == large


def test_adding_gives_back_the_part():
    builder = ModelBuilder("m")
    a, b = builder.add_link("a"), builder.add_link("b", inertia=solid_sphere(1.0, 0.1))
    joint = builder.add_joint("j", "revolute", "a", "b", axis=[0, 3, 4], lower=-1, upper=1)
    frame = builder.add_frame("f", "b", np.eye(4))

    model = builder.build()

    assert (model.links, model.joints, model.frames) == ((a, b), (joint,), (frame,))
    assert joint.axis == (0.0, 0.6, 0.8)
    assert frame == Frame(name="f", link="b")
    assert joint.limits == Limits(lower=-1, upper=1)


def test_a_single_link_is_a_model():
    builder = ModelBuilder("brick")
    builder.add_link("brick")

    assert builder.build() == Model(name="brick", links=(Link(name="brick"),))


@settings(deadline=None)
@given(st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 3))
def test_an_axis_of_any_length_but_zero_becomes_one_of_length_one(axis):
    if not any(axis):
        assert re.match("axis.*zero", refusal(lambda: unit_vector(axis)))
        return
    found = unit_vector(axis)

    assert abs(np.linalg.norm(found) - 1) <= 5e-16
    assert unit_vector(found) == found
    assert all(a * b >= 0 for a, b in zip(axis, found, strict=True))
