"""Conversion of MJCF elements to links, joints, frames and shapes."""

from __future__ import annotations

from math import inf, pi
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork import Limits, Model, Pose
from linkwork.io.xml.documents import Source, format_of
from linkwork.model.geometry import Box, Capsule, Cylinder, Mesh, Sphere

mujoco = pytest.importorskip("mujoco")

BALL = '<geom size=".1" mass="1"/>'
ARM = f'<body name="arm"><joint name="hinge"/>{BALL}</body>'


def mjcf(body: str, more: str = "") -> str:
    return f"<mujoco><worldbody>{body}</worldbody>{more}</mujoco>"


def quietly(body: str, more: str = "", **options: bool) -> Model:
    """Load without warnings, which are errors in tests."""
    return lw.load(mjcf(body, more), **options)


@pytest.mark.parametrize("suffix", ["xml", "mjcf", "urdf", "txt"])
def test_root_element_decides_the_format_not_the_file_name(tmp_path: Path, suffix: str):
    file = tmp_path / f"lamp.{suffix}"
    file.write_text(f'<?xml version="1.0"?>\n<!-- <robot> -->\n{mjcf(ARM)}')

    assert lw.load(file).joint_names == ("hinge",)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("<mujoco/>", True),
        ("\n <!-- a --> <?b?>\n<mujoco model='x'>", True),
        ("<!DOCTYPE mujoco><mujoco>", True),
        ("<mujocoinclude/>", True),
        ("<robot><mujoco/></robot>", False),
        ("<!-- <mujoco> --><robot/>", False),
        ("mujoco", False),
        ("", False),
    ],
)
def test_mjcf_is_detected_by_its_root_element(text: str, verdict: bool):
    assert (format_of(Source("<text>", text, None)) == "mjcf") is verdict


def test_urdf_with_an_element_for_mujoco_is_urdf():
    text = '<robot name="r"><mujoco><compiler angle="radian"/></mujoco><link name="a"/></robot>'
    assert lw.load(text).link_names == ("a",)


def test_robot_without_a_name_has_the_name_of_its_file(tmp_path: Path):
    file = tmp_path / "lamp.xml"
    file.write_text(mjcf(ARM))

    assert lw.load(file).name == "lamp"
    assert lw.load(mjcf(ARM)).name == "MuJoCo Model"
    assert lw.load(mjcf(ARM).replace("<mujoco>", '<mujoco model="desk">')).name == "desk"


def test_one_free_top_level_body_is_the_root():
    model = quietly(f'<body name="a"><freejoint name="f"/>{BALL}<body name="b"/></body>')

    assert (model.default_base, model.link_names) == ("a", ("a", "b"))
    assert [(j.name, j.kind) for j in model.joints] == [("b_fixed", "fixed")]


def test_parent_of_top_level_bodies_is_the_link_world():
    model = quietly(
        f'{ARM}<body name="cup"><joint type="free"/>{BALL}</body><body name="wall" pos="1 2 3"/>'
    )

    assert (model.default_base, model.link_names) == ("world", ("world", "arm", "cup", "wall"))
    assert [(j.name, j.kind, j.first, j.second) for j in model.joints] == [
        ("hinge", "revolute", "world", "arm"),
        ("cup_joint", "floating", "world", "cup"),
        ("wall_fixed", "fixed", "world", "wall"),
    ]
    assert model.joint("wall_fixed").first_H_joint == Pose(xyz=(1, 2, 3))


def test_poses_of_several_free_bodies_are_the_configuration_initial():
    body = '<body name="{}" pos="{}" quat="1 0.2 0 -0.3"><freejoint/>{}</body>'
    bodies = body.format("a", "1 2 3", BALL) + body.format("b", "0 0 4", BALL)
    mj = mujoco.MjModel.from_xml_string(mjcf(bodies))
    model = quietly(bodies)
    again = lw.load(lw.dump_mjcf(model))

    for robot in (model, again):
        kd = lw.KinDyn(robot, floating=False)
        np.testing.assert_allclose(kd.q("initial"), mj.qpos0, rtol=0, atol=1e-14)
    assert quietly(body.format("a", "1 2 3", BALL)).configurations == ()  # the floating base


def test_several_joints_of_a_body_have_massless_links_between_them():
    model = quietly(
        f'<body name="a"><joint name="x" pos="1 0 0"/><joint type="slide" pos="1 1 1"/>'
        f'<joint name="z" pos="0 0 1"/>{BALL}</body>'
    )

    assert model.link_names == ("world", "a_after_x", "a_after_a_joint2", "a")
    assert [link.inertia.mass for link in model.links] == [0, 0, 0, 1]
    x, y, z = model.joints
    assert (x.first_H_joint.xyz, x.joint_H_second.xyz) == ((1, 0, 0), (-1, 0, 0))
    assert (y.name, y.first_H_joint, y.joint_H_second) == ("a_joint2", Pose(), Pose())
    assert (z.first_H_joint.xyz, z.joint_H_second.xyz) == ((0, 0, 1), (0, 0, -1))


def test_unnamed_parts_get_unique_names():
    model = quietly(
        f"<body><joint/>{BALL}<site/><site/><body name='body1_joint'><joint name='body1_joint'/>"
        f"{BALL}<site name='body1_joint'/></body><body name='body1_site0'/></body>"
    )

    assert model.link_names == ("world", "body1", "body1_joint", "body1_site0")
    assert model.joint_names == ("body1_joint_2", "body1_joint", "body1_site0_fixed")
    assert [frame.name for frame in model.frames] == [
        "body1_site0_2",
        "body1_site1",
        "body1_joint_site",
    ]


def test_sites_are_frames():
    model = quietly(ARM.replace(BALL, BALL + '<site name="tip" pos="1 2 3" euler="0 0 90"/>'))

    (frame,) = model.frames
    assert (frame.name, frame.link, frame.link_H_frame.xyz) == ("tip", "arm", (1, 2, 3))
    assert frame.link_H_frame.rpy == pytest.approx((0, 0, pi / 2), abs=1e-15)


def test_joint_has_the_properties_of_the_file():
    (joint,) = quietly(
        '<body name="a"><joint name="j" axis="0 3 4" range="-30 60" ref="30" damping="1"'
        f' frictionloss="2" armature="3" actuatorfrcrange="-7 5"/>{BALL}</body>'
    ).joints

    assert joint.axis == pytest.approx((0, 0.6, 0.8))
    assert (joint.damping, joint.friction, joint.armature) == (1, 2, 3)
    assert (joint.limits.lower, joint.limits.upper) == pytest.approx((-pi / 3, pi / 6))
    assert (joint.limits.effort, joint.limits.velocity) == (7, inf)


def test_range_applies_only_to_limited_joints():
    text = f'<joint limited="false" range="-1 1"/>{BALL}'
    assert quietly(f'<body name="a">{text}</body>').joints[0].limits == Limits()


def test_range_of_a_ball_joint_is_ignored():
    (joint,) = quietly(f'<body><joint type="ball" range="0 50"/>{BALL}</body>').joints
    assert (joint.kind, joint.limits) == ("spherical", Limits())


def test_inertia_has_mujocos_principal_axes():
    text = '<inertial pos="1 2 3" mass="2" fullinertia="3 4 5 .1 .2 .3"/>'
    link = quietly(f'<body name="a"><joint/>{text}</body>').link("a")

    assert (link.inertia.mass, link.inertia.com) == (2, (1, 2, 3))
    assert link.inertia.tensor == pytest.approx((3, 0.1, 0.2, 4, 0.3, 5), rel=1e-12)


def test_geoms_become_shapes():
    geoms = (
        '<geom name="s" type="sphere" size=".1" rgba="1 .2 0 1"/>'
        '<geom type="capsule" size=".1 .2"/>'
        '<geom type="cylinder" size=".1 .2" group="3"/><geom type="box" size="1 2 3" contype="0"'
        ' conaffinity="0" pos="1 0 0" mass="1"/><geom type="ellipsoid" size="1 2 3" mass="1"/>'
    )
    link = quietly(f'<body name="a"><joint/>{geoms}</body>').link("a")

    assert [shape.geometry for shape in link.visuals] == [
        Sphere(0.1),
        Capsule(0.1, 0.4),
        Box((2, 4, 6)),
    ]
    assert [shape.geometry for shape in link.collisions] == [
        Sphere(0.1),
        Capsule(0.1, 0.4),
        Cylinder(0.1, 0.4),
    ]
    ball, _, box = link.visuals
    assert (ball.name, ball.material and ball.material.rgba) == ("s", (1, 0.2, 0, 1))
    assert box.link_H_shape == Pose(xyz=(1, 0, 0))


def test_material_sets_the_color_of_a_geom():
    more = '<asset><material name="red" rgba="1 0 0 1"/></asset>'
    geom = '<geom size=".1" material="red"/>'
    (shape,) = quietly(f'<body name="a"><joint/>{geom}</body>', more).link("a").visuals

    assert shape.material is not None
    assert (shape.material.name, shape.material.rgba) == ("red", (1, 0, 0, 1))


def test_pose_of_a_mesh_is_that_of_the_points_in_its_file(tmp_path: Path):
    """MuJoCo moves the points to the center of mass; the pose of the shape compensates for it."""
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3], [1, 2, 3]])
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 4), (1, 4, 3), (2, 3, 4)]
    lines = [f"v {x} {y} {z}" for x, y, z in points]
    lines += ["f " + " ".join(str(i + 1) for i in face) for face in faces]
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/rock.obj").write_text("\n".join(lines))
    file = tmp_path / "robot.xml"
    file.write_text(
        '<mujoco><compiler meshdir="parts"/><asset><mesh name="rock" file="rock.obj" '
        'scale="2 2 2"/></asset><worldbody><body name="a"><joint/><geom type="mesh" mesh="rock" '
        'pos="1 2 3" euler="10 20 30" mass="1"/></body></worldbody></mujoco>'
    )

    (shape,) = lw.load(file).link("a").visuals
    mj = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(mj)
    mujoco.mj_forward(mj, data)

    mesh = shape.geometry
    assert isinstance(mesh, Mesh)
    assert mesh.path is not None
    assert Path(mesh.path).samefile(tmp_path / "parts/rock.obj")
    assert mesh.scale == (2, 2, 2)
    pose = shape.link_H_shape.matrix()
    current = (points * 2) @ pose[:3, :3].T + pose[:3, 3]
    there = mj.mesh_vert @ data.geom_xmat[0].reshape(3, 3).T + data.geom_xpos[0]
    assert np.abs(np.sort(current, axis=0) - np.sort(there, axis=0)).max() < 1e-5  # float32 points
