"""Hold an arm against gravity: with the torques of its own weight it does not move.

python examples/02_gravity_compensation.py

The torques that hold the arm in q are g(q), the bias force at rest. A hand that pushes with a force
f is felt as J^T f in the joints, so the same controller can push with a force that is asked for.
"""

from __future__ import annotations

import numpy as np

import linkwork as lw


def main() -> dict[str, float]:
    """Accelerations with and without the torques, and the force that the tool exerts."""
    kd = lw.KinDyn(lw.robots.load("arm"), floating=False)
    q, rest = kd.q(shoulder_pitch=0.6, elbow_pitch=1.2), np.zeros(kd.nv)
    gravity = kd.gravity_force(q)
    for name, force, most in zip(kd.joint_names, gravity, kd.limits.effort, strict=True):
        unit = "N" if kd.model.joint(name).kind == "prismatic" else "N m"
        print(f"  {name:18} {round(force, 2) + 0.0:+7.2f} of {most:5.1f} {unit}")

    falling = kd.forward_dynamics(q, rest, rest)
    held = kd.forward_dynamics(q, rest, gravity)
    print(f"without torques the shoulder falls with {falling[1]:+.1f} rad/s^2,", end=" ")
    print(f"with them nothing moves: {np.abs(held).max() < 1e-10}")

    # 10 N downwards on a table: the table answers with 10 N upwards, and nothing moves
    push = np.array([0.0, 0.0, -10.0, 0.0, 0.0, 0.0])  # force [N], torque [N m]
    torques = gravity + kd.jacobian("tool", q).T @ push
    pressed = kd.forward_dynamics(q, rest, torques, wrenches={"tool": -push})
    print(f"pushing with 10 N takes {torques[1] - gravity[1]:+.2f} N m more in the shoulder")
    return {
        "falling": float(np.abs(falling).max()),
        "held": float(np.abs(held).max()),
        "pressed": float(np.abs(pressed).max()),
    }


if __name__ == "__main__":
    main()
