"""Train a small policy to balance a pole: gradients go through the dynamics of the robot.

python examples/16_torch_policy.py [--iterations N] [--starts N]

The cart is pushed by a network that sees the state. All starts are simulated together, the cost is
that of the trajectories, and PyTorch carries its gradient back through every step: through the
network by its own operators, through the forward dynamics by the vjp kernel of linkwork.
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor, nn

import linkwork as lw
import linkwork.torch

DT, STEPS, FORCE = 0.02, 60, 30.0  # length of a step [s], how many, largest force on the cart [N]
kd = linkwork.torch.KinDyn(lw.robots.load("cartpole"), floating=False)


class Policy(nn.Module):
    """From the state to the force on the cart."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(5, width), nn.Tanh(), nn.Linear(width, 1)).double()

    def forward(self, q: Tensor, nu: Tensor) -> Tensor:
        x, angle = q.unbind(-1)
        seen = torch.stack([x, angle.sin(), angle.cos(), *nu.unbind(-1)], dim=-1)
        return FORCE * torch.tanh(self.layers(seen))


def trajectory(policy: nn.Module, q: Tensor, nu: Tensor) -> Tensor:
    """(STEPS, starts, 2) positions under a policy, by semi-implicit Euler."""
    positions: list[Tensor] = []
    for _ in range(STEPS):
        force = policy(q, nu)
        tau = torch.cat([force, torch.zeros_like(force)], dim=-1)  # only the cart is driven
        nu = nu + DT * kd.forward_dynamics(q, nu, tau)
        q = kd.integrate(q, nu, DT)
        positions.append(q)
    return torch.stack(positions)


def starts(count: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Poles that lean by up to 0.3 rad and move a little."""
    generator = torch.Generator().manual_seed(seed)
    q, nu = torch.rand(2, count, 2, generator=generator, dtype=torch.float64) - 0.5
    return 0.6 * q, 0.5 * nu


def trained(iterations: int, count: int, seed: int = 0) -> tuple[Policy, list[float]]:
    """A policy, and the cost at each iteration."""
    torch.manual_seed(seed)
    policy, costs = Policy(), list[float]()
    optimiser = torch.optim.Adam(policy.parameters(), lr=0.02)
    q, nu = starts(count)
    for _ in range(iterations):
        x, angle = trajectory(policy, q, nu).unbind(-1)
        cost = (1 - angle.cos()).mean() + 0.05 * (x**2).mean()
        optimiser.zero_grad()
        cost.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimiser.step()
        costs.append(cost.item())
    return policy, costs


def main() -> None:
    parser = argparse.ArgumentParser(description="train a policy to balance a pole")
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--starts", type=int, default=64)
    given = parser.parse_args()
    torch.set_num_threads(1)  # faster for so small a network
    policy, costs = trained(given.iterations, given.starts)
    with torch.no_grad():
        angle = trajectory(policy, *starts(1000, seed=1))[-1, :, 1]
    upright = (angle.abs() < 0.1).double().mean()
    print(f"cost {costs[0]:.3f} to {costs[-1]:.4f}; {upright:.0%} of 1000 other starts upright")


if __name__ == "__main__":
    main()
