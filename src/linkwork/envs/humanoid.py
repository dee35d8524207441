"""A humanoid that walks at commanded velocities, or stands, while it is pushed.

All joints of the bundled humanoid move. A policy moves those of the legs, and springs hold the
others. A clock bends one leg after the other, and the policy learns to walk with it. It stops if
the command is to stand, until a push moves the robot.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.envs.quadruped import body_velocity
from linkwork.envs.row import Row
from linkwork.envs.vector_env import VectorEnv
from linkwork.io.load import load
from linkwork.model.geometry import Shape, Sphere
from linkwork.model.model import Model
from linkwork.model.parts import Link
from linkwork.model.pose import Pose
from linkwork.simulation.simulation import Simulation
from linkwork.spatial import quat

FEET = ("l_foot", "r_foot")
LENGTH, WIDTH, RADIUS = 0.095, 0.035, 0.015  # of spheres at the corners of a sole [m]
LEGS, JOINTS = 12, 31  # joints: those of the legs come first


def of_all_joints(leg: list[float], torso: float, arm: float, wrist: float, neck: float) -> Array:
    """Return numbers for all joints: legs, torso, arms and neck."""
    return np.array([*leg * 2, *[torso] * 3, *([arm] * 4 + [wrist] * 3) * 2, *[neck] * 2])


# of a leg: yaw, roll and pitch of the hip, knee, pitch and roll of the ankle
STANCE = of_all_joints([0.0, 0.0, -0.3, 0.6, -0.3, 0.0], 0.0, 0.0, 0.0, 0.0)  # [rad]
STANCE[[18, 25]] = -0.4  # elbows
HEIGHT = 0.857  # of the pelvis in the stance [m]
BEND = STANCE[:6]  # the leg that swings bends twice as much [rad]
SCALE = 0.3  # of actions [rad]
STIFFNESS = of_all_joints([150.0, 200.0, 200.0, 250.0, 100.0, 60.0], 300.0, 80.0, 20.0, 20.0)
DAMPING = of_all_joints([4.0, 5.0, 5.0, 5.0, 2.0, 2.0], 6.0, 2.0, 0.5, 0.5)
ROTOR = 0.02  # inertia of motors, at their joints [kg m^2]

DT, STEPS = 0.02, 500  # of a step [s], and steps of an episode
SLOWEST, FASTEST = np.array([-0.2, -0.2, -0.5]), np.array([1.0, 0.2, 0.5])  # vx, vy, yaw rate
STANDING, COMMAND_STEPS = 0.2, 250  # part of the commands to stand; average time of a command
PERIOD = 0.8  # of a step with each foot [s]
REST, STEP = 0.2, 0.35  # speeds at which the clock of a robot that stands starts, and is full [m/s]
SWING = 0.08  # the height of a foot in the middle of its step [m]
PUSH, PUSH_STEPS = 0.4, 150  # the largest change of velocity [m/s], and the average time between


def clock(row: Row) -> Any:
    """Return sine and cosine of the phase of the walk: less while the robot stands, 0 at rest."""
    phase = row.phase + 2.0 * np.pi * DT / PERIOD * row.steps
    speed = (row.nu[:2] @ row.nu[:2] - REST**2) / (STEP**2 - REST**2)
    amount = np.where(row.command @ row.command > 0.0, 1.0, np.clip(speed, 0.0, 1.0))
    return amount * np.array([np.sin(phase), np.cos(phase)])


def swing(row: Row) -> Any:
    """Return how high the left and the right foot should be, from 0 to 1."""
    sine = clock(row)[0]
    return np.array([np.maximum(sine, 0.0), np.maximum(-sine, 0.0)])


def control(row: Row) -> Any:
    """Return the torques of a spring and damper at each joint.

    The motors, whose largest torques are in the file of the robot, limit them.
    """
    left, right = swing(row)
    legs = SCALE * row.action + np.concatenate([left * BEND, right * BEND])
    target = STANCE + np.concatenate([legs, np.zeros(JOINTS - LEGS)])
    return STIFFNESS * (target - row.q[7:]) - DAMPING * row.nu[6:]


def observe(row: Row) -> Any:
    """Return what the policy sees: 50 numbers of about the same size."""
    v, w, up = body_velocity(row)
    command = row.command * np.array([2.0, 2.0, 0.25])
    positions, speeds = row.q[7 : 7 + LEGS] - STANCE[:LEGS], 0.05 * row.nu[6 : 6 + LEGS]
    return np.concatenate(
        [2.0 * v, 0.25 * w, up, command, clock(row), positions, speeds, row.action]
    )


def reward(row: Row) -> dict[str, Any]:
    """Return the terms of the reward for a step of 20 ms."""
    v, w, up = body_velocity(row)
    error = row.command[:2] - v[:2]
    distances = row.forward.distances  # of four spheres of each foot from the ground
    miss = np.array([np.min(distances[:4]), np.min(distances[4:])]) - SWING * swing(row)
    hips, speeds = row.q[np.array([7, 8, 13, 14])], row.nu[6 : 6 + LEGS]  # yaw and roll of hips
    change = row.action - row.last_action
    return {
        "velocity": 0.05 * np.exp(-(error @ error) / 0.15),
        "yaw rate": 0.025 * np.exp(-((row.command[2] - w[2]) ** 2) / 0.25),
        "feet": 0.04 * np.exp(-(miss @ miss) / 0.002),
        "alive": 0.01,
        "height": -0.5 * (row.q[2] - HEIGHT) ** 2,
        "bounce": -0.02 * np.minimum(v[2] ** 2, 1.0),
        "sway": -0.001 * np.minimum(w[:2] @ w[:2], 40.0),
        "tilt": -0.06 * (up[:2] @ up[:2]),
        "hips": -0.1 * (hips @ hips),
        "smoothness": -0.0003 * (change @ change),
        "effort": -2e-6 * np.minimum(speeds @ speeds, 1000.0),
        "fall": np.where(fallen(row), -0.5, 0.0),
    }


def fallen(row: Row) -> Any:
    """Return whether the pelvis is low or tilted by more than 50 degrees."""
    return (row.q[2] < 0.6) | (quat.to_rotation(row.q[3:7])[2, 2] < 0.65)


def reset(row: Row) -> dict[str, Any]:
    """Start near the stance, with a random command, at any time of the clock."""
    joints = STANCE + row.random.normal(0.0, 0.05, JOINTS)
    base = np.array([0.0, 0.0, HEIGHT + 0.01, 1.0, 0.0, 0.0, 0.0])
    return {
        "q": np.concatenate([base, joints]),
        "nu": row.random.normal(0.0, 0.1, 6 + JOINTS),
        "command": new_command(row),
        "phase": row.random.uniform(0.0, 2.0 * np.pi),
    }


def new_command(row: Row) -> Any:
    """Return a random command, which may be to stand."""
    command = row.random.uniform(SLOWEST, FASTEST)
    return np.where(row.random.chance(STANDING), 0.0, command)


def memory(row: Row) -> dict[str, Any]:
    """Choose another command from time to time."""
    is_new = row.random.chance(1.0 / COMMAND_STEPS)
    return {"command": np.where(is_new, new_command(row), row.command)}


def pushed(row: Row) -> dict[str, Any]:
    """Return the velocity after a push in a random direction, which comes from time to time."""
    push = row.random.uniform([-PUSH, -PUSH], [PUSH, PUSH])
    push = np.where(row.random.chance(1.0 / PUSH_STEPS), push, 0.0)
    return {"nu": row.nu + np.concatenate([push, np.zeros(4 + JOINTS)])}


def robot() -> Model:
    """Return the bundled humanoid with motors, and with spheres at the corners of its soles."""
    model = load("humanoid")
    joints = [one if one.is_fixed else replace(one, armature=ROTOR) for one in model.joints]
    links = [
        replace(one, collisions=corners(one) if one.name in FEET else ()) for one in model.links
    ]
    return replace(model, links=tuple(links), joints=tuple(joints))


def corners(foot: Link) -> tuple[Shape, ...]:
    """Return spheres at the corners of the box that is the sole of a foot."""
    x, y, z = foot.collisions[0].link_H_shape.xyz
    ends = [(x + dx, y + dy, z) for dx in (LENGTH, -LENGTH) for dy in (WIDTH, -WIDTH)]
    return tuple(Shape(Sphere(RADIUS), Pose(end)) for end in ends)


def simulation() -> Simulation:
    """Return the simulation of the humanoid on its feet."""
    # a solution to four digits is accurate enough to learn
    return Simulation(robot(), ground=FEET, dt=0.005, friction=0.8, iterations=4, tolerance=1e-4)


def humanoid_velocity(num_envs: int = 4096, **options: Any) -> VectorEnv:
    """Return environments in which a humanoid follows velocity commands, or stands.

    Args:
        num_envs: how many.
        options: of `VectorEnv`; they replace those of this page.
    """
    defaults: dict[str, Any] = {
        "observe": observe,
        "reward": reward,
        "terminate": fallen,
        "reset": reset,
        "control": control,
        "memory": lambda row: memory(row) | pushed(row),
        "action_range": (np.full(LEGS, -5.0), np.full(LEGS, 5.0)),
        "substeps": 4,
        "max_steps": STEPS,
    }
    return VectorEnv(simulation(), num_envs=num_envs, **defaults | options)


def humanoid_stand(num_envs: int = 4096, **options: Any) -> VectorEnv:
    """Return the same environments with the command to stand.

    Args:
        num_envs: how many.
        options: of `VectorEnv`; they replace those of this page.
    """
    defaults: dict[str, Any] = {
        "reset": lambda row: reset(row) | {"command": np.zeros(3)},
        "memory": pushed,
    }
    return humanoid_velocity(num_envs, **defaults | options)
