"""Collisions and motion planning of panda made of spheres, against Pinocchio and VAMP's figures.

With the environment variable VAMP_RESOURCES, the folder `resources` of VAMP's source distribution,
the robot and the problems are VAMP's (the MotionBenchMaker problems of its paper), and the problems
of its ur5 and fetch are solved, too. Otherwise the robot is spherized by linkwork, and the problems
are random ones of the same kind.

Every path is verified by Pinocchio and coal, at configurations that are nearer to each other than
those that the planner tests.
"""

from __future__ import annotations

import os
import re
import tarfile
import time
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from report import Section
from timing import Patience, Task, best

import linkwork as lw
from linkwork.engine.symbolic.arrays import Array
from linkwork.spatial import quat
from robots import CASES, load_quietly, model_of

PANDA = next(case for case in CASES if case.name == "panda")
JOINTS = [f"panda_joint{k}" for k in range(1, 8)]
VAMP_ROBOTS = ("panda", "ur5", "fetch")
READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
ROWS, PROBLEMS, REPEATS = 4096, 100, 5
IK_ROWS = 10_000  # targets of inverse kinematics
MOST_WORLDS = 200  # random worlds of a group
FASTER_THAN_PINOCCHIO = 20.0
DEEPEST = 0.02  # [m] overlap between two configurations that were tested
FINE = 1.0 / 128.0  # distance of configurations at which paths are verified
PUBLISHED, FACTOR = 35.0, 3.0  # VAMP's median [us], and what linkwork may take times that


class Problem(NamedTuple):
    """A planning problem."""

    group: str
    start: Array
    goal: Array
    obstacles: lw.Obstacles


def collision(patience: Patience, n_problems: int = PROBLEMS) -> Section:
    """Tests of configurations, and planning."""
    section = Section("Collisions and motion planning")
    _configurations(section, patience)
    _distances(section, patience)
    _planning(section, n_problems)
    if _resources() is not None:
        _success_rates(section, n_problems)
    return section


def _resources() -> Path | None:
    return _vamp_folder("panda")


def _vamp_folder(robot: str) -> Path | None:
    folder = os.environ.get("VAMP_RESOURCES")
    return Path(folder) / robot if folder else None


@cache
def spherized(tolerance: float = 0.02) -> lw.CollisionModel:
    """Panda made of spheres by linkwork, without the joints of its fingers."""
    model = lw.spherize(model_of(PANDA).reduced(JOINTS), tolerance=tolerance).model
    return lw.CollisionModel(model, floating=False)


@cache
def robot() -> lw.CollisionModel:
    """Panda made of spheres, without the joints of its fingers."""
    folder = _resources()
    if folder is None:
        return spherized()
    model = load_quietly(folder / "panda_spherized.urdf")
    return lw.CollisionModel(model, floating=False)


def _configurations(section: Section, patience: Patience) -> None:
    panda = robot()
    q = panda.kindyn.random(ROWS, seed=0)
    world = _shelf(np.random.default_rng(0))
    panda.warmup("in_collision")  # pyright: ignore[reportArgumentType]
    one, edges = q[1].copy(), (q[::2].copy(), q[::2] + 0.2 * (q[1::2] - q[::2]))
    tasks = {
        "linkwork, one call": Task(panda.in_collision, (one,)),
        "linkwork, batch": Task(panda.in_collision, (q,), {"threads": 1}),
        "linkwork, batch with obstacles": Task(
            panda.in_collision, (q,), {"obstacles": world, "threads": 1}
        ),
        "linkwork, motions with obstacles": Task(
            panda.check_edges, edges, {"obstacles": world, "threads": 1}
        ),
        **_pinocchio(panda, one),
    }
    times = best(tasks, patience)
    rows = {
        "linkwork, batch": ROWS,
        "linkwork, batch with obstacles": ROWS,
        "linkwork, motions with obstacles": ROWS // 2,
    }
    n = sum(len(panda.model.link(link).collisions) for link in panda.links)
    title = f"panda, {n} spheres, {len(panda.pairs)} pairs of links, {world.n} obstacles"
    table = section.table(title, "", "microseconds")
    for name, seconds in times.items():
        table.add(name, f"{1e6 * seconds / rows.get(name, 1):.3f}")
    for way in ("one call", "batch"):
        ratio = times["Pinocchio"] / times[f"linkwork, {way}"] * rows.get(f"linkwork, {way}", 1)
        section.check(f"in_collision against Pinocchio, {way}", ratio, FASTER_THAN_PINOCCHIO)
    section.data.append({name: seconds / rows.get(name, 1) for name, seconds in times.items()})


def _distances(section: Section, patience: Patience) -> None:
    """Distances with their Jacobian, and inverse kinematics without self-collisions."""
    robots = {"spheres of lw.spherize, protrusion 3 cm": spherized(0.03)}
    if _resources() is not None:
        robots["spheres of VAMP"] = robot()
    table = section.table(
        "Distances of all pairs with Jacobian [us], and solutions of ik(avoid=) per second",
        *("panda", "spheres", "one call", "batch, one thread", "batch, all threads", "ik"),
    )
    for name, panda in robots.items():
        q = panda.kindyn.random(2 * IK_ROWS, seed=0)
        function: Any = panda.function("distances", "distance_jacobian")
        function.warmup()
        out = function(q[:ROWS])
        times = best(
            {
                "one": Task(function, (q[0].copy(),)),
                "batch": Task(function, (q[:ROWS],), {"out": out, "threads": 1}),
                "threads": Task(function, (q[:ROWS],), {"out": out}),
            },
            patience,
        )
        us = [1e6 * times["one"], *(1e6 * times[way] / ROWS for way in ("batch", "threads"))]
        rate = _solutions_per_second(panda, q)
        n = sum(len(panda.model.link(link).collisions) for link in panda.links)
        table.add(name, n, *(f"{x:.2f}" for x in us), f"{rate:,.0f}")
        section.check(f"{name}: distances and Jacobian, one call [us]", us[0], 5.0, at_most=True)
        section.check(f"{name}: distances and Jacobian, batch [us]", us[2], 1.0, at_most=True)
        section.check(f"{name}: solutions of ik per second", rate, 10_000.0)


def _solutions_per_second(panda: lw.CollisionModel, q: Array) -> float:
    free = q[~np.asarray(panda.in_collision(q))][:IK_ROWS]
    targets = {"panda_hand": panda.kindyn.transform("panda_hand", free)}
    seconds, solved = [], 0
    for _ in range(REPEATS):
        start = time.perf_counter()
        solution = lw.ik(panda.kindyn, targets, avoid=panda, margin=0.0)
        seconds.append(time.perf_counter() - start)
        solved = int(np.count_nonzero(solution.converged))
    return solved / min(seconds)


def _pinocchio(panda: lw.CollisionModel, q: Array) -> dict[str, Task]:
    """The same spheres and pairs in Pinocchio."""
    import pinocchio as pin

    model, shapes = _pinocchio_model(panda)
    data, shape_data = model.createData(), shapes.createData()
    call = pin.computeCollisions
    return {"Pinocchio": Task(call, (model, data, shapes, shape_data, q, True))}


def _pinocchio_model(robot: lw.CollisionModel) -> tuple[Any, Any]:
    """A robot of spheres in Pinocchio: the model, and the shapes with the pairs of links."""
    import pinocchio as pin

    text = lw.dump_urdf(robot.model)
    model = pin.buildModelFromXML(text)
    shapes = pin.buildGeomFromUrdfString(model, text, pin.GeometryType.COLLISION)
    links = [shape.name.rpartition("_")[0] for shape in shapes.geometryObjects]
    pairs = {frozenset(pair) for pair in robot.pairs}
    for i, a in enumerate(links):
        for j, b in enumerate(links[:i]):
            if frozenset((a, b)) in pairs:
                shapes.addCollisionPair(pin.CollisionPair(i, j))
    return model, shapes


def _overlaps(robot: lw.CollisionModel, path: Array, obstacles: lw.Obstacles) -> Array:
    """(2,) whether a path overlaps anything, and whether by more than DEEPEST: by coal."""
    import coal
    import pinocchio as pin

    model, shapes = _pinocchio_model(robot)
    n = len(shapes.geometryObjects)
    solids = [(coal.Sphere(r[3]), np.eye(3), r[:3]) for r in obstacles.spheres]
    solids += [(coal.Box(*r[7:]), quat.to_rotation(r[3:7]), r[:3]) for r in obstacles.boxes]
    for row in obstacles.capsules:
        axis = row[3:6] - row[:3]
        turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), axis).matrix()
        solid = coal.Capsule(row[6], float(np.linalg.norm(axis)))
        solids.append((solid, turn, 0.5 * (row[:3] + row[3:6])))
    for k, (solid, R, p) in enumerate(solids):
        place = pin.SE3(np.asarray(R, float), np.asarray(p, float))
        added = shapes.addGeometryObject(pin.GeometryObject(f"obstacle {k}", 0, place, solid))
        for i in range(n):
            shapes.addCollisionPair(pin.CollisionPair(i, added))
    q = np.concatenate([_between(a, b) for a, b in pairwise(path)])
    data = model.createData()
    results: list[bool] = []
    for margin in (0.0, -DEEPEST):
        shape_data = shapes.createData()
        for request in shape_data.collisionRequests:
            request.security_margin = margin
        results.append(
            any(pin.computeCollisions(model, data, shapes, shape_data, x, True) for x in q)
        )
        if not results[0]:
            return np.array([False, False])
    return np.array(results)


def _between(a: Array, b: Array) -> Array:
    n = int(np.ceil(np.linalg.norm(b - a) / FINE)) + 1
    return a + np.linspace(0.0, 1.0, n)[:, None] * (b - a)


def _success_rates(section: Section, n_problems: int) -> None:
    """VAMP's problems for several robots, with the pairs of their SRDF files."""
    columns = ("problems", "ends valid", "solved", "overlap between tests", f"> {DEEPEST} m")
    table = section.table("Planning, VAMP's robots; paths verified by coal", "", *columns)
    for name in VAMP_ROBOTS:
        folder = _vamp_folder(name)
        assert folder is not None
        model = load_quietly(folder / f"{name}_spherized.urdf")
        robot = lw.CollisionModel(model, floating=False, pairs="srdf", srdf=folder / f"{name}.srdf")
        counts = np.zeros(5, dtype=int)
        for problem in _problems_of(folder / "problems.tar.bz2", n_problems, list(robot.layout.q)):
            _, start, goal, obstacles = problem
            plan = lw.plan(robot, start, goal, obstacles, resolution=1.0 / 32.0)
            is_valid = "collision" not in plan.reason and "limits" not in plan.reason
            counts[:3] += [1, is_valid, bool(plan)]
            if plan.path is not None:
                counts[3:] += _overlaps(robot, plan.path, obstacles)
        table.add(name, *counts.tolist())
        section.check(f"{name}: problems solved", counts[2] / max(counts[1], 1), 0.99)
        section.check(f"{name}: paths with overlaps", float(counts[4]), 0.0, at_most=True)


def _planning(section: Section, n_problems: int) -> None:
    panda = robot()
    groups: dict[str, list[Problem]] = {}
    for problem in _problems(n_problems):
        groups.setdefault(problem.group, []).append(problem)
    columns = ("problems", "solved", "median [us]", "mean", "95 %", "median with 30 shortcuts")
    table = section.table("Planning", "", *columns)
    everything: list[Array] = []
    n_valid = n_solved = 0
    for group, problems in groups.items():
        valid, times = _times(panda, problems)
        n_valid, n_solved = n_valid + valid, n_solved + len(times)
        everything.append(times)
        table.add(group, valid, len(times), *_figures(times))
    times = np.vstack(everything)
    table.add("all", n_valid, n_solved, *_figures(times))
    source = "VAMP's panda problems" if _resources() else "random problems"
    median = float(np.median(times[:, 0]))
    section.notes.append(
        f"Times are those of calls from Python on {source}, the least of {REPEATS}. VAMP's paper"
        f" reports a median of {PUBLISHED:g} microseconds for its planner, on another machine."
    )
    section.check("median planning time [us]", 1e6 * median, FACTOR * PUBLISHED, at_most=True)
    section.check("problems solved", n_solved / max(n_valid, 1), 0.99)
    section.data.append({"median": median, "solved": n_solved, "problems": n_valid})


def _figures(times: Array) -> list[str]:
    """Median, mean and 95th percentile without shortcuts; the median with them."""
    if not len(times):
        return ["-"] * 4
    plain, short = 1e6 * times[:, 0], 1e6 * times[:, 1]
    values = np.median(plain), plain.mean(), np.percentile(plain, 95), np.median(short)
    return [f"{value:.0f}" for value in values]


def _times(panda: lw.CollisionModel, problems: Sequence[Problem]) -> tuple[int, Array]:
    """The number of valid problems, and (solved, 2) times without and with shortcuts."""
    times: list[list[float]] = []
    n_valid = 0
    for _, start, goal, obstacles in problems:
        first = lw.plan(panda, start, goal, obstacles, resolution=1.0 / 32.0)
        if "collision" in first.reason or "limits" in first.reason:
            continue
        n_valid += 1
        if first:
            assert first.path is not None
            _check_path(panda, first.path, obstacles)
            named = {"resolution": 1.0 / 32.0}
            shortcuts = [{"shortcuts": 0}, {}]
            times.append([_least(panda, start, goal, obstacles, named | x) for x in shortcuts])
    return n_valid, np.array(times).reshape(-1, 2)


def _check_path(panda: lw.CollisionModel, path: Array, obstacles: lw.Obstacles) -> None:
    """Verify a path in float64, where it was tested and in between."""
    fractions = np.linspace(0.0, 1.0, 65)[:, None, None]
    q = (path[:-1] + fractions * (path[1:] - path[:-1])).reshape(-1, panda.nq)
    least = panda.distances_to(q, obstacles).min() if obstacles.n else np.inf
    least = min(least, panda.minimum_distance(q).min())
    assert least > -DEEPEST, f"a path overlaps by {-least:g} m"


def _least(
    panda: lw.CollisionModel, start: Array, goal: Array, obstacles: lw.Obstacles, named: Any
) -> float:
    least = float("inf")
    for _ in range(REPEATS):
        begin = time.perf_counter()
        lw.plan(panda, start, goal, obstacles, **named)
        least = min(least, time.perf_counter() - begin)
    return least


def _problems(n: int) -> Iterator[Problem]:
    folder = _resources()
    if folder is None:
        return _random_problems(n)
    return _problems_of(folder / "problems.tar.bz2", n, JOINTS)


# Random problems: reach into a shelf, onto a table, into a cage.


def _box(center: Sequence[float], edges: Sequence[float], yaw: float = 0.0) -> list[float]:
    return [*center, np.cos(yaw / 2.0), 0.0, 0.0, np.sin(yaw / 2.0), *edges]


def _shelf(rng: Any) -> lw.Obstacles:
    x, z = rng.uniform(0.6, 0.7), rng.uniform(0.25, 0.45)
    boards = [_box((x, 0.0, z + k * 0.3), (0.4, 1.0, 0.03)) for k in range(3)]
    sides = [_box((x, y, z + 0.3), (0.4, 0.03, 0.63)) for y in (-0.5, 0.0, 0.5)]
    back = [_box((x + 0.2, 0.0, z + 0.3), (0.02, 1.0, 0.63))]
    return lw.Obstacles(boxes=boards + sides + back)


def _table(rng: Any) -> lw.Obstacles:
    top = [_box((0.65, 0.0, 0.2), (0.7, 1.4, 0.04))]
    place = rng.uniform((0.4, -0.6), (0.9, 0.6), (6, 2))
    cans = [
        [x, y, 0.24, x, y, 0.24 + h, 0.04]
        for (x, y), h in zip(place, rng.uniform(0.05, 0.3, 6), strict=True)
    ]
    return lw.Obstacles(boxes=top, capsules=cans)


def _cage(rng: Any) -> lw.Obstacles:
    x, size, height = rng.uniform(0.6, 0.7), 0.6, 0.5
    posts = [
        _box((x + dx, dy, height / 2.0), (0.02, 0.02, height))
        for dx in (-size / 2.0, size / 2.0)
        for dy in np.linspace(-size / 2.0, size / 2.0, 3)
    ]
    return lw.Obstacles(boxes=posts)


# how the world of a group is built, and the corners of the region of the hand
WORLDS = {
    "shelf": (_shelf, (0.5, -0.4, 0.35), (0.75, 0.4, 0.9)),
    "table": (_table, (0.4, -0.6, 0.35), (0.8, 0.6, 0.6)),
    "cage": (_cage, (0.5, -0.2, 0.1), (0.75, 0.2, 0.4)),
}


def _random_problems(n: int) -> Iterator[Problem]:
    panda, rng = robot(), np.random.default_rng(0)
    for group, (build, lower, upper) in WORLDS.items():
        count = 0
        for _ in range(MOST_WORLDS):
            obstacles = build(rng)
            targets = rng.uniform(lower, upper, (64, 3))
            solutions = lw.ik(panda.kindyn, {"panda_hand": targets}, READY, restarts=4)
            is_good = solutions.converged & ~panda.in_collision(solutions.q, obstacles=obstacles)
            if panda.in_collision(READY, obstacles=obstacles):
                continue
            for goal in solutions.q[is_good][: min(4, n - count)]:
                yield Problem(group, READY, goal, obstacles)
                count += 1
            if count == n:
                break


# VAMP's problems: scenes and requests of MoveIt.


def _problems_of(path: Path, n: int, joints: Sequence[str]) -> Iterator[Problem]:
    import yaml

    parts: dict[tuple[str, int], dict[str, Any]] = {}
    with tarfile.open(path) as archive:
        for member in archive:
            found = re.fullmatch(r".*/(\w+)/(scene|request)(\d+)\.yaml", member.name)
            if found is None or int(found[3]) > n:
                continue
            file = archive.extractfile(member)
            assert file is not None
            loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
            content = yaml.load(file.read(), Loader=loader)
            parts.setdefault((found[1], int(found[3])), {})[found[2]] = content
    for (group, _), part in sorted(parts.items()):
        request = part["request"]
        state = request["start_state"]["joint_state"]
        constraints = request["goal_constraints"][0]["joint_constraints"]
        start = dict(zip(state["name"], state["position"], strict=True))
        goal = {one["joint_name"]: one["position"] for one in constraints}
        ends = [np.array([values[name] for name in joints], float) for values in (start, goal)]
        yield Problem(group, *ends, _obstacles(part["scene"], is_box=group.startswith("box")))


def _obstacles(scene: dict[str, Any], *, is_box: bool) -> lw.Obstacles:
    """The objects of a scene: cylinders as capsules or, as VAMP has it in one group, as boxes."""
    rows: dict[str, list[list[float]]] = {"boxes": [], "capsules": [], "spheres": []}
    for body in scene["world"]["collision_objects"]:
        H = _pose(body["pose"]) if "pose" in body else np.eye(4)
        for primitive, pose in zip(body["primitives"], body["primitive_poses"], strict=True):
            world_H_shape = H @ _pose(pose)
            center, R = world_H_shape[:3, 3], world_H_shape[:3, :3]
            sizes = primitive["dimensions"]
            if primitive["type"] == "sphere":
                rows["spheres"].append([*center, sizes[0]])
            elif primitive["type"] == "cylinder" and not is_box:
                half = 0.5 * sizes[0] * R[:, 2]
                rows["capsules"].append([*(center - half), *(center + half), sizes[1]])
            else:
                is_cylinder = primitive["type"] == "cylinder"
                edges = [2.0 * sizes[1]] * 2 + [sizes[0]] if is_cylinder else sizes
                rows["boxes"].append([*center, *quat.from_rotation(R), *edges])
    return lw.Obstacles(**rows)


def _pose(entry: dict[str, Any]) -> Array:
    x, y, z, w = np.array(entry["orientation"], float) / np.linalg.norm(entry["orientation"])
    H = np.eye(4)
    H[:3, :3], H[:3, 3] = quat.to_rotation(np.array([w, x, y, z])), entry["position"]
    return H
