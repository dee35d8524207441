"""Swing up a cartpole: a shooting method, with gradients backwards through time.

python examples/14_cartpole_swing_up.py [--steps N] [--iterations N]
"""

from __future__ import annotations

import argparse

import numpy as np

import linkwork as lw

DT, FORCE = 0.02, 40.0  # time step [s], largest force on the cart [N]
START = np.array([0.0, np.pi]), np.zeros(2)  # the pole hangs down, at rest
kd = lw.KinDyn(lw.robots.load("cartpole"), floating=False)


@lw.compile(q=kd.nq, nu=kd.nv, u=1)
def step(q, nu, u):
    """Semi-implicit Euler; only the cart is actuated."""
    tau = np.concatenate([FORCE * np.tanh(u), np.zeros(1)])
    nu = nu + DT * kd.forward_dynamics(q, nu, tau)
    return kd.integrate(q, nu, DT), nu


@lw.compile(q=kd.nq, nu=kd.nv)
def final_cost(q, nu):
    """Penalize final states other than the upright pole and the centered cart, at rest."""
    x, angle = q
    return 200 * (1 - np.cos(angle)) + 100 * x**2 + 10 * nu @ nu


def optimize(steps: int, iterations: int, rate: float = 0.05) -> tuple[np.ndarray, float]:
    """Return controls (steps, 1) optimized by Adam, and their cost."""
    sim, final_gradient = lw.Rollout(step), final_cost.gradient("q", "nu")
    u = 0.1 * np.sin(np.linspace(0, 6, steps))[:, None]
    mean, square = np.zeros_like(u), np.zeros_like(u)
    best, lowest = u, np.inf
    for k in range(1, iterations + 1):
        q, nu = sim(START, u)
        cost = float(final_cost(q[-1], nu[-1]) + 0.001 * np.sum(u**2) + 0.1 * np.sum(q[:, 0] ** 2))
        if cost < lowest:
            best, lowest = u, cost
        running = np.zeros_like(q)
        running[:, 0] = 0.2 * q[:, 0]  # keeps the cart near the center
        final = final_gradient(q[-1], nu[-1])
        vjp = sim.vjp(START, u, (running, None), final=final, states=(q, nu))
        gradient = vjp.controls + 0.002 * u
        mean, square = 0.9 * mean + 0.1 * gradient, 0.99 * square + 0.01 * gradient**2
        u = u - rate * (mean / (1 - 0.9**k)) / (np.sqrt(square / (1 - 0.99**k)) + 1e-8)
    return best, lowest


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--iterations", type=int, default=1000)
    args = parser.parse_args()
    controls, cost = optimize(args.steps, args.iterations)
    q, nu = lw.rollout(step, START, controls, final=True)
    angle = np.degrees(np.arctan2(np.sin(q[1]), np.cos(q[1])))
    print(f"cost {cost:.3f}: the pole ends {angle:+.2f} deg from upright, {nu[1]:+.3f} rad/s,")
    print(f"the cart at {q[0]:+.3f} m with {nu[0]:+.3f} m/s")
