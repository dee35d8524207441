"""Invalid mimics, shapes and materials."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.messages import assert_facts
from tests.support.urdf_files import (
    GOOD,
    before_end,
    chained,
    changed,
    error_lines,
    error_message,
    loaded,
    notes,
)

from linkwork.model.geometry import Box, Capsule, Material, Mesh, Sphere
from linkwork.model.layout import Layout

SHAPES = "box, cylinder, sphere, capsule, mesh"


def follower(name: str, leader: str, extra: str = "", kind: str = "continuous") -> str:
    return chained(name, "arm", f'<mimic joint="{leader}" {extra}/>', kind)


MIMIC_ERRORS = [
    (
        "cycle of three",
        before_end(*(follower(a, f"{b}_joint") for a, b in ("xy", "yz", "zx"))),
        ("<text>:20: joint 'x_joint': .*x_joint -> y_joint -> z_joint -> x_joint"),
    ),
    (
        "a chain that ends in a cycle",
        before_end(*(follower(a, f"{b}_joint") for a, b in ("xy", "yz", "zy"))),
        "<text>:21: joint 'y_joint': .*y_joint -> z_joint -> y_joint",
    ),
    (
        "itself",
        before_end(follower("x", "x_joint")),
        "<text>:20: joint 'x_joint': mimics itself",
    ),
    (
        "of a fixed joint",
        before_end(chained("f", "arm", kind="fixed"), follower("x", "f_joint")),
        ("<text>:21: joint 'x_joint': .*fixed joint 'f_joint'"),
    ),
    (
        "of a floating joint",
        before_end(chained("f", "arm", kind="floating"), follower("x", "f_joint")),
        ("<text>:21: joint 'x_joint': .*floating joint 'f_joint'"),
    ),
    (
        "by a planar joint",
        before_end(follower("x", "hinge", kind="planar")),
        ("<text>:20: joint 'x_joint': .*planar.*mimic"),
    ),
    (
        "multiplier nan",
        before_end(follower("x", "hinge", 'multiplier="nan"')),
        "<text>:20: joint 'x_joint': mimic multiplier: 'nan'.*finite",
    ),
    (
        "offset in words",
        before_end(follower("x", "hinge", 'offset="half a turn"')),
        "<text>:20: joint 'x_joint': mimic offset: .*1.*3.*'half a turn'",
    ),
    (
        "no joint",
        before_end(chained("x", "arm", "<mimic/>")),
        "<text>:20: joint 'x_joint': <mimic>.*'joint'",
    ),
    (
        "two mimics",
        before_end(chained("x", "arm", '<mimic joint="hinge"/>' * 2)),
        ("<text>:20: joint 'x_joint': <joint>.*2 <mimic>.*lines 20, 20.*repair=True"),
    ),
]


@pytest.mark.parametrize(
    ("text", "facts"), [e[1:] for e in MIMIC_ERRORS], ids=[e[0] for e in MIMIC_ERRORS]
)
def test_invalid_mimic_has_one_error(text, facts):
    assert_facts(error_message(text), facts)


def test_mimic_of_a_fixed_joint_is_ignored_with_a_warning():
    model, messages = loaded(before_end(follower("x", "hinge", kind="fixed")))

    assert model.joint("x_joint").mimic is None
    assert_facts(messages, ["<text>:20: joint 'x_joint': .*fixed.*<mimic>.*ignored"])


def test_invalid_mimics_are_ignored_with_mimic_false():
    text = before_end(follower("x", "y_joint"), follower("y", "x_joint"), follower("z", "nobody"))
    model, messages = loaded(text, mimic=False)

    assert Layout(model, floating=False).nq == 4
    assert messages == []


def test_leader_may_be_defined_after_its_follower():
    text = before_end(follower("x", "y_joint", 'multiplier="2"'), chained("y", "arm"))
    layout = Layout(loaded(text)[0], floating=False)

    assert layout.joint_names == ("hinge", "y_joint")
    assert layout.theta(np.array([0.0, 0.25]), "x_joint") == pytest.approx([0.5])


def test_leader_without_its_prefix_is_resolved_with_a_warning():
    text = before_end(chained("l_a", "arm"), follower("l_b", "a_joint"))
    model, messages = loaded(text)

    mimic = model.joint("l_b_joint").mimic
    assert mimic is not None
    assert mimic.joint == "l_a_joint"
    assert_facts(messages, ["<text>:21: joint 'l_b_joint': .*'a_joint'.*'l_a_joint'"])


def with_shape(shape: str) -> str:
    return changed('<box size="1 2 3"/>', shape)


def with_material(material: str) -> str:
    return changed("<visual>", f"<visual>{material}")


def arm_shape(text: str):
    model, messages = loaded(text)
    assert messages == []
    return model.link("arm").visuals[0]


SHAPE_ERRORS = [
    ('<box size="-1 1 1"/>', "box size: -1"),
    ('<box size="1 1"/>', "box size: .*3.*2.*'1 1'"),
    ("<box/>", "<box>.*'size'"),
    ('<sphere radius="-1"/>', "sphere radius: -1"),
    ('<cylinder radius="1"/>', "<cylinder>.*'length'"),
    ('<cylinder radius="1" length="-2"/>', "cylinder length: -2"),
    ('<capsule radius="nan" length="1"/>', "capsule radius: 'nan'"),
    ('<box size="1 1 1"/><box size="1 1 1"/>', f"<geometry>.*2.*{SHAPES}"),
    ('<box size="1 1 1"/><sphere radius="1"/>', f"<geometry>.*2.*{SHAPES}"),
    ("", f"<geometry>.*0.*{SHAPES}"),
    ("<mesh/>", "<mesh>.*'filename'"),
    ('<mesh filename=""/>', "<mesh>.*empty 'filename'"),
    ('<mesh filename="a" scale="1"/>', "mesh scale: .*3.*1.*'1'"),
]


@pytest.mark.parametrize(("shape", "facts"), SHAPE_ERRORS, ids=[e[0] for e in SHAPE_ERRORS])
def test_invalid_shape_has_one_error(shape, facts):
    assert_facts(error_message(with_shape(shape)), f"<text>:10: link 'arm': {facts}")


def test_visual_without_geometry_is_rejected():
    text = changed('<geometry><box size="1 2 3"/></geometry>', "")

    assert_facts(error_message(text), "<text>:9: link 'arm': <visual>.*<geometry>")


def test_unknown_shape_is_rejected():
    facts = [
        f"error: <text>:10: link 'arm': <geometry>.*0.*{SHAPES}",
        "warning: <text>:10: link 'arm': .*<cone>.*<geometry>.*ignored",
    ]
    assert_facts(error_lines(with_shape("<cone/>")), facts)


def test_shape_may_have_zero_size():
    """Such shapes are placeholders without effect on the dynamics."""
    assert arm_shape(with_shape('<box size="0 0 0"/>')).geometry == Box((0, 0, 0))
    assert arm_shape(with_shape('<sphere radius="0"/>')).geometry == Sphere(0)


def test_capsule_and_mirrored_mesh_are_read():
    capsule = '<capsule radius="1" length="2"/>'
    assert arm_shape(with_shape(capsule)).geometry == Capsule(1, 2)
    mesh = '<mesh filename="a.stl" scale="1 -1 1"/>'
    assert arm_shape(with_shape(mesh)).geometry == Mesh("a.stl", (1, -1, 1))


def test_color_with_three_values_is_rejected():
    text = with_material('<material name="red"><color rgba="1 0 0"/></material>')

    assert_facts(error_message(text), "<text>:9: link 'arm': color rgba: .*4.*3.*'1 0 0'")


def test_color_above_one_is_a_warning():
    text = with_material('<material name="red"><color rgba="255 0 0 1"/></material>')

    facts = "<text>:9: link 'arm': color rgba: .*255.0, 0.0, 0.0, 1.0.*0 to 1"
    assert_facts(loaded(text)[1], [facts])


def test_undefined_material_keeps_its_name_with_a_note():
    text = with_material('<material name="red"/>')
    model, messages = loaded(text)

    assert model.link("arm").visuals[0].material == Material("red")
    (message,) = [*messages, *notes(text)]
    assert message.startswith("<text>:9: link 'arm': ")
    assert "'red'" in message


def test_material_of_the_robot_applies_to_its_links():
    red = '<material name="red"><color rgba="1 0 0 1"/></material>'
    text = changed("</robot>", f"{red}</robot>", text=with_material('<material name="red"/>'))

    assert arm_shape(text).material == Material("red", (1, 0, 0, 1))


def test_material_defined_in_a_visual_applies_to_other_visuals():
    """As in other URDF readers, the first use may define it."""
    visual = '<visual><geometry><sphere radius="1"/></geometry><material name="red"/></visual>'
    red = with_material('<material name="red"><color rgba="1 0 0 1"/></material>')
    model, messages = loaded(
        changed('<link name="base"/>', f'<link name="base">{visual}</link>', text=red)
    )

    assert model.link("base").visuals[0].material == Material("red", (1, 0, 0, 1))
    assert messages == []


def test_two_materials_with_one_name_are_a_warning():
    red = '<material name="red"><color rgba="1 0 0 1"/></material>'
    pink = '<material name="red"><color rgba="1 0.5 0.5 1"/></material>'

    text = before_end(red, pink)
    (message,) = [*loaded(text)[1], *notes(text)]

    assert message.startswith("<text>:21: ")
    assert "'red'" in message
    assert loaded(before_end(red, red)) == loaded(GOOD)
