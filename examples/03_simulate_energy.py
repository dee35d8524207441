"""Simulate a passive double pendulum, and monitor its energy.

python examples/03_simulate_energy.py [--plot]

The energy of the pendulum is constant. Euler's method adds to it step by step; fourth-order
Runge-Kutta, written as a compiled function, conserves it.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

DT, STEPS = 0.002, 1500  # time step [s], 3 s in total


def main(plot: bool = False) -> dict[str, float]:
    """Return the largest drift of the energy with two methods [J]."""
    kd = lw.KinDyn(lw.robots.load("double_pendulum"), floating=False)
    passive = np.zeros(kd.nv)

    @lw.compile(q=kd.nq, nu=kd.nv)
    def euler(q, nu):
        return q + DT * nu, nu + DT * kd.forward_dynamics(q, nu, passive)

    @lw.compile(q=kd.nq, nu=kd.nv)
    def runge_kutta(q, nu):
        k1, a1 = nu, kd.forward_dynamics(q, nu, passive)
        k2 = nu + DT / 2 * a1
        a2 = kd.forward_dynamics(q + DT / 2 * k1, k2, passive)
        k3 = nu + DT / 2 * a2
        a3 = kd.forward_dynamics(q + DT / 2 * k2, k3, passive)
        k4 = nu + DT * a3
        a4 = kd.forward_dynamics(q + DT * k3, k4, passive)
        return q + DT / 6 * (k1 + 2 * k2 + 2 * k3 + k4), nu + DT / 6 * (a1 + 2 * a2 + 2 * a3 + a4)

    start = np.array([2.0, 0.5]), np.zeros(2)
    drifts, curves = {}, {}
    for name, step in (("Euler", euler), ("Runge-Kutta", runge_kutta)):
        q, nu = lw.rollout(step, start, steps=STEPS)  # (STEPS + 1, 2) each, without a Python loop
        energy = kd.kinetic_energy(q, nu) + kd.potential_energy(q)
        drifts[name], curves[name] = float(np.abs(energy - energy[0]).max()), energy
        print(f"{name:11} energy drift in {DT * STEPS:.0f} s: {drifts[name]:.1e} J")
    swing = float(np.ptp(kd.potential_energy(q)))
    print(f"the potential energy varies by {swing:.1f} J")
    if plot:
        show(curves)
    return drifts | {"swing": swing}


def show(curves: dict[str, np.ndarray]) -> None:
    import matplotlib.pyplot as plt

    for name, energy in curves.items():
        plt.plot(DT * np.arange(len(energy)), energy, label=name)
    plt.gca().set(xlabel="time [s]", ylabel="energy [J]")
    plt.legend()
    plt.show()


if __name__ == "__main__":
    main(plot="--plot" in sys.argv[1:])
