"""Drop a hundred quadrupeds on the floor, and wait until they stand.

python examples/22_drop_and_settle.py [--view]

The feet touch a plane with friction, and servos hold the joints. The physics is MuJoCo's: the same
simulation is written as MJCF at the end.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np

import linkwork as lw
from linkwork.simulation.scene import ActuatorModel

ROWS, SECONDS, DT = 100, 2.0, 0.002
KP, KD = 200.0, 8.0  # of the servos [N m/rad], [N m s/rad]
STANCE = {"hip_roll": 0.0, "hip_pitch": 0.7, "knee": -1.4}


def simulation() -> lw.Simulation:
    """Return the quadruped on a floor, with servos; only feet and trunk touch."""
    model = lw.robots.load("quadruped")
    scene = lw.Simulation(model, ground=True, dt=DT, friction=0.8).scene
    touching = tuple(p for p in scene.contacts if "foot" in p.name or p.name.startswith("trunk:0"))
    servos = tuple(
        ActuatorModel(name=one.name, joint=one.joint, gain=(KP, 0.0, 0.0), bias=(0.0, -KP, -KD))
        for one in scene.actuators
    )
    implicit = replace(scene.options, integrator="implicitfast")  # for the gains of the servos
    scene = replace(scene, options=implicit, contacts=touching, actuators=servos)
    return lw.Simulation(model, scene=scene)


def main(view: bool = False) -> dict[str, np.ndarray]:
    """Simulate the fall, and return the last states."""
    sim = simulation()
    stance = np.array([next(a for k, a in STANCE.items() if k in name) for name in sim.controls])
    print(f"{len(sim.contacts)} contact points, {sim.n_controls} servos, steps of {sim.dt} s")

    rng = np.random.default_rng(0)
    x = sim.state(batch=ROWS)
    x.q[:, 2] = rng.uniform(0.36, 0.5, ROWS)  # height of the trunk
    x.q[:, 7:] = stance + 0.1 * rng.normal(size=(ROWS, sim.n_controls))
    x.nu[:, :6] = 0.1 * rng.normal(size=(ROWS, 6))

    steps = round(SECONDS / DT)
    states = sim.rollout(x, np.broadcast_to(stance, (ROWS, steps, sim.n_controls)))
    last = lw.SimulationState(*(part[:, -1] for part in states))
    speed = np.abs(last.nu).max(axis=1)
    print(f"after {SECONDS} s, {np.sum(speed < 0.05)} of {ROWS} stand still")

    now = sim.forward(last, np.broadcast_to(stance, (ROWS, sim.n_controls)))
    weight = sim.kd.total_mass * 9.80665
    carried = np.median(now.contact_forces[:, :, 0].sum(axis=1))  # the normal forces
    print(f"the feet carry {carried:.1f} N of {weight:.1f} N")
    print(f"the trunk is {np.median(last.q[:, 2]):.2f} m above the floor")

    print(f"as MJCF, for MuJoCo: {sim.to_mjcf().count('<pair')} pairs of shapes")
    if view:
        with lw.view(sim.kd, open_browser=True) as viewer:
            viewer.play(states.q[0, ::10], DT * np.arange(0, steps + 1, 10))
            viewer.wait()
    return {"q": last.q, "nu": last.nu, "residual": now.residual}


if __name__ == "__main__":
    main("--view" in sys.argv)
