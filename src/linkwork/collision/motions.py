"""Robots made of spheres for the C extension, which tests straight motions and plans.

The centers of the spheres are computed by code for as many configurations as a vector register has
lanes, in single precision. The other tests are in `csrc`.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linkwork.algorithms.kinematics.frames import Matrix, Scalars
from linkwork.collision.distances import Robot
from linkwork.collision.obstacles import Obstacles
from linkwork.collision.shapes import CLOSED_FORMS, CollisionProblem
from linkwork.engine.runtime.compiled_program import FAST, CompiledProgram
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ValueRangeError
from linkwork.kindyn.inputs import INPUTS
from linkwork.kindyn.quantities import COLLISION, TABLES, Quantity, with_context
from linkwork.mechanics.base import base_of
from linkwork.model.geometry import Sphere
from linkwork.spatial.blocks import add, apply

if TYPE_CHECKING:
    from linkwork.collision.model import CollisionModel

CENTERS = COLLISION + "sphere_centers"
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
    robot = Robot(problem, q, base.R, base.o)
    points: Matrix = []
    for link in problem.links:
        R, o = robot.link_pose(link)
        for x, y, z in link_spheres(problem, link).centers.tolist():
            points.append([*add(o, apply(R, (x, y, z)))])
    return points


def _n_points(problem: CollisionProblem) -> int:
    return sum(len(link_spheres(problem, link).radii) for link in problem.links)


TABLES[COLLISION][CENTERS] = Quantity(
    (INPUTS["q"],), ((_n_points, 3),), with_context(_sphere_centers), of_coordinates=True
)


class Motions:
    """The spheres of a robot, and the code that computes their centers."""

    def __init__(self, model: CollisionModel) -> None:
        """Compile a robot for which `obstruction` is None."""
        extension, problem = _extension(), model.problem
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
        kernel = model._of(CENTERS)  # pyright: ignore[reportPrivateUsage]
        self._program = CompiledProgram(
            "the centers of the spheres",
            kernel.code.make_program,
            self.code._use,
            key=kernel.key,
            scalar="float",
            columns=True,
        )

    def prepare(self) -> bool:
        """Compile the code, and wait for it; return False if there is no machine code."""
        self._program.prepare(FAST)
        return self._program.column_function is None

    @property
    def failure(self) -> str:
        """The reason why there is no machine code."""
        return self._program.failure

    def world(self, obstacles: Obstacles | None) -> Any:
        """The obstacles, prepared for the C extension; None if there are none."""
        if obstacles is None or not obstacles.n:
            return None
        from linkwork.collision.world import world_of  # which needs the extension

        return world_of(obstacles)

    def run(self, method: str, *arguments: Any) -> Any:
        """Call a method of the C extension."""
        self.prepare()  # again in a forked child
        try:
            return getattr(self.code, method)(*arguments)
        except OverflowError as error:
            text = "the coordinates are too large to test motions in single precision"
            raise ValueRangeError(f"q: {text}, which would be off by up to {error}") from None


class _Bounds(NamedTuple):
    """Upper bounds of what the rounding errors of the centers depend on."""

    n_joints: int  # on the path from the base to a link
    reach: float  # distance of a point of a sphere from the origin of the world, at q = 0
    angles: Array  # (nq,) angle that a coordinate adds per unit, on any path
    lengths: Array  # (nq,) length that it adds per unit


def _bounds(model: CollisionModel, spheres: dict[str, LinkSpheres]) -> _Bounds:
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


def obstruction(model: CollisionModel) -> str | None:
    """Why the C extension cannot test the motions of a robot; None if it can."""
    return next(_obstructions(model), None)


def _obstructions(model: CollisionModel) -> Iterator[str]:
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
    if _extension() is None:
        yield "linkwork was installed without its C extension"


def _extension() -> Any:
    try:
        return import_module("linkwork.collision._motions")
    except ImportError:
        return None
