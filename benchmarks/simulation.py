"""Simulation on the ground: a step against `mujoco.batch.Batch.step`, and its gradient.

Robots start in their first keyframe and hold its controls, with noise, until they stand. Both
continue from the same states, warm-started. The robot does not collide with itself in either.
"""

from __future__ import annotations

import copy
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from report import Section
from startup import run_alone
from timing import Patience, Task, best

import linkwork as lw

MODELS = Path(__file__).parent.parent.parent / "shared" / "data" / "mjcf"
FEET = ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")
SETTLING = 300  # steps before the measurement
VJP = 4.0  # times the step, at most
FIRST, FROM_CACHE = 3.0, 0.05  # seconds until the first result of go2, at most
# MuJoCo as in the file, and with a solver that converges
SOLVERS: dict[str, dict[str, float]] = {
    "file": {},
    "converged": {"iterations": 100, "ls_iterations": 50, "tolerance": 1e-10},
}


@dataclass(frozen=True)
class Case:
    """A robot, and how many times faster a step must be."""

    name: str
    model: Callable[[], Any]
    target: float


def anymal() -> Any:
    """anymal on four spheres, with elliptic cones and servos."""
    import mujoco

    model = lw.load("anymal", repair=True)
    spec = mujoco.MjSpec.from_string(lw.dump_mjcf(model))
    for geom in list(spec.geoms):
        spec.delete(geom)
    rough = {"friction": [0.7, 0.005, 0.0001], "condim": 3}
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[10, 10, 0.1], **rough)
    for body in spec.bodies:
        if body.name in FEET:
            size = [0.03, 0, 0]
            body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=size, mass=0, **rough)
    for joint in lw.KinDyn(model, floating=True).joint_names:
        servo = spec.add_actuator(name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.gainprm[0], servo.biastype = 60.0, mujoco.mjtBias.mjBIAS_AFFINE
        servo.biasprm[1:3] = -60.0, -2.0
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    mj = spec.compile()
    mj.qpos0[2] = 0.58
    return mj


def from_file(name: str) -> Callable[[], Any]:
    """A robot of a folder beside the repository, without collisions with itself."""

    def model() -> Any:
        import mujoco

        path = MODELS / f"{name}.xml"
        if not path.exists():
            return None
        mj = mujoco.MjModel.from_xml_path(str(path))
        for geom in range(mj.ngeom):
            if mj.geom_contype[geom] or mj.geom_conaffinity[geom]:
                is_ground = mj.geom_bodyid[geom] == 0
                mj.geom_contype[geom] = 0 if is_ground else 1
                mj.geom_conaffinity[geom] = 1 if is_ground else 0
        return mj

    return model


CASES = (
    Case("anymal, four feet", anymal, 18.0),
    Case("go2, all shapes on the floor", from_file("go2"), 12.0),
    Case("g1, its floor pairs", from_file("g1"), 6.0),
)


def simulation(patience: Patience, *, rows: tuple[int, ...] = (256, 1024, 16384)) -> Section:
    """Steps and gradients of robots that stand on the ground."""
    section = Section("Simulation on the ground")
    table = section.table(
        "Microseconds per step and row, one thread",
        *("robot", "rows", "step", "two threads", "vjp", "MuJoCo, file", "converged"),
        *("times faster", "target", "fulfilled", "residual", "MuJoCo's: file", "converged"),
    )
    for case in CASES:
        mj = case.model()
        if mj is None:
            section.notes.append(f"{case.name}: the file is not on this machine.")
            continue
        _measure(section, table, case, mj, patience, rows)
    section.notes += [
        "Residual: the largest norm of the gradient over the trace of M, after the step.",
        "MuJoCo: mujoco.batch.Batch.step on one thread, persistent; the same states and controls.",
    ]
    if (MODELS / "go2.xml").exists():
        _first_results(section)
    return section


def _first_results(section: Section) -> None:
    """Seconds until the first step of go2, in processes of their own."""
    table = section.table(
        "Seconds until the first result of go2",
        *("cache", "import with MuJoCo", "Simulation(path)", "first step", "target", "fulfilled"),
    )
    with tempfile.TemporaryDirectory() as folder:
        for cache, target in (("empty", FIRST), ("filled", FROM_CACHE)):
            times = run_alone("simulation", str(MODELS / "go2.xml"), cache=folder)
            measured = sum(times.values()) if cache == "empty" else times["step"]
            what = "all" if cache == "empty" else "first step"
            verdict = section.check(
                f"go2, first result, {cache} cache", measured, target, at_most=True
            )
            parts = [f"{times[name]:.3f}" for name in ("import", "made", "step")]
            table.add(cache, *parts, f"{what}: {target:g}", verdict)


def _measure(  # noqa: PLR0917
    section: Section, table: Any, case: Case, mj: Any, patience: Patience, rows: tuple[int, ...]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sim = lw.Simulation(mj)
    x, u = settled(sim, max(rows))
    vjp = sim.step.vjp("q", "nu", "control")
    vjp.warmup()
    for n in rows:
        few = [part[:n] for part in x]
        ones = [np.ones_like(part) for part in few]
        theirs = {name: _batch(mj, sim, few, u, options) for name, options in SOLVERS.items()}
        times = best(
            {
                "step": Task(sim.step, (*few, u[:n]), {"threads": 1}),
                "two threads": Task(sim.step, (*few, u[:n]), {"threads": 2}),
                "vjp": Task(vjp, (*few, u[:n], *ones), {"threads": 1}),
                **{name: Task(batch.step) for name, batch in theirs.items()},
            },
            patience,
        )
        us = {name: seconds / n * 1e6 for name, seconds in times.items()}
        for name, batch in theirs.items():
            us[name] *= n / batch.nsim
        ratio = us["file"] / us["step"]
        verdict = section.check(f"{case.name}, {n} rows", ratio, case.target)
        section.check(f"{case.name}, vjp", us["vjp"] / us["step"], VJP, at_most=True)
        residual = float(sim.forward(*few, u[:n]).residual.max())
        errors = [_residual(mj, sim, few, u, options) for options in SOLVERS.values()]
        numbers = [f"{us[name]:.2f}" for name in ("step", "two threads", "vjp", *SOLVERS)]
        sizes = [f"{error:.0e}" for error in (residual, *errors)]
        table.add(case.name, n, *numbers, f"{ratio:.1f}", f"{case.target:g}", verdict, *sizes)
        section.data.append({"robot": case.name, "rows": n} | us)


def settled(sim: lw.Simulation, n: int) -> tuple[lw.SimulationState, Any]:
    """States of robots that stand, and their controls."""
    key = sim.scene.keyframes[0].name if sim.scene.keyframes else None
    x = sim.state(key, batch=n)
    noise = 0.1 * np.random.default_rng(0).normal(size=(n, sim.n_controls))
    u = (sim.control(key) if key else 0.0) + noise
    sim.step.warmup()
    for _ in range(SETTLING):
        x = sim.step(*x, u)
    return x, u


def _batch(mj: Any, sim: lw.Simulation, x: Any, u: Any, options: dict[str, float]) -> Any:
    """MuJoCo's batch of at most 256 of these states, warm-started."""
    import mujoco.batch

    state = lw.SimulationState(*x)
    n = min(len(state.q), 256)
    batch = mujoco.batch.Batch(_with(mj, options), nsim=n, nthread=1, persistent=True)
    batch.qpos[:], batch.qvel[:] = sim.qpos(state)[:n], sim.qvel(state)[:n]
    batch.ctrl[:] = u[:n]
    batch.step(nstep=2)
    return batch


def _residual(mj: Any, sim: lw.Simulation, x: Any, u: Any, options: dict[str, float]) -> float:
    """The largest residual of MuJoCo's solver in some of these states."""
    import mujoco

    model, state = _with(mj, options), lw.SimulationState(*x)
    data, largest = mujoco.MjData(model), 0.0
    warm = sim.qvel(state._replace(nu=state.acceleration))
    qpos, qvel = sim.qpos(state), sim.qvel(state)
    for k in range(min(50, len(qpos))):
        data.qpos[:], data.qvel[:], data.ctrl[:] = qpos[k], qvel[k], u[k]
        data.qacc_warmstart[:] = warm[k]
        mujoco.mj_forward(model, data)
        pull = np.zeros(model.nv)
        mujoco.mj_mulM(model, data, pull, data.qacc)
        M = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M)
        gradient = pull - data.qfrc_smooth - data.qfrc_constraint
        largest = max(largest, float(np.linalg.norm(gradient) / np.trace(M)))
    return largest


def _with(mj: Any, options: dict[str, float]) -> Any:
    model = copy.copy(mj)
    for name, value in options.items():
        setattr(model.opt, name, value)
    return model
