"""Train a small policy to balance a pole, with gradients through the dynamics of the robot.

python examples/16_torch_policy.py [--iterations N] [--starts N]

A network computes the force on the cart from the state. All starts are simulated as a batch, and
PyTorch propagates the gradient of the cost back through every step: through the network with its
own operators, through the forward dynamics with linkwork's vjp kernel.
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor, nn

import linkwork as lw
import linkwork.torch

DT, STEPS, FORCE = 0.02, 60, 30.0  # time step [s], number of steps, largest force on the cart [N]
kd = linkwork.torch.KinDyn(lw.robots.load("cartpole"), floating=False)


class Policy(nn.Module):
    """A network from the state to the force on the cart."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(5, width), nn.Tanh(), nn.Linear(width, 1)).double()

    def forward(self, q: Tensor, nu: Tensor) -> Tensor:
        x, angle = q.unbind(-1)
        features = torch.stack([x, angle.sin(), angle.cos(), *nu.unbind(-1)], dim=-1)
        return FORCE * torch.tanh(self.layers(features))


def trajectory(policy: nn.Module, q: Tensor, nu: Tensor) -> Tensor:
    """(STEPS, starts, 2) positions under a policy, by semi-implicit Euler."""
    positions: list[Tensor] = []
    for _ in range(STEPS):
        force = policy(q, nu)
        tau = torch.cat([force, torch.zeros_like(force)], dim=-1)  # only the cart is actuated
        nu = nu + DT * kd.forward_dynamics(q, nu, tau)
        q = kd.integrate(q, nu, DT)
        positions.append(q)
    return torch.stack(positions)


def starts(count: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Draw states with a pole angle up to 0.3 rad and small velocities."""
    generator = torch.Generator().manual_seed(seed)
    q, nu = torch.rand(2, count, 2, generator=generator, dtype=torch.float64) - 0.5
    return 0.6 * q, 0.5 * nu


def train(iterations: int, count: int, seed: int = 0) -> tuple[Policy, list[float]]:
    """Return a policy, and the cost at each iteration."""
    torch.manual_seed(seed)
    policy, costs = Policy(), list[float]()
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.02)
    q, nu = starts(count)
    for _ in range(iterations):
        x, angle = trajectory(policy, q, nu).unbind(-1)
        cost = (1 - angle.cos()).mean() + 0.05 * (x**2).mean()
        optimizer.zero_grad()
        cost.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        costs.append(cost.item())
    return policy, costs


def main() -> None:
    parser = argparse.ArgumentParser(description="train a policy to balance a pole")
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--starts", type=int, default=64)
    args = parser.parse_args()
    torch.set_num_threads(1)  # faster for a small network
    policy, costs = train(args.iterations, args.starts)
    with torch.no_grad():
        angle = trajectory(policy, *starts(1000, seed=1))[-1, :, 1]
    upright = (angle.abs() < 0.1).double().mean()
    print(f"cost {costs[0]:.3f} to {costs[-1]:.4f}; {upright:.0%} of 1000 other starts upright")


if __name__ == "__main__":
    main()
