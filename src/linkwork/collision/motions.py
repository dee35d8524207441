"""Robots made of spheres for the C extension, which tests motions and plans.

The centers of the spheres are computed by code for as many configurations as a vector register has
lanes, in single precision. The other tests are in `csrc`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from linkwork.algorithms.kinematics.frames import Matrix, Scalars
from linkwork.collision.closest import TOUCHING
from linkwork.collision.colliders import Collider, EdgeSettings, check_resolution
from linkwork.collision.core import CollisionCore, kernel_of
from linkwork.collision.distances import PosedRobot
from linkwork.collision.motion_obstacles import motions_extension, world_of
from linkwork.collision.obstacles import Obstacles
from linkwork.collision.shapes import CLOSED_FORMS, CollisionProblem
from linkwork.collision.to_obstacles import distances_to
from linkwork.engine.cached_property import cached_property
from linkwork.engine.kernel.arguments import thread_number
from linkwork.engine.runtime.compiled_program import FAST, CompiledProgram
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ValueRangeError
from linkwork.kindyn.inputs import Q
from linkwork.kindyn.quantities import Quantity, with_context
from linkwork.mechanics.base import base_of
from linkwork.model.geometry import Sphere
from linkwork.spatial.blocks import Vec

MOST_PAD = 1e-3  # bound of the rounding errors of single precision in `motions.h` [m]
ENCLOSING_STEPS = 200  # toward the farthest sphere, to find a small sphere around all of a link

_REASONS = {
    "START_COLLIDES": "start in collision",
    "GOAL_COLLIDES": "goal in collision",
    "START_OUTSIDE": "start outside of limits",
    "GOAL_OUTSIDE": "goal outside of limits",
    "NOT_FOUND": "no path",
}


class LinkSpheres(NamedTuple):
    """The spheres of a link: centers in the link, and radii. The first one is around all others."""

    centers: Array  # (n, 3)
    radii: Array  # (n,)


def link_spheres(problem: CollisionProblem, link: str) -> LinkSpheres:
    """The spheres of a link; if there are several, preceded by one around them."""
    shapes = problem.shapes(link)
    centers = np.array([shape.link_H_shape.xyz for shape in shapes])
    radii = np.array([shape.geometry.radius for shape in shapes])  # pyright: ignore[reportAttributeAccessIssue]
    if len(radii) == 1:
        return LinkSpheres(centers, radii)
    center = (centers.min(axis=0) + centers.max(axis=0)) / 2.0
    for k in range(ENCLOSING_STEPS):
        reach = np.linalg.norm(centers - center, axis=-1) + radii
        center = center + (centers[reach.argmax()] - center) / (k + 2.0)
    radius = (np.linalg.norm(centers - center, axis=-1) + radii).max()
    return LinkSpheres(np.vstack([center, centers]), np.concatenate([[radius], radii]))


def _sphere_centers(problem: CollisionProblem, q: Scalars) -> Matrix:
    """(n, 3) centers of the spheres of all links in the world."""
    base = base_of(problem.layout, q, "mixed")
    robot = PosedRobot(problem, q, base.R, base.o)
    points: Matrix = []
    for link in problem.links:
        R, o = robot.link_pose(link)
        for x, y, z in link_spheres(problem, link).centers.tolist():
            points.append([*o + R @ Vec(x, y, z)])
    return points


def _n_points(problem: CollisionProblem) -> int:
    return sum(len(link_spheres(problem, link).radii) for link in problem.links)


CENTERS = Quantity(
    "sphere_centers",
    (Q,),
    ((_n_points, 3),),
    with_context(_sphere_centers),
    of_coordinates=True,
)


class Motions:
    """The spheres of a robot, and the code that computes their centers."""

    def __init__(self, model: CollisionCore) -> None:
        """Compile a robot for which `obstruction` is None."""
        extension, problem = motions_extension(), model.problem
        self.reasons = {getattr(extension, name): text for name, text in _REASONS.items()}
        spheres = {link: link_spheres(problem, link) for link in model.links}
        index = {link: k for k, link in enumerate(model.links)}
        links: list[tuple[int, int, int, int]] = []
        start = 0
        for link, (_, radii) in spheres.items():
            n, is_static = max(1, len(radii) - 1), len(model.tree.path(link)) == 1
            links.append((start, start + len(radii) - n, n, is_static))
            start += len(radii)
        pairs = np.array([(index[a], index[b]) for a, b in model.pairs], np.int32).reshape(-1, 2)
        radii = np.concatenate([part.radii for part in spheres.values()])
        bounds = _bounds(model, spheres)
        lower, upper = model.limits.lower, model.limits.upper
        width = float((upper - lower).max())
        # lower and upper limits of q, and the largest range; None if there are joints without
        self.limits = (lower, upper, width) if np.isfinite(width) else None
        self.code = extension.Motions(
            *bounds,
            np.array(links, np.int32).reshape(-1, 4),
            pairs,
            np.nextafter(radii.astype(np.float32), np.float32(np.inf)),
        )
        kernel = kernel_of(model, CENTERS.name)
        self._program = CompiledProgram(
            "the centers of the spheres",
            kernel.code.make_program,
            self.code._use,
            key=kernel.key,
            scalar="float",
            columns=True,
        )

    def prepare(self) -> None:
        """Compile the code, and wait for it."""
        self._program.prepare(FAST)

    @property
    def obstruction(self) -> str:
        """Why there is no machine code; empty if there is."""
        if self._program.column_function is None:
            return ""
        return f"no machine code is available ({self._program.failure})"

    def world(self, obstacles: Obstacles | None) -> Any:
        """Prepare obstacles for the C extension; None if there are none."""
        if obstacles is None or not obstacles.n:
            return None
        return world_of(obstacles)

    def run(self, method: str, *arguments: Any) -> Any:
        """Call a method of the C extension."""
        self.prepare()  # again in a forked child
        try:
            return getattr(self.code, method)(*arguments)
        except OverflowError as error:
            text = "the coordinates are too large to test motions in single precision"
            raise ValueRangeError(f"q: {text}, which would be off by up to {error}") from None


class Spheres(Collider):
    """A collider of robots that consist of spheres, which the C extension tests first.

    It computes in single precision, and finds what is free, and what collides with certainty. Only
    the other configurations are tested in double precision.
    """

    def __init__(self, robot: CollisionCore) -> None:
        """Compile nothing before it is needed.

        Args:
            robot: a robot for which `obstruction_of` returns "".
        """
        super().__init__(robot, "")

    @cached_property
    def motions(self) -> Motions:
        """The spheres, compiled for motions."""
        motions = Motions(self.robot)
        motions.prepare()
        return motions

    @property
    def obstruction(self) -> str:
        """Why motions cannot be tested in C: there may be no machine code."""
        return self.motions.obstruction

    def in_collision(self, q: Array, obstacles: Obstacles | None, threads: int | None) -> Array:
        """(rows,) whether configurations (rows, nq) collide; True where q is not finite."""
        if self.obstruction:
            return super().in_collision(q, obstacles, threads)
        out, workers = np.ones(len(q), dtype=bool), thread_number(threads)
        doubtful = out.copy()
        try:
            world = self.motions.world(obstacles)
            self.motions.run("test", q, world, 0.0, out, workers)
            flagged, certain = np.flatnonzero(out), np.empty(int(out.sum()), dtype=bool)
            band = 2.0 * MOST_PAD + 2.0 * (obstacles.rounding if obstacles is not None else 0.0)
            self.motions.run("test", q[flagged], world, -band, certain, workers)
            doubtful[:] = False
            doubtful[flagged[~certain]] = True
        except ValueRangeError:  # too large for single precision
            doubtful[:] = True
        if doubtful.any():
            out[doubtful] = super().in_collision(q[doubtful], obstacles, threads)
        return out

    def are_free(self, starts: Array, ends: Array, settings: EdgeSettings) -> Array:
        """(rows,) whether motions are free."""
        if self.obstruction:
            return super().are_free(starts, ends, settings)
        obstacles, resolution, margin, threads = settings
        out, workers = np.ones(len(starts), dtype=bool), thread_number(threads)
        check_resolution(resolution, float(np.linalg.norm(ends - starts, axis=-1).max()))
        world, run = self.motions.world(obstacles), self.motions.run
        run("free", starts, ends, world, resolution, margin, out, workers, False)
        left = np.flatnonzero(~out)
        if left.size and obstacles is not None and self.fixed_links_are_free(obstacles):
            some = np.empty(len(left), dtype=bool)
            ends, starts = ends[left], starts[left]
            run("free", starts, ends, world, resolution, margin, some, workers, True)
            out[left] = some
        return out

    def fixed_links_are_free(self, obstacles: Obstacles) -> bool:
        """Whether no link that is fixed to the world overlaps obstacles, in double precision.

        Such a link may stand on an obstacle, which is nearer than single precision can decide.
        """
        robot = self.robot
        if not obstacles.n or not robot.fixed_links.any():
            return True
        distances = distances_to(robot, robot.kindyn.neutral(), obstacles)
        return bool((distances[:, robot.fixed_links] >= -TOUCHING).all())


class _Bounds(NamedTuple):
    """Upper bounds of what the rounding errors of the centers depend on."""

    n_joints: int  # on the path from the base to a link
    reach: float  # distance of a point of a sphere from the origin of the world, at q = 0
    angles: Array  # (nq,) angle that a coordinate adds per unit, on any path
    lengths: Array  # (nq,) length that it adds per unit


def _bounds(model: CollisionCore, spheres: dict[str, LinkSpheres]) -> _Bounds:
    tree, followers = model.tree, model.layout.followers
    places = (tree.parent_H_joint, tree.joint_H_body, tree.body_H_frame)
    to_joint, to_body, to_frame = (np.linalg.norm(H[:, :3, 3], axis=-1) for H in places)
    to_base = to_frame[tree.model.frame_index(tree.base)] + np.linalg.norm(
        model.layout.base_pose.xyz
    )
    angles, lengths = np.zeros(model.nq), np.zeros(model.nq)
    depth, reach = {0: 0}, {0: float(to_base)}
    for body, parent, joint in tree.outward():
        follower, kind = followers.get(joint.name), joint.motion_kind
        multiplier = 1.0 if follower is None else abs(follower.multiplier)
        at = model.layout.q[joint.name if follower is None else follower.leader]
        angles[at] += multiplier * (kind.rotation != "none")
        lengths[at] += multiplier * kind.translates * max(1.0, abs(joint.pitch))
        offset = 0.0 if follower is None else kind.translates * abs(follower.offset)
        depth[body] = depth[parent] + 1
        reach[body] = reach[parent] + float(to_joint[body] + to_body[body]) + offset
    reaches: list[float] = []
    for link, part in spheres.items():
        frame = tree.model.frame_index(link)
        of_spheres = (np.linalg.norm(part.centers, axis=-1) + part.radii).max()
        reaches.append(reach[tree.frame_bodies[frame]] + float(to_frame[frame] + of_spheres))
    return _Bounds(max(depth.values()), max(reaches), angles, lengths)


def obstruction_of(model: CollisionCore) -> str:
    """Return why the C extension cannot test the motions of a robot; "" if it can."""
    return next(_obstructions(model), "")


def _obstructions(model: CollisionCore) -> Iterator[str]:
    if model.floating:
        yield "the base floats; a CollisionModel with floating=False has a fixed base"
    for joint in model.model.joints:
        if not joint.mimic and joint.motion_kind.unit_norm:
            yield f"joint {joint.name!r} has a {joint.motion_kind.unit_norm[0].name} in q"
    if model.closing_joints or model.model.constraints:
        yield "straight motions do not keep closed loops closed"
    if model.options["parameters"]:
        yield "model parameters are inputs; use a CollisionModel without parameters"
    for link in model.links:
        for shape in model.problem.shapes(link):
            if not isinstance(shape.geometry, Sphere):
                text = f"link {link!r} has a {type(shape.geometry).__name__}, expected spheres"
                yield f"{text}; {CLOSED_FORMS}"
    if not model.links or not model.nq:
        yield "the robot has no links with collision shapes, or no joints"
    if motions_extension() is None:
        yield "linkwork was installed without its C extension"
