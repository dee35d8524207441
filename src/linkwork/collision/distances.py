"""Distances of the links of a robot, their derivatives and closest points, as functions of q.

Distances inside a robot do not depend on its base, so they are computed in the axes of the base.
Links with many spheres are compared without a square root for each pair of spheres: among
spheres of equal radius, the nearest has the smallest squared distance.

The derivative of a distance is computed as if the closest points were fixed to their links: they
also move on the surfaces, but to first order not along the normal.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from linkwork.algorithms.kinematics.frames import Matrix, Scalars, path_to
from linkwork.collision.closest import (
    TOUCHING,
    Closest,
    PlacedShape,
    PlacedSphere,
    both,
    closest,
    larger,
    nearer,
    selected,
    smaller,
    square_root,
)
from linkwork.collision.shapes import CollisionProblem, placed
from linkwork.kindyn.inputs import Q
from linkwork.kindyn.quantities import Quantity, with_context
from linkwork.mechanics.base import base_of
from linkwork.mechanics.joints import JointPose, joint_pose
from linkwork.model.geometry import Shape, Sphere
from linkwork.spatial.blocks import IDENTITY, ZERO, Force, Mat, Motion, Scalar, Vec, as_vec, total

LARGEST = float(np.finfo(np.float32).max)  # a coordinate that is finite


class PosedRobot:
    """A robot at a configuration: where its links and their shapes are."""

    def __init__(
        self, problem: CollisionProblem, q: Scalars, R: Mat = IDENTITY, o: Vec = ZERO
    ) -> None:
        """Prepare the poses of links, which are computed when they are needed.

        Args:
            problem: the robot.
            q: its configuration.
            R, o: the pose of the base: the identity for distances inside the robot.
        """
        self.problem, self.skeleton, self._q = problem, problem.skeleton, q
        self._bodies: dict[int, tuple[Mat, Vec]] = {0: (R, o)}
        self._joints: dict[int, JointPose] = {}
        self._solids: dict[str, list[PlacedShape]] = {}

    def body_of(self, link: str) -> int:
        """The index of the body that a link is part of."""
        return self.skeleton.frames[self.problem.layout.model.frame_index(link)][0]

    def pose(self, body: int) -> tuple[Mat, Vec]:
        """Rotation and position of a body."""
        if body not in self._bodies:
            mount = self.skeleton.bodies[body].mount
            assert mount is not None
            joint = self._joints[body] = joint_pose(mount, self._q)
            R, o = self.pose(self.skeleton.bodies[body].parent)
            self._bodies[body] = R @ joint.R, o + R @ joint.p
        return self._bodies[body]

    def link_pose(self, link: str) -> tuple[Mat, Vec]:
        """Rotation and position of a link."""
        body, R_frame, p = self.skeleton.frames[self.problem.layout.model.frame_index(link)]
        R, o = self.pose(body)
        return R @ R_frame, o + R @ p

    def solids(self, link: str) -> list[PlacedShape]:
        """The shapes of a link."""
        if link not in self._solids:
            R, o = self.link_pose(link)
            self._solids[link] = [placed(shape, R, o) for shape in self.problem.shapes(link)]
        return self._solids[link]

    def columns(self, body: int) -> list[tuple[int, Motion]]:
        """Velocity that the joint of a body gives it, per unit of each of its coordinates.

        A point p of the body has the velocity v + w x p.
        """
        R, o = self.pose(body)
        mount = self._joints[body].mount
        columns = [(R @ column).shifted(o) for column in self._joints[body].columns]
        return list(zip(mount.nu_indices, columns, strict=True))


def is_finite(q: Scalars) -> Any:
    """Whether all coordinates are finite, also in single precision."""
    return reduce(both, [both(x <= LARGEST, x >= -LARGEST) for x in q]) if len(q) else True


def distances(problem: CollisionProblem, q: Scalars) -> list[Scalar]:
    """(n,) signed distances of the pairs of links; NaN where q is not finite."""
    robot, defined = PosedRobot(problem, q), is_finite(q)
    return [
        selected(defined, distance_of(robot.solids(first), robot.solids(second)), np.nan)
        for first, second in robot.problem.pairs
    ]


def closest_points(problem: CollisionProblem, q: Scalars) -> tuple[Matrix, Matrix, Matrix]:
    """(n, 3) points on the first and second links, and normals, in the world."""
    base = base_of(problem.layout, q, "mixed")
    robot = PosedRobot(problem, q, base.R, base.o)
    pairs = [_closest_of_links(robot, *pair) for pair in robot.problem.pairs]
    return (
        [list(pair.first) for pair in pairs],
        [list(pair.second) for pair in pairs],
        [list(pair.normal) for pair in pairs],
    )


def distance_jacobian(problem: CollisionProblem, q: Scalars) -> Matrix:
    """(n, nv) derivatives of the distances in the tangent space."""
    robot = PosedRobot(problem, q)
    J: Matrix = []
    for first, second in robot.problem.pairs:
        points = _closest_of_links(robot, first, second)
        # a joint that carries both links does not change their distance
        paths = [path_to(problem.skeleton, robot.body_of(link)) for link in (first, second)]
        n_shared = sum(a == b for a, b in zip(*paths, strict=False))
        row: list[Scalar] = [0.0] * problem.layout.nv
        add_rates(row, robot, paths[0][n_shared:], (-points.normal, points.first))
        add_rates(row, robot, paths[1][n_shared:], (points.normal, points.first))
        J.append(row)
    return J


def add_rates(
    row: list[Scalar], robot: PosedRobot, bodies: Sequence[int], force: tuple[Vec, Vec]
) -> None:
    """Add the power of a force per unit of the velocity of joints: J^T f.

    Args:
        row: (nv,) what to add to.
        robot: the robot.
        bodies: those whose joints move the point that the force acts on.
        force: a vector, and a point of the line that it acts along.
    """
    n, p = force
    wrench = Force(n, p.cross(n))
    for body in bodies:
        for k, column in robot.columns(body):
            row[k] = row[k] + wrench.dot(column)


def minimum_distance(problem: CollisionProblem, q: Scalars) -> Scalar:
    """The smallest distance of all pairs; infinite without pairs."""
    values = _distances_by_points(problem, q)
    return selected(is_finite(q), reduce(smaller, values), np.nan) if values else np.inf


def smooth_minimum_distance(problem: CollisionProblem, q: Scalars, width: Scalars) -> Scalar:
    """-w log(sum exp(-d / w)): below the smallest distance, by at most w log(n)."""
    values = _distances_by_points(problem, q)
    if not values:
        return np.inf
    least = reduce(smaller, values)
    terms = [np.exp((least - d) / width[0]) for d in values]
    return selected(is_finite(q), least - width[0] * np.log(total(*terms)), np.nan)


def _distances_by_points(problem: CollisionProblem, q: Scalars) -> list[Scalar]:
    """Distances of points that are fixed to links, whose derivatives are short."""
    robot = PosedRobot(problem, q)
    return [_closest_of_links(robot, *pair).distance for pair in robot.problem.pairs]


def in_collision(problem: CollisionProblem, q: Scalars) -> Scalar:
    """1 if two links of a pair overlap by more than `TOUCHING`, or if q is not finite, else 0."""
    robot = PosedRobot(problem, q)
    free: Scalar = selected(is_finite(q), 1.0, 0.0)
    for first, second in robot.problem.pairs:
        for a in robot.solids(first):
            for b in robot.solids(second):
                free = free * _is_free(a, b)
    return 1.0 - free


def _is_free(a: PlacedShape, b: PlacedShape) -> Scalar:
    """1 if two shapes do not overlap, else 0."""
    if isinstance(a, PlacedSphere) and isinstance(b, PlacedSphere):
        reach = larger(a.radius + b.radius - TOUCHING, 0.0)
        return reach * reach <= _squared(a.center, b.center)
    return closest(a, b).distance >= -TOUCHING


def _squared(a: Vec, b: Vec) -> Scalar:
    between = b - a
    return between.dot(between)


def _by_radius(solids: Sequence[PlacedShape]) -> tuple[list[list[PlacedSphere]], list[PlacedShape]]:
    """The balls among some shapes, grouped by radius, and the other shapes."""
    balls: dict[Any, list[PlacedSphere]] = {}
    for solid in solids:
        if isinstance(solid, PlacedSphere):
            r = solid.radius
            balls.setdefault(r if isinstance(r, float) else id(r), []).append(solid)
    others: list[PlacedShape] = [solid for solid in solids if not isinstance(solid, PlacedSphere)]
    return list(balls.values()), others


def distance_of(first: Sequence[PlacedShape], second: Sequence[PlacedShape]) -> Scalar:
    """The smallest distance of two groups of shapes."""
    (balls_a, others_a), (balls_b, others_b) = _by_radius(first), _by_radius(second)
    values: list[Scalar] = []
    for a in balls_a:
        for b in balls_b:
            squares = [_squared(x.center, y.center) for x in a for y in b]
            reach = a[0].radius + b[0].radius
            values.append(square_root(reduce(smaller, squares)) - reach)
    values += [closest(a, b).distance for a in others_a for b in second]
    values += [
        closest(a, b).distance for a in first if isinstance(a, PlacedSphere) for b in others_b
    ]
    return reduce(smaller, values)


def _closest_of_links(robot: PosedRobot, first: str, second: str) -> Closest:
    """Closest points of two links.

    Of spheres, those that are nearest are selected by their centers in the axes of the link, which
    are constants. So derivatives do not visit the other spheres.
    """
    nearest: list[Closest] = []
    places = [robot.link_pose(link) for link in (first, second)]
    solids = [robot.solids(link) for link in (first, second)]
    spheres = _nearest_spheres(robot, first, second)
    if spheres is not None:
        balls = [PlacedSphere(o + R @ p, r) for (R, o), p, r in zip(places, *spheres, strict=True)]
        nearest.append(closest(*balls))
    nearest += [
        closest(a, b)
        for a in solids[0]
        for b in solids[1]
        if not (isinstance(a, PlacedSphere) and isinstance(b, PlacedSphere))
    ]
    return reduce(nearer, nearest)


def _nearest_spheres(
    robot: PosedRobot, first: str, second: str
) -> tuple[tuple[Vec, Vec], tuple[Scalar, Scalar]] | None:
    """Centers, in the axes of their links, and radii of the nearest spheres of two links."""
    local = [_local_balls(robot.problem.shapes(link)) for link in (first, second)]
    a_solids, b_solids = (robot.solids(link) for link in (first, second))
    candidates: list[tuple[Any, ...]] = []
    for r_a, a in local[0].items():
        for r_b, b in local[1].items():
            # the nearest of b to each sphere of a, then the nearest of these: fewer selections
            options: list[tuple[Any, ...]] = []
            for i, p in a:
                center = a_solids[i].center  # pyright: ignore[reportAttributeAccessIssue]
                squares = [(_squared(center, b_solids[j].center), q) for j, q in b]  # pyright: ignore[reportAttributeAccessIssue]
                options.append((*_nearest(squares), p))
            square, q, p = _nearest(options)
            distance = square_root(square) - (r_a + r_b)
            candidates.append((distance, (p, q), (r_a, r_b)))
    if not candidates:
        return None
    _, points, radii = _nearest(candidates)
    return points, radii


def nearest_spheres(problem: CollisionProblem, q: Scalars) -> Matrix:
    """(n, 7) the nearest spheres of each pair of links that consist of spheres.

    A row contains their centers, each in the axes of its link, and the sum of their radii.
    """
    robot = PosedRobot(problem, q)
    rows: Matrix = []
    for pair in robot.problem.pairs:
        spheres = _nearest_spheres(robot, *pair)
        assert spheres is not None
        (a, b), (r_a, r_b) = spheres
        rows.append([*a, *b, r_a + r_b])
    return rows


def _nearest(options: Sequence[tuple[Any, ...]]) -> Any:
    """The tuple whose first entry is the smallest."""
    return reduce(lambda x, y: selected(y[0] < x[0], y, x), options)


def closest_to(robot: PosedRobot, link: str, other: Any) -> Closest:
    """Closest points of a link and another shape.

    Of the spheres of the link, the nearest is selected before its closest points are computed.
    """
    R, o = robot.link_pose(link)
    solids = robot.solids(link)
    candidates: list[tuple[Scalar, tuple[Vec, float]]] = []
    for r, group in _local_balls(robot.problem.shapes(link)).items():
        options = [(_rank(solids[i].center, other), p) for i, p in group]  # pyright: ignore[reportAttributeAccessIssue]
        rank, p = _nearest(options)
        core = square_root(rank) if isinstance(other, PlacedSphere) else rank
        candidates.append((core - r, (p, r)))
    nearest = [closest(solid, other) for solid in solids if not isinstance(solid, PlacedSphere)]
    if candidates:
        _, (p, r) = _nearest(candidates)
        nearest.append(closest(PlacedSphere(o + R @ p, r), other))
    return reduce(nearer, nearest)


def _rank(center: Vec, other: Any) -> Scalar:
    """A number that orders points by their distance to a shape."""
    if isinstance(other, PlacedSphere):
        return _squared(center, other.center)
    return closest(PlacedSphere(center, 0.0), other).distance


def _local_balls(shapes: Sequence[Shape]) -> dict[float, list[tuple[int, Vec]]]:
    """The spheres among the shapes of a link, by radius: index and center in the link."""
    balls: dict[float, list[tuple[int, Vec]]] = {}
    for index, shape in enumerate(shapes):
        if isinstance(shape.geometry, Sphere):
            center = as_vec(shape.link_H_shape.xyz)
            balls.setdefault(shape.geometry.radius, []).append((index, center))
    return balls


# A quantity of robots that consist of spheres.
NEAREST_SPHERES = Quantity(
    "nearest_spheres",
    (Q,),
    ((lambda problem: len(problem.pairs), 7),),
    with_context(nearest_spheres),
)
