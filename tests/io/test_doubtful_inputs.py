"""URDF files that load with warnings.

Doubtful files load with a warning that names file, line and element. With `strict=True`, the
warning is an error.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.support.messages import assert_facts
from tests.support.skeletons import frame_poses
from tests.support.urdf_files import (
    GOOD,
    before_end,
    chained,
    changed,
    error_lines,
    loaded,
)

from linkwork import Limits, Model, Pose, check
from linkwork.io.load import read
from linkwork.model.layout import Layout
from linkwork.model.tree import tree_from

AXIS = '<axis xyz="0 1 0"/>'
HINGE_ORIGIN = '<origin xyz="1 0 0" rpy="0 0 0"/>'
LIMIT = '<limit lower="-1" upper="1" effort="5" velocity="2"/>'
INERTIA = 'ixx="0.3" ixy="0" ixz="0" iyy="0.4" iyz="0" izz="0.5"'
ON_AXIS = '<origin xyz="0 3 0"/>'  # the joint turns about y
NO_INERTIAL = re.sub(r"    <inertial>.*</inertial>\n", "", GOOD, flags=re.DOTALL)
SINGULAR = "forward dynamics is singular"

TOO_LONG = changed('ixx="0.3"', 'ixx="2"')
INDEFINITE = changed('ixy="0"', 'ixy="2"')
NEGATIVE = changed('ixx="0.3"', 'ixx="-1"')
POINT_ON_AXIS = changed(
    '<origin xyz="0 0 0.5"/>', ON_AXIS, INERTIA, re.sub(r'"[\d.]+"', '"0"', INERTIA)
)

# (row and what is doubtful, text, a pattern of the facts in the only warning)
WARNINGS = [
    (
        "no robot name",
        changed(' name="lamp"', ""),
        "<text>:1: <robot>.*name.*'robot'",
    ),
    (
        "axis of length 2",
        changed(AXIS, '<axis xyz="0 0 2"/>'),
        "<text>:17: joint 'hinge': axis .*0.0, 0.0, 2.0.*length 2.*scaled",
    ),
    (
        "axis between two others",
        changed(AXIS, '<axis xyz="0 1 1"/>'),
        ("<text>:17: joint 'hinge': axis .*0.0, 1.0, 1.0.*length 1.41421.*scaled"),
    ),
    (
        "triangle inequality",
        TOO_LONG,
        ("<text>:3: link 'arm': unphysical inertia.*0.4, 0.5, 2.*largest"),
    ),
    (
        "inertia not positive",
        INDEFINITE,
        ("<text>:3: link 'arm': unphysical inertia.*-1.65062, 0.5, 2.35062.*negative"),
    ),
    (
        "negative diagonal",
        NEGATIVE,
        ("<text>:3: link 'arm': unphysical inertia.*-1, 0.4, 0.5.*negative"),
    ),
    (
        "inertia without mass",
        changed('value="2"', 'value="0"'),
        "<text>:3: link 'arm': .*rotational inertia.*no mass",
    ),
    (
        "moving link without inertial",
        NO_INERTIAL,
        f"<text>:8: joint 'hinge': .*mass.*{SINGULAR}",
    ),
    (
        "mass on the axis",
        POINT_ON_AXIS,
        (f"<text>:13: joint 'hinge': .*axis.*{SINGULAR}"),
    ),
    (
        "revolute without limit",
        changed(f"    {LIMIT}\n", ""),
        "<text>:13: joint 'hinge': .*<limit>.*unlimited",
    ),
    (
        "limit without effort and velocity",
        changed(LIMIT, '<limit lower="-1" upper="1"/>'),
        "<text>:18: joint 'hinge': <limit>.*'effort'.*'velocity'.*unlimited",
    ),
    (
        "limit without velocity",
        changed(LIMIT, '<limit lower="-1" upper="1" effort="5"/>'),
        "<text>:18: joint 'hinge': <limit>.*no 'velocity'.*unlimited",
    ),
    (
        "version 2.0",
        changed('"lamp"', '"lamp" version="2.0"'),
        "<text>:1: .*'2.0'.*version 1",
    ),
]
warned = pytest.mark.parametrize(
    ("text", "facts"), [w[1:] for w in WARNINGS], ids=[w[0] for w in WARNINGS]
)
unphysical = pytest.mark.parametrize(
    "text",
    [TOO_LONG, INDEFINITE, NEGATIVE],
    ids=["30 triangle inequality", "31 inertia not positive", "32 negative diagonal"],
)


def hinge_axis(text: str) -> tuple[float, float, float]:
    return loaded(text)[0].joint("hinge").axis


def arm_pose(model: Model, angle: float) -> np.ndarray:
    layout = Layout(model, floating=False)
    return frame_poses(tree_from(model), layout, [angle])[model.frame_index("arm")]


@warned
def test_doubtful_file_loads_with_one_warning(text, facts):
    model, messages = loaded(text)

    assert_facts(messages, [facts])
    assert model.link_names == ("base", "arm")
    assert model.joint_names == ("hinge",)


@warned
def test_warning_is_an_error_when_strict(text, facts):
    assert_facts(error_lines(text, strict=True), [f"warning: {facts}"])


def test_unnamed_robot_has_the_name_of_its_file(tmp_path):
    file = tmp_path / "desk_lamp.v2.urdf"
    file.write_text(changed(' name="lamp"', ""), encoding="utf-8")

    model, messages = loaded(file)

    assert model.name == "desk_lamp.v2"
    assert_facts(messages, [f"{re.escape(str(file))}:1: <robot>.*name.*'desk_lamp.v2'"])


def test_axis_is_normalized_with_a_warning():
    assert hinge_axis(changed(AXIS, '<axis xyz="0 0 2"/>')) == (0, 0, 1)
    half = 0.5**0.5
    assert hinge_axis(changed(AXIS, '<axis xyz="0 1 1"/>')) == pytest.approx((0, half, half), 1e-15)


def test_rounded_axis_is_normalized_without_a_warning():
    model, messages = loaded(changed(AXIS, '<axis xyz="0 0 1.0009"/>'))

    assert model.joint("hinge").axis == (0, 0, 1)
    assert messages == []


def test_default_axis_is_x():
    model, messages = loaded(changed(f"    {AXIS}\n", ""))

    assert model.joint("hinge").axis == (1, 0, 0)
    assert messages == []


@unphysical
def test_unphysical_inertia_is_kept_without_repair(text):
    model, _ = loaded(text)

    written = re.findall(r'i[xyz]{2}="([^"]+)"', text)
    assert model.link("arm").inertia.tensor == tuple(map(float, written))


@pytest.mark.parametrize(
    ("text", "moments", "became", "tensor"),
    [
        (TOO_LONG, "0.4, 0.5, 2", "0.95, 1.05, 2", (2, 0, 0, 0.95, 0, 1.05)),
        (NEGATIVE, "-1, 0.4, 0.5", "0, 0.95, 0.95", (0, 0, 0, 0.95, 0, 0.95)),
    ],
    ids=["30 triangle inequality", "32 negative diagonal"],
)
@pytest.mark.parametrize("strict", [False, True])
def test_repair_reports_the_old_and_new_moments(text, moments, became, tensor, strict):
    """Negative second moments along the axes become zero; mass and center of mass stay."""
    model, messages = loaded(text, repair=True, strict=strict)

    head = "<text>:3: link 'arm': unphysical inertia repaired.*"
    assert_facts(messages, [f"{head} {moments} .*{became}"])
    inertia = model.link("arm").inertia
    assert inertia.tensor == pytest.approx(tensor, abs=1e-12)
    assert (inertia.mass, inertia.com) == (2, (0, 0, 0.5))


def test_indefinite_inertia_is_repaired_in_its_principal_axes():
    model, messages = loaded(INDEFINITE, repair=True)

    head = "<text>:3: link 'arm': unphysical inertia repaired.*"
    assert_facts(messages, [f"{head} -1.65062, 0.5, 2.35062 .*0.1, 2.25062, 2.35062"])
    old = np.array([[0.3, 2, 0], [2, 0.4, 0], [0, 0, 0.5]])
    new = model.link("arm").inertia.matrix()
    assert np.abs(old @ new - new @ old).max() < 1e-12  # the same principal axes


@unphysical
def test_repaired_inertias_are_physical(text):
    model, _ = loaded(text, repair=True)

    assert check(model) == []
    moments = np.linalg.eigvalsh(model.link("arm").inertia.matrix())
    assert moments[0] >= -1e-12
    assert moments[2] <= moments[0] + moments[1] + 1e-12


def test_repair_does_not_change_a_valid_robot():
    assert loaded(GOOD, repair=True, strict=True) == loaded(GOOD)


def test_strict_with_repair_still_rejects_other_warnings():
    text = changed(' name="lamp"', "", text=TOO_LONG)

    facts = [
        "warning: <text>:1: <robot>.*name.*'robot'",
        ("warning: <text>:3: link 'arm': unphysical inertia repaired.*0.4, 0.5, 2 .*0.95, 1.05, 2"),
    ]
    assert_facts(error_lines(text, strict=True, repair=True), facts)


def test_inertia_without_mass_is_kept():
    model, _ = loaded(changed('value="2"', 'value="0"'))

    assert model.link("arm").inertia.mass == 0
    assert model.link("arm").inertia.tensor == (0.3, 0, 0, 0.4, 0, 0.5)


@pytest.mark.parametrize(
    "text", [NO_INERTIAL, POINT_ON_AXIS], ids=["35 no inertial", "36 mass on the axis"]
)
def test_massless_links_have_kinematics(text):
    model, _ = loaded(text)

    pose = arm_pose(model, np.pi / 2)

    quarter_turn_about_y = [[0, 0, 1, 1], [0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 1]]
    np.testing.assert_allclose(pose, quarter_turn_about_y, atol=1e-15)


def test_missing_limits_are_infinite():
    without, _ = loaded(changed(f"    {LIMIT}\n", ""))
    with_bounds, _ = loaded(changed(LIMIT, '<limit lower="-1" upper="1"/>'))

    assert without.joint("hinge").limits == Limits()
    assert with_bounds.joint("hinge").limits == Limits(lower=-1, upper=1)


@pytest.mark.parametrize(
    ("lower", "upper", "doubted"),
    [("-90", "90", True), ("0", "180", True), ("-12", "12", False), ("-1e16", "1e16", False)],
)
def test_limits_that_may_be_degrees_have_a_note(lower, upper, doubted):
    limit = f'<limit lower="{lower}" upper="{upper}" effort="5" velocity="2"/>'
    findings = read(changed(LIMIT, limit)).findings

    facts = f"limits {lower} and {upper} .*radians.*degrees"
    assert_facts([f.text for f in findings], [facts] * doubted)
    assert all(f.severity == "note" and f.location.line == 18 for f in findings)


def test_chain_of_mimics_is_resolved():
    text = before_end(
        chained("a", "arm", '<mimic joint="b_joint" multiplier="2" offset="1"/>'),
        chained("b", "arm", '<mimic joint="hinge" multiplier="-3" offset="0.5"/>'),
    )
    model, messages = loaded(text)

    assert messages == []
    layout = Layout(model, floating=False)
    assert layout.nq == 1
    assert layout.theta(np.array([0.1]), "b_joint") == pytest.approx([-3 * 0.1 + 0.5])
    assert layout.theta(np.array([0.1]), "a_joint") == pytest.approx([2 * (-3 * 0.1 + 0.5) + 1])


def test_any_white_space_separates_numbers():
    model, messages = loaded(changed(HINGE_ORIGIN, '<origin xyz=" 1\t2\n  3" rpy="0  0   1 "/>'))

    assert model.joint("hinge").first_H_joint == Pose((1, 2, 3), (0, 0, 1))
    assert messages == []


@pytest.mark.parametrize("name", ["world", "universe"], ids=["50 world", "51 universe"])
def test_special_names_have_no_special_meaning(name):
    model, messages = loaded(GOOD.replace('"base"', f'"{name}"'))

    assert model.link_names == (name, "arm")
    assert model.joint("hinge").first == name
    assert messages == []


def test_joint_and_link_may_share_a_name():
    model, messages = loaded(GOOD.replace('"hinge"', '"arm"'))

    assert model.link("arm").inertia.mass == 2
    assert model.joint("arm").second == "arm"
    assert messages == []


@pytest.mark.parametrize(
    ("kind", "nq", "nv"),
    [("planar", 3, 3), ("floating", 7, 6), ("spherical", 4, 3), ("ball", 4, 3)],
    ids=["53 planar", "54 floating", "55 spherical", "55 ball"],
)
def test_joint_types_have_their_degrees_of_freedom(kind, nq, nv):
    model, messages = loaded(changed('"revolute"', f'"{kind}"'))

    assert (model.joint("hinge").nq, model.joint("hinge").nv) == (nq, nv)
    assert messages == []


def test_names_may_be_unicode():
    model, messages = loaded(GOOD.replace('"arm"', '"Ärmchen 腕"'))

    assert model.link_names == ("base", "Ärmchen 腕")
    assert messages == []


@pytest.mark.parametrize("source", ["\ufeff" + GOOD, b"\xef\xbb\xbf" + GOOD.encode()])
def test_byte_order_mark_is_skipped(source):
    assert loaded(source) == loaded(GOOD)


def test_comments_and_instructions_may_precede_the_root():
    head = '<?xml version="1.0"?>\n<?xml-stylesheet href="a.xsl"?>\n<!-- <!DOCTYPE x [ -->\n'

    assert loaded(head + GOOD) == loaded(GOOD)


def test_chain_of_5000_links_loads():
    lines = [chained(f"link{n}", f"link{n - 1}" if n else "arm") for n in range(5000)]

    model, messages = loaded(before_end(*lines))

    assert len(model.links) == 5002
    assert tree_from(model).path("link4999")[-1] > 0
    assert messages == []
