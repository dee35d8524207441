"""Arguments of every method of `KinDyn` as tensors, and results as lists."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
from tests.support.kernels import floater

import linkwork.torch
from linkwork.bridges.methods import METHODS

FRAMES = {"frame": "tip", "reference": "upper_rod", "frames": ["tip", "base"]}


@cache
def robot(**options):
    """A base that floats, two joints: q has 9 numbers, nu 8."""
    return linkwork.torch.KinDyn(floater().model, **options)


def frames_of(name):
    """The frames that a method takes, and those it takes by name."""
    if name == "transforms":
        return [], {"frames": FRAMES["frames"]}
    return [FRAMES[frame] for frame in METHODS[name].frames], {}


def inputs_of(name, batch=(), seed=0):
    """Random tensors for the inputs of a method."""
    kd, rng = robot().numpy, np.random.default_rng(seed)
    given = {
        "q": kd.random(batch, seed=seed),
        "q_start": kd.random(batch, seed=seed),
        "q_end": kd.random(batch, seed=seed + 1),
        "dt": rng.uniform(0.1, 0.5, size=batch),
    }
    return [
        torch.as_tensor(given[one] if one in given else rng.normal(size=(*batch, kd.nv)))
        for one in METHODS[name].inputs
    ]


def listed(results):
    """One result, or a tuple of them, as a list."""
    return list(results) if isinstance(results, tuple) else [results]


def random_like(tensor, seed=0):
    """Random numbers in the shape of a tensor."""
    numbers = np.random.default_rng(seed).normal(size=tuple(tensor.shape))
    return torch.as_tensor(numbers, dtype=tensor.dtype)
