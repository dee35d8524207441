"""A quadruped is pushed from eight sides, and gradients find how to stay on its feet.

python examples/23_push_recovery.py [--view]

The controls are positions of the servos. A rollout of the simulation and one pass backward through
its contacts give the derivatives of a cost with respect to all controls, for all pushes at once;
Adam follows them.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw
from linkwork.spatial import quat

DT, STEPS, KNOTS = 0.005, 160, 9  # controls are linear between knots
PUSH, SIDES, ITERATIONS, RATE = 1.5, 8, 60, 0.02  # speed after the push [m/s]
FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
STANCE = np.tile([0.0, 0.7, -1.4], 4)
HEIGHT = 0.34  # of the trunk [m]

sim = lw.Simulation(lw.load("quadruped"), ground=FEET, dt=DT, friction=0.8, servos=(80.0, 2.0))


@lw.compile(q=sim.nq, nu=sim.nv)
def cost(q, nu):
    """Penalize tilt, other heights, and motion of the trunk."""
    tilt = 1 - quat.to_rotation(q[3:7])[2, 2]
    return 10 * tilt + 20 * (q[2] - HEIGHT) ** 2 + 0.1 * nu[:6] @ nu[:6]


def pushed() -> lw.SimulationState:
    """Return states (SIDES, n) of a robot that stands, with velocities in all directions."""
    stand = sim.state(q=np.concatenate([[0, 0, 0.35, 1, 0, 0, 0], STANCE]), batch=SIDES)
    x = lw.SimulationState(*(part[:, -1] for part in sim.rollout(stand, np.tile(STANCE, (200, 1)))))
    angle = 2 * np.pi * np.arange(SIDES) / SIDES
    x.nu[:, :2] += PUSH * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return x


def is_standing(states: lw.SimulationState) -> np.ndarray:
    """Return for each row whether the trunk is level and high at the end."""
    up = quat.to_rotation(states.q[:, -1, 3:7])[:, 2, 2]
    return (up > 0.9) & (states.q[:, -1, 2] > 0.8 * HEIGHT)


def main(iterations: int = ITERATIONS, view: bool = False) -> dict[str, np.ndarray]:
    """Improve the controls, and return the costs (iterations + 1, SIDES) and who stands."""
    x, rollout, slope = pushed(), lw.Rollout(sim.step), cost.gradient("q", "nu")
    distance = np.linspace(0, KNOTS - 1, STEPS)[:, None] - np.arange(KNOTS)
    between = np.maximum(1 - np.abs(distance), 0.0)
    knots = np.tile(STANCE, (SIDES, KNOTS, 1))
    mean, square, costs = np.zeros_like(knots), np.zeros_like(knots), []
    best, first = np.full(SIDES, np.inf), None
    kept = knots.copy()
    for k in range(iterations + 1):
        controls = between @ knots
        states = sim.rollout(x, controls)
        first = states if first is None else first
        costs.append(cost(states.q, states.nu).mean(axis=-1))
        better = costs[-1] < best
        best[better], kept[better] = costs[-1][better], knots[better]
        if k % 20 == 0:
            print(f"{k:3} iterations: mean cost {best.mean():7.3f}")
        running = [part / (STEPS + 1) for part in slope(states.q, states.nu)]
        back = rollout.vjp(tuple(x), controls, (*running, None, None), states=tuple(states))
        gradient = between.T @ back.controls
        mean, square = 0.9 * mean + 0.1 * gradient, 0.99 * square + 0.01 * gradient**2
        step = (mean / (1 - 0.9 ** (k + 1))) / (np.sqrt(square / (1 - 0.99 ** (k + 1))) + 1e-8)
        knots = knots - RATE * step
    controls = between @ kept
    states = sim.rollout(x, controls)
    before, after = is_standing(first), is_standing(states)
    print(f"standing {STEPS * DT} s after the push: {before.sum()} of {SIDES} without, ", end="")
    print(f"{after.sum()} with the controls found")
    if view:
        with lw.view(sim, open_browser=True) as viewer:
            one = lw.SimulationState(*(part[3] for part in states))
            viewer.play(one, controls=controls[3])
            viewer.wait()
    return {"costs": np.array(costs), "before": before, "after": after}


if __name__ == "__main__":
    main(view="--view" in sys.argv)
