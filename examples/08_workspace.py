"""The workspace of an arm by random sampling: reachable positions and manipulability.

python examples/08_workspace.py [--plot]

Manipulability is sqrt(det(J J^T)) of the linear velocity: 0 where the tool cannot move in
some direction.
"""

from __future__ import annotations

import sys

import numpy as np

import linkwork as lw

SAMPLES, CUBE = 50_000, 0.05  # [m]


def main(plot: bool = False) -> dict[str, float]:
    """Return reach, volume, and the distance of the highest manipulability."""
    kd = lw.KinDyn(lw.robots.load("arm"), floating=False)
    q = kd.random(SAMPLES, seed=0)  # (SAMPLES, nq), within the limits
    points = kd.transform("tool", q)[:, :3, 3]
    J = kd.jacobian("tool", q)[:, :3]
    manipulability = np.sqrt(np.linalg.det(J @ J.transpose(0, 2, 1)))

    shoulder = kd.transform("shoulder", kd.neutral())[:3, 3]
    reach = np.linalg.norm(points - shoulder, axis=1)
    cubes = np.unique(np.floor(points / CUBE), axis=0)
    print(f"the tool reaches {reach.max():.3f} m from the shoulder,", end=" ")
    print(f"down to z = {points[:, 2].min():.2f} m and up to {points[:, 2].max():.2f} m")
    print(f"it visited {len(cubes):,} cubes of 5 cm: about {len(cubes) * CUBE**3:.2f} m^3")
    best = points[manipulability > np.quantile(manipulability, 0.99)]
    distance = np.linalg.norm(best - shoulder, axis=1)
    print(f"manipulability is highest {distance.mean():.2f} m from the shoulder; mean by distance:")
    for near, far in ((0.2, 0.5), (0.5, 0.8), (0.8, 0.95), (0.95, 1.05)):
        selected = manipulability[(reach >= near) & (reach < far)]
        print(f"  {near:.2f} to {far:.2f} m: manipulability {selected.mean():.3f} m^3")
    if plot:
        show(points, manipulability)
    return {
        "reach": float(reach.max()),
        "volume": len(cubes) * CUBE**3,
        "best": float(distance.mean()),
    }


def show(points: np.ndarray, manipulability: np.ndarray) -> None:
    import matplotlib.pyplot as plt

    plt.scatter(np.hypot(*points.T[:2]), points[:, 2], s=1, c=manipulability)
    plt.gca().set(xlabel="distance from the axis [m]", ylabel="z [m]", aspect="equal")
    plt.colorbar(label="manipulability [m^3]")
    plt.show()


if __name__ == "__main__":
    main(plot="--plot" in sys.argv[1:])
