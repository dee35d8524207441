"""Draw a circle with the tool of an arm: operational-space control.

python examples/04_operational_space_control.py [--plot]

The tool is a mass on a spring whose other end runs along the circle. With the inertia that the tool
shows, L = (J M^-1 J^T)^-1, its acceleration is whatever is asked for:

    tau = J^T (L (a - J_dot nu) ) + h + N^T tau_0

h is the bias force. The last term damps the motion that the tool does not see: N = 1 - J_bar J with
J_bar = M^-1 J^T L is what is left of joint motion when that of the tool is taken out.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

DT, SECONDS, RADIUS, RATE = 0.001, 4.0, 0.08, np.pi  # [s], [s], [m], [rad/s]
STIFFNESS, DAMPING, POSTURE = 400.0, 40.0, 4.0  # [1/s^2], [1/s], of the rest [1/s]


def circle(t: float, top: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position, velocity and acceleration of the target: it leaves the top from rest, in 1 s."""
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
    """Follow the circle, and say how far the tool was from it at most [m]."""
    kd = lw.KinDyn(lw.robots.load("arm"), floating=False)
    # all that one iteration needs in one call; pose, Jacobian, bias acceleration are of the tool
    of_tool = [(name, "tool") for name in ("transform", "jacobian", "bias_acceleration")]
    tick = kd.function("inverse_mass_matrix", "bias_force", *of_tool)
    q, nu = kd.q(shoulder_pitch=0.6, elbow_pitch=1.2), np.zeros(kd.nv)
    top = kd.transform("tool", q)[:3, 3]
    errors, path, most = [], [], 0.0
    for k in range(round(SECONDS / DT)):
        M_inv, h, H, J, bias = tick(q, nu)
        J, bias, position = J[:3], bias[:3], H[:3, 3]
        wanted, velocity, feedforward = circle(k * DT, top)
        a = feedforward + DAMPING * (velocity - J @ nu) + STIFFNESS * (wanted - position)
        L = np.linalg.inv(J @ M_inv @ J.T)  # what the tool weighs [kg]
        null = np.eye(kd.nv) - J.T @ L @ J @ M_inv  # N^T
        posture = np.linalg.solve(M_inv, -POSTURE * nu)
        tau = J.T @ L @ (a - bias) + h + null @ posture
        nu = nu + DT * (M_inv @ (tau - h))
        q = kd.integrate(q, nu, DT)
        errors.append(float(np.linalg.norm(wanted - position)))
        path.append(position)
        most = max(most, float(np.abs(tau / kd.limits.effort).max()))
    print(f"the tool stays within {1e3 * max(errors):.2f} mm of a circle of {RADIUS * 200:.0f} cm")
    print(f"and turns once in {2 * np.pi / RATE:.0f} s; the busiest motor gives {most:.0%}")
    if plot:
        show(np.array(path))
    return {"error": max(errors), "effort": most, "travelled": float(np.ptp(path, axis=0)[1])}


def show(path: np.ndarray) -> None:
    import matplotlib.pyplot as plt

    plt.plot(path[:, 1], path[:, 2])
    plt.gca().set(xlabel="y [m]", ylabel="z [m]", aspect="equal")
    plt.show()


if __name__ == "__main__":
    main(plot="--plot" in sys.argv[1:])
