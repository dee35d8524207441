"""Values of sensors, as MuJoCo computes them: of the state before a step.

Accelerations are those of the solver less gravity, as an accelerometer measures them. A touch
sensor adds the normal forces of the contacts of its link whose ray meets its site: from the contact
point along the force on the link. A force or torque sensor has the wrench that its link receives
from its parent, contacts left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.algorithms.dynamics.joint_wrenches import joint_wrenches
from linkwork.algorithms.dynamics.rnea import BodyMotion, robot_motion
from linkwork.algorithms.kinematics.frames import joint_poses
from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.entries import FUNCTIONS, select
from linkwork.model.geometry import Box, Capsule, Cylinder, Sphere
from linkwork.model.graph import walk
from linkwork.model.pose import IDENTITY as IDENTITY_POSE
from linkwork.model.pose import Pose
from linkwork.simulation.constraints.equalities import quaternion_of
from linkwork.simulation.moment import Moment
from linkwork.simulation.scene import Ellipsoid, MovingShape, Scene, Sensor
from linkwork.simulation.world import matrix_of
from linkwork.spatial.blocks import (
    ZERO,
    Force,
    Mat,
    Motion,
    Scalar,
    Vec,
    as_vec,
    total,
)
from linkwork.spatial.source import quat

SMALL = 1e-15  # components of directions below it count as parallel to a face
ENDLESS = 1e30  # length of a ray


def links_of_sensors(scene: Scene) -> set[str]:
    """Return the links whose poses the sensors need."""
    names = {name for one in scene.sensors for name in (one.link, one.reference_link)}
    has_touch = any(one.kind == "touch" for one in scene.sensors)
    names |= {pair.link for pair in scene.contacts if has_touch}
    names |= {one.object for one in scene.sensors if one.kind.startswith("subtree")}
    return names - {""}


def sensor_values(now: Moment) -> list[Scalar]:
    """Return the values of all sensors, one after the other."""
    readings = Readings(now)
    return [value for one in now.problem.scene.sensors for value in readings.of(one)]


@dataclass(frozen=True, slots=True)
class _Frame:
    """A frame of a sensor, in axes of the world."""

    body: int  # -1: the world
    R: Mat
    r: Vec  # from the base's origin
    R_own: Mat  # in its body
    p_own: Vec


class Readings:
    """Computes sensors at one state."""

    def __init__(self, now: Moment) -> None:
        self.now = now
        self.scene = now.problem.scene
        self.skeleton = now.problem.skeleton
        self.layout = now.problem.layout

    def of(self, sensor: Sensor) -> list[Scalar]:
        """Return the values of one sensor, within its cutoff."""
        values = list(TABLE[sensor.kind](self, sensor))
        if sensor.cutoff > 0 and sensor.kind not in UNBOUNDED:
            least = -ENDLESS if sensor.kind == "touch" else -sensor.cutoff
            low, high = FUNCTIONS["maximum"], FUNCTIONS["minimum"]
            values = [low(least, high(x, sensor.cutoff)) for x in values]
        return values

    @cached_property
    def _velocities(self) -> dict[int, Motion]:
        """The motion of each body's point at the base's origin."""
        return self.now.world.motions(self.now.state.nu)

    @cached_property
    def _motions(self) -> dict[int, BodyMotion]:
        """How bodies rotate and accelerate, in their axes."""
        skeleton, state, base = self.skeleton, self.now.state, self.now.world.base
        joints = joint_poses(skeleton, state.q)
        gravity = self.now.problem.gravity
        return robot_motion(skeleton, base, joints, state.nu, self.now.nu_dot, gravity=gravity)

    @cached_property
    def _pushes(self) -> list[tuple[str, Vec, Force, Vec, Scalar]]:
        """Of each contact: link, point, wrench on it there, its direction, and normal force."""
        pushes: list[tuple[str, Vec, Force, Vec, Scalar]] = []
        for touch, own in zip(self.now.touches, self.now.contact_forces, strict=True):
            axes = touch.frame.T
            wrench = touch.sign * Force(axes @ as_vec(own[:3]), axes @ as_vec(own[3:]))
            normal = touch.sign * touch.frame[0]
            pushes.append((touch.pair.link, touch.point, wrench, normal, own[0]))
        return pushes

    @cached_property
    def _through(self) -> Mapping[str, Force]:
        """The wrench on each link from its parent, about its origin, in axes of the world."""
        problem, model = self.now.problem, self.layout.model
        wrenches: dict[int, Force] = {}
        for link, point, wrench, _, _ in self._pushes:
            index = model.frame_index(link)
            force, moment = wrench
            arm = point - self.now.world.frame(index)[2]
            at_link = Force(force, moment + arm.cross(force))
            wrenches[index] = wrenches[index] + at_link if index in wrenches else at_link
        rows = joint_wrenches(
            self.skeleton,
            self.now.state.q,
            self.now.state.nu,
            self.now.nu_dot,
            base_link=problem.tree.links[0][0],
            gravity=problem.gravity,
            velocity="mixed",
            wrenches={index: wrench.entries for index, wrench in wrenches.items()},
        )
        visits = list(walk(model, problem.tree.links[0][0]))
        indices = {v.link: model.joint_index(v.joint.name) for v in visits if v.joint}
        return {link: Force.of(rows[index]) for link, index in indices.items()}

    def frame(self, link: str, pose: Pose) -> _Frame:
        """Return the frame at a pose on a link, or in the world."""
        R_own, p_own = matrix_of(pose.matrix())
        world = self.now.world
        if not link:
            return _Frame(-1, R_own, p_own - world.base.o, R_own, p_own)
        index = self.layout.model.frame_index(link)
        body, R_link, p_link = self.skeleton.frames[index]
        R_own, p_own = R_link @ R_own, p_link + R_link @ p_own
        R, r = world.R[body], world.r[body]
        return _Frame(body, R @ R_own, r + R @ p_own, R_own, p_own)

    def object(self, sensor: Sensor) -> _Frame:
        """Return the frame of a sensor's object."""
        return self.frame(sensor.link, sensor.link_H_object)

    def seen(self, sensor: Sensor, vector: Vec) -> Vec:
        """Return a vector in the axes of the sensor's reference."""
        if not sensor.reference:
            return vector
        return self.frame(sensor.reference_link, sensor.link_H_reference).R.T @ vector

    def velocity(self, frame: _Frame) -> Motion:
        """Return the velocity of a frame's origin, and its angular velocity."""
        if frame.body < 0:
            return Motion(ZERO, ZERO)
        return self._velocities[frame.body].at(frame.r)

    def acceleration(self, frame: _Frame) -> Motion:
        """Return the acceleration of a frame's origin less gravity, and the angular one."""
        if frame.body < 0:
            return Motion(-self.now.problem.gravity, ZERO)
        motion = self._motions[frame.body]
        to_world = frame.R @ frame.R_own.T
        return Motion(to_world @ (motion.a + motion.W @ frame.p_own), to_world @ motion.u)

    def relative_velocity(self, sensor: Sensor) -> Motion:
        """Return the velocity relative to the sensor's reference, in its axes."""
        frame = self.object(sensor)
        v, w = self.velocity(frame)
        if sensor.reference:
            other = self.frame(sensor.reference_link, sensor.link_H_reference)
            v_other, w_other = self.velocity(other)
            v = v - v_other + (frame.r - other.r).cross(w_other)
            w = w - w_other
        return Motion(self.seen(sensor, v), self.seen(sensor, w))

    def position(self, sensor: Sensor) -> Vec:
        """Return a position in the axes of the reference."""
        origin = self.object(sensor).r
        if not sensor.reference:
            return origin + self.now.world.base.o
        return self.seen(
            sensor, origin - self.frame(sensor.reference_link, sensor.link_H_reference).r
        )

    def quaternion(self, sensor: Sensor) -> tuple[Scalar, ...]:
        """Return the rotation in the reference."""
        rotation = self._wxyz(sensor.link, sensor.link_H_object)
        if not sensor.reference:
            return rotation
        w, x, y, z = self._wxyz(sensor.reference_link, sensor.link_H_reference)
        return _times((w, -x, -y, -z), rotation)

    def _wxyz(self, link: str, pose: Pose) -> tuple[Scalar, ...]:
        """Return a rotation in the world: the product of those of the joints, as in MuJoCo."""
        own = _constant(pose)
        if not link:
            return own
        if self.now.problem.varied is not None:  # poses of joints may be inputs
            real, vector = quaternion_of(self.frame(link, pose).R)
            return (real, *vector)
        model, q = self.layout.model, self.now.state.q
        visits = {visit.link: visit for visit in walk(model, self.now.problem.tree.links[0][0])}
        while (visit := visits[link]).joint is not None:
            joint = visit.joint
            own = _times(_constant(joint.joint_H_second), own)
            if joint.kind == "revolute":
                (angle,) = q[self.layout.q[joint.name]]
                half = 0.5 * angle
                sine = FUNCTIONS["sin"](half)
                own = _times((FUNCTIONS["cos"](half), *(x * sine for x in joint.axis)), own)
            elif joint.kind == "spherical":
                own = _times(tuple(q[self.layout.q[joint.name]]), own)
            own = _times(_constant(joint.first_H_joint), own)
            link = str(visit.parent)
        base = tuple(q[self.layout.base_wxyz]) if self.layout.floating else (1.0, 0.0, 0.0, 0.0)
        return _times(base, own)

    def joint(self, sensor: Sensor, *, rate: bool = False) -> list[Scalar]:
        """Return position or rate of a joint; positions include the reference of the file."""
        if rate:
            return list(self.now.state.nu[self.layout.nu[sensor.object]])
        theta = self.now.state.q[self.layout.q[sensor.object]]
        return [x + dict(self.scene.references).get(sensor.object, 0.0) for x in theta]

    def actuator(self, sensor: Sensor, what: str) -> list[Scalar]:
        """Return length, rate or force of an actuator."""
        number = [one.name for one in self.scene.actuators].index(sensor.object)
        if what == "force":
            return [self.now.actuators.forces[number]]
        one = self.scene.actuators[number]
        if what == "rate":
            (k,) = self.now.state.nu[self.layout.nu[one.joint]]
            return [one.gear * k]
        (theta,) = self.now.state.q[self.layout.q[one.joint]]
        return [one.gear * (theta + dict(self.scene.references).get(one.joint, 0.0))]

    def touch(self, sensor: Sensor) -> list[Scalar]:
        """Return the sum of normal forces whose rays meet the site."""
        frame = self.object(sensor)
        assert sensor.shape is not None
        forces: list[Scalar] = [0.0]
        for link, point, _, normal, force in self._pushes:
            if link == sensor.link:
                start, along = frame.R.T @ (point - frame.r), frame.R.T @ -normal
                is_met = _meets(sensor.shape, start, along)
                forces.append(select(is_met, select(force > 0.0, force, 0.0), 0.0))
        return [total(*forces)]

    def wrench(self, sensor: Sensor) -> Force:
        """Return the wrench on a link from its parent, at the site and in its axes."""
        frame = self.object(sensor)
        if sensor.link not in self._through:  # a free base, on which nothing acts
            return Force(ZERO, ZERO)
        force, moment = self._through[sensor.link]
        arm = frame.r - self.now.world.frame(self.layout.model.frame_index(sensor.link))[2]
        return frame.R.T @ Force(force, moment - arm.cross(force))

    def subtree(self, sensor: Sensor, *, rate: bool = False) -> Vec:
        """Return position or velocity of the center of mass of a link and all that it carries."""
        model = self.layout.model
        chosen = {sensor.object}
        for visit in walk(model, self.now.problem.tree.links[0][0]):
            if visit.parent in chosen:
                chosen.add(visit.link)
        masses: list[Scalar] = []
        moments: list[Vec] = []
        for index, link in enumerate(model.links):
            if link.name in chosen:
                inertia = self.skeleton.link_inertia(index)
                frame = self.frame(link.name, IDENTITY_POSE)
                arm = frame.R @ inertia.first_moment  # from the link's origin, times the mass
                v, w = self.velocity(frame)
                origin = v if rate else frame.r + self.now.world.base.o
                masses.append(inertia.mass)
                moments.append(inertia.mass * origin + (w.cross(arm) if rate else arm))
        return (1.0 / total(*masses)) * sum(moments, ZERO)


_Reading = Callable[[Readings, Sensor], Sequence[Scalar]]


def _axis(k: int) -> _Reading:
    return lambda now, one: now.seen(one, now.object(one).R.T[k])


TABLE: dict[str, _Reading] = {
    "gyro": lambda now, one: now.object(one).R.T @ now.velocity(now.object(one))[1],
    "velocimeter": lambda now, one: now.object(one).R.T @ now.velocity(now.object(one))[0],
    "accelerometer": lambda now, one: now.object(one).R.T @ now.acceleration(now.object(one))[0],
    "framepos": Readings.position,
    "framequat": Readings.quaternion,
    "framexaxis": _axis(0),
    "frameyaxis": _axis(1),
    "framezaxis": _axis(2),
    "framelinvel": lambda now, one: now.relative_velocity(one)[0],
    "frameangvel": lambda now, one: now.relative_velocity(one)[1],
    "framelinacc": lambda now, one: now.acceleration(now.object(one))[0],
    "frameangacc": lambda now, one: now.acceleration(now.object(one))[1],
    "jointpos": Readings.joint,
    "jointvel": lambda now, one: now.joint(one, rate=True),
    "ballquat": Readings.joint,
    "ballangvel": lambda now, one: now.joint(one, rate=True),
    "actuatorpos": lambda now, one: now.actuator(one, "length"),
    "actuatorvel": lambda now, one: now.actuator(one, "rate"),
    "actuatorfrc": lambda now, one: now.actuator(one, "force"),
    "touch": Readings.touch,
    "force": lambda now, one: now.wrench(one)[0],
    "torque": lambda now, one: now.wrench(one)[1],
    "subtreecom": Readings.subtree,
    "subtreelinvel": lambda now, one: now.subtree(one, rate=True),
}
UNBOUNDED = ("framequat", "framexaxis", "frameyaxis", "framezaxis", "ballquat")  # without a cutoff


def _constant(pose: Pose) -> tuple[float, ...]:
    return tuple(quat.from_rotation(np.asarray(pose.matrix())[:3, :3]).tolist())


def _times(a: Sequence[Scalar], b: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """Return the product of two quaternions."""
    (w, *v), (s, *u) = a, b
    x, y = as_vec(v), as_vec(u)
    return (w * s - x.dot(y), *(w * y + s * x + x.cross(y)))


_Span = tuple[Scalar, Scalar]  # of a ray inside a shape; empty if the end is before the start


def _meets(shape: MovingShape, start: Vec, along: Vec) -> Scalar:
    """Return whether a ray meets a shape about the origin, or starts in it."""
    result: Scalar = False
    for low, high in _spans(shape, start, along):
        is_met = select(low <= high, high >= 0.0, False)
        result = select(is_met, True, result)
    return result


def _spans(shape: MovingShape, start: Vec, along: Vec) -> Iterator[_Span]:
    """Yield where a line is inside each of the convex shapes whose union is a shape."""
    match shape:
        case Sphere(radius):
            yield _in_ball(start, along, radius)
        case Ellipsoid(radii):
            x, y, z = (1.0 / radius for radius in radii)
            start, along = (Vec(x * v[0], y * v[1], z * v[2]) for v in (start, along))
            yield _in_ball(start, along, 1.0)
        case Box(size):
            yield _common(
                *(_in_slab(x, d, 0.5 * e) for x, d, e in zip(start, along, size, strict=True))
            )
        case Cylinder(radius, length) | Capsule(radius, length):
            flat = Vec(start[0], start[1], 0.0), Vec(along[0], along[1], 0.0)
            slab = _in_slab(start[2], along[2], 0.5 * length)
            yield _common(_in_ball(*flat, radius), slab)
            if isinstance(shape, Capsule):
                for z in (0.5 * length, -0.5 * length):
                    yield _in_ball(start - Vec(0.0, 0.0, z), along, radius)
        case _:
            raise TypeError(shape)


def _in_ball(start: Vec, along: Vec, radius: float) -> _Span:
    a, b, c = along.dot(along), along.dot(start), start.dot(start) - radius * radius
    is_moving = a > SMALL
    inverse = 1.0 / select(is_moving, a, 1.0)
    square = b * b - a * c
    root = FUNCTIONS["sqrt"](select(square > 0.0, square, 0.0))
    is_inside = select(c <= 0.0, ENDLESS, -ENDLESS)  # of a line that does not move across
    low = select(is_moving, inverse * (-b - root), -is_inside)
    high = select(is_moving, inverse * (-b + root), is_inside)
    return low, select(select(is_moving, square < 0.0, False), low - 1.0, high)


def _in_slab(x: Scalar, d: Scalar, half: float) -> _Span:
    is_moving = abs(d) > SMALL
    inverse = 1.0 / select(is_moving, d, 1.0)
    ends = (-half - x) * inverse, (half - x) * inverse
    is_inside = select(abs(x) <= half, ENDLESS, -ENDLESS)
    low, high = FUNCTIONS["minimum"](*ends), FUNCTIONS["maximum"](*ends)
    return select(is_moving, low, -is_inside), select(is_moving, high, is_inside)


def _common(*spans: _Span) -> _Span:
    low, high = spans[0]
    for other_low, other_high in spans[1:]:
        low, high = FUNCTIONS["maximum"](low, other_low), FUNCTIONS["minimum"](high, other_high)
    return low, high
