"""Load a robot and look at it: its links and joints, its mass, where its hand is, its limits.

python examples/01_load_and_inspect.py
"""

from __future__ import annotations

import numpy as np

import linkwork as lw


def main() -> lw.KinDyn:
    """Print what an arm is made of, and some quantities of one configuration."""
    robot = lw.robots.load("arm")  # or lw.load("robot.urdf")
    print(robot)

    kd = lw.KinDyn(robot, floating=False)  # its compiled functions, on a fixed base
    limits = kd.limits
    for k, name in enumerate(kd.joint_names):
        kind = robot.joint(name).kind
        length, force = ("m", "N") if kind == "prismatic" else ("rad", "N m")
        span = f"{limits.lower[k]:+.2f} to {limits.upper[k]:+.2f} {length}"
        print(f"  {name:18} {kind:10} {span:20} at most {limits.effort[k]:g} {force}")

    q = kd.q(shoulder_pitch=0.6, elbow_pitch=1.2)  # the other joints are at their neutral position
    print("the tool is at", np.round(kd.transform("tool", q)[:3, 3], 3), "m")
    print(f"the robot weighs {kd.total_mass:.2f} kg,", end=" ")
    print("its centre of mass is at", np.round(kd.com(q), 3), "m")
    print(f"its mass matrix has the condition number {np.linalg.cond(kd.mass_matrix(q)):.0f}")
    return kd


if __name__ == "__main__":
    main()
