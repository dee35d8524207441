"""The humanoid: thirty-one joints, about 1.6 m tall."""

from __future__ import annotations

from math import pi

from robots_solids import ZERO, Box, Cylinder, Solid, Sphere, Vec
from robots_urdf import Drive, Joint, Link, Robot, Section, frame, mirrored

ALONG_Y = (pi / 2, 0.0, 0.0)

LEG = Drive(effort=180, velocity=9, damping=1.2, friction=0.8)
ANKLE = Drive(effort=80, velocity=10, damping=0.6, friction=0.5)
TORSO = Drive(effort=120, velocity=5, damping=1.5, friction=1)
ARM = Drive(effort=55, velocity=8, damping=0.5, friction=0.4)
WRIST = Drive(effort=12, velocity=8, damping=0.1, friction=0.1)
NECK = Drive(effort=8, velocity=6, damping=0.1, friction=0.1)

HIP_TILT = 0.12
SHOULDER_TILT = 0.2
NECK_TILT = 0.15

THIGH = 0.38
SHANK = 0.37
ANKLE_HEIGHT = 0.08


def humanoid() -> Robot:
    """A humanoid with six joints in each leg and seven in each arm."""
    leg = _left_hip() + _left_shank()
    arm = _left_shoulder() + _left_forearm()
    return Robot(
        "humanoid",
        """
        A humanoid, 1.6 m tall: legs of six joints, a torso of three, arms of seven and a
        neck of two. The root is the pelvis. At zero it stands with straight legs and
        hanging arms, elbows slightly bent, and both soles are level.

        Axes point forward, left or up on both sides. So the mirror image of a posture
        swaps left and right and changes the sign of every roll and yaw.

        The yaw axes of the hips, the pitch axes of the shoulders and the yaw axis of the
        neck are tilted. The frames l_sole and r_sole lie on the ground below the feet.
        """,
        (
            Section("Pelvis", (_pelvis(), *frame("imu", "pelvis", (-0.03, 0, 0.05), (0, 0.1, 0)))),
            Section("Left leg", leg),
            Section("Right leg", mirrored(leg, "l_", "r_")),
            Section("Torso", _torso()),
            Section("Left arm", arm),
            Section("Right arm", mirrored(arm, "l_", "r_")),
            Section("Neck and head", _head()),
        ),
    )


def _joint(
    name: str, parent: str, child: str, axis: str, drive: Drive, *, xyz: Vec = ZERO, rpy: Vec = ZERO
) -> Joint:
    return Joint(name, "revolute", parent, child, xyz, rpy, axis, drive)


def _pelvis() -> Link:
    return Link(
        "pelvis",
        (
            Solid(Box((0.14, 0.2, 0.11)), 6.4, "white"),
            Solid(Box((0.06, 0.16, 0.08)), 1.2, "graphite", (-0.09, 0, 0.02)),
        ),
    )


def _left_hip() -> tuple[Joint | Link, ...]:
    return (
        _joint(
            "l_hip_yaw",
            "pelvis",
            "l_hip",
            "z",
            LEG.within(-0.5, 0.9),
            xyz=(0, 0.09, -0.06),
            rpy=(0, HIP_TILT, 0),
        ),
        Link("l_hip", (Solid(Cylinder(0.05, 0.07), 1.5, "graphite", (0, 0, 0.015)),)),
        _joint(
            "l_hip_roll",
            "l_hip",
            "l_hip_yoke",
            "x",
            LEG.within(-0.35, 0.8),
            rpy=(0, -HIP_TILT, 0),
        ),
        Link(
            "l_hip_yoke",
            (
                Solid(Box((0.09, 0.07, 0.08)), 0.9, "silver", (-0.03, 0, 0)),
                Solid(Cylinder(0.05, 0.05), 0.8, "graphite", (0, 0.05, 0), ALONG_Y),
            ),
        ),
        _joint("l_hip_pitch", "l_hip_yoke", "l_thigh", "y", LEG.within(-2.1, 0.7)),
        Link(
            "l_thigh",
            (
                Solid(Cylinder(0.06, 0.28), 4.2, "white", (0.01, 0.012, -0.18), (0.05, -0.04, 0)),
                Solid(Cylinder(0.05, 0.11), 1.6, "graphite", (0, 0.01, -THIGH), ALONG_Y),
            ),
        ),
    )


def _left_shank() -> tuple[Joint | Link, ...]:
    return (
        _joint("l_knee", "l_thigh", "l_shank", "y", LEG.within(-0.05, 2.3), xyz=(0, 0, -THIGH)),
        Link(
            "l_shank",
            (
                Solid(Cylinder(0.045, 0.27), 2.3, "white", (-0.005, 0.004, -0.18), (0, 0.06, 0)),
                Solid(Box((0.05, 0.07, 0.12)), 0.8, "graphite", (-0.045, 0, -0.15)),
            ),
        ),
        _joint(
            "l_ankle_pitch", "l_shank", "l_ankle", "y", ANKLE.within(-0.9, 0.6), xyz=(0, 0, -SHANK)
        ),
        Link("l_ankle", (Solid(Box((0.05, 0.06, 0.04)), 0.5, "silver"),)),
        _joint("l_ankle_roll", "l_ankle", "l_foot", "x", ANKLE.within(-0.35, 0.35)),
        Link(
            "l_foot",
            (
                Solid(Box((0.22, 0.1, 0.03)), 0.9, "blue", (0.035, 0.008, 0.015 - ANKLE_HEIGHT)),
                Solid(Box((0.09, 0.06, 0.03)), 0.3, "graphite", (-0.01, 0, -0.035)),
            ),
        ),
        *frame("l_sole", "l_foot", (0.03, 0, -ANKLE_HEIGHT)),
    )


def _torso() -> tuple[Joint | Link, ...]:
    return (
        _joint("torso_yaw", "pelvis", "waist", "z", TORSO.within(-1.2, 1.2), xyz=(0, 0, 0.08)),
        Link("waist", (Solid(Cylinder(0.07, 0.04), 1.3, "graphite", (0, 0, 0.01)),)),
        _joint("torso_roll", "waist", "waist_yoke", "x", TORSO.within(-0.4, 0.4), xyz=(0, 0, 0.06)),
        Link("waist_yoke", (Solid(Box((0.1, 0.08, 0.05)), 1.0, "silver"),)),
        _joint("torso_pitch", "waist_yoke", "chest", "y", TORSO.within(-0.3, 0.9)),
        Link(
            "chest",
            (
                Solid(Box((0.15, 0.22, 0.1)), 3.0, "graphite", (0, 0, 0.08)),
                Solid(Box((0.17, 0.27, 0.2)), 7.4, "white", (0.01, 0, 0.23)),
                Solid(Box((0.07, 0.2, 0.22)), 2.8, "blue", (-0.11, 0, 0.2), (0, 0.08, 0)),
            ),
        ),
    )


def _left_shoulder() -> tuple[Joint | Link, ...]:
    return (
        _joint(
            "l_shoulder_pitch",
            "chest",
            "l_shoulder",
            "y",
            ARM.within(-3, 1.2),
            xyz=(0.005, 0.155, 0.27),
            rpy=(SHOULDER_TILT, 0, 0),
        ),
        Link("l_shoulder", (Solid(Cylinder(0.05, 0.07), 1.0, "graphite", (0, 0.03, 0), ALONG_Y),)),
        _joint(
            "l_shoulder_roll",
            "l_shoulder",
            "l_shoulder_yoke",
            "x",
            ARM.within(-0.3, 2.2),
            xyz=(0, 0.075, 0),
            rpy=(-SHOULDER_TILT, 0, 0),
        ),
        Link(
            "l_shoulder_yoke",
            (
                Solid(Box((0.08, 0.06, 0.06)), 0.5, "silver"),
                Solid(Cylinder(0.04, 0.05), 0.4, "graphite", (0, 0.005, -0.055)),
            ),
        ),
        _joint(
            "l_shoulder_yaw",
            "l_shoulder_yoke",
            "l_upper_arm",
            "z",
            ARM.within(-1.6, 1.6),
            xyz=(0, 0.005, -0.09),
        ),
        Link(
            "l_upper_arm",
            (
                Solid(Cylinder(0.042, 0.14), 1.4, "white", (0.004, 0, -0.07), (0, -0.06, 0)),
                Solid(Cylinder(0.036, 0.09), 0.6, "graphite", (0.015, 0.006, -0.17), ALONG_Y),
            ),
        ),
    )


def _left_forearm() -> tuple[Joint | Link, ...]:
    return (
        _joint(
            "l_elbow",
            "l_upper_arm",
            "l_forearm",
            "y",
            ARM.within(-2.2, 0.1),
            xyz=(0.015, 0, -0.17),
            rpy=(0, -0.15, 0),
        ),
        Link(
            "l_forearm", (Solid(Cylinder(0.036, 0.12), 1.0, "white", (0, 0, -0.075), (0, 0.05, 0)),)
        ),
        _joint(
            "l_wrist_yaw",
            "l_forearm",
            "l_wrist",
            "z",
            WRIST.within(-1.8, 1.8),
            xyz=(0, 0, -0.145),
            rpy=(0, 0, -0.3),
        ),
        Link("l_wrist", (Solid(Cylinder(0.032, 0.08), 0.55, "graphite", (0, 0, -0.045)),)),
        _joint(
            "l_wrist_pitch",
            "l_wrist",
            "l_wrist_yoke",
            "y",
            WRIST.within(-0.8, 0.8),
            xyz=(0, 0, -0.1),
        ),
        Link("l_wrist_yoke", (Solid(Box((0.04, 0.036, 0.036)), 0.15, "silver"),)),
        _joint("l_wrist_roll", "l_wrist_yoke", "l_hand", "x", WRIST.within(-0.5, 0.5)),
        Link(
            "l_hand",
            (
                Solid(Box((0.08, 0.03, 0.1)), 0.36, "blue", (0, 0, -0.075)),
                Solid(
                    Box((0.06, 0.02, 0.02)), 0.06, "graphite", (0.05, -0.015, -0.06), (0, 0.6, -0.3)
                ),
            ),
        ),
        *frame("l_palm", "l_hand", (0, -0.015, -0.08)),
    )


def _head() -> tuple[Joint | Link, ...]:
    return (
        _joint(
            "neck_yaw",
            "chest",
            "neck",
            "z",
            NECK.within(-1.3, 1.3),
            xyz=(0.01, 0, 0.34),
            rpy=(0, NECK_TILT, 0),
        ),
        Link("neck", (Solid(Cylinder(0.03, 0.07), 0.5, "graphite", (0, 0, 0.03)),)),
        _joint(
            "neck_pitch",
            "neck",
            "head",
            "y",
            NECK.within(-0.6, 0.7),
            xyz=(0, 0, 0.07),
            rpy=(0, -NECK_TILT, 0),
        ),
        Link(
            "head",
            (
                Solid(Sphere(0.08), 2.4, "white", (0, 0, 0.085)),
                Solid(Box((0.04, 0.1, 0.05)), 0.5, "graphite", (0.07, 0, 0.085)),
            ),
        ),
        *frame("camera", "head", (0.09, 0, 0.09)),
    )
