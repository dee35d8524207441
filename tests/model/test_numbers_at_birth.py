"""Every number of every part is a Python float from the start, whatever it was written as.

A number that stays an array prints rounded, and two robots that differ in the ninth digit would
look alike to whoever tells robots apart by their printed form.
"""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from inspect import isabstract

import numpy as np
import pytest

from linkwork import Frame, Inertia, Joint, Limits, Link, Mimic, ModelError, Pose
from linkwork.model import geometry, inertia, parts, pose
from linkwork.model.geometry import Box, Capsule, Cylinder, Material, Mesh, Shape, Sphere

NAMED = {"name": "j", "kind": "helical", "first": "a", "second": "b"}

# Every dataclass of a robot's parts: a call that makes one, and its number fields with their sizes.
NUMBERS = {
    Pose: (Pose, {"xyz": 3, "rpy": 3}),
    Inertia: (Inertia, {"mass": 0, "com": 3, "tensor": 6}),
    Limits: (Limits, {"lower": 0, "upper": 0, "velocity": 0, "effort": 0}),
    Mimic: (lambda **given: Mimic(joint="a", **given), {"multiplier": 0, "offset": 0}),
    Joint: (
        lambda **given: Joint(**NAMED, **given),
        {"axis": 3, "pitch": 0, "damping": 0, "friction": 0, "armature": 0},
    ),
    Link: (lambda **given: Link(name="a", **given), {}),
    Frame: (lambda **given: Frame(name="f", link="a", **given), {}),
    Box: (Box, {"size": 3}),
    Cylinder: (
        lambda **given: Cylinder(**{"radius": 1, "length": 1} | given),
        dict.fromkeys(("radius", "length"), 0),
    ),
    Capsule: (
        lambda **given: Capsule(**{"radius": 1, "length": 1} | given),
        dict.fromkeys(("radius", "length"), 0),
    ),
    Sphere: (Sphere, {"radius": 0}),
    Mesh: (lambda **given: Mesh("a.stl", **given), {"scale": 3}),
    Material: (Material, {"rgba": 4}),
    Shape: (lambda **given: Shape(Sphere(1.0), **given), {}),
}
FIELDS = [(made, name) for made, (_, sizes) in NUMBERS.items() for name in sizes]
IDS = [f"{made.__name__}.{name}" for made, name in FIELDS]
WRITTEN = {
    "int": int,
    "float32": np.float32,
    "float64": np.float64,
    "int64": np.int64,
    "uint8": np.uint8,
    "0-d array": np.array,
    "0-d array of integers": lambda x: np.array(int(x)),
    "fraction": Fraction,
}
NO_NUMBERS = [
    None,
    "1",
    b"1",
    True,
    np.True_,
    1j,
    np.complex128(1),
    np.array([1.0]),
    np.array("1"),
    np.datetime64(1, "s"),
    [1.0],
    Ellipsis,
]


def made_with(made, name, value):
    """An object with one number, or the first of several, written as `value`."""
    make, sizes = NUMBERS[made]
    several = [0.0] * (sizes[name] - 1)
    return make(**{name: (value, *several) if sizes[name] else value})


def test_the_table_above_has_every_part_and_every_number():
    modules = (geometry, inertia, parts, pose)
    made = {
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__ and not isabstract(value)
    }
    lists = {parts.Actuator, parts.Constraint}  # have any number of gears or coefficients
    computed = {parts.Follower, geometry.Surface, geometry.Support}
    assert made - lists - computed == NUMBERS.keys()
    for one, (_, sizes) in NUMBERS.items():
        numeric = {
            field.name
            for field in fields(one)
            if "float" in str(field.type) or "Triple" in str(field.type) or field.type == "Six"
        }
        assert numeric == sizes.keys(), one


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize(("made", "name"), FIELDS, ids=IDS)
def test_a_number_becomes_a_float_whatever_it_is_written_as(made, name, written):
    plain, other = made_with(made, name, 1.0), made_with(made, name, WRITTEN[written](1.0))

    assert other == plain
    assert hash(other) == hash(plain)
    assert repr(other) == repr(plain)
    value = getattr(other, name)
    assert type(value) in (float, tuple)
    assert {type(one) for one in (value if isinstance(value, tuple) else (value,))} == {float}


@pytest.mark.parametrize(("made", "name"), FIELDS, ids=IDS)
def test_an_array_for_several_numbers_becomes_a_tuple_of_floats(made, name):
    size = NUMBERS[made][1][name]
    if size:
        unit = np.eye(size)[0]
        assert NUMBERS[made][0](**{name: unit}) == made_with(made, name, 1.0)
    else:  # one number: an array of one dimension is not it
        with pytest.raises(ModelError, match=r"number.*array"):
            NUMBERS[made][0](**{name: np.ones(1)})


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
@pytest.mark.parametrize(("made", "name"), FIELDS, ids=IDS)
def test_what_is_no_number_is_refused_by_its_name(made, name, value):
    with pytest.raises(ModelError, match=rf"{name}: .*(a number|\d numbers)"):
        made_with(made, name, value)


@pytest.mark.parametrize(("made", "name"), FIELDS, ids=IDS)
@pytest.mark.parametrize("digits", [400, 5000])  # Python refuses to print the second
def test_a_number_too_large_for_a_float_is_refused(made, name, digits):
    with pytest.raises(ModelError, match=f"{name}: .*too large"):
        made_with(made, name, 10**digits)


def test_two_joints_that_differ_in_the_ninth_digit_do_not_print_alike():
    one, other = (Mimic(joint="a", multiplier=np.array(m)) for m in (0.333333331, 0.333333333))

    assert one != other
    assert repr(one) != repr(other)


NUMPY_NAMES = {
    "link": lambda name: Link(name=name).name,
    "frame": lambda name: Frame(name=name, link="b").name,
    "link of a frame": lambda name: Frame(name="f", link=name).link,
    "joint": lambda name: Joint(**NAMED | {"name": name}).name,
    "kind": lambda name: Joint(**NAMED | {"kind": np.str_("fixed")}).kind,
    "first": lambda name: Joint(**NAMED | {"first": name}).first,
    "leader": lambda name: Mimic(joint=name).joint,
    "mesh": lambda name: Mesh(name).filename,
    "material": lambda name: Material(name).name,
    "shape": lambda name: Shape(Sphere(1.0), name=name).name,
}


@pytest.mark.parametrize("case", NUMPY_NAMES)
def test_names_become_python_texts(case):
    assert type(NUMPY_NAMES[case](np.str_("x"))) is str


WRONG_PARTS = {
    "joint 'j': first_H_joint: .*Pose.*None": lambda: Joint(**NAMED, first_H_joint=None),
    "joint 'j': joint_H_second: .*Pose.*3": lambda: Joint(**NAMED, joint_H_second=3),
    r"joint 'j': limits: .*Limits.*\(0, 1\)": lambda: Joint(**NAMED, limits=(0, 1)),
    "joint 'j': mimic: .*Mimic.*'a'": lambda: Joint(**NAMED, mimic="a"),
    "joint 'j': first: .*str.*3": lambda: Joint(**NAMED | {"first": 3}),
    "frame 'f': link_H_frame: .*Pose.*None": lambda: Frame(name="f", link="a", link_H_frame=None),
    "frame 'f': link: .*str.*None": lambda: Frame(name="f", link=None),
    "link 'a': inertia: .*Inertia.*None": lambda: Link(name="a", inertia=None),
    "link 'a': visuals: .*Shape.*1": lambda: Link(name="a", visuals=[1]),
    "link 'a': collisions: .*Shapes.*1": lambda: Link(name="a", collisions=1),
    "geometry: .*Box, Cylinder, Capsule, Sphere or Mesh.*'ball'": lambda: Shape("ball"),
    "link_H_shape: .*Pose.*None": lambda: Shape(Sphere(1.0), link_H_shape=None),
    "material: .*Material.*'red'": lambda: Shape(Sphere(1.0), material="red"),
    "mimic joint: .*str.*2": lambda: Mimic(joint=2),
    "mesh filename: .*str.*None": lambda: Mesh(None),
    "sphere radius inf.*finite": lambda: Sphere(float("inf")),
}


@pytest.mark.parametrize("text", WRONG_PARTS)
def test_parts_of_the_wrong_type_are_refused(text):
    with pytest.raises(ModelError, match=f"^{text}"):
        WRONG_PARTS[text]()


SOLIDS = {
    "box": lambda one: inertia.solid_box(one, (one, one, one)),
    "cylinder": lambda one: inertia.solid_cylinder(one, one, one),
    "sphere": lambda one: inertia.solid_sphere(one, one),
    "point": inertia.point_mass,
}


@pytest.mark.parametrize("solid", SOLIDS)
def test_solids_take_numpy_numbers_and_refuse_texts(solid):
    assert SOLIDS[solid](np.array(2.0)) == SOLIDS[solid](2.0)
    with pytest.raises(ModelError, match=r"mass: .*'2'"):
        SOLIDS[solid]("2")
