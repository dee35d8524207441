"""A robot in words, and what is doubtful about it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.messages import assert_facts
from tests.support.models import ALL_KINDS, random_model

import linkwork
from linkwork import (
    Finding,
    Inertia,
    Joint,
    Link,
    Mimic,
    Model,
    ModelBuilder,
    NameNotFoundError,
    Pose,
    check,
    describe,
    load,
)
from linkwork.errors import SourceLocation
from linkwork.model.describe import joint_table, summary, tree_lines
from linkwork.model.geometry import Box, Mesh, Shape
from linkwork.model.inertia import point_mass, solid_box

BUNDLED = sorted((Path(linkwork.__file__).parent / "robots").glob("*.urdf"))


def lamp():
    builder = ModelBuilder("lamp")
    builder.add_link("base", inertia=solid_box(2.0, (0.2, 0.2, 0.1)))
    builder.add_link("arm", inertia=solid_box(0.5, (0.4, 0.02, 0.02), com=(0.2, 0, 0)))
    builder.add_link("head", inertia=solid_box(0.25, (0.1, 0.1, 0.1)))
    builder.add_link("bulb")
    builder.add_link("shade", inertia=Inertia(0.125))
    builder.add_joint(
        "hinge",
        "revolute",
        "base",
        "arm",
        axis=(0, -1, 0),
        lower=-1,
        upper=2.5,
        velocity=3,
        effort=10,
    )
    builder.add_joint("neck", "spherical", "arm", "head", first_H_joint=Pose(xyz=(0.4, 0, 0)))
    builder.add_joint("socket", "fixed", "head", "bulb")
    mimic = Mimic(joint="hinge", multiplier=-0.5, offset=0.1)
    builder.add_joint("rise", "prismatic", "head", "shade", axis=(3, 4, 0), mimic=mimic)
    builder.add_frame("light", "bulb", Pose(xyz=(0, 0, 0.05), rpy=(0, 1.5, 0)))
    builder.add_frame("plug", "base")
    return builder.build()


LAMP = """\
lamp: 5 links, 4 joints (2 moving, 1 dependent), 2 additional frames, \
2.875 kg, 4 degrees of freedom (6 more if the base floats)

base  2 kg
└─ hinge (revolute -y) ─ arm  0.5 kg
   └─ neck (spherical) ─ head  0.25 kg
      ├─ socket (fixed) ─ bulb
      └─ rise (prismatic (0.6, 0.8, 0), mimics hinge) ─ shade  0.125 kg

moving joints
  s  joint  kind       axis         lower  upper  velocity  effort  first  second  mimics
───  ─────  ─────────  ───────────  ─────  ─────  ────────  ──────  ─────  ──────  ────────────────
  0  hinge  revolute   -y              -1    2.5         3      10  base   arm     -
1-4  neck   spherical  -                -      -         -       -  arm    head    -
  -  rise   prismatic  0.6, 0.8, 0      -      -         -       -  head   shade   -0.5 hinge + 0.1

links
#  link   mass [kg]  center of mass [m]  ixx, iyy, izz [kg m^2]
─  ─────  ─────────  ──────────────────  ───────────────────────────────
0  base           2  0, 0, 0             0.008333, 0.008333, 0.01333
1  arm          0.5  0.2, 0, 0           3.333e-05, 0.006683, 0.006683
2  head        0.25  0, 0, 0             0.0004167, 0.0004167, 0.0004167
3  bulb           -  -                   -
4  shade      0.125  0, 0, 0             0, 0, 0

additional frames
frame  link  pose in the link
─────  ────  ─────────────────────────────
light  bulb  xyz 0, 0, 0.05, rpy 0, 1.5, 0
plug   base  at its origin
"""

FROM_THE_HEAD = """\
head  0.25 kg
├─ neck (spherical) ─ arm  0.5 kg
│  └─ hinge (revolute -y) ─ base  2 kg
├─ socket (fixed) ─ bulb
└─ rise (prismatic (0.6, 0.8, 0), mimics hinge) ─ shade  0.125 kg"""


def swing(inertia, kind="revolute", **facts):
    """A heavy base and one link on one joint about z."""
    builder = ModelBuilder("swing")
    builder.add_link("base", inertia=solid_box(1.0, (1, 1, 1)))
    builder.add_link("swing", inertia=inertia)
    builder.add_joint("pivot", kind, "base", "swing", **facts)
    return builder.build()


BOX = solid_box(1.0, (0.1, 0.2, 0.3))


def texts(model):
    return [str(finding) for finding in check(model)]


def test_a_robot_is_described_in_these_words():
    assert describe(lamp()) == LAMP


def test_the_tree_is_drawn_from_any_link():
    assert "\n".join(tree_lines(lamp(), "head")) == FROM_THE_HEAD
    assert FROM_THE_HEAD in describe(lamp(), base="head")


def test_every_link_and_joint_stands_in_the_drawing_once(rng):
    model = random_model(rng, 20)
    for base in model.link_names:
        lines = list(tree_lines(model, base))
        assert len(lines) == len(model.links)
        words = [word for line in lines for word in line.split()]
        for name in (*model.link_names, *model.joint_names):
            assert sum(word == name for word in words) >= 1
        assert lines[0].split()[0] == base


def test_an_unknown_base_is_refused():
    with pytest.raises(NameNotFoundError, match=r"link.*'heat'.*'head'"):
        describe(lamp(), base="heat")


def test_a_single_link_needs_few_words():
    assert describe(Model(name="dot", links=(Link(name="dot"),))) == (
        "dot: 1 link, 0 joints (0 moving), 0 kg, 0 degrees of freedom (6 more if the base floats)"
        "\n\n"
        "dot\n\n"
        "links\n"
        "#  link  mass [kg]  center of mass [m]  ixx, iyy, izz [kg m^2]\n"
        "─  ────  ─────────  ──────────────────  ──────────────────────\n"
        "0  dot           -  -                   -\n"
    )


def test_one_degree_of_freedom_is_singular():
    expected = (
        "swing: 2 links, 1 joint (1 moving), 2 kg, 1 degree of freedom (6 more if the base floats)"
    )
    assert summary(swing(BOX)) == expected


def test_a_negative_offset_is_subtracted():
    builder = ModelBuilder("m")
    for link in "abc":
        builder.add_link(link)
    builder.add_joint("p", "revolute", "a", "b")
    builder.add_joint("q", "revolute", "a", "c", mimic=Mimic(joint="p", multiplier=2, offset=-0.25))

    mimics = [row[-1] for row in joint_table(builder.build()).rows]

    assert mimics == ["-", "2 p - 0.25"]


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_robots_of_every_kind_can_be_described(kind, rng):
    model = random_model(rng, 5, kinds=[kind])
    assert f"({kind}" in describe(model)


def test_a_chain_of_3000_links_can_be_described():
    links = [Link(name=f"l{k}") for k in range(3000)]
    joints = [
        Joint(name=f"j{k}", kind="revolute", first=f"l{k}", second=f"l{k + 1}") for k in range(2999)
    ]
    assert sum(1 for _ in tree_lines(Model(name="m", links=links, joints=joints))) == 3000


@pytest.mark.parametrize("seed", range(20))
def test_random_robots_are_above_suspicion(seed):
    assert texts(random_model(np.random.default_rng(seed), 16)) == []


@pytest.mark.parametrize("path", BUNDLED, ids=[path.stem for path in BUNDLED])
def test_bundled_robots_are_above_suspicion_but_for_bent_knees(path):
    findings = check(load(path))

    if path.stem != "quadruped":
        assert findings == []
        return
    legs = ("FL", "FR", "RL", "RR")
    assert [finding.element for finding in findings] == [f"joint '{leg}_knee'" for leg in legs]
    assert {finding.severity for finding in findings} == {"note"}
    assert all("limits -2.6 to -0.4" in finding.text for finding in findings)


@pytest.mark.parametrize(
    ("model", "severity", "text"),
    [
        (
            swing(Inertia(1.0, (0, 0, 0), (1, 0, 0, 1, 0, 3))),
            "warning",
            "link 'swing': unphysical inertia.* 1, 1, 3.*largest",
        ),
        (
            swing(Inertia(1.0, (0, 0, 0), (2, 0, 0, 1, 2, 1))),
            "warning",
            "link 'swing': unphysical inertia.* -1, 2, 3.*negative",
        ),
        (
            swing(Inertia(0.0, (0, 0, 0), (1, 0, 0, 1, 0, 1))),
            "warning",
            "link 'swing': .*rotational inertia.*no mass",
        ),
        (
            swing(Inertia()),
            "warning",
            "joint 'pivot': .*mass.*singular",
        ),
        (
            swing(point_mass(1.0, (0, 0, 0.5))),
            "warning",
            "joint 'pivot': .*axis.*singular",
        ),
        (swing(BOX, damping=-0.5), "warning", "joint 'pivot': damping -0.5"),
        (swing(BOX, friction=-1), "warning", "joint 'pivot': friction -1"),
        (swing(BOX, armature=-2), "warning", "joint 'pivot': armature -2"),
        (swing(BOX, velocity=-1), "warning", "joint 'pivot': .*velocity -1"),
        (swing(BOX, effort=-9), "warning", "joint 'pivot': .*effort -9"),
        (
            swing(BOX, lower=0.5, upper=1.5),
            "note",
            "joint 'pivot': .*0 .*limits 0.5 to 1.5",
        ),
        (
            swing(BOX, kind="revolute_cos_sin", lower=0.5, upper=1.5),
            "note",
            "joint 'pivot': .*0 .*limits 0.5 to 1.5",
        ),
        (
            swing(solid_box(3200.0, (0.1, 0.2, 0.3))),
            "warning",
            "link 'swing': mass 3200 kg",
        ),
        (
            swing(BOX, first_H_joint=Pose(rpy=(0, 90, 0))),
            "warning",
            "joint 'pivot': rpy 0 90 0.*radians",
        ),
        (
            swing(BOX).with_frame("tip", "swing").with_constraint("point", "tip", "swing"),
            "warning",
            "constraint 'tip_to_swing': .*rigidly connected",
        ),
    ],
)
def test_what_is_doubtful_is_found_and_nothing_else(model, severity, text):
    (finding,) = check(model)
    assert finding.severity == severity
    assert_facts(str(finding), text)


@pytest.mark.parametrize(
    "model",
    [
        swing(Inertia(1.0, (0, 0, 0), (1, 0, 0, 1, 0, 2))),  # a plate
        swing(Inertia(1.0, (0, 0, 0), (1, 0, 0, 1, 0, 2 + 1e-7))),  # a plate in a rounded file
        swing(point_mass(1.0, (0.1, 0, 0.5))),  # off the axis
        swing(point_mass(1.0), kind="prismatic"),
        swing(point_mass(1e-9, (1e-5, 0, 0))),  # small, but no smaller than it is
        swing(BOX, lower=0.0, upper=0.0),
        swing(BOX, kind="floating"),
    ],
)
def test_what_is_unusual_but_sound_is_not_found(model):
    assert texts(model) == []


def test_a_joint_with_armature_is_not_singular():
    """Its rotor resists, whatever hangs on it."""
    assert texts(swing(Inertia(), armature=0.1)) == []
    assert texts(swing(point_mass(1.0), armature=0.1)) == []


def test_a_massless_link_that_carries_something_is_not_singular():
    builder = ModelBuilder("m")
    builder.add_link("base", inertia=BOX)
    builder.add_link("cross")
    builder.add_link("shaft", inertia=BOX)
    builder.add_joint("pan", "revolute", "base", "cross")
    builder.add_joint("tilt", "revolute", "cross", "shaft", axis=(0, 1, 0))

    assert texts(builder.build()) == []


def test_a_joint_whose_followers_carry_something_is_not_singular():
    """A crank of no mass that moves a heavy slide moves a mass."""
    builder = ModelBuilder("m")
    builder.add_link("base", inertia=BOX)
    builder.add_link("crank")
    builder.add_link("slide", inertia=BOX)
    builder.add_joint("turn", "revolute", "base", "crank")
    builder.add_joint("push", "prismatic", "base", "slide", mimic=Mimic(joint="turn"))

    assert texts(builder.build()) == []


def test_a_follower_of_no_mass_is_not_singular():
    builder = ModelBuilder("m")
    builder.add_link("base", inertia=BOX)
    builder.add_link("finger", inertia=BOX)
    builder.add_link("needle")
    builder.add_joint("turn", "revolute", "base", "finger")
    builder.add_joint("show", "revolute", "base", "needle", mimic=Mimic(joint="turn"))

    assert texts(builder.build()) == []


def test_a_joint_written_from_its_light_end_is_judged_alike():
    builder = ModelBuilder("m")
    builder.add_link("base", inertia=BOX)
    builder.add_link("arm", inertia=BOX)
    builder.add_link("flag")
    builder.add_joint("good", "revolute", "arm", "base")
    builder.add_joint("bad", "revolute", "flag", "base")

    assert_facts(texts(builder.build()), ["joint 'bad': .*mass.*singular"])


def test_meshes_that_were_looked_for_and_not_found_are_noted():
    lost = Mesh("package://arm/hand.stl", searched=("/a", "/b"))
    shapes = (Shape(lost), Shape(Mesh("given.stl")), Shape(Box((1.0, 1.0, 1.0))))
    model = Model(name="m", links=[Link(name="hand", visuals=shapes)])

    (finding,) = check(model)
    assert finding.severity == "note"
    assert_facts(str(finding), r"link 'hand': .*'package://arm/hand\.stl'.*/a, /b")


def test_findings_say_where_in_the_file_the_part_stands():
    location = SourceLocation("robot.urdf", 7)
    wrong = Inertia(1.0, (0, 0, 0), (1, 0, 0, 1, 0, 3))
    model = Model(name="m", links=[Link(name="a", inertia=wrong, location=location)])

    (finding,) = check(model)

    assert isinstance(finding, Finding)
    assert finding.location == location
    assert str(finding).startswith("robot.urdf:7: link 'a': unphysical inertia")
