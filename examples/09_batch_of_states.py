"""100,000 states of a humanoid in one call, for example for learning.

python examples/09_batch_of_states.py

Every function accepts leading batch axes and distributes the rows over the cores. With `out=`, it
writes to existing arrays.
"""

from __future__ import annotations

import time

import numpy as np

import linkwork as lw

STATES = 100_000


def main() -> dict[str, float]:
    """Compute torques and CoM velocities of all states, and check some of them separately."""
    kd = lw.KinDyn(lw.robots.load("humanoid"))
    rng = np.random.default_rng(0)
    q, nu = kd.random(STATES, seed=0), rng.normal(size=(STATES, kd.nv))
    # both quantities in one function, which computes the kinematics once
    both = kd.function("bias_force", "com_velocity")
    both.warmup()  # wait for the optimized code, compiled in the background
    tau, velocity = both(q, nu)
    start = time.perf_counter()
    both(q, nu, out=(tau, velocity))
    seconds = time.perf_counter() - start

    efforts = np.abs(tau[:, 6:]) / kd.limits.effort
    print(f"{STATES:,} states: bias forces {tau.shape}, CoM velocities {velocity.shape}")
    print(f"{(efforts < 1).all(axis=1).mean():.1%} of the states are within all effort limits")
    joint = efforts.mean(axis=0).argmax()
    print(f"the largest mean effort is that of {kd.joint_names[joint]}:", end=" ")
    print(f"{efforts[:, joint].mean():.0%} of its limit")
    rows = rng.integers(STATES, size=20)
    error = max(np.abs(kd.bias_force(q[k], nu[k]) - tau[k]).max() for k in rows)
    print(f"rows computed separately differ by less than 1e-9 N m: {error < 1e-9}")
    print(f"it took {1e3 * seconds:.0f} ms, {1e9 * seconds / STATES:.0f} ns per state")
    return {"error": float(error), "momentum": float(np.abs(velocity).mean())}


if __name__ == "__main__":
    main()
