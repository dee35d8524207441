"""A quadruped learns to follow velocity commands, and walks in MuJoCo, another simulator.

python examples/24_train_quadruped.py [--starts N]                            # walk in both
python examples/24_train_quadruped.py --train FILE [--steps N] [--envs N] [--seed N]
python examples/24_train_quadruped.py --play                                  # in the viewer

PPO (Schulman et al. 2017) in one file: a thousand robots collect a batch of steps, advantages are
estimated with GAE, and the policy takes some clipped gradient steps on the batch. Without
`--train`, the weights are those of `quadruped_policy.npz`, which this script has written.
MuJoCo simulates the MJCF that `sim.to_mjcf()` returns; the policy has never seen it.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Normal

import linkwork as lw
import linkwork.envs.quadruped as robot
from linkwork.envs import Row, VectorEnv
from linkwork.envs.quadruped import quadruped_velocity

HORIZON = 24  # steps of each robot in a batch
EPOCHS, PARTS = 4, 4  # how often a batch is used, and in how many parts
DISCOUNT, GAE = 0.99, 0.95
COMMANDS = np.array([[0.5, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.5], [0.5, 0.2, 0.3]])
WEIGHTS = Path(__file__).with_name("quadruped_policy.npz")
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
        return Normal(self.policy(observations), self.log_std.exp())

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


def improve(agent: Agent, optimizer: torch.optim.Optimizer, batch: Batch) -> None:
    """Take gradient steps on a batch; adapt the learning rate to the change of the policy."""
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
            loss = 0.5 * error - gain - ENTROPY * distribution.entropy().sum(-1).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 1.0)
            optimizer.step()
            divergence = (ratio - 1 - change).mean().item()
    for group in optimizer.param_groups:
        factor = 1 / 1.5 if divergence > 2 * KL else 1.2 if divergence < KL / 2 else 1.0
        group["lr"] = min(max(group["lr"] * factor, 1e-4), 1e-3)


def train(env: VectorEnv, steps: int, *, seed: int = 0, verbose: bool = True) -> Agent:
    """Return an agent that has learnt from a number of steps of the environments."""
    torch.manual_seed(seed)
    agent = Agent(env.single_observation_space.shape[0], env.single_action_space.shape[0])
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3)
    observations = torch.from_numpy(env.reset(seed=seed)[0])
    batch_size = HORIZON * env.num_envs
    start, simulated = time.perf_counter(), 0.0
    for k in range(-(-steps // batch_size)):
        before = time.perf_counter()
        with torch.no_grad():
            batch, observations, reward = collect(env, agent, observations)
        simulated += time.perf_counter() - before
        improve(agent, optimizer, batch)
        if verbose and k % 10 == 9:
            done, seconds = (k + 1) * batch_size, time.perf_counter() - start
            speeds = f"{done / seconds / 1e3:.0f} k/s, {done / simulated / 1e3:.0f} k/s collected"
            spread = agent.log_std.exp().mean().item()
            text = f"{done / 1e6:.1f} M steps, {seconds:.0f} s: reward {reward:.4f}"
            print(f"{text}, spread {spread:.2f}, {speeds}", flush=True)
    return agent


class Walk(NamedTuple):
    """What became of walks of ten seconds with one command."""

    falls: int
    velocity: np.ndarray  # (3,) mean vx, vy and yaw rate after the first second


def walk_in_linkwork(agent: Agent, command: np.ndarray, starts: int) -> Walk:
    """Let robots walk in linkwork, from random starts, all at once."""
    env = quadruped_velocity(starts, memory=None, autoreset_mode="Disabled")
    observations, _ = env.reset(seed=1)
    env.memory["command"][:] = command
    observations[:, 9:12] = command * [2.0, 2.0, 0.25]  # until the first step
    has_fallen, velocities = np.zeros(starts, bool), []
    for k in range(robot.STEPS):
        observations, _, terminated, *_ = env.step(agent.act(observations))
        has_fallen |= terminated
        if k * env.dt > 1.0:
            v, w = observations[:, :3] / 2.0, observations[:, 3:6] / 0.25
            velocities.append(np.stack([v[:, 0], v[:, 1], w[:, 2]], axis=1)[~has_fallen])
    return Walk(int(has_fallen.sum()), np.concatenate(velocities).mean(axis=0))


def walk_in_mujoco(agent: Agent, command: np.ndarray, starts: int) -> Walk:
    """Let a robot walk in MuJoCo, from random starts, one after the other."""
    env = quadruped_velocity(1)
    mj_model = mujoco.MjModel.from_xml_string(env.sim.to_mjcf())
    rng = np.random.default_rng(1)
    falls, velocities = 0, []
    for _ in range(starts):
        mj_data = mujoco.MjData(mj_model)
        mj_data.qpos[2:7] = robot.HEIGHT + 0.02, 1.0, 0.0, 0.0, 0.0
        mj_data.qpos[7:] = robot.STANCE + rng.normal(0.0, 0.1, 12)
        mj_data.qvel[:] = rng.normal(0.0, 0.2, 18)
        row = measured(env.sim, mj_data, np.zeros(12), command)
        for k in range(robot.STEPS):
            action = agent.act(robot.observe(row)).astype(float).clip(-5.0, 5.0)
            for _ in range(env.substeps):
                row = measured(env.sim, mj_data, action, command)
                mj_data.ctrl[:] = robot.control(row)
                mujoco.mj_step(mj_model, mj_data)
            row = measured(env.sim, mj_data, action, command)
            if robot.fallen(row):
                falls += 1
                break
            if k * env.dt > 1.0:
                v, w, _ = robot.body_velocity(row)
                velocities.append([v[0], v[1], w[2]])
    return Walk(falls, np.mean(velocities, axis=0))


def measured(sim: lw.Simulation, mj_data, action: np.ndarray, command: np.ndarray) -> Row:
    """Return a state of MuJoCo as the functions of the environment see it."""
    x = sim.state(qpos=mj_data.qpos, qvel=mj_data.qvel)
    return Row(x, action, action, steps=0, random=None, memory={"command": command})


def play(agent: Agent) -> None:
    """Show a robot that follows random commands, until Ctrl-C."""
    env = quadruped_velocity(1, render_mode="human")
    observations, _ = env.reset()
    while True:
        start = time.perf_counter()
        observations, *_ = env.step(agent.act(observations))
        env.render()
        time.sleep(max(0.0, env.dt - (time.perf_counter() - start)))


def main() -> None:
    parser = argparse.ArgumentParser(description="train a quadruped to walk")
    parser.add_argument("--train", metavar="FILE", help="train, and write the weights")
    parser.add_argument("--steps", type=float, default=8.4e6, help="of all environments together")
    parser.add_argument("--envs", type=int, default=1024)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--starts", type=int, default=20, help="of the walks")
    parser.add_argument("--threads", type=int, default=2, help="of linkwork and of PyTorch")
    parser.add_argument("--play", action="store_true", help="show a robot in the viewer")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    if args.train:
        env = quadruped_velocity(args.envs, threads=args.threads)
        env.kernel.warmup()
        agent = train(env, int(args.steps), seed=args.seed)
        agent.save(args.train)
    else:
        agent = Agent.load(WEIGHTS)
    if args.play:
        play(agent)
    for command in COMMANDS:
        print(f"command {command}, {args.starts} walks of 10 s")
        for name, walk in (("linkwork", walk_in_linkwork), ("MuJoCo", walk_in_mujoco)):
            falls, velocity = walk(agent, command, args.starts)
            print(f"  {name:8} {falls} falls, mean velocity {velocity.round(2) + 0.0}")


if __name__ == "__main__":
    main()
