"""Load a robot and print its links and joints, its limits, its mass, and the pose of its tool.

python examples/01_load_and_inspect.py
"""

from __future__ import annotations

import numpy as np

import linkwork as lw


def main() -> lw.KinDyn:
    """Print the parts of an arm, and some quantities of one configuration."""
    robot = lw.robots.load("arm")  # or lw.load("robot.urdf")
    print(robot)

    kd = lw.KinDyn(robot, floating=False)  # compiled functions, with a fixed base
    limits = kd.limits
    for k, name in enumerate(kd.joint_names):
        kind = robot.joint(name).kind
        length, force = ("m", "N") if kind == "prismatic" else ("rad", "N m")
        span = f"{limits.lower[k]:+.2f} to {limits.upper[k]:+.2f} {length}"
        print(f"  {name:18} {kind:10} {span:20} up to {limits.effort[k]:g} {force}")

    q = kd.q(shoulder_pitch=0.6, elbow_pitch=1.2)  # the other joints are neutral
    print("the tool is at", np.round(kd.transform("tool", q)[:3, 3], 3), "m")
    print(f"its mass is {kd.total_mass:.2f} kg,", end=" ")
    print("its center of mass is at", np.round(kd.com(q), 3), "m")
    print(f"the condition number of its mass matrix is {np.linalg.cond(kd.mass_matrix(q)):.0f}")
    return kd


if __name__ == "__main__":
    main()
