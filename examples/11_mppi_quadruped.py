"""A thrown quadruped levels itself in the air: MPPI with batches of rollouts.

python examples/11_mppi_quadruped.py [URDF] [--samples N] [--ticks N]

Model predictive path integral control: in each iteration, noise is added to the planned controls,
all samples are rolled out, and the new plan is their mean, weighted by the exponential of the
negative cost.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.spatial import quat

DT, HORIZON = 0.005, 40  # time step [s], number of planned steps
STIFFNESS, DAMPING, NOISE, TEMPERATURE = 10.0, 0.3, 0.3, 0.02


def problem(model: lw.Model) -> tuple[lw.KinDyn, Any, Any]:
    """Return the robot, a step from (q, nu) with joint targets u, and the cost of a state."""
    kd = lw.KinDyn(model)
    n = kd.nv - 6

    @lw.compile(q=kd.nq, nu=kd.nv, u=n)
    def step(q, nu, u):
        """Semi-implicit Euler; proportional-derivative control of the joints to the targets u."""
        torque = STIFFNESS * (u - q[7:]) - DAMPING * nu[6:]
        nu = nu + DT * kd.forward_dynamics(q, nu, np.concatenate([np.zeros(6), torque]))
        return kd.integrate(q, nu, DT), nu

    @lw.compile(q=kd.nq, nu=kd.nv)
    def cost(q, nu):
        """Penalize tilt and rotation of the base, and joints far from their neutral positions."""
        tilt = 1 - quat.to_rotation(q[3:7])[2, 2]
        posture = q[7:] - kd.neutral()[7:]
        return tilt + 0.01 * nu[3:6] @ nu[3:6] + 0.01 * posture @ posture + 1e-4 * nu[6:] @ nu[6:]

    return kd, step, cost


class Controller:
    """A plan that is improved in each iteration."""

    def __init__(self, kd: lw.KinDyn, step: Any, cost: Any, samples: int) -> None:
        self.sim, self.cost, self.samples = lw.Rollout(step), cost, samples
        self.plan = np.tile(kd.neutral()[7:], (HORIZON, 1))
        self.rng = np.random.default_rng(0)

    def control(self, q: np.ndarray, nu: np.ndarray) -> np.ndarray:
        """Improve the plan, and return the control (n,) for a state."""
        noise = NOISE * self.rng.normal(size=(self.samples, *self.plan.shape))
        noise = np.cumsum(noise, axis=1) / np.sqrt(np.arange(1, HORIZON + 1))[:, None]
        noise[0] = 0.0  # the plan itself
        samples = self.plan + noise
        costs = self.cost(*self.sim((q, nu), samples)).sum(axis=-1)  # (samples,)
        weights = np.exp((costs.min() - costs) / (TEMPERATURE * HORIZON))
        self.plan = np.tensordot(weights / weights.sum(), samples, axes=1)
        first = self.plan[0]
        self.plan = np.concatenate([self.plan[1:], self.plan[-1:]])
        return first


def main(robot: str | None, samples: int, ticks: int) -> tuple[float, float]:
    """Simulate some ticks; return the mean cost with MPPI, and with constant joint targets."""
    kd, step, cost = problem(lw.load(robot) if robot else lw.robots.load("quadruped"))
    q, nu = kd.neutral(), np.zeros(kd.nv)
    q[3:7] = quat.exp(np.array([0.6, 0.0, 0.0]))
    nu[3:6] = 1.0, 0.5, 0.0
    constant = np.tile(kd.neutral()[7:], (ticks, 1))
    without = cost(*lw.rollout(step, (q, nu), constant)).mean()
    controller = Controller(kd, step, cost, samples)
    controller.control(q, nu)  # compiles
    costs = [cost(q, nu)]
    start = time.perf_counter()
    for _ in range(ticks):
        q, nu = step(q, nu, controller.control(q, nu))
        costs.append(cost(q, nu))
    tick = (time.perf_counter() - start) / ticks
    print(f"{samples} rollouts of {HORIZON} steps per iteration, {tick * 1e3:.1f} ms")
    print(f"mean cost {np.mean(costs):.3f}, with constant joint targets {without:.3f}")
    return float(np.mean(costs)), float(without)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("robot", nargs="?", help="a URDF file; by default the bundled quadruped")
    parser.add_argument("--samples", type=int, default=512)
    parser.add_argument("--ticks", type=int, default=60)
    args = parser.parse_args()
    main(args.robot, args.samples, args.ticks)
