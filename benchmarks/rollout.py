"""Rollouts: against the kernels of a step, and against `mujoco.rollout`."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from peers_mujoco import MuJoCo
from report import Section
from timing import Patience, Task, best

import linkwork as lw
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.arrays import Array
from robots import CASES, State, kindyn_of, random_states

QUADRUPED = next(case for case in CASES if case.name == "anymal")
DT = 0.002  # length of a step [s]
ROWS, STEPS = 4096, 1000
SAMPLES, HORIZON = 1024, 50  # of the MPPI step
LEAST_SHARE = 0.9  # of the speed of the two kernels alone
ENOUGH = 1e-9


def rollouts(patience: Patience, *, rows: int = ROWS, steps: int = STEPS) -> Section:
    """Forward dynamics and integrate, N times: the states of all steps, the last, backwards."""
    section = Section("Rollouts of a quadruped")
    kd = kindyn_of(QUADRUPED)
    step = made_step(kd)
    _against_kernels(section, kd, step, patience, rows, steps)
    _against_mujoco(section, kd, step, patience)
    section.notes += [
        f"{QUADRUPED.name} without contacts; a step: forward dynamics, then integrate (Euler).",
        "The two kernels alone: forward_dynamics and integrate on one batch, with reused out=.",
        "Backwards: Rollout.vjp with cotangents of all states, which computes the states again.",
        "mujoco.rollout: contacts and constraints disabled, Euler, forces on all joints.",
        "Both use all cores, and write to arrays that are reused.",
    ]
    return section


def made_step(kd: lw.KinDyn) -> Kernel:
    """One step of semi-implicit Euler, ready to run fast."""

    @lw.compile(q=kd.nq, nu=kd.nv, tau=kd.nv)
    def step(q: Any, nu: Any, tau: Any) -> Any:
        nu = nu + DT * kd.forward_dynamics(q, nu, tau)
        return kd.integrate(q, nu, DT), nu

    step.warmup()
    return step


def _against_kernels(  # noqa: PLR0917
    section: Section, kd: lw.KinDyn, step: Kernel, patience: Patience, rows: int, steps: int
) -> None:
    state = random_states(kd, rows)
    forward, integrate = kd.function("forward_dynamics"), kd.function("integrate")
    sim, vjp = lw.Rollout(step), step.vjp("q", "nu", "tau")
    for kernel in (forward, integrate, vjp):
        kernel.warmup()
    x0, tau = (state.q, state.nu), np.repeat(0.1 * state.tau[:, None], steps, axis=1)
    states = sim(x0, tau)
    ends = tuple(np.empty_like(array) for array in x0)
    few = max(1, steps // 10)  # backwards takes longer, and each step as long as any other
    cotangents = tuple(np.ones((1, few + 1, array.shape[-1])) for array in x0)
    alone = {"threads": 1}
    results = best(
        {
            "forward": Task(forward, (*x0, state.tau), {"out": np.empty_like(state.nu), **alone}),
            "integrate": Task(
                integrate, (*x0, np.array(DT)), {"out": np.empty_like(state.q), **alone}
            ),
            "step": Task(step, (*x0, state.tau), {"out": ends, **alone}),
            "all states": Task(sim, (x0, tau), {"out": states, **alone}),
            "last states": Task(sim, (x0, tau), {"final": True, "out": ends, **alone}),
            "backwards": Task(sim.vjp, (x0, tau[:, :few], cotangents), alone),
        },
        patience,
    )
    ns = {name: seconds / rows * 1e9 for name, seconds in results.items()}
    for name in ("all states", "last states"):
        ns[name] /= steps
    ns["backwards"] /= few
    both = ns["forward"] + ns["integrate"]
    table = section.table(
        f"Nanoseconds per step and row: {steps} steps, batch of {rows}, one thread",
        *("what", "operations", "ns", "times the speed of the two kernels", "target", "fulfilled"),
    )
    table.add("forward_dynamics", forward.program.n_ops, f"{ns['forward']:.0f}", *[""] * 3)
    table.add("integrate", integrate.program.n_ops, f"{ns['integrate']:.0f}", *[""] * 3)
    table.add("both as one function", step.program.n_ops, f"{ns['step']:.0f}", *[""] * 3)
    for name in ("all states", "last states"):
        verdict = section.check(f"rollout, {name}", both / ns[name], LEAST_SHARE)
        shown = f"{ns[name]:.0f}", f"{both / ns[name]:.2f}", f"{LEAST_SHARE:g}", verdict
        table.add(f"rollout, {name}", step.program.n_ops, *shown)
    table.add("rollout, backwards", vjp.program.n_ops, f"{ns['backwards']:.0f}", *[""] * 3)
    section.data.append({"rows": rows, "steps": steps} | ns)


def _against_mujoco(section: Section, kd: lw.KinDyn, step: Kernel, patience: Patience) -> None:
    peer = mujoco_peer(kd)
    if peer is None:
        section.notes.append("mujoco with mujoco.rollout is not installed.")
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    state = at_rest(random_states(kd, 1).row(0))
    tau = np.zeros((SAMPLES, HORIZON, kd.nv))
    tau[..., 6:] = np.random.default_rng(1).normal(size=(SAMPLES, HORIZON, kd.nv - 6))
    sim, x0 = lw.Rollout(step), (state.q, state.nu)
    states = sim(x0, tau)
    start, forces = peer.start(state), tau[..., [*range(6), *(6 + k for k in peer.order)]]
    theirs = peer.rolled(start, forces, threads=cores or 1)
    results = best(
        {
            "linkwork": Task(sim, (x0, tau), {"out": states, "threads": cores}),
            "mujoco": Task(theirs),
        },
        patience,
    )
    error = difference(states, theirs(), peer.order)
    section.check("difference to mujoco after one step", error, ENOUGH, at_most=True)
    table = section.table(
        f"Milliseconds for the rollouts of one MPPI step: {SAMPLES} of {HORIZON} steps, all cores",
        *("robot", "threads", "mujoco", "linkwork", "faster", "first step differs by"),
    )
    table.add(
        *(
            QUADRUPED.name,
            cores,
            f"{results['mujoco'] * 1e3:.1f}",
            f"{results['linkwork'] * 1e3:.2f}",
        ),
        *(f"{results['mujoco'] / results['linkwork']:.1f}", f"{error:.0e}"),
    )
    section.data.append({"samples": SAMPLES, "horizon": HORIZON, "threads": cores} | results)


def at_rest(state: State) -> State:
    """A state whose base does not rotate: then both libraries take the same first step.

    They integrate the angular velocity in different axes, which differs by terms of DT squared.
    """
    state.nu[3:6] = 0.0
    return state


class Rolled(MuJoCo):
    """MuJoCo with nothing but smooth dynamics, many steps at a time."""

    def __init__(self, kd: lw.KinDyn, source: str, frame: str) -> None:
        super().__init__(kd, source, frame)
        flags = self.mj.mjtDisableBit
        self.model.opt.disableflags |= flags.mjDSBL_CONTACT | flags.mjDSBL_CONSTRAINT
        self.model.opt.timestep = DT
        self.model.opt.integrator = self.mj.mjtIntegrator.mjINT_EULER
        self.order = self.convention.order

    def start(self, state: State) -> Array:
        """The state as MuJoCo has it: time, positions, velocities."""
        own = self.convention.state(state)
        return np.concatenate([[0.0], self.convention.q(state.q), own.nu])[None]

    def rolled(self, start: Array, forces: Array, *, threads: int) -> Any:
        """A call that rolls out forces (samples, steps, nv) from one state, with reused memory."""
        from mujoco import rollout

        pool = rollout.Rollout(nthread=threads)
        data = [self.mj.MjData(self.model) for _ in range(threads)]
        spec = self.mj.mjtState.mjSTATE_QFRC_APPLIED.value
        starts = np.repeat(start, len(forces), axis=0)
        kept = np.empty((*forces.shape[:2], start.shape[1]))

        def roll() -> Array:
            return pool.rollout(
                self.model, data, starts, forces, control_spec=spec, state=kept, skip_checks=False
            )[0]

        return roll


def mujoco_peer(kd: lw.KinDyn) -> Rolled | None:
    """MuJoCo, if it is installed and has rollouts."""
    try:
        from mujoco import rollout
    except ImportError:
        return None
    del rollout
    return Rolled(kd, str(QUADRUPED.path), QUADRUPED.frame)


def difference(ours: tuple[Array, Array], theirs: Array, order: list[int]) -> float:
    """Largest difference of the joints after one step, relative to the largest number."""
    nq = ours[0].shape[-1]
    pairs = (
        (ours[0][:, 1, 7:][:, order], theirs[:, 0, 8 : 1 + nq]),
        (ours[1][:, 1, 6:][:, order], theirs[:, 0, 1 + nq + 6 :]),
    )
    return max(float(np.abs(a - b).max() / np.abs(a).max()) for a, b in pairs)
