"""Operational-space control: the tool of an arm follows a circle.

python examples/04_operational_space_control.py [--plot]

A spring and a damper pull the tool to a target that moves along the circle. With the inertia of the
tool, L = (J M^-1 J^T)^-1, its acceleration is the desired acceleration a:

    tau = J^T L (a - J_dot nu) + h + N^T tau_0

h is the bias force. The last term damps joint motion that does not move the tool: N = 1 - J_bar J,
with J_bar = M^-1 J^T L, projects joint motion to the null space of the tool.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

DT, SECONDS, RADIUS, RATE = 0.001, 4.0, 0.08, np.pi  # [s], [s], [m], [rad/s]
STIFFNESS, DAMPING, POSTURE = 400.0, 40.0, 4.0  # [1/s^2], [1/s], null space [1/s]


def circle(t: float, top: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return position, velocity and acceleration of the target, which starts at rest at the top."""
    if t < 1.0:
        angle, rate, change = (
            RATE * (t**3 - t**4 / 2),
            RATE * (3 - 2 * t) * t**2,
            RATE * 6 * t * (1 - t),
        )
    else:
        angle, rate, change = RATE * (t - 0.5), RATE, 0.0
    c, s = RADIUS * np.cos(angle), RADIUS * np.sin(angle)
    position = top + np.array([0.0, s, c - RADIUS])
    velocity = rate * np.array([0.0, c, -s])
    return position, velocity, change * np.array([0.0, c, -s]) - rate**2 * np.array([0.0, s, c])


def main(plot: bool = False) -> dict[str, float]:
    """Follow the circle; return the largest distance of the tool from the target [m]."""
    kd = lw.KinDyn(lw.robots.load("arm"), floating=False)
    # all quantities of one iteration in one call
    of_tool = [(name, "tool") for name in ("transform", "jacobian", "bias_acceleration")]
    tick = kd.function("inverse_mass_matrix", "bias_force", *of_tool)
    q, nu = kd.q(shoulder_pitch=0.6, elbow_pitch=1.2), np.zeros(kd.nv)
    top = kd.transform("tool", q)[:3, 3]
    errors, path, largest = [], [], 0.0
    for k in range(round(SECONDS / DT)):
        M_inv, h, H, J, bias = tick(q, nu)
        J, bias, position = J[:3], bias[:3], H[:3, 3]
        target, velocity, feedforward = circle(k * DT, top)
        a = feedforward + DAMPING * (velocity - J @ nu) + STIFFNESS * (target - position)
        L = np.linalg.inv(J @ M_inv @ J.T)  # inertia of the tool [kg]
        null = np.eye(kd.nv) - J.T @ L @ J @ M_inv  # N^T
        posture = np.linalg.solve(M_inv, -POSTURE * nu)
        tau = J.T @ L @ (a - bias) + h + null @ posture
        nu = nu + DT * (M_inv @ (tau - h))
        q = kd.integrate(q, nu, DT)
        errors.append(float(np.linalg.norm(target - position)))
        path.append(position)
        largest = max(largest, float(np.abs(tau / kd.limits.effort).max()))
    print(
        f"the tool stays within {1e3 * max(errors):.2f} mm of its target, on a circle of", end=" "
    )
    print(f"{RADIUS * 200:.0f} cm with a period of {2 * np.pi / RATE:.0f} s")
    print(f"the largest effort is {largest:.0%} of its limit")
    if plot:
        show(np.array(path))
    return {"error": max(errors), "effort": largest, "traveled": float(np.ptp(path, axis=0)[1])}


def show(path: np.ndarray) -> None:
    import matplotlib.pyplot as plt

    plt.plot(path[:, 1], path[:, 2])
    plt.gca().set(xlabel="y [m]", ylabel="z [m]", aspect="equal")
    plt.show()


if __name__ == "__main__":
    main(plot="--plot" in sys.argv[1:])
