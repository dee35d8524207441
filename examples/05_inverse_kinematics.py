"""Inverse kinematics within joint limits: one target, thousands of targets, one out of reach.

python examples/05_inverse_kinematics.py
"""

from __future__ import annotations

import numpy as np

import linkwork as lw


def main() -> dict[str, float]:
    """Reach poses; return the remaining errors [m]."""
    kd = lw.KinDyn(lw.robots.load("arm"), floating=False)
    home = kd.q(shoulder_pitch=0.6, elbow_pitch=1.2)

    # a pose: 20 cm to the left and 10 cm up, with the same orientation
    target = kd.transform("tool", home)
    target[:3, 3] += 0.0, 0.2, 0.1
    one = lw.ik(kd, {"tool": target}, home)
    print(f"one pose: reached to a micrometer: {one.position_errors['tool'] < 1e-6}")

    # many poses at once; random restarts help where the first start does not converge
    poses = kd.transform("tool", kd.random(2000, seed=0))
    many = lw.ik(kd, {"tool": poses}, home)
    within = (many.q >= kd.limits.lower).all() and (many.q <= kd.limits.upper).all()
    print(f"2,000 poses: {many.converged.mean():.1%} reached, all within the limits: {within}")

    # out of reach: the arm stretches towards it; the result has the joints that are at a limit
    far = lw.ik(kd, {"tool": [0.9, 0.0, -0.5]}, home)
    miss = float(far.position_errors["tool"])
    print(f"out of reach by {100 * miss:.1f} cm, joints at a limit: {list(far.active_limits)}")

    # where several solutions exist, the one nearest to a posture is returned
    low = lw.ik(kd, {"tool": target[:3, 3]}, home, posture=home, posture_weight=0.1)
    moved = np.abs(low.q - home).max()
    print(f"only the position: joints move by {moved:.2f} rad instead of", end=" ")
    print(f"{np.abs(one.q - home).max():.2f} rad")
    return {
        "error": float(one.position_errors["tool"]),
        "rate": float(many.converged.mean()),
        "within": float(within),
        "missing": miss,
    }


if __name__ == "__main__":
    main()
