"""Pick and place in a workcell: the dynamics of the arm include the box that it carries.

python examples/10_pick_and_place.py

The state of the cell (joints and attachments) is one immutable value; each step returns a new one.
The dynamics of the arm depend on it: gripped objects are part of the arm's inertia.
"""

from __future__ import annotations

import numpy as np

import linkwork as lw

BOX = lw.solid_box(1.5, (0.06, 0.06, 0.12))
FROM, TO, UP = np.array([0.55, -0.15, 0.10]), np.array([0.45, 0.30, 0.10]), 0.15  # [m]


def cell() -> lw.WorkCell:
    """Return a cell with an arm and a box."""
    with_arm = lw.WorkCell("cell").with_robot("arm", lw.robots.load("arm"), end="tool")
    return with_arm.with_frame(
        *("box", "WORLD", lw.Pose(tuple(FROM))), movable=True, attachable=True, inertia=BOX
    )


def poses() -> dict[str, np.ndarray]:
    """Return the poses of the tool, which points down."""
    above = np.array([0.0, 0.0, UP])
    positions = {"above": FROM + above, "at the box": FROM, "gripped": FROM, "lifted": FROM + above}
    positions |= {"carried": TO + above, "put down": TO, "released": TO}
    rotation = np.diag([1.0, -1.0, -1.0, 1.0])
    return {
        name: rotation + np.outer([*position, 0.0], [0, 0, 0, 1])
        for name, position in positions.items()
    }


def main() -> dict[str, np.ndarray]:
    """Pick, carry and put down the box; print the torque of the shoulder."""
    work = cell()
    arm, dynamics = lw.KinDyn(lw.robots.load("arm"), floating=False), work.dynamics("arm")
    q = arm.q(shoulder_pitch=0.6, elbow_pitch=1.2)
    state = work.state({"arm": q})
    results: dict[str, np.ndarray] = {}
    for name, pose in poses().items():
        if name == "gripped":
            state = work.grip(state, "box", "arm.tool")
        if name == "released":
            state = work.release(state, "box")
        q = lw.ik(arm, {"tool": pose}, q).q
        state = work.device("arm").set_q(state, q)
        torques, mass = dynamics.gravity_force(state), dynamics.total_mass(state)
        print(f"{name:10} shoulder {torques[1]:+6.2f} N m, arm and load {mass:.2f} kg")
        results |= {name: torques, f"q {name}": q}
    results["box"] = work.fk(state)["box"][:3, 3]
    print("the box is at", np.round(results["box"], 3) + 0.0, "m")
    return results


if __name__ == "__main__":
    main()
