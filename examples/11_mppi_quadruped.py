"""A quadruped that was thrown gets its legs under itself in the air: MPPI on batches of rollouts.

python examples/11_mppi_quadruped.py [URDF] [--samples N] [--ticks N]

Model predictive path integral control: in each iteration, noise is added to the planned controls,
all of them are rolled out, and the new plan is their mean, weighted by the exponential of minus the
cost.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.spatial import quat

DT, HORIZON = 0.005, 40  # length of a step [s], steps that are planned ahead
STIFFNESS, DAMPING, NOISE, TEMPERATURE = 10.0, 0.3, 0.3, 0.02


def problem(model: lw.Model) -> tuple[lw.KinDyn, Any, Any]:
    """The robot; a step from (q, nu) under joint targets u; the cost of a state."""
    kd = lw.KinDyn(model)
    n = kd.nv - 6

    @lw.compile(q=kd.nq, nu=kd.nv, u=n)
    def step(q, nu, u):
        """Semi-implicit Euler; the motors pull the joints to the targets u."""
        torque = STIFFNESS * (u - q[7:]) - DAMPING * nu[6:]
        nu = nu + DT * kd.forward_dynamics(q, nu, np.concatenate([np.zeros(6), torque]))
        return kd.integrate(q, nu, DT), nu

    @lw.compile(q=kd.nq, nu=kd.nv)
    def cost(q, nu):
        """The base level and not turning, the joints near their neutral positions."""
        tilt = 1 - quat.to_rotation(q[3:7])[2, 2]
        posture = q[7:] - kd.neutral()[7:]
        return tilt + 0.01 * nu[3:6] @ nu[3:6] + 0.01 * posture @ posture + 1e-4 * nu[6:] @ nu[6:]

    return kd, step, cost


class Controller:
    """A plan that gets better with each iteration."""

    def __init__(self, kd: lw.KinDyn, step: Any, cost: Any, samples: int) -> None:
        self.sim, self.cost, self.samples = lw.Rollout(step), cost, samples
        self.plan = np.tile(kd.neutral()[7:], (HORIZON, 1))
        self.rng = np.random.default_rng(0)

    def control(self, q: np.ndarray, nu: np.ndarray) -> np.ndarray:
        """The control (n,) for a state, after the plan was improved."""
        noise = NOISE * self.rng.normal(size=(self.samples, *self.plan.shape))
        noise = np.cumsum(noise, axis=1) / np.sqrt(np.arange(1, HORIZON + 1))[:, None]
        noise[0] = 0.0  # the plan itself
        tried = self.plan + noise
        costs = self.cost(*self.sim((q, nu), tried)).sum(axis=-1)  # (samples,)
        weights = np.exp((costs.min() - costs) / (TEMPERATURE * HORIZON))
        self.plan = np.tensordot(weights / weights.sum(), tried, axes=1)
        first = self.plan[0]
        self.plan = np.concatenate([self.plan[1:], self.plan[-1:]])
        return first


def main(robot: str | None, samples: int, ticks: int) -> tuple[float, float]:
    """Fly for some ticks; the mean cost with MPPI, and with joints held at neutral."""
    kd, step, cost = problem(lw.load(robot) if robot else lw.robots.load("quadruped"))
    q, nu = kd.neutral(), np.zeros(kd.nv)
    q[3:7] = quat.exp(np.array([0.6, 0.0, 0.0]))
    nu[3:6] = 1.0, 0.5, 0.0
    held = np.tile(kd.neutral()[7:], (ticks, 1))
    without = cost(*lw.rollout(step, (q, nu), held)).mean()
    controller = Controller(kd, step, cost, samples)
    controller.control(q, nu)  # compiles
    costs = [cost(q, nu)]
    start = time.perf_counter()
    for _ in range(ticks):
        q, nu = step(q, nu, controller.control(q, nu))
        costs.append(cost(q, nu))
    tick = (time.perf_counter() - start) / ticks
    print(f"{samples} rollouts of {HORIZON} steps per iteration, {tick * 1e3:.1f} ms")
    print(f"mean cost {np.mean(costs):.3f}, with joints held still {without:.3f}")
    return float(np.mean(costs)), float(without)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("robot", nargs="?", help="a URDF file; the bundled quadruped without it")
    parser.add_argument("--samples", type=int, default=512)
    parser.add_argument("--ticks", type=int, default=60)
    given = parser.parse_args()
    main(given.robot, given.samples, given.ticks)
