"""A robot that is looked at: its configuration, and what is shown of it. Knows no page.

Inside, every robot has a floating base, so that it can be moved about; `fixed` says that its joints
move it and its base only moves when it is told to.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ShapeError, ValueRangeError, shown
from linkwork.inverse_kinematics.ik import ik
from linkwork.kindyn import KinDyn
from linkwork.model.layout import BASE_NQ, BASE_NV
from linkwork.model.model import Model
from linkwork.model.pose import IDENTITY, Pose
from linkwork.spatial.source import quat, se3
from linkwork.viewer.sliders import Slider, slider_values, sliders_of, with_slider

CLOSE = 1e-4  # distance [m] and angle [rad] at which a dragged frame counts as there
SAMPLES = 100  # configurations of a trajectory that are looked at to place the camera
ITERATIONS = 40  # of inverse kinematics while a frame is dragged, so that it stays smooth


@dataclass(frozen=True)
class Dragged:
    """How well a dragged frame is where it was dragged to."""

    reached: bool
    distance: float  # that is left [m]
    angle: float  # [rad]; 0 where only the position counts
    at_limits: tuple[str, ...]  # joints that stand at a limit

    def __str__(self) -> str:
        if self.reached:
            return "reached"
        distance = f"{1000 * self.distance:.1f} mm, {np.degrees(self.angle):.1f} deg"
        left = f"target out of reach by {distance}"
        limits = f"; at a limit: {', '.join(self.at_limits)}" if self.at_limits else ""
        return left + limits


class ViewedRobot:
    """A robot, where it is, and how it moves."""

    def __init__(self, given: Model | KinDyn, name: str | None = None) -> None:
        """Look at a robot.

        Args:
            given: the robot; from a `KinDyn`, base, gravity and whether it floats are taken.
            name: on the page; that of the model if not given.
        """
        if isinstance(given, Model):
            given = KinDyn(given, floating=False)
        elif not isinstance(given, KinDyn):
            raise ArgumentError(f"expected a Model or a KinDyn, got {shown(given)}")
        base_pose: Pose = given.base_pose or IDENTITY
        plain = {"representation": "mixed", "parameters": (), "dtype": np.float64, "check": False}
        self.kd = given.replace(floating=True, base_pose=None, joint_dynamics=False, **plain)
        self.name = given.model.name if name is None else name
        self.fixed = not given.floating
        self.base_link = self.kd.model.frame(self.kd.base).link
        self.support = self.base_link  # the link that holds the robot, as far as forces go
        self.sliders = sliders_of(self.kd)
        self.q = self.kd.q(base_pose=base_pose)
        self.nu = np.zeros(self.kd.nv)
        self.frame_names = self.kd.model.frame_names

    # Moving it.

    def configuration(self, q: ArrayLike) -> Array:
        """A configuration as the robot has it inside: with its base, of unit quaternions.

        Args:
            q: (nq,) with the base, or (n,) the joints alone; then the base stays where it is.
        """
        given = _numbers("q", q)
        joints = self.kd.nq - BASE_NQ
        if given.shape == (joints,):
            given = np.concatenate([self.q[:BASE_NQ], given])
        if given.shape != (self.kd.nq,):
            wanted = f"({joints},) joints or ({self.kd.nq},) with the base"
            raise ShapeError(f"q of {self.name!r}: expected {wanted}, got {given.shape}")
        if not np.isfinite(given).all():
            raise ValueRangeError(f"q of {self.name!r}: is not finite")
        return np.asarray(self.kd.normalize(given))

    def velocity(self, nu: ArrayLike | None) -> Array:
        """A velocity as the robot has it inside: with that of its base."""
        if nu is None:
            return np.zeros(self.kd.nv)
        given = _numbers("nu", nu)
        if given.shape == (self.kd.nv - BASE_NV,):
            given = np.concatenate([np.zeros(BASE_NV), given])
        if given.shape != (self.kd.nv,):
            wanted = f"({self.kd.nv - BASE_NV},) or ({self.kd.nv},) with the base"
            raise ShapeError(f"nu of {self.name!r}: expected {wanted}, got {given.shape}")
        if not np.isfinite(given).all():
            raise ValueRangeError(f"nu of {self.name!r}: is not finite")
        return given

    def move_slider(self, slider: Slider, value: float) -> None:
        """Move one joint; the robot is at rest then."""
        self.q = with_slider(self.kd, self.q, slider, value)
        self.nu = np.zeros(self.kd.nv)

    def slider_values(self) -> Array:
        """What the sliders show."""
        return slider_values(self.kd, self.q)

    @property
    def base_pose(self) -> Array:
        """(4, 4) pose of the base in the world."""
        rotation = quat.to_rotation(self.q[3:7])
        return np.asarray(se3.pose(rotation, self.q[:3]))

    def move_base(self, position: ArrayLike, wxyz: ArrayLike) -> None:
        """Put the base elsewhere."""
        self.q = self.configuration(np.concatenate([position, wxyz, self.q[BASE_NQ:]]))
        self.nu = np.zeros(self.kd.nv)

    def drag(
        self, frame: str, pose: Array, *, position_only: bool = False, with_base: bool = False
    ) -> Dragged:
        """Bring a frame to a pose by inverse kinematics, as near as it gets.

        Args:
            frame: to move.
            pose: (4, 4) in the world.
            position_only: whether its rotation does not matter.
            with_base: whether the base may move, too.
        """
        target = pose[:3, 3] if position_only else pose
        found = ik(
            self.kd,
            {frame: target},
            self.q,
            hold=() if with_base else ("base",),
            tolerance=CLOSE,
            max_iterations=ITERATIONS,
            restarts=0,
        )
        self.q, self.nu = found.q, np.zeros(self.kd.nv)
        return Dragged(
            bool(found.converged),
            float(found.position_errors[frame]),
            float(found.rotation_errors.get(frame, np.zeros(()))),
            self._moving(frame, found.active_limits),
        )

    def _moving(self, frame: str, joints: tuple[str, ...]) -> tuple[str, ...]:
        """Those of some joints that move a frame."""
        J, nu = self.kd.jacobian(frame, self.q), self.kd.layout.nu
        return tuple(name for name in joints if np.any(J[:, nu[name]]))

    # What is shown of it.

    def poses(self) -> Array:
        """(frames, 4, 4) poses of all frames in the world, in the order of `frame_names`."""
        return self.kd.transforms(self.q)

    def origins_during(self, q: Array) -> Array:
        """(n, 3) origins of all frames in some of the configurations (rows, nq) [m]."""
        some = q[:: max(1, len(q) // SAMPLES)]
        return self.kd.transforms(some)[..., :3, 3].reshape(-1, 3)

    def pose(self, frame: str) -> Array:
        """(4, 4) pose of a frame in the world."""
        return self.poses()[self.kd.model.frame_index(frame)]

    def total_mass(self) -> float:
        """Mass [kg]."""
        return self.kd.total_mass

    def com(self) -> Array:
        """(3,) center of mass in the world."""
        return self.kd.com(self.q)

    @property
    def coordinates(self) -> list[str]:
        """Names of the coordinates of nu; without the base if it is fixed."""
        base = ("x", "y", "z", "about x", "about y", "about z")
        named = [f"base {axis}" for axis in base]
        return [*([] if self.fixed else named), *(slider.label for slider in self.sliders)]

    def gravity_force(self) -> Array:
        """(joints,) gravity compensation: forces that hold the joints [N m] or [N].

        The link `support` is fixed to the world. With its Jacobian J and the wrench f on it, the
        base is in equilibrium if g_base = J_base^T f, and the joints need g_joints - J_joints^T f.
        """
        g = self.kd.gravity_force(self.q)
        if self.support == self.base_link:
            return g[BASE_NV:]
        J = self.kd.jacobian(self.support, self.q)
        f = np.linalg.solve(J[:, :BASE_NV].T, g[:BASE_NV])
        return g[BASE_NV:] - J[:, BASE_NV:].T @ f

    def efforts(self) -> Array:
        """(joints,) the largest forces of the joints; infinite where there is no limit."""
        return np.asarray(self.kd.limits.effort)

    def mass_matrix(self) -> Array:
        """Mass matrix; of the joints alone if the base is fixed."""
        M = self.kd.mass_matrix(self.q)
        return M[BASE_NV:, BASE_NV:] if self.fixed else M

    def jacobian(self, frame: str) -> Array:
        """(6, n) Jacobian of a frame, axes of the world; without the base if that is fixed."""
        J = self.kd.jacobian(frame, self.q)
        return J[:, BASE_NV:] if self.fixed else J

    def frame_velocity(self, frame: str) -> Array:
        """(6,) velocity of a frame [linear; angular], axes of the world."""
        return self.kd.velocity(frame, self.q, self.nu)

    def joint_axes(self) -> Array:
        """(sliders, 4, 4) poses in the world whose z axis is the axis of each slider's joint."""
        carriers, mounts = self._axes
        return self.poses()[carriers] @ mounts

    @cached_property
    def _axes(self) -> tuple[Array, Array]:
        """For each slider: the frame that carries the joint, and the pose of the joint on it."""
        tree, index = self.kd.tree, self.kd.model.frame_index
        found: dict[str, tuple[int, Array]] = {}
        for body, parent, joint in tree.outward():
            carrier = index(tree.links[parent][0])
            carrier_H_parent = se3.inverse(tree.body_H_frame[carrier])
            mount = carrier_H_parent @ tree.parent_H_joint[body] @ _along(np.array(joint.axis))
            found[joint.name] = carrier, np.asarray(mount)
        both = [found[slider.joint] for slider in self.sliders]
        carriers = np.array([carrier for carrier, _ in both], dtype=np.intp)
        return carriers, np.array([mount for _, mount in both]).reshape(-1, 4, 4)


def _numbers(what: str, given: ArrayLike) -> Array:
    try:
        return np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        text = f"{what}: expected an array of numbers, got {shown(given)}"
        raise ArgumentError(text) from None


def _along(axis: Array) -> Array:
    """(4, 4) rotation whose z axis is a unit vector."""
    helper = np.array([1.0, 0.0, 0.0]) if abs(axis[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    pose = np.eye(4)
    pose[:3, :3] = np.stack([x, np.cross(axis, x), axis], axis=-1)
    return pose
