"""The functions that are measured, their inputs, and how linkwork is asked for them."""

from __future__ import annotations

from typing import Any

from timing import Task

import linkwork as lw
from linkwork.engine.kernel.kernel import Kernel
from robots import State

TITLES = {
    "rnea": "inverse dynamics (RNEA)",
    "crba": "mass matrix (CRBA)",
    "aba": "forward dynamics (ABA)",
    "pose": "pose of one frame",
    "poses": "poses of all links",
    "jacobian": "Jacobian of one frame",
    "cmm": "centroidal momentum matrix",
}
SHORT = {
    "rnea": "RNEA",
    "crba": "CRBA",
    "aba": "ABA",
    "pose": "pose",
    "poses": "poses of all links",
    "jacobian": "Jacobian",
    "cmm": "CMM",
}
INPUTS = {"rnea": ("q", "nu", "nu_dot"), "aba": ("q", "nu", "tau")}  # just q for all others
_NAMES = {
    "rnea": "inverse_dynamics",
    "crba": "mass_matrix",
    "aba": "forward_dynamics",
    "cmm": "centroidal_momentum_matrix",
}


def arguments(function: str, state: State) -> tuple[Any, ...]:
    """What linkwork's function takes."""
    return tuple(getattr(state, name) for name in INPUTS.get(function, ("q",)))


def kernel_of(kd: lw.KinDyn, function: str, frame: str) -> Kernel:
    """The compiled function, ready to run fast."""
    requests: dict[str, Any] = {
        "pose": ("transform", frame),
        "poses": ("transforms", kd.model.link_names),
        "jacobian": ("jacobian", frame),
    }
    kernel = kd.function(requests.get(function) or _NAMES[function])
    kernel.warmup()
    return kernel


def method_task(kd: lw.KinDyn, function: str, frame: str, state: State) -> Task:
    """A call of KinDyn's method as a user writes it."""
    if function == "pose":
        return Task(kd.transform, (frame, state.q))
    if function == "poses":
        return Task(kd.transforms, (state.q,), {"frames": kd.model.link_names})
    if function == "jacobian":
        return Task(kd.jacobian, (frame, state.q))
    return Task(getattr(kd, _NAMES[function]), arguments(function, state))
