"""Models and their parts as data: equal, hashable, frozen, copied, looked up by name."""

from __future__ import annotations

import copy
import pickle
import re
from dataclasses import FrozenInstanceError, replace

import pytest
from tests.support.messages import assert_facts
from tests.support.models import random_model

from linkwork import (
    Frame,
    Inertia,
    Joint,
    Limits,
    Link,
    Mimic,
    Model,
    ModelBuilder,
    ModelError,
    NameNotFoundError,
    Pose,
)
from linkwork.errors import SourceLocation
from linkwork.model.geometry import Box, Mesh, Shape

A, B = Link(name="a"), Link(name="b")
JOINT = Joint(name="j", kind="revolute", first="a", second="b")


def arm():
    """shoulder to upper arm to lower arm, and a camera beside; listed out of order."""
    builder = ModelBuilder("arm")
    for link, mass in {"lower": 1.0, "upper": 2.0, "base": 4.0, "camera": 0.5}.items():
        builder.add_link(link, inertia=Inertia(mass))
    builder.add_joint("elbow", "revolute", "upper", "lower", axis=(0, 1, 0))
    builder.add_joint("shoulder", "revolute", "base", "upper", axis=(0, 1, 0))
    builder.add_joint("mount", "fixed", "base", "camera", first_H_joint=Pose(xyz=(0, 0, 1)))
    builder.add_frame("tool", "lower", Pose(xyz=(0.3, 0, 0)))
    builder.add_frame("eye", "camera")
    return builder.build()


def refusal(call, error=NameNotFoundError):
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def test_models_with_the_same_facts_are_equal_and_have_one_hash():
    assert arm() == arm()
    assert hash(arm()) == hash(arm())
    assert len({arm(), arm()}) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"name": "leg"},
        {"links": arm().links[::-1]},
        {"joints": arm().joints[::-1]},
        {"frames": arm().frames[:1]},
    ],
)
def test_models_with_other_facts_differ(change):
    assert replace(arm(), **change) != arm()


@pytest.mark.parametrize(
    "change",
    [
        {"axis": (1.0, 0.0, 0.0)},
        {"first": "c"},
        {"kind": "prismatic"},
        {"first_H_joint": Pose(xyz=(0, 0, 1e-300))},
        {"limits": Limits(upper=1.0)},
        {"mimic": Mimic(joint="k")},
        {"damping": 0.1},
        {"armature": 0.1},
    ],
)
def test_joints_with_other_facts_differ(change):
    assert replace(JOINT, **change) != JOINT


def test_where_a_part_stood_in_a_file_does_not_count():
    location = SourceLocation("robot.urdf", 12)
    for part in (A, JOINT, Frame(name="f", link="a")):
        moved = replace(part, location=location)
        assert moved == part
        assert hash(moved) == hash(part)
    assert Mesh("hand.stl", path="/here/hand.stl") == Mesh("hand.stl")


@pytest.mark.parametrize("duplicate", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy])
def test_copies_are_equal_whatever_was_asked_before(duplicate, rng):
    model = random_model(rng, 12)
    fresh = duplicate(model)
    _ = model.link_names, model.frame_index("frame1"), model.neighbors("link3"), model.total_mass
    asked = duplicate(model)

    for found in (fresh, asked):
        assert found == model
        assert hash(found) == hash(model)
        assert found.frame_names == model.frame_names
        assert found.neighbors("link3") == model.neighbors("link3")


@pytest.mark.parametrize(
    ("part", "field"),
    [
        (arm(), "name"),
        (arm(), "links"),
        (A, "inertia"),
        (JOINT, "axis"),
        (Frame(name="f", link="a"), "link"),
        (Pose(), "xyz"),
        (Inertia(), "mass"),
        (Limits(), "lower"),
        (Mimic(joint="j"), "offset"),
        (Box((1.0, 1.0, 1.0)), "size"),
    ],
)
def test_parts_cannot_be_changed(part, field):
    with pytest.raises(FrozenInstanceError):
        setattr(part, field, getattr(part, field))


def test_lists_given_become_tuples():
    """So that everything hashes."""
    model = Model(name="m", links=[A, B], joints=[JOINT], frames=[])
    assert (model.links, model.joints, model.frames) == ((A, B), (JOINT,), ())
    assert hash(model) == hash(Model(name="m", links=(A, B), joints=(JOINT,)))

    pose, inertia = Pose(xyz=[1, 2, 3]), Inertia(1, [1, 2, 3], [1, 0, 0, 1, 0, 1])
    assert hash((pose, inertia)) == hash((Pose(xyz=(1, 2, 3)), inertia))
    shape = Shape(Box((1.0, 1.0, 1.0)))
    assert hash(Link(name="a", visuals=[shape])) == hash(Link(name="a", visuals=(shape,)))


def test_names_stand_in_the_order_of_adding_and_frames_after_links():
    model = arm()

    assert model.link_names == ("lower", "upper", "base", "camera")
    assert model.joint_names == ("elbow", "shoulder", "mount")
    assert model.frame_names == ("lower", "upper", "base", "camera", "tool", "eye")


def test_parts_are_found_by_name(rng):
    model = random_model(rng, 12)

    for index, link in enumerate(model.links):
        assert model.link(link.name) is link
        assert model.link_index(link.name) == model.frame_index(link.name) == index
        assert model.frame(link.name) == Frame(name=link.name, link=link.name)
    for index, joint in enumerate(model.joints):
        assert model.joint(joint.name) is joint
        assert model.joint_index(joint.name) == index
    for index, frame in enumerate(model.frames):
        assert model.frame(frame.name) is frame
        assert model.frame_index(frame.name) == len(model.links) + index


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda m: m.link("uper"), "link.*'uper'.*'upper'"),
        (lambda m: m.link_index("tool"), "link.*'tool'.*base, camera, lower, upper"),
        (lambda m: m.joint("sholder"), "joint.*'sholder'.*'shoulder'"),
        (lambda m: m.joint_index("x"), "joint.*'x'.*elbow, mount, shoulder"),
        (lambda m: m.frame("tol"), "frame.*'tol'.*'tool'"),
        (
            lambda m: m.frame_index(""),
            "frame.*''.*base, camera, eye, lower, tool, upper",
        ),
        (
            lambda m: m.frame_index("elbow"),
            "frame.*'elbow'.*joint.*'upper'.*'lower'",
        ),
        (lambda m: m.neighbors("bass"), "link.*'bass'.*'base'"),
        (lambda m: m.frame("left_camera_frame"), "'left_camera_frame'.*'camera': camera$"),
        (lambda m: m.link(2), "link.*2.*base, camera, lower, upper"),
        (lambda m: m.link(["base"]), r"link.*\['base'\].*base, camera, lower, upper"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(ask, text):
    assert re.search(text, refusal(lambda: ask(arm())))
    assert re.search(text, refusal(lambda: ask(arm()), KeyError))


def test_neighbors_are_listed_from_both_ends_in_the_order_of_the_joints():
    model = arm()

    assert model.neighbors("upper") == (("lower", "elbow"), ("base", "shoulder"))
    assert model.neighbors("base") == (("upper", "shoulder"), ("camera", "mount"))
    assert model.neighbors("lower") == (("upper", "elbow"),)


def test_every_joint_is_seen_from_both_of_its_links(rng):
    model = random_model(rng, 20)

    for joint in model.joints:
        assert (joint.second, joint.name) in model.neighbors(joint.first)
        assert (joint.first, joint.name) in model.neighbors(joint.second)
    assert sum(len(model.neighbors(link)) for link in model.link_names) == 2 * len(model.joints)


def test_the_default_base_is_the_root_of_the_file():
    assert arm().default_base == "base"


def test_the_default_base_is_the_first_link_where_there_is_no_one_root():
    joints = [
        Joint(name="ab", kind="revolute", first="a", second="b"),
        Joint(name="cb", kind="revolute", first="c", second="b"),
    ]
    links = [Link(name=name) for name in "bac"]
    assert Model(name="m", links=links, joints=joints).default_base == "b"


def test_total_mass_is_that_of_all_links():
    assert arm().total_mass == 7.5


def test_repr_is_one_line_that_says_how_much_there_is():
    assert repr(arm()) == "<Model 'arm': 4 links, 3 joints, 2 frames, 7.5 kg>"


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"links": (A, Link(name="a"))}, "link 'a': .*taken"),
        ({"links": (A, A)}, "link 'a': .*taken"),
        ({"links": (A, B), "joints": (JOINT, JOINT)}, "joint 'j': .*taken"),
        (
            {"links": (A,), "frames": (Frame(name="f", link="a"),) * 2},
            "frame 'f': .*taken",
        ),
        (
            {"links": (A,), "frames": (Frame(name="a", link="a"),)},
            "frame 'a': .*link.*name",
        ),
        (
            {"links": (A,), "frames": (Frame(name="f", link="b"),)},
            "frame 'f': .*link.*'b'.*a$",
        ),
        ({"links": (A,), "joints": (JOINT,)}, "joint 'j': .*link.*'b'.*a$"),
    ],
)
def test_parts_that_make_no_robot_are_refused(parts, text):
    assert re.search(text, refusal(lambda: Model(name="m", **parts), ModelError))


def test_all_that_is_wrong_with_the_parts_is_said_at_once():
    joint = Joint(name="j", kind="revolute", first="x", second="b")
    links = (A, Link(name="a"), B)

    text = refusal(lambda: Model(name="m", links=links, joints=[joint]), ModelError)

    facts = ["2 errors$", "  link 'a': .*taken", "  joint 'j': .*link.*'x'.*a, b$"]
    assert_facts(text.splitlines(), facts)
