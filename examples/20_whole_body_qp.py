"""Whole-body control with a QP solver: a humanoid shifts its weight while it squats.

pip install daqp
python examples/20_whole_body_qp.py

In every tick, a quadratic program computes accelerations a and contact forces f:

    minimize    |J_com a + b_com - a_com|^2 + small terms for posture and forces
    subject to  base rows of  M a + h - J^T f  are zero      no wrench on the pelvis
                J a + Jdot nu = 0                            the feet do not move
                friction, center of pressure, effort limits

J, Jdot nu and the simulation are those of `kd.constrained` with a pose contact at each sole. Its
`inverse_dynamics` returns the forces of least norm for the same accelerations without a solver, but
they need not be admissible: a foot may have to pull.
"""

from __future__ import annotations

import daqp
import numpy as np

import linkwork as lw

FEET = ("l_sole", "r_sole")
FRICTION, HALF_LENGTH, HALF_WIDTH = 0.5, 0.09, 0.045  # ground; sole [m]
POSTURE, FORCES = 1e-3, 1e-7  # weights; that of the center of mass is 1
DT, TICKS = 5e-3, 300
SHIFT = np.array([0.0, 0.08, -0.06])  # of the center of mass, to the left and down [m]
EQUAL, LESS = 5, 0  # what daqp calls rows with lower = upper, and others


def standing(kd: lw.KinDyn) -> np.ndarray:
    """Return a configuration with bent knees."""
    bent = {"hip_pitch": -0.4, "knee": 0.8, "ankle_pitch": -0.4}
    return kd.q({f"{side}_{joint}": angle for side in "lr" for joint, angle in bent.items()})


def sole_rows() -> np.ndarray:
    """(18, 12) rows C with C f <= 0 for admissible forces on both soles."""
    x, y, z, tx, ty = np.eye(6)[:5]
    mu = FRICTION / np.sqrt(2)  # pyramid inside the friction cone
    rows = [-z, x - mu * z, -x - mu * z, y - mu * z, -y - mu * z]
    rows += [tx - HALF_WIDTH * z, -tx - HALF_WIDTH * z, ty - HALF_LENGTH * z, -ty - HALF_LENGTH * z]
    return np.kron(np.eye(2), rows)


def target(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the shift of the center of mass at a time, its velocity and acceleration."""
    rate = np.pi / (DT * TICKS)
    s = np.array([1 - np.cos(rate * t), rate * np.sin(rate * t), rate**2 * np.cos(rate * t)]) / 2
    return SHIFT * s[0], SHIFT * s[1], SHIFT * s[2]


class Controller:
    """Computes torques for an acceleration of the center of mass."""

    def __init__(self, kd: lw.KinDyn, stance: lw.ConstrainedKinDyn) -> None:
        of_com = ("com", "com_velocity", "com_jacobian", "com_bias_acceleration")
        self.terms = kd.function("mass_matrix", "bias_force", *of_com)
        self.contacts = stance.function("jacobian", "bias")
        self.soles, self.effort = sole_rows(), kd.limits.effort
        self.q0, self.com0, self.kd = standing(kd), kd.com(standing(kd)), kd

    def tick(self, q: np.ndarray, nu: np.ndarray, t: float) -> tuple[np.ndarray, ...]:
        """Return accelerations (nv,), contact forces (12,) and torques (joints,)."""
        M, h, com, v_com, J_com, b_com = self.terms(q, nu)
        J, bias = self.contacts(q, nu)
        shift, velocity, acceleration = target(t)
        a_com = acceleration + 400 * (self.com0 + shift - com) + 40 * (velocity - v_com)
        posture = 50 * self.kd.difference(q, self.q0) - 14 * nu
        n, m = self.kd.nv, len(J)
        dynamics = np.hstack([M, -J.T])  # of x = [a; f]: tau = dynamics @ x + h
        H = np.diag([POSTURE] * n + [FORCES] * m)
        H[:n, :n] += J_com.T @ J_com
        g = np.concatenate([J_com.T @ (b_com - a_com) - POSTURE * posture, np.zeros(m)])
        rows = [dynamics[:6], np.hstack([J, np.zeros((m, m))])]
        rows += [np.hstack([np.zeros((len(self.soles), n)), self.soles]), dynamics[6:]]
        none = np.full(len(self.soles), -1e30)
        upper = np.concatenate([-h[:6], -bias, 0 * none, self.effort - h[6:]])
        lower = np.concatenate([-h[:6], -bias, none, -self.effort - h[6:]])
        sense = np.array([EQUAL] * (6 + m) + [LESS] * (len(upper) - 6 - m), dtype=np.int32)
        x, _, flag, _ = daqp.solve(H, g, np.vstack(rows), upper, lower, sense)
        if flag <= 0:
            raise RuntimeError(f"the quadratic program has no solution (daqp: {flag})")
        return x[:n], x[n:], (dynamics @ x + h)[6:]


def main() -> dict[str, float]:
    """Simulate the motion."""
    kd = lw.KinDyn(lw.robots.load("humanoid"))
    stance = kd.constrained(dict.fromkeys(FEET, "pose"), actuated=kd.joint_names)
    controller = Controller(kd, stance)
    q, nu, tau = standing(kd), np.zeros(kd.nv), np.zeros(kd.nv)
    start = kd.transforms(q, frames=FEET)
    worst, least_norm, mismatch, effort = -np.inf, 0, 0.0, 0.0
    for k in range(TICKS):
        a, f, tau[6:] = controller.tick(q, nu, k * DT)
        worst = max(worst, (controller.soles @ f).max())
        effort = max(effort, np.max(np.abs(tau[6:]) / kd.limits.effort))
        mismatch = max(mismatch, np.abs(stance.forward_dynamics(q, nu, tau).forces - f).max())
        least_norm += (controller.soles @ stance.inverse_dynamics(q, nu, a).forces).max() > 0
        q, nu = stance.step(q, nu, tau, DT)
    error = np.abs(kd.com(q) - controller.com0 - SHIFT).max()
    moved = np.abs(kd.transforms(q, frames=FEET)[:, :3, 3] - start[:, :3, 3]).max()
    left, right = (stance.forces_of(foot, q, f)[2] for foot in FEET)
    print(f"the center of mass moved by {SHIFT[1]:.2f} m to the left and {-SHIFT[2]:.2f} m down")
    print(f"  error {error * 1e3:.1f} mm; the feet moved by {moved * 1e3:.1f} mm")
    print(f"the left foot bears {left:.0f} N, the right foot {right:.0f} N")
    print(f"all forces are admissible: {worst < 1e-6}; the largest effort is {effort:.0%}")
    share = least_norm / TICKS
    print(f"forces of least norm would not be admissible in {share:.0%} of the ticks")
    return {
        "error": error,
        "moved": moved,
        "worst": worst,
        "mismatch": mismatch,
        "share": share,
        "weight": left + right,
    }


if __name__ == "__main__":
    main()
