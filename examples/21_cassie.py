"""Cassie stands on its feet and falls: four closed loops, and contacts.

python examples/21_cassie.py

Needs the robot's file: pip install example-robot-data

Each leg has two loops, which rods close. Two of their equations are redundant. The leaf springs are
stiff, so they are locked here, as couplings of one joint.
"""

from __future__ import annotations

import warnings

import numpy as np

import linkwork as lw

SIDES = ("left", "right")
DRIVEN = ("roll", "yaw", "pitch", "knee", "foot")
MOTORS = [f"{side}-{joint}-op" for side in SIDES for joint in DRIVEN]
SPRINGS = [f"{side}-{joint}-joint" for side in SIDES for joint in ("knee-shin", "tarsus-spring")]
FEET = [f"{side}-foot" for side in SIDES]
TIME, DT = 0.3, 5e-4  # of the fall [s]


def cassie() -> lw.KinDyn:
    """Return Cassie with locked springs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)  # elements of simulators
        model = lw.load("cassie_v2")
    for joint in SPRINGS:
        model = model.with_constraint("coupling", joint, coefficients=(0.0,), name=f"{joint}-lock")
    return lw.KinDyn(model, floating=True)


def main() -> dict[str, np.ndarray]:
    """Compute the torques of standing, and a fall without torques."""
    # of a Cassie that stands, the equations of rods and feet are redundant but for 1e-5
    warnings.filterwarnings("ignore", "cassie: .* redundant but for", lw.LinkworkWarning)
    kd = cassie()
    stance = kd.constrained(FEET, actuated=MOTORS, stabilization=50.0)
    n_joints, n_loops = len(kd.joint_names), len(kd.closing_joints)
    print(f"{n_joints} joints, {len(MOTORS)} motors, {n_loops} loops, {stance.m} equations")

    q, rest = kd.layout.zero(), np.zeros(kd.nv)  # the file places its links with closed loops
    torques, forces, residual = stance.inverse_dynamics(q, rest, rest)
    tau = np.zeros(kd.nv)
    for motor, torque in zip(MOTORS, torques, strict=True):
        tau[kd.layout.nu[motor]] = torque
    nu_dot = stance.forward_dynamics(q, rest, tau).nu_dot
    carried = sum(stance.forces_of(foot, q, forces)[2] for foot in FEET)
    print(f"standing: knees {torques[3]:.1f} and {torques[8]:.1f} N m")
    print(f"the feet carry {carried:.2f} N of {kd.total_mass * 9.80665:.2f} N")
    print(f"accelerations with these torques are 0: {np.abs(nu_dot).max() < 1e-6}")

    controls = np.zeros((round(TIME / DT), kd.nv))
    q_all, nu_all = lw.rollout(stance.step, (q, rest), controls, params={"dt": DT})
    height = kd.com(q_all)[:, 2]
    kinetic = kd.kinetic_energy(q_all, nu_all)
    lost = kd.potential_energy(q_all[0]) - kd.potential_energy(q_all) - kinetic
    errors = np.abs(stance.error(q_all)).max()
    print(f"falling: the center of mass sinks by {height[0] - height[-1]:.3f} m in {TIME} s")
    print(f"loops are closed to 1e-6 m: {errors < 1e-6}")
    print(f"energy is conserved to {100 * abs(lost[-1]) / kinetic[-1]:.1f} % of the kinetic energy")
    return {
        "nu_dot": nu_dot,
        "residual": residual,
        "carried": carried / (kd.total_mass * 9.80665),
        "height": height,
        "errors": errors,
        "lost": lost / kinetic[-1],
    }


if __name__ == "__main__":
    main()
