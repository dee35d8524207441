"""MuJoCo as the oracle of simulations: states of its trajectories, and what acts in them."""

from __future__ import annotations

import mujoco
import numpy as np

import linkwork as lw


def converged(mj):
    """The model with a solver that does not stop early."""
    mj.opt.iterations, mj.opt.ls_iterations = 200, 200
    mj.opt.tolerance, mj.opt.ls_tolerance = 0.0, 1e-8
    return mj


def trajectory(mj, n=40, *, seed=0, spread=0.3, every=7):
    """States (n) along a motion with random controls: qpos, qvel, act, warm start, ctrl."""
    rng = np.random.default_rng(seed)
    data = mujoco.MjData(mj)
    states = []
    for k in range(n):
        if k % 10 == 0:
            mujoco.mj_resetData(mj, data)
            data.qvel[:] = spread * rng.normal(size=mj.nv)
            data.ctrl[:] = rng.normal(size=mj.nu)
        for _ in range(every):
            mujoco.mj_step(mj, data)
        parts = (data.qpos, data.qvel, data.act, data.qacc_warmstart, data.ctrl)
        states.append([part.copy() for part in parts])
    return [np.array(part) for part in zip(*states, strict=True)]


def mixed(sim, qpos, vector):
    """A velocity or acceleration of MuJoCo as the simulation has it."""
    return sim.state(qpos=qpos, qvel=vector).nu


def compare(mj, n=40, *, seed=0, spread=0.3, every=7):
    """The simulation, its states, and its largest relative errors: acceleration, force, step."""
    sim = lw.Simulation(mj)
    qpos, qvel, act, warm, ctrl = trajectory(mj, n, seed=seed, spread=spread, every=every)
    x = sim.state(qpos=qpos, qvel=qvel, activation=act)
    x = x._replace(acceleration=mixed(sim, qpos, warm))
    got, after = sim.forward(x, ctrl), sim.step(x, ctrl)
    converged(mj)
    data = mujoco.MjData(mj)
    errors = np.zeros((n, 3))
    for k in range(n):
        data.qpos[:], data.qvel[:], data.act[:] = qpos[k], qvel[k], act[k]
        data.qacc_warmstart[:], data.ctrl[:] = warm[k], ctrl[k]
        mujoco.mj_forward(mj, data)
        expected = mixed(sim, qpos[k], data.qacc)
        errors[k, 0] = abs(got.nu_dot[k] - expected).max() / (1.0 + abs(expected).max())
        force = np.zeros(6)
        theirs = []
        for c, contact in enumerate(data.contact):
            if contact.efc_address >= 0:
                mujoco.mj_contactForce(mj, data, c, force)
                theirs.append(np.array([contact.dist, *force]))
        own = np.column_stack([got.distances[k], got.contact_forces[k]])[got.active[k] > 0.0]
        assert len(own) == len(theirs), (k, len(own), len(theirs))
        if theirs:
            scale = 1.0 + abs(np.array(theirs)).max()
            errors[k, 1] = max(min(abs(a - b).max() for b in own) for a in theirs) / scale
        mujoco.mj_step(mj, data)
        scale = 1.0 + abs(data.qvel).max()
        row = lw.SimulationState(*(part[k] for part in after))
        errors[k, 2] = max(
            abs(sim.qvel(row) - data.qvel).max() / scale, _distance(sim.qpos(row), data.qpos)
        )
        if len(act[k]):
            errors[k, 2] = max(errors[k, 2], abs(after.activation[k] - data.act).max())
    return sim, x, errors


def _distance(a, b):
    """The largest difference, where quaternions of opposite sign are the same."""
    difference = abs(a - b)
    return np.minimum(difference, abs(a + b) if len(a) else difference).max() if len(a) else 0.0
