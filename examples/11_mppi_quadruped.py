"""A quadruped walks: MPPI with batches of rollouts, and real contacts of the feet.

python examples/11_mppi_quadruped.py [--samples N] [--seconds S] [--view]

Model predictive path integral control: in each iteration, noise is added to the planned controls,
all samples are simulated, and the new plan is their mean, weighted by the exponential of the
negative cost. The cost asks for a forward speed, and for feet that are lifted in turn; how the
legs push is found by the controller.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import linkwork as lw
from linkwork.spatial import quat

DT, HORIZON, EVERY = 0.005, 60, 4  # time step [s], planned steps, steps between two iterations
KNOTS, NOISE, TEMPERATURE = 6, np.tile([0.04, 0.12, 0.12], 4), 0.05  # noise of each leg [rad]
SPEED, HEIGHT = 0.6, 0.33  # wanted [m/s], [m]
PERIOD, LIFT, RADIUS = 0.4, 0.08, 0.022  # of a stride [s], of a foot in the air [m], of a foot [m]
PHASES = np.array([0.0, np.pi, np.pi, 0.0])  # a trot: diagonal feet are lifted together
FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
STANCE = np.tile([0.0, 0.7, -1.4], 4)

sim = lw.Simulation(lw.load("quadruped"), ground=FEET, dt=DT, friction=0.8, servos=(80.0, 2.0))
kd = sim.kd


@lw.compile(q=kd.nq, nu=kd.nv, lift=4)
def cost(q, nu, lift):
    """Penalize other speeds, turning, tilt, feet at other heights than wanted, and effort."""
    R = quat.to_rotation(q[3:7])
    feet = np.stack([kd.transform(foot, q)[2, 3] for foot in FEET]) - RADIUS - lift
    motion = 2 * (nu[0] - SPEED) ** 2 + nu[1] ** 2 + 0.02 * nu[3:5] @ nu[3:5] + 0.5 * nu[5] ** 2
    pose = 4 * q[1] ** 2 + 30 * (q[2] - HEIGHT) ** 2 + 6 * (1 - R[2, 2]) + 4 * R[1, 0] ** 2
    posture = q[7:] - STANCE
    return motion + pose + 60 * feet @ feet + 0.1 * posture @ posture + 1e-4 * nu[6:] @ nu[6:]


def wanted_lift(times: np.ndarray) -> np.ndarray:
    """Return the wanted heights (n, 4) of the feet above the floor at some times (n,)."""
    return LIFT * np.maximum(np.sin(2 * np.pi * times[:, None] / PERIOD + PHASES), 0.0)


class Controller:
    """A plan that is improved in each iteration."""

    def __init__(self, samples: int) -> None:
        self.samples, self.rng = samples, np.random.default_rng(0)
        self.plan = np.tile(STANCE, (HORIZON, 1))
        distance = np.linspace(0, KNOTS - 1, HORIZON)[:, None] - np.arange(KNOTS)
        self.between = np.maximum(1 - np.abs(distance), 0.0)  # noise is linear between knots

    def controls(self, x: lw.SimulationState, now: float) -> np.ndarray:
        """Improve the plan, and return the controls (EVERY, n) until the next iteration."""
        noise = NOISE * self.rng.normal(size=(self.samples, KNOTS, len(STANCE)))
        noise[0] = 0.0  # the plan itself
        samples = self.plan + self.between @ noise
        states = sim.rollout(x, samples)
        lift = wanted_lift(now + DT * np.arange(HORIZON + 1))
        costs = cost(states.q, states.nu, lift).mean(axis=-1)  # (samples,)
        weights = np.exp((costs.min() - costs) / TEMPERATURE)
        self.plan = np.tensordot(weights / weights.sum(), samples, axes=1)
        first, rest = np.split(self.plan, [EVERY])
        self.plan = np.concatenate([rest, np.tile(rest[-1], (EVERY, 1))])
        return first


def main(samples: int = 64, seconds: float = 3.0, view: bool = False) -> lw.SimulationState:
    """Let the quadruped stand, then walk; return its states (steps + 1, n)."""
    stand = sim.state(q=np.concatenate([[0, 0, 0.35, 1, 0, 0, 0], STANCE]))
    x = lw.SimulationState(*(part[-1] for part in sim.rollout(stand, np.tile(STANCE, (100, 1)))))
    controller, walk = Controller(samples), [lw.SimulationState(*(part[None] for part in x))]
    controller.controls(x, 0.0)  # compiles
    used: list[np.ndarray] = []
    iterations, start = round(seconds / (EVERY * DT)), time.perf_counter()
    for k in range(iterations):
        used.append(controller.controls(x, k * EVERY * DT))
        some = sim.rollout(x, used[-1])
        walk.append(lw.SimulationState(*(part[1:] for part in some)))
        x = lw.SimulationState(*(part[-1] for part in some))
    each = (time.perf_counter() - start) / iterations
    states = lw.SimulationState(*map(np.concatenate, zip(*walk, strict=True)))
    level = quat.to_rotation(states.q[:, 3:7])[:, 2, 2].min()
    print(f"{samples} rollouts of {HORIZON} steps per iteration, {each * 1e3:.1f} ms")
    print(f"walked {states.q[-1, 0]:.1f} m in {seconds:g} s, wanted {SPEED * seconds:.1f} m")
    print(f"tilted by at most {np.degrees(np.arccos(level)):.0f} degrees")
    if view:
        with lw.view(sim, open_browser=True) as viewer:
            viewer.play(states, controls=np.concatenate(used))
            viewer.wait()
    return states


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--view", action="store_true", help="play the walk in a browser")
    main(**vars(parser.parse_args()))
