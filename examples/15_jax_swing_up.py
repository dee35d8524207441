"""Swing up a cartpole with JAX: forces are optimized by gradients through a rollout.

    python examples/15_jax_swing_up.py

`forward_dynamics` and `integrate` are compiled by linkwork. JAX scans over the steps and computes
the gradient of the cost with respect to all forces, backwards through time.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

import linkwork as lw
import linkwork.jax

STEPS, DT = 60, 0.03  # 1.8 s

kd = linkwork.jax.KinDyn(lw.robots.load("cartpole"), floating=False)
START = jnp.array([0.0, jnp.pi]), jnp.zeros(kd.nv)  # the pole hangs down, at rest


def step(state, force):
    """One step of the semi-implicit Euler method, with a force on the cart and none on the pole."""
    q, nu = state
    tau = jnp.array([force, 0.0])
    nu = nu + DT * kd.forward_dynamics(q, nu, tau)
    q = kd.integrate(q, nu, DT)
    return (q, nu), q


def rollout(forces):
    """Return the last state, and (STEPS, 2) positions."""
    return jax.lax.scan(step, START, forces)


def cost(forces):
    """Penalize final states other than upright and at rest, and large forces."""
    (q, nu), _ = rollout(forces)
    return 10 * jnp.sum(q**2) + jnp.sum(nu**2) + 1e-4 * jnp.sum(forces**2)


def optimize(iterations=600, rate=0.6):
    """Return forces optimized by Adam's method from a small initial force, and all costs."""
    value_and_gradient = jax.value_and_grad(cost)

    def improve(carry, count):
        forces, mean, square = carry
        value, gradient = value_and_gradient(forces)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
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
    forces, history = optimize()
    (q, nu), _ = rollout(forces)
    print(f"initial cost {history[0]:.1f}, final cost {history[-1]:.3f}")
    print(f"the pole is {abs(q[1]):.3f} rad from upright, at {nu[1]:.3f} rad/s")
