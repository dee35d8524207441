"""Arguments of every method of `KinDyn` as tensors, and results as lists."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
from tests.support.kernels import floater, joint_kinds

import linkwork.torch
from linkwork.bridges.methods import METHODS

FRAMES = {"frame": "tip", "reference": "upper_rod", "frames": ["tip", "base"]}


@cache
def robot(**options):
    """A floating base and two joints: q has 9 coordinates, nu 8."""
    kd = linkwork.torch.KinDyn(floater().model, **options)
    kd.warmup("bias_force", "integrate")  # the bits of the first code differ from those of the fast
    return kd


@cache
def all_joints():
    """A floating base and joints of three kinds: q has 14 coordinates, nu 11."""
    return linkwork.torch.KinDyn(joint_kinds())


def frames_of(name, names=FRAMES):
    """The positional and the keyword frame arguments of a method."""
    if name == "transforms":
        return [], {"frames": names["frames"]}
    return [names[frame] for frame in METHODS[name].frames], {}


def inputs_of(name, batch=(), seed=0, bridged=None):
    """Random tensors for the inputs of a method of a robot, `robot()` if not given."""
    kd, rng = (bridged or robot()).numpy, np.random.default_rng(seed)
    arguments = {
        "q": kd.random(batch, seed=seed),
        "q_start": kd.random(batch, seed=seed),
        "q_end": kd.random(batch, seed=seed + 1),
        "dt": rng.uniform(0.1, 0.5, size=batch),
    }
    return [
        torch.as_tensor(arguments[one] if one in arguments else rng.normal(size=(*batch, kd.nv)))
        for one in (argument.name for argument in METHODS[name].inputs)
    ]


def listed(results):
    """One result, or a tuple of them, as a list."""
    return list(results) if isinstance(results, tuple) else [results]


def random_like(tensor, seed=0):
    """Random values in the shape of a tensor."""
    numbers = np.random.default_rng(seed).normal(size=tuple(tensor.shape))
    return torch.as_tensor(numbers, dtype=tensor.dtype)
