"""Collisions and distances between the frames of a workcell that have collision shapes.

Forward kinematics computes all poses, for a batch of states at once. Distances with a closed form
are computed by NumPy for all rows, the others by the package `coal`, one after another. Nothing is
compiled, so new structures and attachments take no extra time.

Bodies     Frames that are fixed to each other form a body. A movable frame that a body carries is
           part of it; on WORLD and what is fixed to it, it is a body of its own.
Unchecked  Frames of one body; bodies that a joint connects, or the nearest frame with shapes if the
           joint is on WORLD; objects that a body carries and the bodies after its joints, such as
           fingers; pairs that the cell excludes; and links of one robot that overlap in all of many
           random states.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import inf, pi
from typing import TypeAlias

import numpy as np

from linkwork.collision.exact.pair_queries import links_overlap, shape_pairs
from linkwork.collision.exact.queries import Meshes, ShapeQueries, check_meshes, smallest
from linkwork.collision.exact.search import HUGE
from linkwork.engine.symbolic.arrays import Array
from linkwork.io.mesh_files import read_surface
from linkwork.model.geometry import Geometry, Mesh, Primitive
from linkwork.workcell.cell.data import CellData
from linkwork.workcell.cell.devices import DeviceSpec, RobotDevice
from linkwork.workcell.cell.frames import CellFrame
from linkwork.workcell.cell.structure import frames_from, parent_index
from linkwork.workcell.kinematics.fk import world_H_frames
from linkwork.workcell.state.state import State, equal_rows, flat_rows

Pair: TypeAlias = tuple[str, str]

SAMPLES = 50  # random states in which links that always overlap are found
_UNLIMITED = {"prismatic": 1.0}  # random positions of joints without limits [m]; others: pi [rad]


class CellCollisions:
    """The frames of a cell with collision shapes, and their pairs."""

    def __init__(self, cell: CellData, meshes: Meshes) -> None:
        self.cell = cell
        self.frames = [k for k, frame in enumerate(cell.frames) if frame.collisions]
        self._column = {frame: k for k, frame in enumerate(self.frames)}
        self._shapes = ShapeQueries(meshes)
        self._spheres = {k: _bounding_sphere(cell.frames[k]) for k in self.frames}
        excluded = {frozenset(pair) for pair in cell.excluded_pairs}
        roots = cell.layout.part_roots
        names = cell.frame_names
        default = _Structure(cell, cell.default_state.parents)
        candidates = [
            (a, b)
            for a, b in combinations(self.frames, 2)
            if frozenset((names[a], names[b])) not in excluded
            # frames that no attachment separates are unchecked in every state
            and (roots[a] != roots[b] or default.is_checked(a, b))
        ]
        overlapping = self._always_overlapping(candidates, default)
        self.pairs = [pair for pair in candidates if pair not in overlapping]
        self.names: tuple[Pair, ...] = tuple((names[a], names[b]) for a, b in self.pairs)

    def distances(self, state: State) -> Array:
        """Compute signed distances of the pairs, (..., n); infinite where a pair is not checked."""
        poses, checked = self._poses(state), self._checked(state)
        distances = np.full(checked.shape, inf)
        for k, (a, b) in enumerate(self.pairs):
            rows = checked[:, k].nonzero()[0]
            if rows.size:
                pairs = shape_pairs(*self._placed(a, b, poses[rows]), "frame")
                distances[rows, k] = smallest(self._shapes.nearest(*pair) for pair in pairs)[:, 0]
        self._shapes.warn_of_hulls(self.cell.name)
        return distances.reshape(*state.batch_shape, len(self.pairs))

    def colliding(self, state: State) -> Array:
        """Return whether the frames of each pair overlap, (..., n)."""
        poses, colliding = self._poses(state), self._checked(state)
        for k, (a, b) in enumerate(self.pairs):
            colliding[:, k] &= self._may_touch(a, b, poses)
            rows = colliding[:, k].nonzero()[0]
            if rows.size:
                colliding[rows, k] = self._overlap(a, b, poses[rows])
        self._shapes.warn_of_hulls(self.cell.name)  # meshes are read when frames come close
        return colliding.reshape(*state.batch_shape, len(self.pairs))

    def any_colliding(self, state: State) -> Array:
        """Return whether any two frames overlap, (...)."""
        return np.any(self.colliding(state), axis=-1)

    def _poses(self, state: State) -> Array:
        """Compute poses in the world, (rows, frames with shapes, 4, 4)."""
        names = tuple(self.cell.frame_names[k] for k in self.frames)
        rows = len(flat_rows(state.parents))  # not -1, which numpy rejects without frames
        return world_H_frames(self.cell, names, state).reshape(rows, len(names), 4, 4)

    def _checked(self, state: State) -> Array:
        """Return whether each pair is checked in each state, (rows, n)."""
        parents = flat_rows(state.parents)
        checked = np.zeros((len(parents), len(self.pairs)), dtype=bool)
        for rows in equal_rows(parents):
            structure = _Structure(self.cell, parents[rows[0]])
            checked[rows] = [structure.is_checked(a, b) for a, b in self.pairs]
        return checked

    def _may_touch(self, a: int, b: int, poses: Array) -> Array:
        """Return whether the bounding spheres of two frames touch, (rows,)."""
        (c_a, r_a), (c_b, r_b) = self._spheres[a], self._spheres[b]
        H_a, H_b = poses[:, self._column[a]], poses[:, self._column[b]]
        between = (H_b @ c_b - H_a @ c_a)[:, :3]
        with np.errstate(over="ignore"):
            between = np.linalg.norm(between, axis=-1)
        return ~((between > r_a + r_b) & (between < HUGE))

    def _overlap(self, a: int, b: int, poses: Array) -> Array:
        """Return whether the shapes of two frames overlap, (rows,)."""
        return links_overlap(self._shapes, *self._placed(a, b, poses), "frame")

    def _placed(self, a: int, b: int, poses: Array) -> tuple[list[CellFrame], list[Array]]:
        """Return two frames and their poses (rows, 4, 4)."""
        return [self.cell.frames[k] for k in (a, b)], [poses[:, self._column[k]] for k in (a, b)]

    def _always_overlapping(
        self, pairs: Sequence[tuple[int, int]], structure: _Structure
    ) -> set[tuple[int, int]]:
        """Return pairs of links of one robot that overlap in all of many random states."""
        robots = [_links(self.cell, device) for device in self.cell.devices]
        left = [
            (a, b)
            for a, b in pairs
            if any(a in robot and b in robot for robot in robots) and structure.is_checked(a, b)
        ]
        rng = np.random.default_rng(0)
        for _ in range(SAMPLES if left else 0):
            poses = self._poses(_random_state(self.cell, rng))
            left = [
                (a, b)
                for a, b in left
                if self._may_touch(a, b, poses)[0] and self._overlap(a, b, poses)[0]
            ]
        return set(left)


def _links(cell: CellData, device: DeviceSpec) -> set[int]:
    """Return the frames of a robot, or of a device with its frames in a file: below its base."""
    if isinstance(device, RobotDevice):
        return {cell.frame_index(device.frame(name)) for name in device.model.frame_names}
    below = frames_from(cell.layout, cell.default_state.parents, cell.frame_index(device.base))
    return {k for k, _ in below if cell.frame_names[k].startswith(f"{device.name}.")}


def collisions_of(cell: CellData, meshes: Meshes) -> CellCollisions:
    """Return the pairs of frames that are compared, by what meshes stand for."""
    check_meshes(meshes)
    return cell.cache.get("collisions", meshes, CellCollisions, cell, meshes)


class _Structure:
    """The bodies of a cell with some attachments."""

    def __init__(self, cell: CellData, parents: Array) -> None:
        self._cell, self._parents = cell, parents
        self._bodies: dict[int, int] = {0: 0}
        self._carried: set[int] = set()  # movable frames in a body, and what is fixed to them
        self._joined: set[tuple[int, int]] = set()  # bodies after and before a joint
        self._mounts: set[tuple[int, int]] = set()  # bodies, and frames of the world they are on
        for k, frame in enumerate(cell.frames):
            if frame.motion is None:
                continue
            above = self._body(self._parent(k))
            if above:
                self._joined.add((k, above))
            else:
                self._mounts.add((k, self._mount(k)))
        for device in cell.devices:
            if isinstance(device, RobotDevice):
                for joint in device.closing_joints():
                    ends = [device.frame(link) for link in (joint.first, joint.second)]
                    a, b = (self._body(cell.frame_index(name)) for name in ends)
                    self._joined |= {(a, b), (b, a)}

    def is_checked(self, a: int, b: int) -> bool:
        """Whether two frames can collide."""
        first, second = self._body(a), self._body(b)
        if first == second:
            return False
        # an object in a hand touches its fingers, but not the link before the hand
        if (first, second) in self._joined and a not in self._carried:
            return False
        if (second, first) in self._joined and b not in self._carried:
            return False
        return (first, b) not in self._mounts and (second, a) not in self._mounts

    def _parent(self, frame: int) -> int:
        return parent_index(self._cell.layout, frame, self._parents)

    def _mount(self, joint: int) -> int:
        """Return the nearest frame with shapes that carries a joint; WORLD if there is none."""
        frame = self._parent(joint)
        while frame and not self._cell.frames[frame].collisions:
            frame = self._parent(frame)
        return frame

    def _body(self, frame: int) -> int:
        """Return the frame that represents the body of a frame: where it moves on its parent."""
        if frame not in self._bodies:
            cell_frame = self._cell.frames[frame]
            parent = self._parent(frame)
            above = self._body(parent)
            if cell_frame.motion is not None or (cell_frame.movable and not above):
                self._bodies[frame] = frame
            else:
                self._bodies[frame] = above
                if cell_frame.movable or parent in self._carried:
                    self._carried.add(frame)
        return self._bodies[frame]


def _random_state(cell: CellData, rng: np.random.Generator) -> State:
    """Return the default state with random positions of all joints with one coordinate."""
    state = cell.default_state
    values = state.values.copy()
    for k, frame in enumerate(cell.frames):
        if frame.motion is None or frame.size != 1:
            continue
        limits, bound = frame.motion.limits, _UNLIMITED.get(frame.motion.kind, pi)
        lower = limits.lower if limits.lower > -inf else min(-bound, limits.upper)
        upper = limits.upper if limits.upper < inf else max(bound, lower)
        values[cell.layout.span(k)] = rng.uniform(lower, upper)
    return State.trusted(cell.layout, values, state.parents)


def _bounding_sphere(frame: CellFrame) -> tuple[Array, float]:
    """Return the center (4,), ending with 1, and the radius of a sphere around all shapes."""
    balls = [(shape.link_H_shape.matrix(), *_ball(shape.geometry)) for shape in frame.collisions]
    centers = np.array([(H @ [*center, 1.0])[:3] for H, center, _ in balls])
    middle = 0.5 * (centers.min(axis=0) + centers.max(axis=0))
    reach = np.linalg.norm(centers - middle, axis=-1) + [radius for _, _, radius in balls]
    return np.array([*middle, 1.0]), float(reach.max())


def _ball(geometry: Geometry) -> tuple[Sequence[float], float]:
    """Return the center and radius of a sphere that contains a shape, in its axes."""
    origin = (0.0, 0.0, 0.0)
    if isinstance(geometry, Primitive):
        return origin, geometry.support().radius
    assert isinstance(geometry, Mesh)
    surface, _ = read_surface(geometry)
    if surface is None:
        return origin, inf  # `coal` reports the reason
    points = surface.vertices
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    return middle.tolist(), float(np.linalg.norm(points - middle, axis=-1).max())
