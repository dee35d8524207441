"""A quadruped or a humanoid learns to follow velocity commands, and walks in MuJoCo.

python examples/24_train_quadruped.py [--robot quadruped|go2|humanoid] [--starts N]
python examples/24_train_quadruped.py --train FILE [--steps N] [--envs N] [--seed N] [--log CSV]
python examples/24_train_quadruped.py --play                                   # in the viewer

PPO (Schulman et al. 2017) in one file: a thousand robots collect a batch of steps, advantages are
estimated with GAE, and the policy takes some clipped gradient steps on the batch. Without
`--train`, robots walk in linkwork and in MuJoCo with the weights of `quadruped_policy.npz`,
`go2_policy.npz` or `humanoid_policy.npz`, which this script has written. MuJoCo simulates the
MJCF that `sim.to_mjcf()` returns; the policy has never seen it.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import mujoco
import numpy as np
import torch
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor, nn
from torch.distributions import Normal

from linkwork import SimulationState
from linkwork.envs import READY, Row, VectorEnv
from linkwork.envs.random import RandomNumbers
from linkwork.spatial import quat

ROBOTS = {
    "quadruped": "linkwork/QuadrupedVelocity-v0",
    "go2": "linkwork/Go2Velocity-v0",
    "humanoid": "linkwork/HumanoidVelocity-v0",
}
HORIZON = 24  # steps of each robot in a batch
EPOCHS, PARTS = 4, 4  # how often a batch is used, and in how many parts
DISCOUNT, GAE = 0.99, 0.95
COMMANDS = np.array([[0.5, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.5], [0.5, 0.2, 0.3]])
CLIP, ENTROPY, KL = 0.2, 0.003, 0.01  # KL: the change of the policy that the learning rate aims at


class Agent(nn.Module):
    """A policy with a normal distribution of actions, and the value of a state."""

    def __init__(self, n_observations: int, n_actions: int) -> None:
        super().__init__()
        self.policy = network(n_observations, n_actions)
        self.value = network(n_observations, 1)
        self.log_std = nn.Parameter(torch.full((n_actions,), -0.5))
        nn.init.orthogonal_(self.policy[-1].weight, 0.01)  # the first actions are small

    def distribution(self, observations: Tensor) -> Normal:
        return Normal(self.policy(observations), self.log_std.exp(), validate_args=False)

    def values(self, observations: Tensor) -> Tensor:
        return self.value(observations).squeeze(-1)

    @torch.no_grad()
    def act(self, observations: np.ndarray) -> np.ndarray:
        """The mean of the actions."""
        return self.policy(torch.from_numpy(observations.astype(np.float32))).numpy()

    def save(self, file: str | Path) -> None:
        """Write the weights of the policy, in half precision."""
        weights = {
            name: w.numpy().astype(np.float16) for name, w in self.policy.state_dict().items()
        }
        np.savez_compressed(file, **weights)

    @staticmethod
    def load(file: str | Path) -> Agent:
        with np.load(file) as stored:
            weights = {name: torch.from_numpy(stored[name]).float() for name in stored}
        agent = Agent(weights["0.weight"].shape[1], weights["4.bias"].shape[0])
        agent.policy.load_state_dict(weights)
        return agent


def network(n_in: int, n_out: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(n_in, 128), nn.ELU(), nn.Linear(128, 64), nn.ELU(), nn.Linear(64, n_out)
    )


class Batch(NamedTuple):
    """Steps of all robots: (HORIZON * robots, ...)."""

    observations: Tensor
    actions: Tensor
    log_probabilities: Tensor
    advantages: Tensor
    returns: Tensor


def collect(env: VectorEnv, agent: Agent, observations: Tensor) -> tuple[Batch, Tensor, float]:
    """Take HORIZON steps; return them, the next observations, and the mean reward."""
    steps: list[tuple[Tensor, ...]] = []
    for _ in range(HORIZON):
        distribution = agent.distribution(observations)
        actions = distribution.sample()
        after, rewards, terminated, truncated, info = env.step(actions.numpy())
        final = torch.zeros(env.num_envs)  # values of the last states of truncated episodes
        if truncated.any():
            final = agent.values(torch.from_numpy(info["final_obs"])) * torch.from_numpy(truncated)
        log_probabilities = distribution.log_prob(actions).sum(-1)
        ended = torch.from_numpy(terminated | truncated)
        values = agent.values(observations)
        row = observations, actions, log_probabilities, values, torch.from_numpy(rewards)
        steps.append((*row, ended, final))
        observations = torch.from_numpy(after)
    columns = [torch.stack(column) for column in zip(*steps, strict=True)]
    *sample, values, rewards, ended, final = columns
    advantage, next_values = torch.zeros(env.num_envs), agent.values(observations)
    advantages = torch.empty_like(values)
    for k in reversed(range(HORIZON)):
        following = torch.where(ended[k], final[k], next_values)
        error = rewards[k] + DISCOUNT * following - values[k]
        advantage = error + DISCOUNT * GAE * ~ended[k] * advantage
        advantages[k], next_values = advantage, values[k]
    batch = Batch(*(part.flatten(0, 1) for part in (*sample, advantages, advantages + values)))
    return batch, observations, rewards.mean().item()


def improve(agent: Agent, optimizer: torch.optim.Optimizer, batch: Batch, remaining: float) -> None:
    """Take gradient steps on a batch; adapt the learning rate to the change of the policy.

    The reward of random actions, and the largest learning rate, go down with the part of the
    training that remains: in the end, the policy is almost that without random numbers.
    """
    spread = batch.advantages.std() + 1e-8
    batch = batch._replace(advantages=(batch.advantages - batch.advantages.mean()) / spread)
    size = len(batch.returns)
    divergence = 0.0
    for _ in range(EPOCHS):
        for index in torch.randperm(size).split(size // PARTS):
            part = Batch(*(column[index] for column in batch))
            distribution = agent.distribution(part.observations)
            change = distribution.log_prob(part.actions).sum(-1) - part.log_probabilities
            ratio = change.exp()
            clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
            gain = torch.min(ratio * part.advantages, clipped * part.advantages).mean()
            error = (agent.values(part.observations) - part.returns).square().mean()
            entropy = distribution.entropy().sum(-1).mean()
            loss = 0.5 * error - gain - remaining * ENTROPY * entropy
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 1.0)
            optimizer.step()
            divergence = (ratio - 1 - change).mean().item()
    for group in optimizer.param_groups:
        factor = 1 / 1.5 if divergence > 2 * KL else 1.2 if divergence < KL / 2 else 1.0
        group["lr"] = min(max(group["lr"] * factor, 1e-4), 2e-4 + 8e-4 * remaining)


class Status(NamedTuple):
    """How far the training is."""

    steps: int  # of all environments
    seconds: float
    collecting: float  # seconds of them in which steps were collected
    reward: float  # the mean of a step
    agent: Agent

    def __str__(self) -> str:
        speeds = f"{self.steps / self.seconds / 1e3:.0f} k steps/s"
        alone = f"{self.steps / self.collecting / 1e3:.0f} without learning"
        spread = self.agent.log_std.exp().mean().item()
        text = f"{self.steps / 1e6:.1f} M steps, {self.seconds:.0f} s: reward {self.reward:.4f}"
        return f"{text}, spread {spread:.2f}, {speeds} ({alone})"


def train(
    env: VectorEnv,
    steps: int,
    *,
    seed: int = 0,
    report: Callable[[Status], None] = lambda status: None,
) -> Agent:
    """Return an agent that has learned from a number of steps of the environments."""
    torch.manual_seed(seed)
    agent = Agent(env.single_observation_space.shape[0], env.single_action_space.shape[0])
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3)
    observations = torch.from_numpy(env.reset(seed=seed)[0])
    batch_size = HORIZON * env.num_envs
    seconds = collecting = 0.0
    n_batches = -(-steps // batch_size)
    for k in range(n_batches):
        start = time.perf_counter()
        with torch.no_grad():
            batch, observations, reward = collect(env, agent, observations)
        collecting += time.perf_counter() - start
        improve(agent, optimizer, batch, remaining=1.0 - k / n_batches)
        seconds += time.perf_counter() - start
        report(Status((k + 1) * batch_size, seconds, collecting, reward, agent))
    return agent


@contextmanager
def progress(robot: str, steps: int, log: str | None) -> Iterator[Callable[[Status], None]]:
    """Show a progress bar and a line for each tenth of the training.

    With `log`, a file gets rows of steps, seconds, reward, and the walks of that moment.
    """
    lines = 0
    columns = BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn()
    if log:
        names = [f"{what} at {speed}" for speed in (0.5, 1.0) for what in ("speed", "falls")]
        Path(log).write_text(",".join(["steps", "seconds", "reward", *names]) + "\n")
    with Progress(*columns) as bar:
        task = bar.add_task("compiled", total=steps)

        def report(status: Status) -> None:
            nonlocal lines
            bar.update(task, completed=status.steps, description=str(status))
            if status.steps * 20 < (lines + 1) * steps:
                return
            lines += 1
            if lines % 2 == 0:
                bar.console.print(str(status), highlight=False)
            if log:
                walks = [walk_in_linkwork(robot, status.agent, c, 20) for c in COMMANDS[:2]]
                ends = [f"{x:.3f}" for w in walks for x in (w.velocity[0], w.falls)]
                with Path(log).open("a", newline="") as file:
                    row = status.steps, f"{status.seconds:.1f}", f"{status.reward:.4f}", *ends
                    csv.writer(file).writerow(row)

        yield report


class Walk(NamedTuple):
    """What became of walks of ten seconds with one command."""

    falls: int
    velocity: np.ndarray  # (3,) mean vx, vy and yaw rate after the first second
    worst: float  # the largest difference of the mean vx of one robot from the command [m/s]


def walk_in_linkwork(robot: str, agent: Agent, command: np.ndarray, starts: int) -> Walk:
    """Let robots walk in linkwork, from random starts, all at once."""
    env, page = started(robot, starts, command)
    observations = np.stack([page.observe(row) for row in as_rows(env)])
    has_fallen, velocities = np.zeros(starts, bool), []
    for _ in range(page.STEPS):
        observations, _, terminated, *_ = env.step(agent.act(observations))
        has_fallen |= terminated
        velocities.append(body_velocities(env.x))
    return summary(np.array(velocities), has_fallen, command, env.dt)


def walk_in_mujoco(robot: str, agent: Agent, command: np.ndarray, starts: int) -> Walk:
    """Let robots walk in MuJoCo, from the same starts, one after the other."""
    env, page = started(robot, starts, command)
    mj_model = mujoco.MjModel.from_xml_string(env.sim.to_mjcf())
    low, high = env.single_action_space.low, env.single_action_space.high
    has_fallen, velocities = np.zeros(starts, bool), np.zeros((page.STEPS, starts, 3))
    for n, start in enumerate(as_rows(env)):
        row, mj_data = start, mujoco.MjData(mj_model)
        mj_data.qpos[:], mj_data.qvel[:] = env.sim.qpos(row.x), env.sim.qvel(row.x)
        for k in range(page.STEPS):
            action = agent.act(page.observe(row)).astype(float).clip(low, high)
            row = replace(row, action=action, last_action=row.action, random=numbers())
            for _ in range(env.substeps):
                mj_data.ctrl[:] = page.control(row)
                mujoco.mj_step(mj_model, mj_data)
                row = replace(row, x=env.sim.state(qpos=mj_data.qpos, qvel=mj_data.qvel))
            row = replace(row, steps=k + 1)
            row = replace(row, memory={**row.memory, **page.memory(row), "command": command})
            velocities[k, n] = body_velocities(row.x)
            if page.fallen(row):
                has_fallen[n] = True
                break
    return summary(velocities, has_fallen, command, env.dt)


def started(robot: str, starts: int, command: np.ndarray) -> tuple[VectorEnv, ModuleType]:
    """Return robots that have a command which stays, and the page of their functions."""
    ready = READY[ROBOTS[robot]]
    page = import_module(f"linkwork.envs.{ready.module}")
    env = ready.make(
        starts,
        memory=lambda row: {**page.memory(row), "command": row.command},
        autoreset_mode="Disabled",
    )
    env.reset(seed=1)
    env.memory["command"][:] = command
    return env, page


def as_rows(env: VectorEnv) -> list[Row]:
    """Return each environment at its start as its functions see it, in NumPy's arrays."""
    action = np.zeros(env.single_action_space.shape)
    rows = []
    for k in range(env.num_envs):
        memory = {name: values[k].copy() for name, values in env.memory.items()}
        x = SimulationState(*(part[k].copy() for part in env.x))
        rows.append(Row(x, action, action, steps=0, random=numbers(), memory=memory))
    return rows


def numbers() -> RandomNumbers:
    """Return numbers for functions that draw some; here, nothing depends on them."""
    return RandomNumbers(np.full(100, 0.5))


def body_velocities(x: SimulationState) -> np.ndarray:
    """Return vx, vy and yaw rate of states, in the axes of the robots."""
    R = quat.to_rotation(x.q[..., 3:7])
    v, w = (np.einsum("...ji,...j->...i", R, part) for part in (x.nu[..., :3], x.nu[..., 3:6]))
    return np.stack([v[..., 0], v[..., 1], w[..., 2]], axis=-1)


def summary(velocities: np.ndarray, has_fallen: np.ndarray, command: np.ndarray, dt: float) -> Walk:
    """Summarize the velocities (steps, starts, 3) of the robots that did not fall."""
    means = velocities[round(1.0 / dt) :, ~has_fallen].mean(axis=0)
    if len(means) == 0:
        return Walk(len(has_fallen), np.full(3, np.nan), np.nan)
    worst = np.abs(means[:, 0] - command[0]).max()
    return Walk(int(has_fallen.sum()), means.mean(axis=0), float(worst))


def play(robot: str, agent: Agent) -> None:
    """Show a robot that follows random commands, until Ctrl-C."""
    env = READY[ROBOTS[robot]].make(1, render_mode="human")
    observations, _ = env.reset()
    while True:
        start = time.perf_counter()
        observations, *_ = env.step(agent.act(observations))
        env.render()
        time.sleep(max(0.0, env.dt - (time.perf_counter() - start)))


def main() -> None:
    parser = argparse.ArgumentParser(description="train a robot to walk")
    parser.add_argument("--robot", choices=list(ROBOTS), default="quadruped")
    parser.add_argument("--train", metavar="FILE", help="train, and write the weights")
    parser.add_argument("--steps", type=float, default=1e7, help="of all environments together")
    parser.add_argument("--envs", type=int, default=1024)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", metavar="CSV", help="write how well it walks while it learns")
    parser.add_argument("--starts", type=int, default=20, help="of the walks")
    parser.add_argument("--threads", type=int, default=2, help="of linkwork and of PyTorch")
    parser.add_argument("--play", action="store_true", help="show a robot in the viewer")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    if args.train:
        env = READY[ROBOTS[args.robot]].make(args.envs, threads=args.threads)
        env.kernel.warmup()
        with progress(args.robot, int(args.steps), args.log) as report:
            agent = train(env, int(args.steps), seed=args.seed, report=report)
        agent.save(args.train)
    else:
        agent = Agent.load(Path(__file__).with_name(f"{args.robot}_policy.npz"))
    if args.play:
        play(args.robot, agent)
    for command in COMMANDS:
        print(f"command {command}, {args.starts} walks of 10 s")
        for name, walk in (("linkwork", walk_in_linkwork), ("MuJoCo", walk_in_mujoco)):
            falls, velocity, worst = walk(args.robot, agent, command, args.starts)
            text = f"{falls} falls, mean velocity {velocity.round(2) + 0.0}"
            print(f"  {name:8} {text}, at most {worst:.2f} m/s off the command")


if __name__ == "__main__":
    main()
