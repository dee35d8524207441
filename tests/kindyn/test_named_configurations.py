"""Named configurations: kd.q("home"), copies of the model that keep them, MuJoCo's keyframes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import linkwork as lw

POSE = lw.Pose(xyz=(0.1, -0.2, 0.9), rpy=(0.3, 0.2, -0.4))
POSITIONS = {"shoulder_yaw": 0.4, "elbow_pitch": -0.7, "wrist_roll": 1.1, "left_finger_slide": 0.01}


@pytest.fixture(scope="module")
def arm():
    return lw.load("arm").with_configuration("reach", POSITIONS, link="forearm", world_H_link=POSE)


def link_poses(model, base, frames):
    kd = lw.KinDyn(model, base, floating=True)
    q = kd.q("reach")
    return np.array([kd.transform(frame, q) for frame in frames])


def test_link_has_the_prescribed_pose_whatever_the_base_is(arm):
    """The base, and the links and joints between it and the link, do not matter."""
    model = arm.with_frame("grip", "hand", lw.Pose(xyz=(0, 0, 0.1), rpy=(0, 0.5, 0)))
    frames = (model.link_names[0], "forearm", "hand")
    expected = link_poses(model, None, frames)

    np.testing.assert_allclose(expected[1], POSE.matrix(), atol=1e-14)
    np.testing.assert_allclose(link_poses(model, "grip", frames), expected, atol=1e-13)


def test_copies_of_the_model_keep_the_configuration(arm):
    frames = ("forearm", "hand", arm.link_names[0])
    expected = link_poses(arm, None, frames)

    np.testing.assert_allclose(link_poses(arm.lumped(), None, frames), expected, atol=1e-13)
    rerooted = arm.rerooted("hand")
    np.testing.assert_allclose(link_poses(rerooted, None, ["hand"]), expected[1:2], atol=1e-13)
    renamed = arm.renamed(prefix="left_").configuration("left_reach")
    assert renamed.link == "left_forearm"
    assert dict(renamed.positions)["left_elbow_pitch"] == (-0.7,)
    reduced = arm.reduced(["elbow_pitch"], positions={"shoulder_yaw": 0.2})
    assert dict(reduced.configuration("reach").positions) == {"elbow_pitch": (-0.7,)}
    assert pickle.loads(pickle.dumps(arm)) == arm != lw.load("arm")
    assert "reach" in lw.describe(arm)


def test_attached_robots_share_configurations_of_one_name(arm):
    slide = lw.Joint(name="jaw_slide", kind="prismatic", first="mount", second="jaw")
    links = (lw.Link(name="mount"), lw.Link(name="jaw"))
    tool = lw.Model(name="tool", links=links, joints=(slide,))
    tool = tool.with_configuration("reach", {"jaw_slide": 0.02}).with_configuration("open", {})

    model = arm.attached(tool, to="hand")

    assert dict(model.configuration("reach").positions)["jaw_slide"] == (0.02,)
    assert model.configuration("reach").link == "forearm"
    assert [one.name for one in model.configurations] == ["reach", "open"]


def test_fixed_base_and_float32_and_overrides(arm):
    kd = lw.KinDyn(arm, floating=False, dtype=np.float32)

    assert kd.q("reach").dtype == np.float32
    np.testing.assert_array_equal(kd.q("reach"), kd.q(POSITIONS))
    np.testing.assert_array_equal(
        kd.q("reach", elbow_pitch=0.5), kd.q(POSITIONS | {"elbow_pitch": 0.5})
    )
    floating = lw.KinDyn(arm, floating=True)
    H = np.eye(4)
    np.testing.assert_array_equal(floating.q("reach", base_pose=H)[:7], [0, 0, 0, 1, 0, 0, 0])


@pytest.mark.parametrize(
    ("positions", "options", "facts"),
    [
        ({"elbow_pich": 1}, {}, ["'elbow_pich'", "'elbow_pitch'"]),
        ({"elbow_pitch": [1, 2]}, {}, ["'elbow_pitch'", "1 coordinates", "2"]),
        ({"hand_fixed": 1}, {}, ["'hand_fixed'", "fixed"]),
        ({"right_finger_slide": 1}, {}, ["'right_finger_slide'", "mimics 'left_finger_slide'"]),
        ({"elbow_pitch": np.nan}, {}, ["'elbow_pitch'", "finite"]),
        ({"elbow_pitch": "up"}, {}, ["'elbow_pitch'", "numbers"]),
        ({}, {"link": "forarm"}, ["'forarm'", "'forearm'"]),
    ],
)
def test_positions_that_the_robot_cannot_have_are_rejected(arm, positions, options, facts):
    with pytest.raises(lw.ModelError) as caught:
        arm.with_configuration("x", positions, **options)
    for fact in ("configuration 'x'", *facts):
        assert fact in str(caught.value)


def test_unknown_names_are_reported_with_the_nearest(arm):
    with pytest.raises(lw.NameNotFoundError, match="'reach'"):
        lw.KinDyn(arm, floating=True).q("rech")


def test_files_that_cannot_hold_configurations_say_so(arm):
    model = arm.with_configuration("reach", {}).rerooted()
    with pytest.warns(lw.LinkworkWarning, match=r"configurations.*URDF.*reach"):
        lw.dump_urdf(model)
    with pytest.warns(lw.LinkworkWarning, match=r"configurations.*SDF.*reach"):
        lw.dump_sdf(model)


MJCF = """<mujoco model="walker"><compiler angle="radian"/><worldbody>
<body name="trunk" pos="0 0 1"><FREE/><geom size=".1"/>
<body name="neck" pos="0 0 .2" quat="0.8 0.6 0 0"><joint type="ball" pos=".1 0 0"/><geom size=".1"/>
<body name="head" pos="0 .1 .2"><joint name="nod" ref="0.3" axis="0 1 0"/>
<joint name="out" type="slide" ref="0.1" axis="1 0 0"/><geom size=".1"/></body></body>
</body></worldbody>
<keyframe><key name="home" qpos="BASE 0.5 0.1 0.7 -0.2 1.2 0.3"/>
<key qpos="BASE 1 0 0 0 0 0"/></keyframe></mujoco>"""


@pytest.mark.peers
@pytest.mark.parametrize("floating", [True, False])
def test_keyframes_put_all_bodies_where_mujoco_puts_them(floating):
    import mujoco

    text = MJCF.replace("<FREE/>", "<freejoint/>" if floating else "")
    text = text.replace("BASE", "1 2 3 0.2 -0.4 0.1 0.9" if floating else "")
    mj = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(mj)
    model = lw.load(text)
    kd = lw.KinDyn(model, floating=floating)

    assert [one.name for one in model.configurations] == ["home", "key_1"]
    for key, one in enumerate(model.configurations):
        mujoco.mj_resetDataKeyframe(mj, data, key)
        mujoco.mj_kinematics(mj, data)
        q = kd.q(one.name)
        for body in ("trunk", "neck", "head"):
            H = kd.transform(body, q)
            np.testing.assert_allclose(H[:3, 3], data.body(body).xpos, atol=1e-12)
            np.testing.assert_allclose(H[:3, :3].ravel(), data.body(body).xmat, atol=1e-12)
