"""Inverse kinematics: how often, and how fast, random poses are reached, against other libraries.

Targets are the poses of a frame in random configurations within the limits, so all can be reached.
Everybody starts at the neutral configuration; whether a result is good is decided by Pinocchio's
forward kinematics of the robot's file, and by the limits of its joints.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from ik_peers import POSITION, ROTATION, SOLVERS, STEPS, Chain, PyTorchKinematics, Solver
from report import Section

import linkwork as lw
from linkwork.engine.symbolic.arrays import Array
from robots import Case, model_of

CASES = (
    Case("ur5", "ur_description/urdf/ur5_robot.urdf", "tool0"),
    Case("panda", "panda_description/urdf/panda.urdf", "panda_hand"),
    Case("talos_reduced", "talos_data/robots/talos_reduced.urdf", "gripper_left_base_link"),
)
TARGETS, RESTARTS = 1000, 32
CALLS, PASSES = 300, 5  # with one target each; of all passes the shortest time counts
TORCH_TARGETS = 200  # in one batch: it keeps every start of every target in memory
SLACK = 1e-6  # by which a result may leave a limit [rad]
WANTED = 0.999  # of the targets are reached
FASTER = 3.0  # than the fastest peer that reaches nine targets of ten, in batches


@dataclass(frozen=True)
class Problem:
    """A robot, its targets, and the judge."""

    case: Case
    n_targets: int

    @cached_property
    def kd(self) -> lw.KinDyn:
        """The robot of the file on a fixed base."""
        return lw.KinDyn(model_of(self.case), floating=False)

    @cached_property
    def joints(self) -> list[str]:
        """The joints that move the frame, from the base on."""
        J = self.kd.jacobian(self.case.frame, self.kd.random(seed=5))
        return [name for name in self.kd.joint_names if J[:, self.kd.layout.nu[name]].any()]

    @cached_property
    def columns(self) -> list[int]:
        """Where they are in q."""
        return [self.kd.layout.q[name].start for name in self.joints]

    @cached_property
    def chain(self) -> Chain:
        """The robot without all other joints."""
        model = self.kd.model.reduced(self.joints)
        own = lw.KinDyn(model, floating=False)
        assert list(own.joint_names) == self.joints
        limits = own.limits
        urdf = lw.dump_urdf(model)
        return Chain(model, self.case.frame, urdf, str(own.base), limits.lower, limits.upper)

    @cached_property
    def targets(self) -> Array:
        """(n, 4, 4)"""
        return self.kd.transform(self.case.frame, self.kd.random(self.n_targets, seed=0))

    @cached_property
    def starts(self) -> Array:
        """(1 + RESTARTS, joints) neutral, then at random."""
        first = self.kd.neutral()[self.columns]
        rng = np.random.default_rng(1)
        shape = (RESTARTS, len(self.columns))
        random = rng.uniform(self.chain.lower, self.chain.upper, shape)
        return np.vstack([np.clip(first, self.chain.lower, self.chain.upper), random])

    @cached_property
    def judge(self) -> Callable[[Array, Array], bool]:
        """Whether joints (n,) bring the frame to a target within the limits."""
        import pinocchio as pin

        model = pin.buildModelFromUrdf(str(self.case.path))
        data, frame = model.createData(), model.getFrameId(self.case.frame)
        at = [model.idx_qs[model.getJointId(name)] for name in self.joints]
        lower, upper = model.lowerPositionLimit[at], model.upperPositionLimit[at]

        def is_good(q: Array, target: Array) -> bool:
            full = pin.neutral(model)
            full[at] = q
            pin.forwardKinematics(model, data, full)
            pose = pin.updateFramePlacement(model, data, frame)
            distance = np.linalg.norm(pose.translation - target[:3, 3])
            angle = np.linalg.norm(pin.log3(pose.rotation.T @ target[:3, :3]))
            inside = (q >= lower - SLACK).all() and (q <= upper + SLACK).all()
            return bool(distance <= POSITION and angle <= ROTATION and inside)

        return is_good

    def rate(self, solutions: Sequence[Array | None]) -> float:
        """Which part of the first targets is reached."""
        pairs = zip(solutions, self.targets, strict=False)
        good = [q is not None and self.judge(np.asarray(q), target) for q, target in pairs]
        return float(np.mean(good))


def inverse_kinematics(n_targets: int = TARGETS) -> Section:
    """Success rates and times of linkwork and its peers."""
    section = Section(f"Inverse kinematics of {n_targets:,} poses that can be reached")
    for case in CASES:
        problem = Problem(case, n_targets)
        rows = _linkwork(problem) | _peers(section, problem)
        table = section.table(
            f"{case.name}, {case.frame}, {len(problem.joints)} joints",
            *("solver", "reached from neutral", "microseconds", "with restarts", "microseconds "),
        )
        for name, cells in rows.items():
            shown = [f"{100 * x:.1f} %" if k % 2 == 0 else f"{x:.1f}" for k, x in enumerate(cells)]
            table.add(
                name, *(text if cell >= 0 else "-" for text, cell in zip(shown, cells, strict=True))
            )
        _check(section, case, rows)
        section.data.append({"robot": case.name} | {key: list(row) for key, row in rows.items()})
        calls = section.table(
            f"{case.name}, linkwork, one target per call: microseconds of processor time",
            *("median", "mean", "nine of ten below"),
        )
        calls.add(*(f"{x:.1f}" for x in _times_of_calls(problem)))
    section.notes += [
        f"Reached: {POSITION:g} m, {ROTATION:g} rad and the limits, by Pinocchio's kinematics.",
        f"At most {STEPS} steps from a start (96 in linkwork), {RESTARTS} restarts.",
        "Microseconds are means over all targets, with those that were not reached.",
        "A batch is all targets in one call on one thread; the others take one target per call.",
        "TRAC-IK and Robotics Toolbox have one tolerance, so that of angles is stricter for them.",
        "The settings of linkwork were chosen on these robots, those of the peers were not tuned.",
        "TRAC-IK draws its own starts for at most 50 ms; Robotics Toolbox 33, of 30 steps each.",
        f"pytorch-kinematics takes {TORCH_TARGETS} targets with all starts in one batch.",
    ]
    return section


def _check(section: Section, case: Case, rows: dict[str, tuple[float, ...]]) -> None:
    ours = rows["linkwork, batch"]
    section.check(f"{case.name} reached", ours[2], WANTED)
    others = [row[3] for name, row in rows.items() if "linkwork" not in name and row[2] >= 0.9]
    if others:
        section.check(f"{case.name} times faster in batches", min(others) / ours[3], FASTER)


def _linkwork(problem: Problem) -> dict[str, tuple[float, ...]]:
    kd, frame, targets = problem.kd, problem.case.frame, problem.targets
    options: dict[str, Any] = {"tolerance": (POSITION, ROTATION)}

    def batch(restarts: int) -> Sequence[Array]:
        solution = lw.ik(kd, {frame: targets}, restarts=restarts, **options)
        return list(solution.q[:, problem.columns])

    def single(restarts: int) -> Sequence[Array]:
        rows = (lw.ik(kd, {frame: one}, restarts=restarts, **options).q for one in targets)
        return [q[problem.columns] for q in rows]

    lw.ik(kd, {frame: targets}, **options)
    time.sleep(2.0)  # the fast code is made in the background
    measured: dict[str, tuple[float, ...]] = {}
    for name, call in (("linkwork, batch", batch), ("linkwork", single)):
        cells: list[float] = []
        for restarts in (0, RESTARTS):
            q, seconds = _timed(lambda call=call, restarts=restarts: call(restarts))
            cells += [problem.rate(q), 1e6 * seconds / len(targets)]
        measured[name] = tuple(cells)
    return measured


def _times_of_calls(problem: Problem) -> tuple[float, ...]:
    """Median, mean and 90th percentile of the times of calls with one target [us]."""
    kd, frame, q0 = problem.kd, problem.case.frame, problem.kd.neutral()
    times = np.full((PASSES, min(CALLS, problem.n_targets)), np.inf)
    for row in times:
        for k, target in enumerate(problem.targets[: row.size]):
            start = time.process_time()
            lw.ik(kd, {frame: target}, q0)
            row[k] = time.process_time() - start
    best = 1e6 * times.min(axis=0)
    return float(np.median(best)), float(best.mean()), float(np.percentile(best, 90))


def _peers(section: Section, problem: Problem) -> dict[str, tuple[float, ...]]:
    measured: dict[str, tuple[float, ...]] = {}
    for kind in SOLVERS:
        try:
            solver = kind(problem.chain)
            solver.solve(problem.targets[0], problem.starts[0])
        except ImportError as error:
            note = f"{kind.name} is left out: {error}."
            section.notes += [note] * (note not in section.notes)
            continue
        measured[solver.name] = _measured(problem, solver)
    return measured


def _measured(problem: Problem, solver: Solver) -> tuple[float, ...]:
    targets, starts = problem.targets, problem.starts
    if isinstance(solver, PyTorchKinematics):
        some = targets[:TORCH_TARGETS]
        cells: list[float] = []
        for own in (starts[:1], starts):
            q, seconds = _timed(lambda own=own: solver.solve_all(some, own))
            cells += [problem.rate(q), 1e6 * seconds / len(some)]
        return tuple(cells)
    first, seconds = _timed(lambda: [solver.solve(one, starts[0]) for one in targets])
    told = problem.rate(first), 1e6 * seconds / len(targets)
    if solver.restarts_itself:
        return -1.0, -1.0, *told
    again = [k for k, q in enumerate(first) if q is None]
    results = list(first)

    def restart() -> None:
        for k in again:
            tries = (solver.solve(targets[k], start) for start in starts[1:])
            results[k] = next((q for q in tries if q is not None), None)

    _, more = _timed(restart)
    return *told, problem.rate(results), 1e6 * (seconds + more) / len(targets)


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """A result, and the time of one call [s]: one pass for everybody."""
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start
