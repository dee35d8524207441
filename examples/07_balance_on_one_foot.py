"""Balance on one foot and lift the other: the foot on the ground is the base.

python examples/07_balance_on_one_foot.py [--plot]

With the left sole as its base, a humanoid on one foot is an arm with a fixed base: no contact needs
to be modeled. With the same sole as a floating base at rest, the first six rows of inverse dynamics
are the wrench from the ground. Its center of pressure must be within the sole.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

DT, SECONDS = 0.002, 2.0
SOLE, FOOT = "l_sole", "r_sole"
LIFT = np.array([0.10, 0.0, 0.12])  # motion of the other foot [m]


def start() -> tuple[lw.Model, dict[str, float]]:
    """Return the robot, and joint positions with the center of mass above the left sole."""
    robot = lw.robots.load("humanoid")
    kd = lw.KinDyn(robot, base=SOLE, floating=False)
    bent = {"hip_pitch": -0.4, "knee": 0.8, "ankle_pitch": -0.4}
    q0 = kd.q({f"{side}_{joint}": angle for side in "lr" for joint, angle in bent.items()})
    com = kd.com(q0)
    solution = lw.ik(kd, {FOOT: kd.transform(FOOT, q0)}, q0, com=[0.0, 0.0, com[2]], posture=q0)
    assert solution.converged
    return robot, dict(zip(kd.joint_names, solution.q, strict=True))


def main(plot: bool = False) -> dict[str, float]:
    """Lift the foot; return the distance of the center of pressure from that of the sole [m]."""
    robot, joints = start()
    kd = lw.KinDyn(robot, base=SOLE, floating=False)
    ground = lw.KinDyn(
        robot, base=SOLE, floating=True
    )  # the same joints, and six rows for the ground wrench
    tick = kd.function(
        *("mass_matrix", "bias_force", "com", "com_jacobian", "com_bias_acceleration"),
        *(("transform", FOOT), ("jacobian", FOOT), ("bias_acceleration", FOOT)),
    )
    q, nu = kd.q(joints), np.zeros(kd.nv)
    q0, com0, foot0 = q, kd.com(q), kd.transform(FOOT, q)[:3, 3]
    sole, still = ground.neutral()[:7], np.zeros(6)  # at the origin of the world, at rest
    pressure, path = [], []
    for k in range(round(SECONDS / DT)):
        M, h, com, J_com, b_com, H, J, b = tick(q, nu)
        s = min(k * DT / 1.5, 1.0)
        goal = foot0 + LIFT * (3 * s**2 - 2 * s**3)
        # weighted least squares for the accelerations: balance first, then the foot, then posture
        rows = [
            (10.0, J_com, -b_com + 60 * (com0 - com) - 15 * J_com @ nu),
            (3.0, J[:3], -b[:3] + 60 * (goal - H[:3, 3]) - 15 * J[:3] @ nu),
            (0.1, np.eye(kd.nv), 20 * (q0 - q) - 9 * nu),
        ]
        A, y = (np.concatenate([w * part[i] for w, *part in rows]) for i in (0, 1))
        acceleration = np.linalg.lstsq(A, y, rcond=None)[0]
        tau = M @ acceleration + h
        moving = (np.concatenate([still, part]) for part in (nu, acceleration))
        wrench = ground.inverse_dynamics(np.concatenate([sole, q]), *moving)[:6]
        pressure.append([-wrench[4] / wrench[2], wrench[3] / wrench[2]])
        nu = nu + DT * np.linalg.solve(M, tau - h)
        q = kd.integrate(q, nu, DT)
        path.append(kd.transform(FOOT, q)[:3, 3] - foot0)
    largest = np.abs(pressure).max(axis=0)
    ahead, _, up = 100 * path[-1]
    print(f"the right foot moved {up:.1f} cm up and {ahead:.1f} cm forward")
    print(f"the center of mass moved by {1e3 * np.linalg.norm(kd.com(q) - com0):.1f} mm")
    print(f"the center of pressure stayed within {100 * largest[0]:.1f} cm along", end=" ")
    print(f"and {100 * largest[1]:.1f} cm across the sole")
    print(f"the ground force is {wrench[2]:.1f} N of {kd.total_mass * 9.80665:.1f} N")
    if plot:
        show(np.array(pressure))
    return {
        "lifted": float(path[-1][2]),
        "along": float(largest[0]),
        "across": float(largest[1]),
        "bears": float(wrench[2] / (kd.total_mass * 9.80665)),
    }


def show(pressure: np.ndarray) -> None:
    import matplotlib.pyplot as plt

    plt.plot(*pressure.T)
    plt.gca().set(xlabel="x of the sole [m]", ylabel="y [m]", aspect="equal")
    plt.show()


if __name__ == "__main__":
    main(plot="--plot" in sys.argv[1:])
