"""The state of a robot in the viewer, and the quantities that are shown. Independent of the page.

Inside, every robot has a floating base, so that it can be placed anywhere. If it is `fixed`, its
joints move, and its base only moves when the user moves it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from linkwork.collision.model import CollisionModel
from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ShapeError, ValueRangeError, shown
from linkwork.inverse_kinematics.ik import ik
from linkwork.kindyn import KinDyn
from linkwork.model.geometry import Surface, joined
from linkwork.model.layout import BASE_NQ, BASE_NV
from linkwork.model.model import Model
from linkwork.model.pose import IDENTITY
from linkwork.simulation.contacts import n_slots
from linkwork.simulation.core import SimulationState
from linkwork.simulation.simulation import Simulation
from linkwork.spatial.source import quat, se3
from linkwork.viewer.drawing import Part, drawing_of_shapes, pose_along
from linkwork.viewer.joints import OPEN, Loops, Path, Slider, slider_values, sliders_of, with_slider

TOLERANCE = 1e-4  # distance [m] and angle [rad] at which a dragged frame has reached its target
ENLARGED = 1.01  # scale of collision shapes that are drawn
SAMPLES = 100  # configurations of a trajectory that are used to place the camera
ITERATIONS = 40  # of inverse kinematics while a frame is dragged, so that it stays smooth


@dataclass(frozen=True)
class DragResult:
    """How well a dragged frame has reached its target."""

    reached: bool
    distance: float  # to the target [m]
    angle: float  # to the target [rad]; 0 where only the position counts
    at_limits: tuple[str, ...]  # joints at a limit

    def __str__(self) -> str:
        if self.reached:
            return "reached"
        distance = f"{1000 * self.distance:.1f} mm, {np.degrees(self.angle):.1f} deg"
        limits = f"; at a limit: {', '.join(self.at_limits)}" if self.at_limits else ""
        return f"target out of reach by {distance}{limits}"


@dataclass(frozen=True, eq=False)
class NearLinks:
    """Which links collide, and the closest points of links that are near."""

    colliding: frozenset[str]
    segments: Array  # (n, 2, 3) in the world


@dataclass(frozen=True, eq=False)
class Moment:
    """A state of a simulation, and the controls in it."""

    x: SimulationState
    control: Array  # (n_controls,)


class ViewedRobot:
    """A robot in a state."""

    def __init__(self, robot: Model | KinDyn | Simulation, name: str | None = None) -> None:
        """Start at the neutral configuration, or that of the simulation.

        Args:
            robot: a `KinDyn` determines the base, gravity, and whether the base floats; a
                `Simulation` also what touches the ground.
            name: on the page; default: the name of the model.
        """
        self.simulation = robot if isinstance(robot, Simulation) else None
        self.moment: Moment | None = None  # what is shown, if it is a state of the simulation
        if isinstance(robot, Simulation):
            robot = robot.kd
        if isinstance(robot, Model):
            robot = KinDyn(robot, floating=False)
        self.kd = _floating(robot)
        self.name = robot.model.name if name is None else name
        self.fixed = not robot.floating
        self.base_link = self.kd.model.frame(self.kd.base).link
        self.support = self.base_link  # the link that supports the robot, for its forces
        self.sliders = sliders_of(self.kd)
        self.loops = _loops_of(self.kd)
        self.q = self.assembled(self.kd.q(base_pose=robot.base_pose or IDENTITY))
        if self.simulation is not None:
            sim = self.simulation
            self.q = self.configuration(sim.place_on_ground(sim.state()).q)
        self.nu = np.zeros(self.kd.nv)
        self.frame_names = self.kd.model.frame_names

    def replace_kindyn(self, kd: KinDyn) -> None:
        """Replace the robot by one with other constants, and the same links and joints."""
        self.kd = _floating(kd)
        self.loops = _loops_of(self.kd)
        self.__dict__.pop("_axes", None)
        self.__dict__.pop("collision_model", None)

    # Motion.

    def configuration(self, q: ArrayLike) -> Array:
        """Return a configuration with the base, and of unit quaternions.

        Args:
            q: (nq,) with the base, or (n,) the joints alone; then the base stays where it is.
        """
        return np.asarray(self.kd.normalize(self._with_base("q", q, self.q[:BASE_NQ])))

    def velocity(self, nu: ArrayLike | None) -> Array:
        """Return a velocity with the velocity of the base, which is zero by default."""
        if nu is None:
            return np.zeros(self.kd.nv)
        return self._with_base("nu", nu, np.zeros(BASE_NV))

    def _with_base(self, what: str, value: ArrayLike, base: Array) -> Array:
        """Check a vector of all coordinates or of the joints alone, and add the base."""
        vector = as_floats(value, what)
        size = self.kd.nq if what == "q" else self.kd.nv
        joints = size - len(base)
        if vector.shape == (joints,):
            vector = np.concatenate([base, vector])
        if vector.shape != (size,):
            shapes = f"({joints},) joints or ({size},) with the base"
            raise ShapeError(f"{what} of {self.name!r}: expected {shapes}, got {vector.shape}")
        if not np.isfinite(vector).all():
            raise ValueRangeError(f"{what} of {self.name!r}: is not finite")
        return vector

    def move_slider(self, slider: Slider, value: float) -> bool:
        """Move one joint, and others as far as closed loops need it; velocities become zero.

        Returns:
            whether the slider has the value; with loops, it stops where they cannot be closed.
        """
        self.nu, reached = np.zeros(self.kd.nv), True
        if self.loops is None:
            self.q = with_slider(self.kd, self.q, slider, value)
        else:
            start = float(self.slider_values()[self.sliders.index(slider)])
            self.q, reached = self.loops.follow(Path(self.kd, slider, start, value), self.q)
        return reached

    def assembled(self, q: Array) -> Array:
        """Close the loops near a configuration, as far as possible; the base stays."""
        return q if self.loops is None else self.loops.closed(q)[0]

    def open_loops(self) -> dict[str, float]:
        """Return the errors of loops that are open, by name [m] or [rad]."""
        errors = {} if self.loops is None else self.loops.errors(self.q)
        return {name: error for name, error in errors.items() if error > OPEN}

    @cached_property
    def collision_model(self) -> CollisionModel:
        """The collision shapes of the robot, and the pairs of links that are checked."""
        return CollisionModel(self.kd)

    @cached_property
    def collision_surfaces(self) -> dict[str, Surface]:
        """The surface of all collision shapes of each link, in its axes."""
        shapes = {link.name: link.collisions for link in self.kd.model.links if link.collisions}
        parts = drawing_of_shapes(shapes).parts
        return {link: joined([_enlarged(part) for part in parts[link]]) for link in parts}

    def near_links(self, distance: float) -> NearLinks:
        """Return which links collide, and closest points of pairs within a distance [m]."""
        robot = self.collision_model
        if not robot.pairs:
            return NearLinks(frozenset(), np.zeros((0, 2, 3)))
        distances, points = robot.distances(self.q), robot.witness_points(self.q)
        colliding = [pair for pair, d in zip(robot.pairs, distances, strict=True) if d < 0.0]
        segments = np.stack([points.first, points.second], axis=-2)[distances < distance]
        return NearLinks(frozenset(name for pair in colliding for name in pair), segments)

    def contact_forces(self) -> Array:
        """Return (n, 2, 3): points that touch the ground, and the forces there [m], [N]."""
        sim, moment = self.simulation, self.moment
        if sim is None or moment is None:
            return np.zeros((0, 2, 3))
        now = sim.forward(moment.x, moment.control)
        pairs = sim.scene.contacts
        signs = np.repeat([-1.0 if p.moving_first else 1.0 for p in pairs], [*map(n_slots, pairs)])
        local = signs[:, None, None] * now.contact_forces[:, :3, None]
        ends = [now.contact_frames[:, :3, 3], (now.contact_frames[:, :3, :3] @ local)[..., 0]]
        return np.stack(ends, axis=1)[now.active > 0]

    def slider_values(self) -> Array:
        """Return what the sliders show."""
        return slider_values(self.kd, self.q)

    @property
    def base_pose(self) -> Array:
        """(4, 4) pose of the base in the world."""
        rotation = quat.to_rotation(self.q[3:7])
        return np.asarray(se3.pose(rotation, self.q[:3]))

    def move_base(self, position: ArrayLike, wxyz: ArrayLike) -> None:
        """Place the base."""
        self.q = self.configuration(np.concatenate([position, wxyz, self.q[BASE_NQ:]]))
        self.nu = np.zeros(self.kd.nv)

    def drag(
        self, frame: str, pose: Array, *, position_only: bool = False, with_base: bool = False
    ) -> DragResult:
        """Bring a frame to a pose by inverse kinematics, as near as it gets.

        Args:
            frame: to move.
            pose: (4, 4) in the world.
            position_only: whether its rotation does not matter.
            with_base: whether the base may move, too.
        """
        target = pose[:3, 3] if position_only else pose
        solution = ik(
            self.kd,
            {frame: target},
            self.q,
            hold=() if with_base else ("base",),
            tolerance=TOLERANCE,
            max_iterations=ITERATIONS,
            restarts=0,
        )
        self.q, self.nu = solution.q, np.zeros(self.kd.nv)
        return DragResult(
            bool(solution.converged),
            float(solution.position_errors[frame]),
            float(solution.rotation_errors.get(frame, np.zeros(()))),
            self._moving(frame, solution.active_limits),
        )

    def _moving(self, frame: str, joints: tuple[str, ...]) -> tuple[str, ...]:
        """Select the joints that move a frame."""
        J, nu = self.kd.jacobian(frame, self.q), self.kd.layout.nu
        return tuple(name for name in joints if np.any(J[:, nu[name]]))

    # Quantities.

    def poses(self) -> Array:
        """Return the poses of all frames in the world, (frames, 4, 4), ordered as `frame_names`."""
        return self.kd.transforms(self.q)

    def origins_during(self, q: Array) -> Array:
        """Return (n, 3) origins of all frames in some of the configurations (rows, nq) [m]."""
        some = q[:: max(1, len(q) // SAMPLES)]
        return self.kd.transforms(some)[..., :3, 3].reshape(-1, 3)

    def pose(self, frame: str) -> Array:
        """Return the pose of a frame in the world, (4, 4)."""
        return self.poses()[self.kd.model.frame_index(frame)]

    def total_mass(self) -> float:
        """Return the mass [kg]."""
        return self.kd.total_mass

    def com(self) -> Array:
        """Return the center of mass in the world, (3,)."""
        return self.kd.com(self.q)

    def gravity_force(self) -> Array:
        """Return the forces that hold the joints against gravity, (joints,) [N m] or [N].

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
        """Return the largest forces of the joints; infinite where there is no limit."""
        return np.asarray(self.kd.limits.effort)

    def jacobian(self, frame: str) -> Array:
        """Return the Jacobian of a frame, axes of the world; without a base that is fixed."""
        J = self.kd.jacobian(frame, self.q)
        return J[:, BASE_NV:] if self.fixed else J

    def frame_velocity(self, frame: str) -> Array:
        """Return the velocity of a frame [linear; angular], axes of the world."""
        return self.kd.velocity(frame, self.q, self.nu)

    def joint_axes(self) -> Array:
        """Return (sliders, 4, 4) poses in the world; z is the axis of the joint of each slider."""
        carriers, mounts = self._axes
        return self.poses()[carriers] @ mounts

    @cached_property
    def _axes(self) -> tuple[Array, Array]:
        """For each slider: the frame that carries the joint, and the pose of the joint on it."""
        tree, index = self.kd.tree, self.kd.model.frame_index
        mounts: dict[str, tuple[int, Array]] = {}
        for body, parent, joint in tree.outward():
            carrier = index(tree.links[parent][0])
            carrier_H_parent = se3.inverse(tree.body_H_frame[carrier])
            mount = carrier_H_parent @ tree.parent_H_joint[body] @ pose_along(np.array(joint.axis))
            mounts[joint.name] = carrier, np.asarray(mount)
        of_sliders = [mounts[slider.joint] for slider in self.sliders]
        carriers = np.array([carrier for carrier, _ in of_sliders], dtype=np.intp)
        return carriers, np.array([mount for _, mount in of_sliders]).reshape(-1, 4, 4)


def as_floats(values: ArrayLike, what: str) -> Array:
    """Convert an argument to an array of floats, which may be infinite or NaN."""
    try:
        with np.errstate(invalid="ignore", over="ignore"):
            return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what}: expected an array of floats, got {shown(values)}") from None


def _enlarged(part: Part) -> Surface:
    """Return the surface of a part on its link, a little larger than a visual of its size."""
    return part.surface.scaled((ENLARGED, ENLARGED, ENLARGED)).placed(part.link_H_part)


def _loops_of(kd: KinDyn) -> Loops | None:
    return Loops(kd) if kd.problem.equations else None


def _floating(kd: KinDyn) -> KinDyn:
    """Return the same robot with a floating base, in mixed representation and double precision."""
    options = {"representation": "mixed", "parameters": (), "dtype": np.float64, "check": False}
    return kd.replace(floating=True, base_pose=None, joint_dynamics=False, **options)
