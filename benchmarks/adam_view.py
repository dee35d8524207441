"""linkwork.compat.adam against adam itself, called in the same way on the same arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from functions import SHORT
from libraries import quiet
from peers import Peer, loaded
from peers_adam import AdamCasadi, AdamJax, AdamNumpy, AdamTorch
from report import Section
from timing import Patience, Task, best

from robots import CASES, GRAVITY, Case, kindyn_of, random_states

ICUB = CASES[3]
TARGETS = 1000.0
FUNCTIONS = ("crba", "rnea", "jacobian", "cmm", "pose", "aba")


class _AdamJax(AdamJax):
    most_coordinates = 100


BACKENDS = (AdamNumpy, AdamCasadi, _AdamJax, AdamTorch)


class _View(AdamNumpy):
    """The same calls, with the import swapped."""

    name = "linkwork.compat.adam"

    def make(self, source: str, joints: list[str]) -> Any:
        from linkwork.compat.adam import KinDynComputations

        return KinDynComputations(source, joints, gravity=np.array([*GRAVITY, 0.0, 0.0, 0.0]))


def adam(patience: Patience) -> Section:
    """iCub, one call at a time."""
    section = Section(f"linkwork.compat.adam against adam, {ICUB.name}")
    table = section.table(
        "Microseconds per call, and how many times faster than adam on NumPy",
        *("function", _View.name, *(kind.name for kind in BACKENDS)),
        *("faster than numpy", "target", ""),
    )
    peers = _loaded(ICUB, section)
    state = random_states(kindyn_of(ICUB), 1).row(0)
    for function in FUNCTIONS:
        tasks = _working(peers, function, state)
        times = best(tasks, patience)
        shown = [f"{times[name] * 1e6:,.1f}" if name in times else "-" for name in _names()]
        cells = ["-", f"{TARGETS:g}", ""]
        if AdamNumpy.name in times:
            ratio = times[AdamNumpy.name] / times[_View.name]
            verdict = section.check(f"{SHORT[function]} against adam numpy", ratio, TARGETS)
            cells = [f"{ratio:,.0f}", f"{TARGETS:g}", verdict]
        table.add("bias force" if function == "rnea" else SHORT[function], *shown, *cells)
        section.data.append({"function": function} | times)
    section.notes.append("adam casadi: its `_fun`s; jax: jitted, without aba; torch: float64.")
    return section


def _names() -> list[str]:
    return [_View.name, *(kind.name for kind in BACKENDS)]


def _loaded(case: Case, section: Section) -> dict[str, Peer]:
    peers: dict[str, Peer] = {}
    for kind in (_View, *BACKENDS):
        with quiet():
            peer = loaded(kind, kindyn_of(case), case)
        if isinstance(peer, Peer):
            peers[kind.name] = peer
        else:
            section.notes.append(f"{kind.name} {peer}")
    return peers


def _working(peers: dict[str, Peer], function: str, state: Any) -> dict[str, Task]:
    """A task of each library whose results agree with linkwork's."""
    tasks: dict[str, Task] = {}
    with quiet():
        for name, peer in peers.items():
            for task in peer.tasks(function, state):
                task.run()
                tasks[name] = task
        view: Any = peers[_View.name]
        view.kindyn.warmup()
    return tasks
