"""The quadruped: twelve joints, four equal legs."""

from __future__ import annotations

from math import pi

from robots_solids import Box, Cylinder, Solid, Sphere
from robots_urdf import Drive, Joint, Link, Robot, Section, frame, mirrored

ALONG_X = (0.0, pi / 2, 0.0)
ALONG_Y = (pi / 2, 0.0, 0.0)

HIP = Drive(effort=28, velocity=22, damping=0.1, friction=0.15)
KNEE = Drive(effort=38, velocity=17, damping=0.12, friction=0.2)

THIGH = 0.22
SHANK = 0.21


def quadruped() -> Robot:
    """A four-legged robot with knees that point backwards."""
    fl, rl = _left_leg("FL", 1), _left_leg("RL", -1)
    return Robot(
        "quadruped",
        """
        A quadruped of twelve joints. Legs in the order FL, FR, RL, RR (front left, front
        right, rear left, rear right), each with hip roll, hip pitch and knee. The feet
        are spheres fixed to the shanks, with their frames at the centers.

        At zero the legs point straight down, which is outside of the limits of the knees.
        The stance is about 0.8 at the hip pitch and -1.6 at the knee.
        """,
        (
            Section("Trunk", (_trunk(),)),
            Section("Front left leg", fl),
            Section("Front right leg", mirrored(fl, "FL_", "FR_")),
            Section("Rear left leg", rl),
            Section("Rear right leg", mirrored(rl, "RL_", "RR_")),
            Section(
                "Frames",
                frame("imu", "trunk", (-0.02, 0, 0.03))
                + frame("camera", "trunk", (0.255, 0, 0.02), (0, 0.2, 0)),
            ),
        ),
    )


def _trunk() -> Link:
    return Link(
        "trunk",
        (
            Solid(Box((0.36, 0.17, 0.1)), 4.6, "teal"),
            Solid(Box((0.2, 0.12, 0.05)), 1.7, "graphite", (-0.03, 0, -0.06)),
            Solid(Box((0.07, 0.12, 0.07)), 0.6, "white", (0.22, 0, 0.02)),
        ),
    )


def _left_leg(leg: str, end: int) -> tuple[Joint | Link, ...]:
    """A left leg; end is 1 in front and -1 at the rear."""
    return (
        Joint(
            f"{leg}_hip_roll",
            "revolute",
            "trunk",
            f"{leg}_hip",
            xyz=(end * 0.19, 0.06, 0),
            axis="x",
            drive=HIP.within(-0.6, 0.9),
        ),
        Link(
            f"{leg}_hip",
            (
                Solid(Cylinder(0.04, 0.05), 0.35, "graphite", (end * 0.03, 0, 0), ALONG_X),
                Solid(Cylinder(0.045, 0.06), 0.45, "silver", (0, 0.045, 0), ALONG_Y),
            ),
        ),
        Joint(
            f"{leg}_hip_pitch",
            "revolute",
            f"{leg}_hip",
            f"{leg}_thigh",
            xyz=(0, 0.09, 0),
            axis="y",
            drive=HIP.within(-1.2, 2.4),
        ),
        Link(
            f"{leg}_thigh",
            (
                Solid(Cylinder(0.042, 0.04), 0.5, "graphite", (0, 0.01, 0), ALONG_Y),
                Solid(Box((0.045, 0.03, THIGH)), 0.45, "teal", (0, 0, -THIGH / 2)),
            ),
        ),
        Joint(
            f"{leg}_knee",
            "revolute",
            f"{leg}_thigh",
            f"{leg}_shank",
            xyz=(0, 0, -THIGH),
            axis="y",
            drive=KNEE.within(-2.6, -0.4),
        ),
        Link(
            f"{leg}_shank",
            (
                Solid(Cylinder(0.014, 0.19), 0.15, "silver", (0, 0, -0.095)),
                Solid(Box((0.02, 0.016, 0.08)), 0.04, "graphite", (-0.015, 0, -0.05)),
            ),
        ),
        Joint(f"{leg}_foot_fixed", "fixed", f"{leg}_shank", f"{leg}_foot", (0, 0, -SHANK)),
        Link(f"{leg}_foot", (Solid(Sphere(0.022), 0.06, "orange"),)),
    )
