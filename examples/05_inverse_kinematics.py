"""Inverse kinematics within the limits of the joints: one target, thousands, and one out of reach.

python examples/05_inverse_kinematics.py
"""

from __future__ import annotations

import numpy as np

import linkwork as lw


def main() -> dict[str, float]:
    """Reach poses; the largest error that is left, and how far the far target is missed [m]."""
    kd = lw.KinDyn(lw.robots.load("arm"), floating=False)
    home = kd.q(shoulder_pitch=0.6, elbow_pitch=1.2)

    # a pose: 20 cm to the left and 10 cm up, with the tool as it is
    target = kd.transform("tool", home)
    target[:3, 3] += 0.0, 0.2, 0.1
    one = lw.ik(kd, {"tool": target}, home)
    print(f"one pose: reached to a micrometre: {one.position_errors['tool'] < 1e-6}")

    # many poses at once; random starts help where the first one does not lead to the target
    poses = kd.transform("tool", kd.random(2000, seed=0))
    many = lw.ik(kd, {"tool": poses}, home)
    within = (many.q >= kd.limits.lower).all() and (many.q <= kd.limits.upper).all()
    print(f"2,000 poses: {many.converged.mean():.1%} reached, all within the limits: {within}")

    # out of reach: the arm stretches towards it, and the result says which joints are at a limit
    far = lw.ik(kd, {"tool": [0.9, 0.0, -0.5]}, home)
    miss = float(far.position_errors["tool"])
    print(f"out of reach: {100 * miss:.1f} cm are missing, at a limit: {list(far.active_limits)}")

    # where the tool has a choice, a posture decides
    low = lw.ik(kd, {"tool": target[:3, 3]}, home, posture=home, posture_weight=0.1)
    moved = np.abs(low.q - home).max()
    print(f"only its position: joints move by {moved:.2f} rad instead of", end=" ")
    print(f"{np.abs(one.q - home).max():.2f} rad")
    return {
        "error": float(one.position_errors["tool"]),
        "rate": float(many.converged.mean()),
        "within": float(within),
        "missing": miss,
    }


if __name__ == "__main__":
    main()
