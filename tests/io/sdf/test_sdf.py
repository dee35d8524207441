"""SDF files: frames, axes, joints, nested and included models, worlds."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.kindyn import on_numpy
from tests.support.models import assert_close, random_model, random_q
from tests.support.sdf_files import TYPES, sdf_text
from tests.support.urdf_files import loaded

import linkwork as lw


@pytest.mark.parametrize("version", ["1.4", "1.6", "1.8", "1.12"])
@pytest.mark.parametrize("seed", range(3))
def test_a_robot_is_the_same_however_its_poses_are_written(version, seed):
    """Poses relative to random frames, and axes in the axes of random frames."""
    rng = np.random.default_rng(seed)
    model = random_model(
        rng, 12, tuple(TYPES), mimic=version == "1.12", frames=version in ("1.8", "1.12")
    )
    read, _ = loaded(sdf_text(model, rng, version))

    assert read.link_names == model.link_names
    assert read.joint_names == model.joint_names
    for link in model.links:
        assert read.link(link.name).inertia == link.inertia
    for joint in model.joints:
        other = read.joint(joint.name)
        assert (other.kind, other.first, other.second) == (joint.kind, joint.first, joint.second)
        assert other.pitch == pytest.approx(joint.pitch, rel=1e-15)
        if joint.kind in ("revolute", "prismatic", "helical"):
            assert (other.limits, other.damping) == (joint.limits, joint.damping)
            assert (other.mimic is None) == (joint.mimic is None)
    bodies = [on_numpy(lw.KinDyn(one, base="link0")) for one in (model, read)]
    q = random_q(bodies[0].layout, rng)
    assert_close(bodies[1].mass_matrix(q), bodies[0].mass_matrix(q), 1e-13)
    for frame in model.frame_names:
        assert_close(bodies[1].transform(frame, q), bodies[0].transform(frame, q), 1e-13)


MASS = "<inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"


def link(name, pose="", body=""):
    return f'<link name="{name}"><pose>{pose}</pose>{MASS}{body}</link>'


def joint(name, kind, parent, child, body=""):
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    axis = "" if kind in ("fixed", "ball") else "<axis><xyz>0 0 1</xyz></axis>"
    return f'<joint name="{name}" type="{kind}">{ends}{axis}{body}</joint>'


def sdf(body, version="1.12"):
    return f'<sdf version="{version}">{body}</sdf>'


def model(name, body, attributes=""):
    return f'<model name="{name}" {attributes}>{body}</model>'


ARM = model(
    "arm",
    link("upper", "0 0 1 0 0 0")
    + link("lower", "0 0 2 0 0 0")
    + joint("elbow", "revolute", "upper", "lower")
    + '<frame name="tip" attached_to="lower"/>',
)


def world_poses(robot):
    """Poses of all frames at zero, relative to the base."""
    kd = on_numpy(lw.KinDyn(robot, floating=False))
    return {name: kd.transform(name, kd.neutral()).round(12) for name in robot.frame_names}


def test_parts_of_nested_models_have_scoped_names():
    """Poses may be relative to frames inside nested models, and joints lead to their links."""
    nested = ARM.replace('<model name="arm" >', '<model name="arm"><pose>1 0 0 0 0 0</pose>')
    text = sdf(
        model(
            "robot",
            link("torso")
            + nested
            + joint("shoulder", "revolute", "torso", "arm::upper")
            + '<frame name="camera" attached_to="arm::tip"><pose>0 0 0.5 0 0 0</pose></frame>',
        )
    )
    robot, warnings = loaded(text)
    assert not warnings
    assert robot.link_names == ("torso", "arm::upper", "arm::lower")
    assert set(robot.joint_names) == {"shoulder", "arm::elbow"}
    poses = world_poses(robot)
    np.testing.assert_allclose(poses["arm::upper"][:3, 3], (1, 0, 1))
    np.testing.assert_allclose(poses["camera"][:3, 3], (1, 0, 2.5))


def test_placement_frame_has_the_pose_of_the_model():
    nested = ARM.replace(
        'name="arm" >', 'name="arm" placement_frame="lower"><pose>5 0 0 0 0 0</pose>'
    )
    robot, _ = loaded(
        sdf(
            model(
                "robot", link("torso") + nested + joint("shoulder", "fixed", "torso", "arm::upper")
            )
        )
    )
    poses = world_poses(robot)
    np.testing.assert_allclose(poses["arm::lower"][:3, 3], (5, 0, 0))
    np.testing.assert_allclose(poses["arm::upper"][:3, 3], (5, 0, -1))


@pytest.fixture
def folder(tmp_path):
    """Models in a folder, as Gazebo has them."""
    (tmp_path / "models" / "arm").mkdir(parents=True)
    (tmp_path / "models" / "arm" / "arm_v1.sdf").write_text(
        sdf(ARM, "1.6").replace('<frame name="tip" attached_to="lower"/>', "")
    )
    (tmp_path / "models" / "arm" / "arm.sdf").write_text(sdf(ARM, "1.9"))
    (tmp_path / "models" / "arm" / "model.config").write_text(
        '<model><sdf version="1.6">arm_v1.sdf</sdf><sdf version="1.9">arm.sdf</sdf></model>'
    )
    return tmp_path


INCLUDE = "<include><uri>model://arm</uri><name>{name}</name><pose>{x} 0 0 0 0 0</pose></include>"


def test_included_models_are_nested_models(folder):
    """By model://, and by a path relative to the file; the newest file of a folder is read."""
    body = link("torso") + "".join(
        INCLUDE.format(name=name, x=x) + joint(f"{name}_mount", "fixed", "torso", f"{name}::upper")
        for name, x in (("left", 1), ("right", -1))
    )
    for text in (
        body,
        body.replace("model://arm", "models/arm"),
        body.replace("model://arm", "models/arm/arm.sdf"),
    ):
        path = folder / "robot.sdf"
        path.write_text(sdf(model("robot", text)))
        robot, _ = loaded(path, package_dirs=folder / "models")
        assert robot.link_names == (
            "torso",
            "left::upper",
            "left::lower",
            "right::upper",
            "right::lower",
        )
        assert robot.frame("right::tip").link == "right::lower"
        np.testing.assert_allclose(world_poses(robot)["right::tip"][:3, 3], (-1, 0, 2))
        assert robot.link("left::upper").location.file.endswith("arm.sdf")


@pytest.mark.parametrize(
    "version", ["1." + "9" * 5000, "9" * 5000 + ".1", "\N{ARABIC-INDIC DIGIT ONE}.9"]
)
def test_a_version_of_a_model_that_is_not_known_is_not_read(folder, version):
    """The newest known one is."""
    config = folder / "models" / "arm" / "model.config"
    newer = f'<sdf version="{version}">none.sdf</sdf></model>'
    config.write_text(config.read_text().replace("</model>", newer))
    path = folder / "robot.sdf"
    path.write_text(sdf(model("robot", INCLUDE.format(name="left", x=1))))

    robot, _ = loaded(path, package_dirs=folder / "models")

    assert robot.link_names == ("left::upper", "left::lower")


def test_merged_models_keep_their_names(folder):
    include = INCLUDE.format(name="left", x=1).replace("<include>", '<include merge="true">')
    text = sdf(model("robot", link("torso") + include + joint("mount", "fixed", "torso", "upper")))
    robot, _ = loaded(text, package_dirs=folder / "models")
    assert robot.link_names == ("torso", "upper", "lower")
    assert robot.joint("mount").second == "upper"
    np.testing.assert_allclose(world_poses(robot)["tip"][:3, 3], (1, 0, 2))


def test_the_world_is_a_link_where_something_is_attached_to_it():
    """Of joints and static models; other links that are not connected to it move freely."""
    hinge = joint("hinge", "revolute", "world", "base")
    robot, _ = loaded(
        sdf(
            model(
                "door",
                "<pose>0 0 3 0 0 0</pose>" + link("base", "1 0 0 0 0 0") + link("ball") + hinge,
            )
        )
    )
    assert robot.default_base == "world"
    assert robot.joint("ball_free").kind == "floating"
    np.testing.assert_allclose(world_poses(robot)["base"][:3, 3], (1, 0, 3))
    static, _ = loaded(
        sdf(
            model(
                "door",
                "<static>1</static><pose>0 0 3 0 0 0</pose>"
                + link("base", "1 0 0 0 0 0")
                + link("leaf")
                + joint("hinge", "revolute", "base", "leaf"),
            )
        )
    )
    assert {j.kind for j in static.joints} == {"fixed"}
    np.testing.assert_allclose(world_poses(static)["base"][:3, 3], (1, 0, 3))
    floating, _ = loaded(sdf(ARM))
    assert floating.default_base == "upper"


def test_poses_of_free_links_are_the_configuration_initial():
    """Also in a workcell, where they are the default state."""
    parts = (
        link("base", "1 0 0 0.1 0.2 0.3") + link("tip", "1 0 2 0 0 0") + link("ball", "0 4 0 0 0 0")
    )
    text = sdf(
        model("m", "<pose>0 0 3 0 0 0.5</pose>" + parts + joint("hinge", "revolute", "base", "tip"))
    )
    robot, _ = loaded(text)
    cell = lw.load_workcell(text)
    kd = on_numpy(lw.KinDyn(robot, floating=False))

    for name, xyz in {"base": (1, 0, 0), "tip": (1, 0, 2), "ball": (0, 4, 0)}.items():
        c, s = np.cos(0.5), np.sin(0.5)
        expected = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ xyz + (0, 0, 3)
        assert_close(kd.transform(name, kd.q("initial"))[:3, 3], expected, 1e-12)
        assert_close(cell.frame_H_frame("WORLD", f"m.{name}", cell.state())[:3, 3], expected, 1e-12)


def test_links_in_a_cycle_are_a_closed_loop():
    links = "".join(link(name) for name in "abc")
    joints = "".join(joint(f"{x}{y}", "revolute", x, y) for x, y in ("ab", "bc", "ac"))
    robot, _ = loaded(sdf(model("loop", links + joints)))
    assert len(lw.KinDyn(robot).closing_joints) == 1


@pytest.mark.parametrize(
    ("child_axis", "swapped", "coefficient"),
    [("0 0 1", False, -0.5), ("0 0 -1", False, 0.5), ("0 0 1", True, 0.5)],
)
def test_gearbox_couples_two_joints(child_axis, swapped, coefficient):
    """theta_child = -ratio theta_parent, about the axes of the gearbox, from the reference link."""
    ends = ("wheel", "frame") if swapped else ("frame", "wheel")
    axis2 = f"<axis2><xyz>{child_axis}</xyz></axis2>"
    gear = joint(
        "gear",
        "gearbox",
        "rotor",
        "wheel",
        f"{axis2}<gearbox_ratio>0.5</gearbox_ratio>"
        "<gearbox_reference_body>frame</gearbox_reference_body>",
    )
    text = sdf(
        model(
            "geared",
            link("frame")
            + link("rotor")
            + link("wheel")
            + joint("input", "revolute", "frame", "rotor")
            + joint("output", "revolute", *ends)
            + gear,
        )
    )
    robot, _ = loaded(text)
    (coupling,) = robot.constraints
    assert (coupling.first, coupling.second) == ("output", "input")
    assert coupling.coefficients == (0.0, coefficient)
    assert not loaded(text, mimic=False)[0].constraints


def test_automatic_inertia_is_that_of_the_collisions():
    """In closed form for a box and a ball, and against random points for a capsule."""

    def shape(geometry, density):
        body = f"<density>{density}</density><geometry>{geometry}</geometry>"
        return f'<collision name="c{density}"><pose>0 0 2 0 0 0</pose>{body}</collision>'

    boxes = shape("<box><size>1 2 3</size></box>", 10) + shape(
        "<sphere><radius>1</radius></sphere>", 20
    )
    text = sdf(model("m", f'<link name="a"><inertial auto="true"/>{boxes}</link>'))
    robot, warnings = loaded(text)
    assert not warnings
    inertia = robot.link("a").inertia
    ball = 20 * 4 / 3 * np.pi
    assert inertia.mass == pytest.approx(60 + ball)
    assert inertia.tensor[0] == pytest.approx(60 * (4 + 9) / 12 + 0.4 * ball)
    capsule = shape("<capsule><radius>0.5</radius><length>2</length></capsule>", 1)
    inertia = loaded(text.replace(boxes, capsule))[0].link("a").inertia
    rng = np.random.default_rng(0)  # points in the box around the capsule
    points = rng.uniform((-0.5, -0.5, -1.5), (0.5, 0.5, 1.5), size=(400_000, 3))
    outside = np.maximum(np.abs(points[:, 2]) - 1, 0)
    points = points[points[:, 0] ** 2 + points[:, 1] ** 2 + outside**2 <= 0.25]
    mass = 3 * len(points) / 400_000
    assert inertia.mass == pytest.approx(mass, rel=5e-3)
    assert inertia.tensor[0] / inertia.mass == pytest.approx(
        (points[:, 1:] ** 2).sum(1).mean(), rel=5e-3
    )
    assert inertia.tensor[5] / inertia.mass == pytest.approx(
        (points[:, :2] ** 2).sum(1).mean(), rel=5e-3
    )
    assert inertia.com == (0, 0, 2)
