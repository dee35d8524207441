"""Drop a hundred quadrupeds on the floor, and wait until they stand.

python examples/22_drop_and_settle.py [--view]

The feet touch a plane with friction, and servos hold the joints. The physics is MuJoCo's: the same
simulation is written as MJCF at the end.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

ROWS, SECONDS, DT = 100, 2.0, 0.002
FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
STANCE = np.tile([0.0, 0.7, -1.4], 4)  # of each leg [rad]


def main(view: bool = False) -> dict[str, np.ndarray]:
    """Simulate the fall, and return the last states."""
    robot = lw.load("quadruped")
    sim = lw.Simulation(robot, ground=FEET, dt=DT, friction=0.8, servos=(200.0, 8.0))
    print(f"{len(sim.contacts)} contact points, {sim.n_controls} servos, steps of {sim.dt} s")

    rng = np.random.default_rng(0)
    x = sim.state(batch=ROWS)
    x.q[:, 2] = rng.uniform(0.36, 0.5, ROWS)  # height of the trunk
    x.q[:, 7:] = STANCE + 0.1 * rng.normal(size=(ROWS, sim.n_controls))
    x.nu[:, :6] = 0.1 * rng.normal(size=(ROWS, 6))

    steps = round(SECONDS / DT)
    states = sim.rollout(x, np.tile(STANCE, (steps, 1)))
    last = lw.SimulationState(*(part[:, -1] for part in states))
    speed = np.abs(last.nu).max(axis=1)
    print(f"after {SECONDS} s, {np.sum(speed < 0.05)} of {ROWS} stand still")

    now = sim.forward(last, STANCE)
    weight = sim.kd.total_mass * 9.80665
    carried = np.median(now.contact_forces[:, :, 0].sum(axis=1))  # the normal forces
    print(f"the feet carry {carried:.1f} N of {weight:.1f} N")
    print(f"the trunk is {np.median(last.q[:, 2]):.2f} m above the floor")

    print(f"as MJCF, for MuJoCo: {sim.to_mjcf().count('<pair')} pairs of shapes")
    if view:
        with lw.view(sim, open_browser=True) as viewer:
            viewer.play(lw.SimulationState(*(part[0] for part in states)), controls=STANCE)
            viewer.wait()
    return {"q": last.q, "nu": last.nu, "residual": now.residual}


if __name__ == "__main__":
    main("--view" in sys.argv)
