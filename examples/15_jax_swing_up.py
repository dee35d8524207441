"""A cart swings its pole up: forces found by gradients through a rollout, with JAX.

    python examples/15_jax_swing_up.py

`forward_dynamics` and `integrate` are compiled by linkwork; JAX scans over the steps, and takes the
gradient of the cost by all forces at once, backwards through time.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

import linkwork as lw
import linkwork.jax

STEPS, DT = 60, 0.03  # 1.8 s

kd = linkwork.jax.KinDyn(lw.robots.load("cartpole"), floating=False)
START = jnp.array([0.0, jnp.pi]), jnp.zeros(kd.nv)  # the pole hangs down, all at rest


def step(state, force):
    """One step of the semi-implicit Euler method, with a force on the cart and none on the pole."""
    q, nu = state
    tau = jnp.array([force, 0.0])
    nu = nu + DT * kd.forward_dynamics(q, nu, tau)
    q = kd.integrate(q, nu, DT)
    return (q, nu), q


def rollout(forces):
    """The last state, and (STEPS, 2) positions on the way."""
    return jax.lax.scan(step, START, forces)


def cost(forces):
    """Up and at rest at the end, without much force."""
    (q, nu), _ = rollout(forces)
    return 10 * jnp.sum(q**2) + jnp.sum(nu**2) + 1e-4 * jnp.sum(forces**2)


def optimised(iterations=600, rate=0.6):
    """Forces found by Adam's method, from a small push to begin with; and their cost."""
    gradient = jax.value_and_grad(cost)

    def improve(carry, count):
        forces, mean, square = carry
        value, slope = gradient(forces)
        mean = 0.9 * mean + 0.1 * slope
        square = 0.999 * square + 0.001 * slope**2
        unbiased = mean / (1 - 0.9**count), square / (1 - 0.999**count)
        forces = forces - rate * unbiased[0] / (jnp.sqrt(unbiased[1]) + 1e-8)
        return (forces, mean, square), value

    first = jnp.sin(jnp.linspace(0, 6, STEPS))
    counts = jnp.arange(1, iterations + 1)
    zero = jnp.zeros(STEPS)
    (forces, _, _), costs = jax.jit(
        lambda forces: jax.lax.scan(improve, (forces, zero, zero), counts)
    )(first)
    return forces, costs


if __name__ == "__main__":
    found, history = optimised()
    (q, nu), _ = rollout(found)
    print(f"cost {history[0]:.1f} at first, {history[-1]:.3f} in the end")
    print(f"the pole is {abs(q[1]):.3f} rad from upright, at {nu[1]:.3f} rad/s")
