"""Move an arm to a point with the least effort: direct collocation with CasADi and IPOPT.

python examples/17_casadi_reach.py [--steps N]
"""

from __future__ import annotations

import argparse

import casadi as ca
import numpy as np

import linkwork as lw
import linkwork.casadi as lwc

DURATION, TARGET = 1.0, (0.35, 0.25, 0.45)  # [s], final position of the tool [m]
kd = lwc.KinDyn(lw.robots.load("arm"), floating=False)


def solve(steps: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return positions (steps + 1, nq), torques (steps + 1, nv) and the squared effort."""
    opti, dt = ca.Opti(), DURATION / steps
    s, v, a = (opti.variable(kd.nv, steps + 1) for _ in range(3))
    torques = kd.function("inverse_dynamics").map(steps + 1)(s, v, a)
    effort = dt * ca.sumsqr(torques)
    opti.minimize(effort)
    # the trapezoidal rule
    opti.subject_to(s[:, 1:] == s[:, :-1] + dt / 2 * (v[:, 1:] + v[:, :-1]))
    opti.subject_to(v[:, 1:] == v[:, :-1] + dt / 2 * (a[:, 1:] + a[:, :-1]))
    opti.subject_to(s[:, 0] == start())
    opti.subject_to(v[:, 0] == 0)
    opti.subject_to(v[:, -1] == 0)
    opti.subject_to(kd.transform("tool", s[:, -1])[:3, 3] == ca.DM(TARGET))
    limits = kd.limits
    for k in range(1, steps + 1):
        opti.subject_to(opti.bounded(limits.lower, s[:, k], limits.upper))
        opti.subject_to(opti.bounded(-limits.effort, torques[:, k], limits.effort))
    opti.set_initial(s, ca.repmat(ca.DM(start()), 1, steps + 1))
    quiet = {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes"}
    opti.solver("ipopt", quiet)
    solution = opti.solve()
    values = [np.asarray(solution.value(matrix)) for matrix in (s, torques, effort)]
    return values[0].T, values[1].T, float(values[2])


def start() -> np.ndarray:
    """(nq,) initial configuration, bent at the elbow, within all limits."""
    limits = kd.limits
    return np.clip(np.full(kd.nq, 0.3), limits.lower, limits.upper)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20)
    positions, torques, effort = solve(parser.parse_args().steps)
    reached = lw.KinDyn(kd.model, floating=False).transform("tool", positions[-1])[:3, 3]
    print(f"effort {effort:.2f} (N m)^2 s; the tool ends at {np.round(reached, 4)} m")
    print(f"largest torque {np.abs(torques).max():.2f} of {kd.limits.effort.max():g} N m")
