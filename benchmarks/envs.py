"""Steps of environments per second: a quadruped that follows velocities, with MuJoCo and linkwork.

MuJoCo's environments are `mujoco.batch.Batch` of `sim.to_mjcf()`, whose servos compute the torques
inside of its steps, with observations, rewards, ends and resets of all rows in NumPy. Both learn
with the PPO of `examples/24_train_quadruped.py`.

python benchmarks/run.py envs
"""

from __future__ import annotations

import itertools
import os
import runpy
import warnings
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from report import Section
from timing import Patience, Task, best

import linkwork as lw
from linkwork.envs import quadruped as page
from linkwork.spatial import quat

EXAMPLE = Path(__file__).parent.parent / "examples" / "24_train_quadruped.py"
TARGET = 12.0  # times more steps per second than mujoco.batch, without learning
SIMILAR = 1e-3  # the median difference of observations and rewards after the same step
WARMUP = 50  # steps before the measurement: some robots have fallen and started again


class MujocoQuadrupeds:
    """The same environments with MuJoCo and NumPy, with the interface of gymnasium."""

    def __init__(self, num_envs: int, threads: int) -> None:
        import mujoco
        import mujoco.batch

        self.sim = page.simulation()
        model = mujoco.MjModel.from_xml_string(self.sim.to_mjcf())
        model.actuator_gainprm[:, 0] = page.STIFFNESS
        model.actuator_biastype[:] = mujoco.mjtBias.mjBIAS_AFFINE
        model.actuator_biasprm[:, 1:3] = -page.STIFFNESS, -page.DAMPING
        model.actuator_ctrllimited[:] = 0
        model.actuator_forcelimited[:] = 1
        model.actuator_forcerange[:] = np.stack([-page.TORQUE, page.TORQUE], axis=1)
        self.num_envs = num_envs
        self.batch = mujoco.batch.Batch(model, nsim=num_envs, nthread=threads, persistent=True)
        self.single_observation_space = SimpleNamespace(shape=(48,))
        self.single_action_space = SimpleNamespace(shape=(12,))
        self.rng = np.random.default_rng(0)
        self.command, self.action = np.zeros((num_envs, 3)), np.zeros((num_envs, 12))
        self.steps = np.zeros(num_envs, int)

    def reset(self, *, seed: int | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Start all episodes."""
        self.rng = np.random.default_rng(seed)
        self._start(np.ones(self.num_envs, bool))
        return self._observed(), {}

    def step(self, actions: np.ndarray) -> tuple[Any, ...]:
        """Take a step, with resets as in linkwork's autoreset SameStep."""
        before, self.action = self.action, np.clip(actions.astype(float), -5.0, 5.0)
        self.batch.ctrl[:] = page.STANCE + page.SCALE * self.action
        self.batch.step(nstep=4)
        self.steps += 1
        is_new = self.rng.random(self.num_envs) < 1.0 / page.COMMAND_STEPS
        self.command[is_new] = self._commands(int(is_new.sum()))
        v, w, up = self._body_velocity()
        fallen = (self.batch.qpos[:, 2] < 0.17) | (up[:, 2] < 0.6)
        rewards = self._reward(v, w, up, before, fallen)
        truncated = (self.steps >= page.STEPS) & ~fallen
        observations, ended, info = self._observed((v, w, up)), fallen | truncated, {}
        if ended.any():
            info["final_obs"] = observations.copy()
            self._start(ended)
            observations[ended] = self._observed()[ended]
        return observations, rewards.astype(np.float32), fallen, truncated, info

    def _body_velocity(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        R = quat.to_rotation(self.batch.qpos[:, 3:7])
        v = np.einsum("nji,nj->ni", R, self.batch.qvel[:, :3])
        return v, self.batch.qvel[:, 3:6], R[:, 2]

    def _observed(self, motion: Any = None) -> np.ndarray:
        v, w, up = motion or self._body_velocity()
        command = self.command * np.array([2.0, 2.0, 0.25])
        joints = self.batch.qpos[:, 7:] - page.STANCE
        parts = [2.0 * v, 0.25 * w, up, command, joints, 0.05 * self.batch.qvel[:, 6:], self.action]
        return np.concatenate(parts, axis=1, dtype=np.float32)

    def _reward(self, v: Any, w: Any, up: Any, before: Any, fallen: Any) -> np.ndarray:
        error = ((self.command[:, :2] - v[:, :2]) ** 2).sum(1)
        yaw = (self.command[:, 2] - w[:, 2]) ** 2
        return (
            0.05 * np.exp(-error / 0.2)
            + 0.03 * np.exp(-yaw / 0.3)
            - 0.03 * np.minimum(v[:, 2] ** 2, 1.0)
            - 0.001 * np.minimum((w[:, :2] ** 2).sum(1), 40.0)
            - 0.015 * (up[:, :2] ** 2).sum(1)
            - 0.0003 * ((self.action - before) ** 2).sum(1)
            - 2e-7 * (self.batch.qvel[:, 6:] ** 2).sum(1)
            - 0.05 * fallen
        )

    def _commands(self, n: int) -> np.ndarray:
        commands = self.rng.uniform(page.SLOWEST, page.FASTEST, (n, 3))
        commands[self.rng.random(n) < page.ON_THE_SPOT, :2] = 0.0
        return commands

    def _start(self, rows: np.ndarray) -> None:
        n = int(rows.sum())
        base = np.tile([0.0, 0.0, page.HEIGHT + 0.02, 1.0, 0.0, 0.0, 0.0], (n, 1))
        joints = page.STANCE + self.rng.normal(0.0, 0.1, (n, 12))
        self.batch.qpos[rows] = np.concatenate([base, joints], axis=1)
        self.batch.qvel[rows] = self.rng.normal(0.0, 0.2, (n, 18))
        self.command[rows], self.action[rows], self.steps[rows] = self._commands(n), 0.0, 0


def envs(patience: Patience, *, num_envs: int = 1024, batches: int = 5) -> Section:
    """Steps per second with one and two threads, without and with learning."""
    section = Section("Environments of a quadruped that follows velocity commands")
    table = section.table(
        f"Thousand steps of environments per second, {num_envs} environments",
        *("", "threads", "linkwork", "mujoco.batch", "times faster", "target", "fulfilled"),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for threads in (1, 2):
            _measure(section, table, patience, num_envs, threads, batches)
    packages = ("mujoco", "numpy", "torch", "gymnasium")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    section.notes += [
        f"linkwork {lw.__version__}, {versions}; {os.cpu_count()} processors.",
        "A step is four steps of the simulation of 5 ms, observation, reward, end and reset.",
        "With learning: PPO of examples/24_train_quadruped.py, with as many threads.",
    ]
    return section


def _measure(  # noqa: PLR0917
    section: Section, table: Any, patience: Patience, num_envs: int, threads: int, batches: int
) -> None:
    ours = page.quadruped_velocity(num_envs, threads=threads)
    ours.kernel.warmup()
    candidates = {"linkwork": ours, "mujoco.batch": MujocoQuadrupeds(num_envs, threads)}
    section.check(
        f"difference of observations, {threads} threads", difference(ours), SIMILAR, at_most=True
    )
    rng = np.random.default_rng(0)
    actions = rng.normal(0.0, 0.6, (64, num_envs, 12)).astype(np.float32)
    tasks = {}
    for name, env in candidates.items():
        env.reset(seed=0)
        for action in actions[:WARMUP]:
            env.step(action)
        cycle = itertools.cycle(actions)
        tasks[name] = Task(lambda env=env, cycle=cycle: env.step(next(cycle)))
    times = best(tasks, patience)
    _add(section, table, "without learning", threads, {k: num_envs / t for k, t in times.items()})
    learning = {name: _learning(env, threads, batches) for name, env in candidates.items()}
    _add(section, table, "with learning", threads, learning)


def _add(section: Section, table: Any, what: str, threads: int, speeds: dict[str, float]) -> None:
    """Add a row, and a check if there is a target for it."""
    ratio = speeds["linkwork"] / speeds["mujoco.batch"]
    target, verdict = "", ""
    if what == "without learning":
        target = f"{TARGET:g}"
        verdict = section.check(f"steps of environments, {threads} threads", ratio, TARGET)
    numbers = [f"{speed / 1e3:.1f}" for speed in speeds.values()]
    table.add(what, threads, *numbers, f"{ratio:.1f}", target, verdict)
    section.data.append({"what": what, "threads": threads} | speeds)


def _learning(env: Any, threads: int, batches: int) -> float:
    """Steps per second of PPO, in the fastest batch; the first one is not counted."""
    import torch

    example = runpy.run_path(str(EXAMPLE))
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    seconds: list[float] = []
    size = example["HORIZON"] * env.num_envs
    try:
        example["train"](env, batches * size, report=lambda status: seconds.append(status.seconds))
    finally:
        torch.set_num_threads(before)
    return size / np.diff(seconds).min()


def difference(env: Any) -> float:
    """Return the median difference of both after a step from the same states.

    It is the median over the robots, of the largest difference in their observations and rewards:
    the feet of some touch the ground at slightly different times.
    """
    other = MujocoQuadrupeds(env.num_envs, 1)
    env.reset(seed=0)
    other.reset(seed=0)
    other.batch.qpos[:], other.batch.qvel[:] = env.sim.qpos(env.x), env.sim.qvel(env.x)
    other.command[:] = env.memory["command"]
    action = np.random.default_rng(1).normal(0.0, 0.3, (env.num_envs, 12)).astype(np.float32)
    first, second = env.step(action), other.step(action)
    observations = np.abs(first[0] - second[0]).max(axis=1)
    return float(np.median(np.maximum(observations, np.abs(first[1] - second[1]))))
