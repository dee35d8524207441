"""All libraries side by side, after making sure that they compute the same."""

from __future__ import annotations

import contextlib
import io
import os
import warnings
from collections.abc import Iterator

from agree import ENOUGH, differences
from functions import SHORT, TITLES, arguments, kernel_of
from peers import Peer, all_peers, loaded
from report import Section
from timing import Patience, Task, best_of_variants

from robots import CASES, Case, State, kindyn_of, random_states

ROWS = 4096
FUNCTIONS = tuple(name for name in TITLES if name != "poses")
BATCH = "linkwork, batch"


def libraries(patience: Patience) -> Section:
    """Every library that is installed, on every robot and function it takes."""
    section = Section("All libraries")
    names = ["linkwork", BATCH, *(kind.name for kind in all_peers())]
    differ = section.table(
        "Largest difference from linkwork, relative to the largest entry, conventions converted",
        *("robot", *(kind.name for kind in all_peers())),
    )
    times = section.table("Microseconds per call (batch: per row)", "robot", "function", *names)
    for case in CASES:
        peers = _peers(case, section)
        cells = _agreement(case, peers, section)
        differ.add(case.name, *(cells.get(kind.name, "-") for kind in all_peers()))
        for function in FUNCTIONS:
            seconds = _times(case, function, peers, patience)
            shown = [_microseconds(seconds.get(name)) for name in names]
            times.add(case.name, SHORT[function], *shown)
            section.data += [
                {"robot": case.name, "function": function, "library": name, "seconds": value}
                for name, value in seconds.items()
            ]
    section.notes += [
        f"{BATCH}: per row of {ROWS:,}, one thread, out= reused.",
        "mujoco gets the robot with fixed links merged, as it would merge them itself.",
        "mujoco's forward dynamics is a mass matrix, its factors and a solve.",
        "adam has no inverse dynamics with accelerations: RNEA is its `bias_force`.",
        "idyntree's KinDynComputations has no forward dynamics.",
        "adam jax only on the smallest robot here, since it compiles for minutes; iCub is below.",
    ]
    section.notes = list(dict.fromkeys(section.notes))
    return section


def _peers(case: Case, section: Section) -> dict[str, Peer]:
    peers: dict[str, Peer] = {}
    for kind in all_peers():
        with quiet():
            peer = loaded(kind, kindyn_of(case), case)
        if isinstance(peer, Peer):
            peers[kind.name] = peer
        else:
            where = "" if peer.startswith("left out") else f" ({case.name})"
            section.notes.append(f"{kind.name}{where} {peer}")
    return peers


def _agreement(case: Case, peers: dict[str, Peer], section: Section) -> dict[str, str]:
    """The worst difference of each library; functions that differ are not measured."""
    cells: dict[str, str] = {}
    state = random_states(kindyn_of(case), 2).row(1)
    for name, peer in peers.items():
        with quiet():
            found_here = differences(kindyn_of(case), peer, case.frame, state)
        numbers = {key: value for key, value in found_here.items() if isinstance(value, float)}
        cells[name] = f"{max(numbers.values()):.0e}" if numbers else "-"
        for function, value in found_here.items():
            if isinstance(value, str) or value > ENOUGH:
                section.notes.append(f"{name}, {case.name}, {SHORT[function]}: {value}")
        for function, value in numbers.items():
            what = f"difference of {name}, {case.name}, {SHORT[function]}"
            section.check(what, value, ENOUGH, at_most=True)
    return cells


def _times(
    case: Case, function: str, peers: dict[str, Peer], patience: Patience
) -> dict[str, float]:
    kd = kindyn_of(case)
    kernel, states = kernel_of(kd, function, case.frame), random_states(kd, ROWS)
    row, rows = states.row(0), arguments(function, states)
    named = {"out": kernel(*rows, threads=1), "threads": 1}
    groups: dict[str, list[Task]] = {
        "linkwork": [Task(kernel, arguments(function, row))],
        BATCH: [Task(kernel, rows, named)],
    }
    with quiet():
        for name, peer in peers.items():
            groups[name] = _working(peer, function, row)
    seconds = {name: t for name, t in best_of_variants(groups, patience).items() if t is not None}
    seconds[BATCH] /= ROWS
    return seconds


def _microseconds(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds * 1e6:.3f}" if seconds < 1e-5 else f"{seconds * 1e6:,.0f}"


def _working(peer: Peer, function: str, state: State) -> list[Task]:
    """The ways of a library that do not fail."""
    try:
        tasks = peer.tasks(function, state)
        for task in tasks:
            task.run()
    except Exception:  # noqa: BLE001 - noted where agreement was looked at
        return []
    return tasks


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Other libraries print while they load, some of them from C++: not between our tables."""
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        saved, sink = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 2)
        try:
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            os.close(sink)
