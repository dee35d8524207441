"""The arm: seven joints and a parallel gripper."""

from __future__ import annotations

from math import pi

from robots_solids import Box, Cylinder, Solid
from robots_urdf import Drive, Joint, Link, Robot, Section, frame

ALONG_X = (0.0, pi / 2, 0.0)
ALONG_Y = (pi / 2, 0.0, 0.0)

LARGE = Drive(effort=90, velocity=2.5, damping=0.9, friction=0.5)
MEDIUM = Drive(effort=45, velocity=3, damping=0.5, friction=0.3)
SMALL = Drive(effort=14, velocity=4, damping=0.2, friction=0.12)
SLIDE = Drive(effort=40, velocity=0.15, damping=6, friction=1.5)


def arm() -> Robot:
    """A seven-joint arm on a pedestal, with a gripper of two fingers."""
    return Robot(
        "arm",
        """
        An arm of seven joints with a parallel gripper, on a table. At zero it reaches
        forward with the elbow bent and the gripper closed. Roll and pitch joints
        alternate along the arm. Some origins are tilted, the axis of the elbow is -y, and
        the wrist has an offset.

        The right finger mimics the left one. The frame tool is between the finger tips,
        with z along the fingers and y along the direction of their motion.
        """,
        (
            Section("Pedestal", (_base(),)),
            Section("Shoulder and upper arm", _shoulder()),
            Section("Elbow and forearm", _forearm()),
            Section("Wrist", _wrist()),
            Section("Gripper", _gripper()),
            Section("Frames", frame("tool", "hand", (0, 0, 0.115))),
        ),
    )


def _base() -> Link:
    return Link(
        "base",
        (
            Solid(Box((0.2, 0.2, 0.02)), 2.2, "graphite", (0, 0, 0.01)),
            Solid(Cylinder(0.075, 0.12), 2.6, "white", (0, 0, 0.08)),
            Solid(Box((0.06, 0.08, 0.05)), 0.3, "graphite", (-0.08, 0, 0.045)),
        ),
    )


def _shoulder() -> tuple[Joint | Link, ...]:
    return (
        Joint(
            "shoulder_yaw",
            "revolute",
            "base",
            "shoulder",
            xyz=(0, 0, 0.14),
            axis="z",
            drive=LARGE.within(-2.9, 2.9),
        ),
        Link(
            "shoulder",
            (
                Solid(Cylinder(0.07, 0.1), 1.7, "white", (0, 0, 0.05)),
                Solid(Cylinder(0.055, 0.13), 1.5, "graphite", (0.02, 0.015, 0.14), ALONG_Y),
            ),
        ),
        Joint(
            "shoulder_pitch",
            "revolute",
            "shoulder",
            "upper_arm_base",
            xyz=(0.02, 0, 0.14),
            rpy=(0, 0.35, 0),
            axis="y",
            drive=LARGE.within(-1.9, 1.6),
        ),
        Link(
            "upper_arm_base",
            (
                Solid(Box((0.09, 0.08, 0.12)), 1.3, "blue", (0, 0, 0.05)),
                Solid(Cylinder(0.045, 0.07), 0.9, "graphite", (0.01, -0.02, 0.12)),
            ),
        ),
        Joint(
            "upper_arm_roll",
            "revolute",
            "upper_arm_base",
            "upper_arm",
            xyz=(0, 0, 0.16),
            axis="z",
            drive=LARGE.within(-2.8, 2.8),
        ),
        Link(
            "upper_arm",
            (
                Solid(Cylinder(0.045, 0.18), 1.4, "white", (0.01, 0, 0.09), (0, 0.15, 0)),
                Solid(Cylinder(0.045, 0.11), 1.1, "graphite", (0.045, 0.01, 0.19), ALONG_Y),
            ),
        ),
    )


def _forearm() -> tuple[Joint | Link, ...]:
    return (
        Joint(
            "elbow_pitch",
            "revolute",
            "upper_arm",
            "elbow",
            xyz=(0.045, 0, 0.19),
            rpy=(0, 1.1, 0),
            axis="-y",
            drive=MEDIUM.within(-0.9, 2.2),
        ),
        Link(
            "elbow", (Solid(Box((0.07, 0.07, 0.13)), 1.0, "blue", (-0.02, 0, 0.05), (0, -0.3, 0)),)
        ),
        Joint(
            "forearm_roll",
            "revolute",
            "elbow",
            "forearm",
            xyz=(-0.045, 0, 0.11),
            rpy=(0, 0, 0.2),
            axis="z",
            drive=MEDIUM.within(-2.8, 2.8),
        ),
        Link(
            "forearm",
            (
                Solid(Cylinder(0.038, 0.16), 0.95, "white", (0, 0, 0.08)),
                Solid(Box((0.03, 0.05, 0.1)), 0.35, "graphite", (-0.03, 0.02, 0.09), (0.1, 0, 0.4)),
            ),
        ),
    )


def _wrist() -> tuple[Joint | Link, ...]:
    return (
        Joint(
            "wrist_pitch",
            "revolute",
            "forearm",
            "wrist",
            xyz=(0, 0, 0.2),
            rpy=(0.25, 0.6, -0.2),
            axis="y",
            drive=SMALL.within(-1.8, 2),
        ),
        Link(
            "wrist",
            (
                Solid(Cylinder(0.032, 0.09), 0.45, "graphite", (0, 0.01, 0), ALONG_Y),
                Solid(Cylinder(0.028, 0.08), 0.3, "blue", (0.04, 0, 0), ALONG_X),
            ),
        ),
        Joint(
            "wrist_roll",
            "revolute",
            "wrist",
            "flange",
            xyz=(0.07, 0, 0.03),
            axis="z",
            drive=SMALL.within(-2.9, 2.9),
        ),
        Link("flange", (Solid(Cylinder(0.032, 0.05), 0.3, "silver", (0, 0, 0.02)),)),
    )


def _gripper() -> tuple[Joint | Link, ...]:
    travel = SLIDE.within(0, 0.04)
    return (
        Joint(
            "hand_fixed",
            "fixed",
            "flange",
            "hand",
            xyz=(0, 0, 0.045),
            rpy=(0, 0, pi / 4),
        ),
        Link(
            "hand",
            (
                Solid(Box((0.05, 0.13, 0.05)), 0.45, "white", (0, 0, 0.025)),
                Solid(Box((0.03, 0.04, 0.03)), 0.06, "graphite", (0.035, 0, 0.035)),
            ),
        ),
        Joint(
            "left_finger_slide",
            "prismatic",
            "hand",
            "left_finger",
            xyz=(0, 0, 0.06),
            axis="y",
            drive=travel,
        ),
        _finger("left_finger", 1),
        Joint(
            "right_finger_slide",
            "prismatic",
            "hand",
            "right_finger",
            xyz=(0, 0, 0.06),
            axis="-y",
            drive=travel,
            mimic=("left_finger_slide", 1, 0),
        ),
        _finger("right_finger", -1),
    )


def _finger(name: str, side: int) -> Link:
    return Link(
        name,
        (
            Solid(Box((0.02, 0.024, 0.018)), 0.025, "silver", (0, side * 0.016, 0)),
            Solid(Box((0.018, 0.01, 0.06)), 0.03, "graphite", (0, side * 0.005, 0.035)),
        ),
    )
