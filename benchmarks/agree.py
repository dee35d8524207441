"""Whether the other libraries compute the same: what is compared must be the same thing."""

from __future__ import annotations

import numpy as np
from functions import TITLES, arguments, kernel_of
from peers import Peer

import linkwork as lw
from robots import State

ENOUGH = 1e-6  # of the largest entry; one library rounds some inertias to float32


def difference(kd: lw.KinDyn, peer: Peer, function: str, frame: str, state: State) -> float | None:
    """How far another library's result is from ours, relative to the largest entry.

    None where it computes nothing, or leaves nothing in an array.
    """
    inputs = state if peer.has_acceleration or function != "rnea" else state.without_acceleration()
    results = [task.run() for task in peer.tasks(function, inputs)]
    if not results or results[0] is None:
        return None
    ours = kernel_of(kd, function, frame)(*arguments(function, inputs))
    theirs = peer.convention.result(function, np.array(results[0]), inputs)
    return float(np.abs(theirs - ours).max() / np.abs(ours).max())


def differences(kd: lw.KinDyn, peer: Peer, frame: str, state: State) -> dict[str, float | str]:
    """For each function, how far a library is from ours; an error text where it fails."""
    result: dict[str, float | str] = {}
    for function in TITLES:
        try:
            largest = difference(kd, peer, function, frame, state)
        except Exception as error:  # noqa: BLE001 - another library may raise anything
            result[function] = f"{type(error).__name__}: {error}".splitlines()[0]
        else:
            if largest is not None:
                result[function] = largest
    return result
