"""Joints that mimic others in odd ways, and shapes that are none."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.urdf_files import (
    GOOD,
    before_end,
    chained,
    changed,
    loaded,
    notes,
    refusal,
    refused,
)

from linkwork.model.geometry import Box, Capsule, Material, Mesh, Sphere
from linkwork.model.layout import Layout

SHAPES = "one of box, cylinder, sphere, capsule, mesh is wanted"


def follower(name: str, leader: str, extra: str = "", kind: str = "continuous") -> str:
    return chained(name, "arm", f'<mimic joint="{leader}" {extra}/>', kind)


MIMIC_ERRORS = [
    (
        "cycle of three",
        before_end(*(follower(a, f"{b}_joint") for a, b in ("xy", "yz", "zx"))),
        (
            "<text>:20: joint 'x_joint': mimics itself in a cycle: "
            "x_joint -> y_joint -> z_joint -> x_joint"
        ),
    ),
    (
        "a chain that ends in a cycle",
        before_end(*(follower(a, f"{b}_joint") for a, b in ("xy", "yz", "zy"))),
        "<text>:21: joint 'y_joint': mimics itself in a cycle: y_joint -> z_joint -> y_joint",
    ),
    (
        "itself",
        before_end(follower("x", "x_joint")),
        "<text>:20: joint 'x_joint': mimics itself",
    ),
    (
        "of a fixed joint",
        before_end(chained("f", "arm", kind="fixed"), follower("x", "f_joint")),
        (
            "<text>:21: joint 'x_joint': mimics the fixed joint 'f_joint', "
            "which has no single coordinate"
        ),
    ),
    (
        "of a floating joint",
        before_end(chained("f", "arm", kind="floating"), follower("x", "f_joint")),
        (
            "<text>:21: joint 'x_joint': mimics the floating joint 'f_joint', "
            "which has no single coordinate"
        ),
    ),
    (
        "by a planar joint",
        before_end(follower("x", "hinge", kind="planar")),
        (
            "<text>:20: joint 'x_joint': a planar joint cannot mimic another; "
            "only joints with one coordinate can"
        ),
    ),
    (
        "multiplier nan",
        before_end(follower("x", "hinge", 'multiplier="nan"')),
        "<text>:20: joint 'x_joint': mimic multiplier: 'nan' is not finite",
    ),
    (
        "offset in words",
        before_end(follower("x", "hinge", 'offset="half a turn"')),
        "<text>:20: joint 'x_joint': mimic offset: expected 1 number, got 3 in 'half a turn'",
    ),
    (
        "no joint",
        before_end(chained("x", "arm", "<mimic/>")),
        "<text>:20: joint 'x_joint': <mimic> has no 'joint'",
    ),
    (
        "two mimics",
        before_end(chained("x", "arm", '<mimic joint="hinge"/>' * 2)),
        (
            "<text>:20: joint 'x_joint': <joint> has 2 <mimic>, on lines 20, 20; expected one; "
            "repair=True uses the first one"
        ),
    ),
]


@pytest.mark.parametrize(
    ("text", "message"), [e[1:] for e in MIMIC_ERRORS], ids=[e[0] for e in MIMIC_ERRORS]
)
def test_impossible_mimic_is_refused_with_one_exact_message(text, message):
    assert refusal(text) == message


def test_mimic_of_a_fixed_joint_is_ignored_with_a_warning():
    model, said = loaded(before_end(follower("x", "hinge", kind="fixed")))

    assert model.joint("x_joint").mimic is None
    assert said == [
        "<text>:20: joint 'x_joint': a fixed joint cannot mimic another; <mimic> is ignored"
    ]


def test_impossible_mimics_do_not_matter_when_mimics_are_freed():
    text = before_end(follower("x", "y_joint"), follower("y", "x_joint"), follower("z", "nobody"))
    model, said = loaded(text, mimic=False)

    assert Layout(model, floating=False).nq == 4
    assert said == []


def test_leader_may_stand_behind_its_follower_in_the_file():
    text = before_end(follower("x", "y_joint", 'multiplier="2"'), chained("y", "arm"))
    layout = Layout(loaded(text)[0], floating=False)

    assert layout.joint_names == ("hinge", "y_joint")
    assert layout.theta(np.array([0.0, 0.25]), "x_joint") == pytest.approx([0.5])


def test_leader_without_its_prefix_is_found_with_a_warning():
    text = before_end(chained("l_a", "arm"), follower("l_b", "a_joint"))
    model, said = loaded(text)

    mimic = model.joint("l_b_joint").mimic
    assert mimic is not None
    assert mimic.joint == "l_a_joint"
    assert said == [
        (
            "<text>:21: joint 'l_b_joint': mimics joint 'a_joint', which does not exist; "
            "read as 'l_a_joint'"
        )
    ]


def with_shape(shape: str) -> str:
    return changed('<box size="1 2 3"/>', shape)


def with_material(material: str) -> str:
    return changed("<visual>", f"<visual>{material}")


def arm_shape(text: str):
    model, said = loaded(text)
    assert said == []
    return model.link("arm").visuals[0]


SHAPE_ERRORS = [
    ('<box size="-1 1 1"/>', "box size: [-1.0, 1.0, 1.0] has a negative edge"),
    ('<box size="1 1"/>', "box size: expected 3 numbers, got 2 in '1 1'"),
    ("<box/>", "<box> has no 'size'"),
    ('<sphere radius="-1"/>', "sphere radius: -1 is negative"),
    ('<cylinder radius="1"/>', "<cylinder> has no 'length'"),
    ('<cylinder radius="1" length="-2"/>', "cylinder length: -2 is negative"),
    ('<capsule radius="nan" length="1"/>', "capsule radius: 'nan' is not finite"),
    ('<box size="1 1 1"/><box size="1 1 1"/>', f"<geometry> holds 2 shapes; {SHAPES}"),
    ('<box size="1 1 1"/><sphere radius="1"/>', f"<geometry> holds 2 shapes; {SHAPES}"),
    ("", f"<geometry> holds 0 shapes; {SHAPES}"),
    ("<mesh/>", "<mesh> has no 'filename'"),
    ('<mesh filename=""/>', "<mesh> has an empty 'filename'"),
    ('<mesh filename="a" scale="1"/>', "mesh scale: expected 3 numbers, got 1 in '1'"),
]


@pytest.mark.parametrize(("shape", "problem"), SHAPE_ERRORS, ids=[e[0] for e in SHAPE_ERRORS])
def test_impossible_shape_is_refused_with_one_exact_message(shape, problem):
    assert refusal(with_shape(shape)) == f"<text>:10: link 'arm': {problem}"


def test_visual_without_geometry_is_refused():
    text = changed('<geometry><box size="1 2 3"/></geometry>', "")

    assert refusal(text) == "<text>:9: link 'arm': <visual> has no <geometry>"


def test_shape_nobody_knows_is_refused_by_name():
    assert refused(with_shape("<cone/>")) == [
        f"error: <text>:10: link 'arm': <geometry> holds 0 shapes; {SHAPES}",
        "warning: <text>:10: link 'arm': unknown element <cone> in <geometry> is ignored",
    ]


def test_shape_may_be_flat_or_a_point():
    """A placeholder: no number of it is wrong, and no dynamics depends on it."""
    assert arm_shape(with_shape('<box size="0 0 0"/>')).geometry == Box((0, 0, 0))
    assert arm_shape(with_shape('<sphere radius="0"/>')).geometry == Sphere(0)


def test_capsule_and_mirrored_mesh_are_shapes():
    capsule = '<capsule radius="1" length="2"/>'
    assert arm_shape(with_shape(capsule)).geometry == Capsule(1, 2)
    mesh = '<mesh filename="a.stl" scale="1 -1 1"/>'
    assert arm_shape(with_shape(mesh)).geometry == Mesh("a.stl", (1, -1, 1))


def test_colour_of_three_numbers_is_refused():
    text = with_material('<material name="red"><color rgba="1 0 0"/></material>')

    expected = "<text>:9: link 'arm': color rgba: expected 4 numbers, got 3 in '1 0 0'"
    assert refusal(text) == expected


def test_colour_beyond_one_is_doubtful():
    text = with_material('<material name="red"><color rgba="255 0 0 1"/></material>')

    expected = "<text>:9: link 'arm': color rgba: [255.0, 0.0, 0.0, 1.0] is not within 0 to 1"
    assert loaded(text)[1] == [expected]


def test_material_that_is_defined_nowhere_keeps_its_name_and_is_reported():
    text = with_material('<material name="red"/>')
    model, said = loaded(text)

    assert model.link("arm").visuals[0].material == Material("red")
    (message,) = [*said, *notes(text)]
    assert message.startswith("<text>:9: link 'arm': ")
    assert "'red'" in message


def test_material_of_the_robot_colours_its_links():
    red = '<material name="red"><color rgba="1 0 0 1"/></material>'
    text = changed("</robot>", f"{red}</robot>", text=with_material('<material name="red"/>'))

    assert arm_shape(text).material == Material("red", (1, 0, 0, 1))


def test_material_defined_in_one_visual_colours_others_that_name_it():
    """As in every other reader of URDF: the first use may define it."""
    visual = '<visual><geometry><sphere radius="1"/></geometry><material name="red"/></visual>'
    red = with_material('<material name="red"><color rgba="1 0 0 1"/></material>')
    model, said = loaded(
        changed('<link name="base"/>', f'<link name="base">{visual}</link>', text=red)
    )

    assert model.link("base").visuals[0].material == Material("red", (1, 0, 0, 1))
    assert said == []


def test_two_materials_of_one_name_are_doubtful():
    red = '<material name="red"><color rgba="1 0 0 1"/></material>'
    pink = '<material name="red"><color rgba="1 0.5 0.5 1"/></material>'

    text = before_end(red, pink)
    (message,) = [*loaded(text)[1], *notes(text)]

    assert message.startswith("<text>:21: ")
    assert "'red'" in message
    assert loaded(before_end(red, red)) == loaded(GOOD)
