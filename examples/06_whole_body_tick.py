"""One iteration of whole-body control: a humanoid on two feet accelerates sideways.

python examples/06_whole_body_tick.py

A quadratic program for the accelerations a and the wrenches f on both feet:

    minimize    |J_com a + b_com - a_com|^2 + small terms for posture and wrenches
    subject to  base rows of  M a + h - J^T f  are zero      no wrench on the pelvis
                J a + b = 0                                  the feet do not move
                friction, center of pressure, effort limits

The equations are eliminated with a basis of their null space, the inequalities are handled by an
active-set method in forty lines of NumPy. It is exact, but a controller on a robot would use a QP
solver. linkwork computes M, h, Jacobians and bias accelerations in one call.
"""

from __future__ import annotations

import numpy as np

import linkwork as lw

FEET = ("l_sole", "r_sole")
FRICTION, HALF_LENGTH, HALF_WIDTH = 0.5, 0.09, 0.045  # ground; sole [m]
POSTURE, FORCES = 1e-4, 1e-7  # weights; that of the center of mass is 1


def standing(kd: lw.KinDyn) -> np.ndarray:
    """Return a configuration with bent knees."""
    bent = {"hip_pitch": -0.4, "knee": 0.8, "ankle_pitch": -0.4}
    return kd.q({f"{side}_{joint}": angle for side in "lr" for joint, angle in bent.items()})


def contact_rows() -> np.ndarray:
    """(9, 6) rows C with C w <= 0 for admissible wrenches w = [force; torque] on a sole."""
    x, y, z, tx, ty = np.eye(6)[:5]
    mu = FRICTION / np.sqrt(2)  # pyramid inside the friction cone
    rows = [-z, x - mu * z, -x - mu * z, y - mu * z, -y - mu * z]
    rows += [tx - HALF_WIDTH * z, -tx - HALF_WIDTH * z, ty - HALF_LENGTH * z, -ty - HALF_LENGTH * z]
    return np.array(rows)


def quadratic_program(H, g, equal, less) -> np.ndarray:
    """Minimize x^T H x / 2 + g^T x with A x = b (equal) and C x <= d (less)."""
    (A, b), (C, d) = equal, less
    x0 = np.linalg.lstsq(A, b, rcond=None)[0]
    Z = np.linalg.svd(A)[2][np.linalg.matrix_rank(A) :].T  # x0 + Z y solves A x = b for all y
    root = np.linalg.inv(np.linalg.cholesky(Z.T @ H @ Z)).T
    best = -root @ root.T @ Z.T @ (H @ x0 + g)  # y without inequalities; y = best + root z
    G, slack = C @ Z @ root, d - C @ (x0 + Z @ best)
    return x0 + Z @ (best + root @ shortest(G, slack))


def shortest(G: np.ndarray, slack: np.ndarray) -> np.ndarray:
    """Return the shortest z with G z <= slack (Lawson, Hanson, Solving Least Squares Problems)."""
    size = np.linalg.norm(G, axis=1) + 1e-12
    E = np.vstack([-G.T / size, -slack / size])
    scale = np.abs(E[-1]).max()
    E[-1] /= scale
    r = E @ nonnegative(E, np.eye(len(E))[-1]) - np.eye(len(E))[-1]
    return -scale * r[:-1] / r[-1]


def nonnegative(E: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Return the u >= 0 that minimizes |E u - f|, by an active-set method."""
    u, active = np.zeros(E.shape[1]), np.zeros(E.shape[1], dtype=bool)
    while True:
        gradient = E.T @ (f - E @ u)
        gradient[active] = -np.inf
        if gradient.max() < 1e-12:
            return u
        active[gradient.argmax()] = True
        while True:
            trial = np.zeros_like(u)
            trial[active] = np.linalg.lstsq(E[:, active], f, rcond=None)[0]
            if (trial[active] > 0).all():
                break
            leaving = active & (trial <= 0)
            part = (u[leaving] / (u[leaving] - trial[leaving])).min()
            u = u + part * (trial - u)
            active &= u > 1e-14
        u = trial


def tick(kd: lw.KinDyn, q: np.ndarray, nu: np.ndarray, a_com: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return accelerations (nv,), foot wrenches (2, 6) and torques (joints,) for an a_com."""
    of_feet = [(name, foot) for foot in FEET for name in ("jacobian", "bias_acceleration")]
    of_com = ("com_jacobian", "com_bias_acceleration")
    M, h, Jl, bl, Jr, br, J_com, b_com = kd.function(
        "mass_matrix", "bias_force", *of_feet, *of_com
    )(q, nu)
    J, bias, n = np.vstack([Jl, Jr]), np.concatenate([bl, br]), kd.nv
    dynamics = np.hstack([M, -J.T])  # of x = [a; f]: tau = dynamics @ x + h
    task = np.hstack([J_com, np.zeros((3, 12))])
    H = task.T @ task + np.diag([POSTURE] * n + [FORCES] * 12)
    g = task.T @ (b_com - a_com)
    A = np.vstack([dynamics[:6], np.hstack([J, np.zeros((12, 12))])])
    b = np.concatenate([-h[:6], -bias])
    soles = np.zeros((18, n + 12))
    soles[:9, n : n + 6] = soles[9:, n + 6 :] = contact_rows()
    effort = kd.limits.effort
    C = np.vstack([soles, dynamics[6:], -dynamics[6:]])
    d = np.concatenate([np.zeros(18), effort - h[6:], effort + h[6:]])
    x = quadratic_program(H, g, (A, b), (C, d))
    return x[:n], x[n:].reshape(2, 6), (dynamics @ x + h)[6:]


def main() -> dict[str, np.ndarray]:
    """Request a small acceleration and an impossible one."""
    kd = lw.KinDyn(lw.robots.load("humanoid"))
    q, nu = standing(kd), np.zeros(kd.nv)
    results = {}
    for desired in (1.0, 8.0):
        a, wrenches, tau = tick(kd, q, nu, np.array([0.0, desired, 0.0]))
        actual = kd.com_jacobian(q) @ a
        sideways, (left, right) = wrenches[:, 1].sum(), wrenches[:, 2]
        print(f"desired {desired:.0f} m/s^2 to the left, possible {actual[1]:.2f} m/s^2")
        print(
            f"  force on the left foot {round(left)} N, on the right foot {round(right)} N;",
            end=" ",
        )
        print(f"{sideways / (FRICTION * (left + right)):.0%} of the friction,", end=" ")
        print(f"{np.max(np.abs(tau) / kd.limits.effort):.0%} of the effort limits")
        results[f"{desired:.0f}"] = np.concatenate([a, wrenches.reshape(-1), tau])
    return results


if __name__ == "__main__":
    main()
