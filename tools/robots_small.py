"""The small robots: pendulum, double pendulum, cart-pole and quadrotor."""

from __future__ import annotations

from math import pi

from robots_solids import Box, Cylinder, Solid, Sphere
from robots_urdf import Drive, Joint, Link, Robot, Section, frame, mirrored


def pendulum() -> Robot:
    """A bob on a rod."""
    base = Link("base", (Solid(Box((0.12, 0.2, 0.04)), 2.0, "graphite", (0, 0, 0.03)),))
    rod = Link(
        "rod",
        (
            Solid(Cylinder(0.01, 0.8), 0.25, "silver", (0, 0, -0.4)),
            Solid(Sphere(0.05), 1.2, "orange", (0, 0, -0.8)),
        ),
    )
    drive = Drive(effort=20, velocity=15, damping=0.02, friction=0.01).within(-pi, pi)
    return Robot(
        "pendulum",
        """
        A pendulum: a bob on a rod, swinging in the plane y = 0 about the origin of the
        base. It hangs straight down at zero.
        """,
        (
            Section("Support", (base,)),
            Section("Rod and bob", (_hinge("pivot", "base", "rod", 0.0, drive), rod)),
            Section("Frames", frame("tip", "rod", (0, 0, -0.85))),
        ),
    )


def double_pendulum() -> Robot:
    """Two rods in series."""
    base = Link("base", (Solid(Box((0.12, 0.2, 0.04)), 2.0, "graphite", (0, 0, 0.03)),))
    upper = Link(
        "upper_rod",
        (
            Solid(Cylinder(0.012, 0.5), 0.3, "silver", (0, 0, -0.25)),
            Solid(Cylinder(0.03, 0.06), 0.4, "blue", (0, 0, -0.5), (pi / 2, 0, 0)),
        ),
    )
    lower = Link(
        "lower_rod",
        (
            Solid(Cylinder(0.01, 0.4), 0.2, "silver", (0, 0, -0.2)),
            Solid(Sphere(0.04), 0.7, "orange", (0, 0, -0.4)),
        ),
    )
    drive = Drive(effort=20, velocity=15, damping=0.02, friction=0.01).within(-pi, pi)
    weaker = Drive(effort=10, velocity=20, damping=0.01, friction=0.005).within(-pi, pi)
    return Robot(
        "double_pendulum",
        """
        A double pendulum: two rods in series, swinging in the plane y = 0. Both hang
        straight down at zero.
        """,
        (
            Section("Support", (base,)),
            Section("Upper rod", (_hinge("shoulder", "base", "upper_rod", 0.0, drive), upper)),
            Section("Lower rod", (_hinge("elbow", "upper_rod", "lower_rod", -0.5, weaker), lower)),
            Section("Frames", frame("tip", "lower_rod", (0, 0, -0.44))),
        ),
    )


def cartpole() -> Robot:
    """A pole on a cart on a rail."""
    rail = Link("rail", (Solid(Box((3.0, 0.05, 0.03)), 6.0, "graphite"),))
    cart = Link(
        "cart",
        (
            Solid(Box((0.24, 0.16, 0.08)), 1.5, "blue"),
            Solid(Box((0.06, 0.1, 0.05)), 0.3, "graphite", (-0.06, 0, 0.065)),
        ),
    )
    pole = Link(
        "pole",
        (
            Solid(Cylinder(0.012, 0.7), 0.22, "orange", (0, 0, 0.35)),
            Solid(Sphere(0.025), 0.08, "silver", (0, 0, 0.7)),
        ),
    )
    slide = Drive(effort=60, velocity=6, damping=0.4, friction=0.2).within(-1.3, 1.3)
    hinge = Drive(effort=0, velocity=25, damping=0.002, friction=0.001)
    return Robot(
        "cartpole",
        """
        A cart on a rail along x with a pole that rotates freely about y. At zero the cart
        is in the middle and the pole stands upright. Only the cart is driven.
        """,
        (
            Section("Rail", (rail,)),
            Section(
                "Cart",
                (
                    Joint(
                        "slide", "prismatic", "rail", "cart", (0, 0, 0.06), axis="x", drive=slide
                    ),
                    cart,
                ),
            ),
            Section(
                "Pole",
                (
                    Joint(
                        "hinge", "continuous", "cart", "pole", (0, 0, 0.05), axis="y", drive=hinge
                    ),
                    pole,
                ),
            ),
            Section("Frames", frame("tip", "pole", (0, 0, 0.725))),
        ),
    )


def quadrotor() -> Robot:
    """A free body with four rotors."""
    body = Link(
        "body",
        (
            Solid(Box((0.14, 0.1, 0.05)), 0.35, "white"),
            Solid(Box((0.4, 0.02, 0.014)), 0.09, "graphite", rpy=(0, 0, pi / 4)),
            Solid(Box((0.4, 0.02, 0.014)), 0.09, "graphite", rpy=(0, 0, -pi / 4)),
            Solid(Box((0.1, 0.05, 0.03)), 0.3, "blue", (-0.01, 0, -0.04)),
            Solid(Box((0.03, 0.04, 0.03)), 0.06, "graphite", (0.075, 0, -0.015)),
        ),
    )
    reach = 0.2 / 2**0.5

    def left(end: str, x: float) -> tuple[Joint, Link]:
        rotor = f"left_{end}_rotor"
        return (
            Joint(f"{rotor}_fixed", "fixed", "body", rotor, (x, reach, 0.02)),
            Link(
                rotor,
                (
                    Solid(Cylinder(0.014, 0.03), 0.055, "silver"),
                    Solid(Cylinder(0.12, 0.006), 0.015, "glass", (0, 0, 0.018), collides=False),
                ),
            ),
        )

    front, rear = left("front", reach), left("rear", -reach)
    return Robot(
        "quadrotor",
        """
        A quadrotor: one free body. The rotors are links fixed to it, whose z axes are the
        lines of thrust. The robot has no moving joints: it needs a floating base.
        """,
        (
            Section("Body", (body,)),
            Section("Front rotors", front + mirrored(front, "left_", "right_")),
            Section("Rear rotors", rear + mirrored(rear, "left_", "right_")),
            Section(
                "Frames",
                frame("imu", "body", (0.02, 0, 0.01))
                + frame("camera", "body", (0.09, 0, -0.015), (0, 0.35, 0)),
            ),
        ),
    )


def _hinge(name: str, parent: str, child: str, z: float, drive: Drive) -> Joint:
    return Joint(name, "revolute", parent, child, (0, 0, z), axis="y", drive=drive)
