"""Robots for JAX, arguments of their quantities, and results as one vector."""

from __future__ import annotations

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np
from tests.support.kernels import BODY

import linkwork as lw
import linkwork.jax

# In jax 0.7 and earlier, it is experimental.
enable_x64 = (jax if hasattr(jax, "enable_x64") else jax.experimental).enable_x64


def quaternions() -> lw.Model:
    """A revolute and a spherical joint: with a floating base, two quaternions in q."""
    builder = lw.ModelBuilder("quaternions")
    for name in ("trunk", "arm", "ball"):
        builder.add_link(name, inertia=BODY)
    mount = lw.Pose(xyz=(0.1, -0.2, 0.3))
    builder.add_joint("elbow", "revolute", "trunk", "arm", axis=(0, 0, 1), first_H_joint=mount)
    builder.add_joint("wrist", "spherical", "arm", "ball", first_H_joint=mount)
    return builder.build()


def kindyn(**options: object) -> linkwork.jax.KinDyn:
    return linkwork.jax.KinDyn(quaternions(), **options)


def arguments(kd: linkwork.jax.KinDyn, names: object, batch: tuple[int, ...] = ()) -> list:
    """Random values for inputs by name, as NumPy arrays."""
    rng = np.random.default_rng(5)
    actual = []
    for index, name in enumerate(names):
        if name.startswith("q"):
            actual.append(kd.numpy.random(batch, seed=index))
        else:
            actual.append(0.5 * rng.normal(size=batch if name == "dt" else (*batch, kd.nv)))
    return [array.astype(kd.dtype) for array in actual]


def request(kd: linkwork.jax.KinDyn, name: str) -> tuple:
    """A quantity with frames, as `function` takes it."""
    first, *_, last = kd.numpy.model.frame_names
    count = len(lw.KinDyn.quantities[name].frames)
    frames = {0: (), 1: (last,), 2: (first, last), 4: (first, last, first, last)}[count]
    return (name, (first, last)) if lw.KinDyn.quantities[name].of_many else (name, *frames)


def flattened(function: object) -> object:
    """The function with all its results in one vector."""

    def flat(*given: object) -> jax.Array:
        return jnp.concatenate([jnp.ravel(part) for part in jax.tree.leaves(function(*given))])

    return jax.jit(flat)
