"""100,000 states of a humanoid in one call, as learning needs them.

python examples/09_batch_of_states.py

Every function takes leading batch axes and shares the rows among the cores. With `out=`, it writes
to arrays that are there.
"""

from __future__ import annotations

import time

import numpy as np

import linkwork as lw

STATES = 100_000


def main() -> dict[str, float]:
    """Compute torques and CoM velocities of all states, and check some of them one by one."""
    kd = lw.KinDyn(lw.robots.load("humanoid"))
    rng = np.random.default_rng(0)
    q, nu = kd.random(STATES, seed=0), rng.normal(size=(STATES, kd.nv))
    # both in one function, which shares the kinematics
    both = kd.function("bias_force", "com_velocity")
    both.warmup()  # wait for the fast code, which is otherwise made in the background
    tau, velocity = both(q, nu)
    start = time.perf_counter()
    both(q, nu, out=(tau, velocity))
    seconds = time.perf_counter() - start

    joints = np.abs(tau[:, 6:]) / kd.limits.effort
    print(f"{STATES:,} states: bias forces {tau.shape}, CoM velocities {velocity.shape}")
    print(
        f"{(joints < 1).all(axis=1).mean():.1%} of the states are within the efforts of all motors"
    )
    busiest = joints.mean(axis=0).argmax()
    print(f"the motor of {kd.joint_names[busiest]} has most to do:", end=" ")
    print(f"{joints[:, busiest].mean():.0%} of its effort on average")
    rows = rng.integers(STATES, size=20)
    apart = max(np.abs(kd.bias_force(q[k], nu[k]) - tau[k]).max() for k in rows)
    print(f"rows computed alone differ by less than 1e-9 N m: {apart < 1e-9}")
    print(f"it took {1e3 * seconds:.0f} ms, {1e9 * seconds / STATES:.0f} ns for a state")
    return {"apart": float(apart), "momentum": float(np.abs(velocity).mean())}


if __name__ == "__main__":
    main()
