"""Gravity compensation: torques that balance the weight of an arm keep it at rest.

python examples/02_gravity_compensation.py

The torques that hold the arm at q are g(q), the bias force at zero velocity. Adding J^T f makes the
tool push with a force f.
"""

from __future__ import annotations

import numpy as np

import linkwork as lw


def main() -> dict[str, float]:
    """Compute accelerations with and without the torques, and the torques of a pushing tool."""
    kd = lw.KinDyn(lw.robots.load("arm"), floating=False)
    q, zero = kd.q(shoulder_pitch=0.6, elbow_pitch=1.2), np.zeros(kd.nv)
    gravity = kd.gravity_force(q)
    for name, force, limit in zip(kd.joint_names, gravity, kd.limits.effort, strict=True):
        unit = "N" if kd.model.joint(name).kind == "prismatic" else "N m"
        print(f"  {name:18} {round(force, 2) + 0.0:+7.2f} of {limit:5.1f} {unit}")

    falling = kd.forward_dynamics(q, zero, zero)
    held = kd.forward_dynamics(q, zero, gravity)
    print(f"without torques the shoulder accelerates with {falling[1]:+.1f} rad/s^2,", end=" ")
    print(f"with them the arm stays at rest: {np.abs(held).max() < 1e-10}")

    # 10 N downwards on a table: the table reacts with 10 N upwards, and the arm stays at rest
    push = np.array([0.0, 0.0, -10.0, 0.0, 0.0, 0.0])  # force [N], torque [N m]
    torques = gravity + kd.jacobian("tool", q).T @ push
    pressed = kd.forward_dynamics(q, zero, torques, wrenches={"tool": -push})
    print(f"pushing with 10 N needs {torques[1] - gravity[1]:+.2f} N m more in the shoulder")
    return {
        "falling": float(np.abs(falling).max()),
        "held": float(np.abs(held).max()),
        "pressed": float(np.abs(pressed).max()),
    }


if __name__ == "__main__":
    main()
