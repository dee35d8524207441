"""The workspace of a delta robot: inverse kinematics with closed loops, all points in one call.

python examples/18_delta_workspace.py [--plot]

Three motors move arms. Two parallel rods connect each arm to the platform, which only translates.
Five of the six ball joints at the platform close loops. A point is in the workspace if
the motors can bring the platform there with all loops closed.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

BASE, ARM, ROD, PLATFORM = 0.20, 0.25, 0.60, 0.06  # radii and lengths [m]
WIDTH = 0.05  # half the distance of parallel rods [m]
MOTOR = (-0.8, 1.2)  # limits; positive is down [rad]
SPACING = 0.08  # of the points [m]
Y = (0, 1, 0)


def delta_robot() -> lw.Model:
    b = lw.ModelBuilder("delta")
    b.add_link("frame", inertia=lw.solid_box(5.0, (0.4, 0.4, 0.05)))
    b.add_link("platform", inertia=lw.solid_box(0.5, (0.1, 0.1, 0.02)))
    for k in range(3):
        yaw = 2 * np.pi * k / 3
        c, s = np.cos(yaw), np.sin(yaw)
        arm, motor = f"arm{k}", lw.Pose((BASE * c, BASE * s, 0), (0, 0, yaw))
        b.add_link(arm, inertia=lw.solid_box(0.4, (ARM, 0.03, 0.03), com=(ARM / 2, 0, 0)))
        b.add_joint(
            *(f"motor{k}", "revolute", "frame", arm),
            axis=Y,
            first_H_joint=motor,
            lower=MOTOR[0],
            upper=MOTOR[1],
        )
        for side, y in (("left", WIDTH), ("right", -WIDTH)):
            rod = f"{side}_rod{k}"
            b.add_link(rod, inertia=lw.solid_box(0.1, (ROD, 0.01, 0.01), com=(ROD / 2, 0, 0)))
            elbow = lw.Pose((ARM, y, 0))
            b.add_joint(f"{side}_elbow{k}", "universal", arm, rod, axis=Y, first_H_joint=elbow)
            ball = lw.Pose((PLATFORM * c - y * s, PLATFORM * s + y * c, 0), (0, 0, yaw)).matrix()
            b.add_joint(
                *(f"{side}_wrist{k}", "spherical", rod, "platform"),
                first_H_joint=lw.Pose((ROD, 0, 0)),
                joint_H_second=np.linalg.inv(ball),
            )
    return b.build()


def home(kd: lw.KinDyn) -> np.ndarray:
    """Return a configuration with level arms and the platform below the frame."""
    fold = np.pi - np.arccos((BASE + ARM - PLATFORM) / ROD)
    elbows = {name: (fold, 0.0) for name in kd.joint_names if "elbow" in name}
    [wrist] = [name for name in kd.joint_names if "wrist" in name]  # the others close loops
    level = {wrist: (np.cos(fold / 2), 0.0, -np.sin(fold / 2), 0.0)}
    return lw.assemble(kd, kd.q({**elbows, **level})).q


def main(plot: bool = False) -> dict[str, np.ndarray]:
    """Return the points, which of them can be reached, and the configurations."""
    kd = lw.KinDyn(delta_robot(), floating=False)
    start = home(kd)
    names = ", ".join(joint.name for joint in kd.closing_joints)
    print(f"{kd.nv} coordinates; closing joints: {names}")
    print(f"home: the platform is at z = {kd.transform('platform', start)[2, 3]:.3f} m")

    x, z = np.arange(-0.4, 0.401, SPACING), np.arange(-0.8, -0.239, SPACING)
    points = np.stack(np.meshgrid(x, x, z, indexing="ij"), axis=-1).reshape(-1, 3)
    solution = lw.ik(kd, {"platform": points}, start, restarts=0)
    reached = points[solution.converged]
    print(f"{len(reached):,} of {len(points):,} points are reached", end=" ")
    print(f"({solution.converged.mean():.0%}), about {len(reached) * SPACING**3:.3f} m^3:")
    for axis, low, high in zip("xyz", reached.min(axis=0), reached.max(axis=0), strict=True):
        print(f"  {axis} from {low:+.2f} to {high:+.2f} m")
    errors = kd.constrained().error(solution.q[solution.converged])
    print(f"loops are closed to 1e-10: {np.abs(errors).max() <= 1e-10}")
    if plot:
        show(reached)
    return {"points": points, "converged": solution.converged, "q": solution.q}


def show(points: np.ndarray) -> None:
    import matplotlib.pyplot as plt

    axes = plt.figure().add_subplot(projection="3d")
    axes.scatter(*points.T, c=points[:, 2], s=8)
    axes.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]", aspect="equal")
    plt.show()


if __name__ == "__main__":
    main(plot="--plot" in sys.argv[1:])
